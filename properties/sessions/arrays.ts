/** Writes scripts as message arrays of providers and user interfaces. */

import { counter } from './lines.ts'
import type { Script, ScriptReply, Turn } from './script.ts'

const flat = <T>(all: Script, one: (turn: Turn) => readonly T[]): T[] => all.flatMap(one)

export function anthropic(all: Script): unknown[] {
  const callId = counter('toolu_')
  return flat(all, ({ user, replies, drift }): object[] => [
    { role: 'user', content: drift[0] === true ? user : [{ type: 'text', text: user }] },
    ...replies.flatMap(({ thinking, text, calls }) => {
      const callIds = calls.map(() => callId())
      const content = [
        ...(thinking === null ? [] : [{ type: 'thinking', thinking, signature: 'c2ln' }]),
        { type: 'text', text },
        ...calls.map(({ name, input }, index) => ({ type: 'tool_use', id: callIds[index], name, input })),
      ]
      const results = calls.map(({ result, isError }, index) => ({
        type: 'tool_result',
        tool_use_id: callIds[index],
        content: result,
        is_error: isError,
      }))
      return [
        { role: 'assistant', content },
        ...(results.length === 0 ? [] : [{ role: 'user', content: results }]),
      ]
    }),
  ])
}

export function openaiChat(all: Script): unknown[] {
  const callId = counter('call_')
  return flat(all, ({ user, replies, drift }): object[] => [
    { role: 'user', content: user },
    ...replies.flatMap(({ text, calls }): object[] => {
      const callIds = calls.map(() => callId())
      const [only] = calls
      if (drift[0] === true && only !== undefined && calls.length === 1)
        return [
          {
            role: 'assistant',
            content: text,
            function_call: { name: only.name, arguments: JSON.stringify(only.input) },
          },
          { role: 'function', name: only.name, content: only.result },
        ]
      if (drift[1] === true && only === undefined)
        return [{ role: 'assistant', content: [{ type: 'refusal', refusal: text }] }]
      // Ollama writes no call ids.
      const isOllama = drift[2] === true
      const tool_calls = calls.map(({ name, input }, index) => ({
        ...(isOllama ? {} : { id: callIds[index], type: 'function' }),
        function: { name, arguments: isOllama ? input : JSON.stringify(input) },
      }))
      return [
        { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls }) },
        ...calls.map(({ name, result }, index) => ({
          role: 'tool',
          ...(isOllama ? { tool_name: name } : { tool_call_id: callIds[index] }),
          content: result,
        })),
      ]
    }),
  ])
}

/** In the full or the short form. */
const output = (text: string, [isEasy, isTyped]: readonly boolean[]): object =>
  isEasy === true
    ? { ...(isTyped === true ? { type: 'message' } : {}), role: 'assistant', content: text }
    : { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }

export function openaiResponses(all: Script): unknown[] {
  const callId = counter('call_')
  return flat(all, ({ user, replies, drift }): object[] => [
    { role: 'user', content: [{ type: 'input_text', text: user }] },
    ...replies.flatMap(({ text, calls }) => {
      const callIds = calls.map(() => callId())
      return [
        output(text, drift),
        ...calls.map(({ name, input }, index) => ({
          type: 'function_call',
          call_id: callIds[index],
          name,
          arguments: JSON.stringify(input),
        })),
        ...calls.map(({ result }, index) => ({
          type: 'function_call_output',
          call_id: callIds[index],
          output: result,
        })),
      ]
    }),
  ])
}

/** One message per turn. Older versions number steps, and repeat parts in fields or have none. */
export function uiMessages(all: Script, version: 4 | 5): unknown[] {
  const callId = counter('call_')
  const messageOf = ({ replies, drift: [isNumbered, isTwice, isBare] }: Turn): object => {
    const partsOfReply = (reply: ScriptReply, step: number): object[] =>
      version === 4 ? oldParts(reply, callId, isNumbered === true ? step : null) : newParts(reply, callId)
    const parts = replies.flatMap(partsOfReply)
    const [first, ...others] = replies
    if (version === 5 || first === undefined) return { parts }
    const { thinking, text } = first
    const reasoning = thinking === null ? {} : { reasoning: thinking }
    if (isBare === true && others.length === 0 && first.calls.length === 0)
      return { content: text, ...reasoning }
    const calls = parts.flatMap((part) => ('toolInvocation' in part ? [part.toolInvocation] : []))
    return isTwice === true ? { content: text, toolInvocations: calls, ...reasoning, parts } : { parts }
  }
  return flat(all, (turn): object[] => [
    { id: callId(), role: 'user', parts: [{ type: 'text', text: turn.user }] },
    { id: callId(), role: 'assistant', ...messageOf(turn) },
  ])
}

function newParts({ thinking, text, calls }: ScriptReply, callId: () => string): object[] {
  return [
    { type: 'step-start' },
    ...(thinking === null ? [] : [{ type: 'reasoning', text: thinking }]),
    { type: 'text', text },
    ...calls.map(({ name, input, result, isError }) => ({
      type: `tool-${name}`,
      toolCallId: callId(),
      input,
      ...(isError
        ? { state: 'output-error', errorText: result }
        : { state: 'output-available', output: result }),
    })),
  ]
}

/** `step` is null if a part marks its start. */
function oldParts(
  { thinking, text, calls }: ScriptReply,
  callId: () => string,
  step: number | null,
): object[] {
  return [
    ...(step === null ? [{ type: 'step-start' }] : []),
    ...(thinking === null ? [] : [{ type: 'reasoning', reasoning: thinking }]),
    { type: 'text', text },
    ...calls.map(({ name, input, result }) => {
      const call = { state: 'result', toolCallId: callId(), toolName: name, args: input, result }
      return { type: 'tool-invocation', toolInvocation: step === null ? call : { ...call, step } }
    }),
  ]
}
