/** Writes a talk as the arrays of messages that providers and user interfaces have. */

import { counter } from './lines.ts'
import type { Talk, TalkReply, Turn } from './talk.ts'

/** What each array says of a turn. */
const flat = <T>(all: Talk, one: (turn: Turn) => readonly T[]): T[] => all.flatMap(one)

export function anthropic(all: Talk): unknown[] {
  const callId = counter('toolu_')
  return flat(all, ({ user, replies, drift }): object[] => [
    { role: 'user', content: drift[0] === true ? user : [{ type: 'text', text: user }] },
    ...replies.flatMap(({ thinking, text, calls }) => {
      const own = calls.map(() => callId())
      const content = [
        ...(thinking === null ? [] : [{ type: 'thinking', thinking, signature: 'c2ln' }]),
        { type: 'text', text },
        ...calls.map(({ name, input }, at) => ({ type: 'tool_use', id: own[at], name, input })),
      ]
      const results = calls.map(({ result, isError }, at) => ({
        type: 'tool_result',
        tool_use_id: own[at],
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

export function openaiChat(all: Talk): unknown[] {
  const callId = counter('call_')
  return flat(all, ({ user, replies }): object[] => [
    { role: 'user', content: user },
    ...replies.flatMap(({ text, calls }) => {
      const own = calls.map(() => callId())
      const tool_calls = calls.map(({ name, input }, at) => ({
        id: own[at],
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      }))
      return [
        { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls }) },
        ...calls.map(({ result }, at) => ({ role: 'tool', tool_call_id: own[at], content: result })),
      ]
    }),
  ])
}

export function openaiResponses(all: Talk): unknown[] {
  const callId = counter('call_')
  return flat(all, ({ user, replies }): object[] => [
    { role: 'user', content: [{ type: 'input_text', text: user }] },
    ...replies.flatMap(({ text, calls }) => {
      const own = calls.map(() => callId())
      return [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
        ...calls.map(({ name, input }, at) => ({
          type: 'function_call',
          call_id: own[at],
          name,
          arguments: JSON.stringify(input),
        })),
        ...calls.map(({ result }, at) => ({
          type: 'function_call_output',
          call_id: own[at],
          output: result,
        })),
      ]
    }),
  ])
}

/** Messages of a user interface: all replies of a turn are one, in steps; older ones have calls beside their text. */
export function uiMessages(all: Talk, version: 4 | 5): unknown[] {
  const callId = counter('call_')
  const partsOf = ({ thinking, text, calls }: TalkReply): object[] => [
    { type: 'step-start' },
    ...(thinking === null ? [] : [{ type: 'reasoning', text: thinking }]),
    { type: 'text', text },
    ...calls.map(({ name, input, result, isError }) =>
      version === 4
        ? {
            type: 'tool-invocation',
            toolInvocation: { state: 'result', toolCallId: callId(), toolName: name, args: input, result },
          }
        : {
            type: `tool-${name}`,
            toolCallId: callId(),
            input,
            ...(isError
              ? { state: 'output-error', errorText: result }
              : { state: 'output-available', output: result }),
          },
    ),
  ]
  return flat(all, ({ user, replies }): object[] => [
    { id: callId(), role: 'user', parts: [{ type: 'text', text: user }] },
    { id: callId(), role: 'assistant', parts: replies.flatMap(partsOf) },
  ])
}
