/** Writes scripts as chats of Gemini CLI versions. */

import { counter, time } from './lines.ts'
import type { Script, ScriptCall } from './script.ts'

/** Only lines can record a rewritten history. */
export function geminiCli(all: Script, asLines: boolean): unknown[] {
  const about = {
    sessionId: 's',
    projectHash: 'p',
    startTime: time(0),
    lastUpdated: time(1),
    ...(all[0]?.drift[4] === true ? { kind: 'main' } : {}),
  }
  const messages: Record<string, unknown>[] = []
  const id = counter('m')
  const nextId = counter('c')
  const before: string[] = []
  /** With the final form of each message. */
  let history: Record<string, unknown>[] = []
  for (const { back, user, replies, compacted, drift } of all) {
    if (back > 0 && asLines) {
      const to = before.splice(before.length - back, back)[0]
      messages.push({ $rewindTo: to })
      history = history.slice(
        0,
        history.findIndex((message) => message['id'] === to),
      )
    }
    const add = (message: Record<string, unknown>): void => {
      messages.push(message)
      history.push(message)
    }
    const ownId = id()
    before.push(ownId)
    add({ id: ownId, timestamp: time(messages.length), type: 'user', content: user })
    for (const { thinking, text, calls } of replies) {
      const ids = calls.map((_, index) => (drift[6] === true ? `call_${index}` : nextId()))
      const toolCalls = calls.map((call, index) => callOf(call, ids, index, calls, drift))
      const output = {
        id: id(),
        timestamp: time(messages.length),
        type: 'gemini',
        content: text,
        ...(thinking === null ? {} : { thoughts: [{ subject: 'On it', description: thinking }] }),
        model: 'gemini',
        tokens: { input: 3, output: 4 },
      }
      // First written before its calls complete, then again with their results.
      if (asLines && drift[0] === true) {
        const running = toolCalls.map(({ id: callId, name, args }) => ({
          id: callId,
          name,
          args,
          status: 'executing',
        }))
        messages.push({ ...output, toolCalls: running })
      }
      add({ ...output, ...(toolCalls.length === 0 ? {} : { toolCalls }) })
    }
    if (drift[1] === true)
      messages.push({ id: id(), timestamp: time(messages.length), type: 'info', content: 'x' })
    if (asLines) messages.push({ $set: { lastUpdated: time(messages.length) } })
    if (asLines && compacted !== null) {
      history = [{ id: id(), timestamp: time(messages.length), type: 'user', content: [{ text: compacted }] }]
      messages.push({ $set: { messages: [...history], lastUpdated: time(messages.length) } })
    } else if (asLines && drift[2] === true) messages.push({ $set: { messages: history.map(asTurn) } })
  }
  return asLines ? [about, ...messages, { $set: { summary: 'a talk' } }] : [{ ...about, messages: history }]
}

interface Call {
  readonly id: string
  readonly name: string
  readonly args: object
  readonly status: string
  readonly result: unknown
  readonly resultDisplay: string
}

/** The result has several forms. */
function callOf(
  { name, input, result, isError }: ScriptCall,
  ids: readonly string[],
  index: number,
  calls: readonly ScriptCall[],
  drift: readonly boolean[],
): Call {
  const response = (number: number): object => ({
    functionResponse: {
      id: ids[number],
      name: calls[number]?.name,
      response: { [calls[number]?.isError === true ? 'error' : 'output']: calls[number]?.result },
    },
  })
  const value =
    drift[3] === true
      ? // A rewritten history repeats all results of a reply in each call.
        ids.map((_, number) => response(number))
      : drift[5] === true
        ? result
        : isError && drift[1] === true
          ? null
          : [response(index)]
  return {
    id: ids[index] ?? '',
    name,
    args: input,
    status: isError ? 'error' : 'success',
    result: value,
    resultDisplay: result,
  }
}

/** Texts and calls are parts there. */
function asTurn(message: Record<string, unknown>): Record<string, unknown> {
  const calls = (message['toolCalls'] ?? []) as Call[]
  const parts = calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }))
  const { content } = message
  return { ...message, content: typeof content === 'string' ? [{ text: content }, ...parts] : content }
}
