/** Reads replies of OpenAI Chat Completions, and of the many servers that speak its grammar, as events. */

import {
  asJson,
  type Found,
  frozenInput,
  moreOf,
  objectOf,
  objectsOf,
  stringOf,
  textOfInput,
  usageOf,
} from '../found.ts'
import {
  CUT_OFF,
  type ReadOptions,
  type Reply,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
} from '../reply-events.ts'
import { LIMITS } from './limits.ts'

/** A whole reply, as the `openai` package gives it; what else it holds is read where it is there. */
export interface ChatReply {
  readonly choices: readonly object[]
}

/**
 * The events of a reply's first choice, and what ended it. Reasoning that servers add as text (`reasoning_content`,
 * `reasoning`) is kept and not sent back. The last call of a reply that was cut off by a limit is not executed, nor
 * are those of a refused or filtered one.
 *
 * A refusal is read as the words that it is, with `more: { type: 'refusal' }` in `reply.parts`; a custom call as a
 * call that cannot be executed. What else of content a message holds (annotations, signed reasoning …) stands there as
 * `other`, and what a server adds to a call (thought signatures) as `more`; all of it goes back as it came, but for
 * audio, whose transcript does. Throws nothing. O(length).
 * @param reply a `ChatCompletion`
 * @example
 * const message = { role: 'assistant', content: 'hi' }
 * const { events } = fromOpenAIChat({ id: 'c1', choices: [{ message, finish_reason: 'stop' }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export function fromOpenAIChat(reply: ChatReply, options: ReadOptions = {}): Reply {
  const found = objectOf(reply)
  const choice = objectsOf(found['choices'])[0] ?? {}
  const message = objectOf(choice['message'])
  const ending = endingOf(choice, message)
  const calls = objectsOf(message['tool_calls'])
  const { content, refusal } = message
  const more = moreOf(message, ...KNOWN)
  const parts: ReplyPart[] = [
    ...(typeof content === 'string' ? textPart(content) : objectsOf(content).flatMap(contentPart)),
    ...(typeof refusal === 'string' ? refusalPart(refusal) : []),
    ...Object.entries(more ?? {}).map(([field, value]) => ({
      is: 'other' as const,
      value: { [field]: value },
    })),
    ...calls.map((call, at) => callPart(call, ending?.type === 'truncated' && at === calls.length - 1)),
  ]
  return replyEvents(
    {
      id: stringOf(found['id']),
      model: stringOf(found['model']),
      stopReason: stringOf(choice['finish_reason']),
      usage: usageOf(found['usage']),
      reasoning: stringOf(message['reasoning_content']) || stringOf(message['reasoning']),
      parts,
      ending,
    },
    LIMITS,
    options,
  )
}

const KNOWN = ['role', 'content', 'refusal', 'tool_calls', 'reasoning_content', 'reasoning'] as const

function endingOf(choice: Found, { refusal }: Found): ReplyOutcome | null {
  const reason = stringOf(choice['finish_reason'])
  if (reason === 'length') return { type: 'truncated', reason }
  if (reason === 'content_filter') return { type: 'filtered', reason }
  return typeof refusal === 'string' && refusal !== '' ? { type: 'refused', explanation: refusal } : null
}

/** An empty text is how many servers write that there is none. */
const textPart = (text: string): ReplyPart[] => (text === '' ? [] : [{ is: 'text', text, more: null }])

const refusalPart = (text: string): ReplyPart[] =>
  text === '' ? [] : [{ is: 'text', text, more: { type: 'refusal' } }]

function contentPart(part: Found): ReplyPart[] {
  const { type, text, refusal } = part
  if (type === 'text' && typeof text === 'string')
    return [{ is: 'text', text, more: moreOf(part, 'type', 'text') }]
  return typeof refusal === 'string' ? refusalPart(refusal) : [{ is: 'other', value: asJson(part) }]
}

function callPart(call: Found, isCutOff: boolean): ReplyPart {
  const isCustom = call['type'] === 'custom'
  const called = objectOf(call[isCustom ? 'custom' : 'function'])
  return {
    is: 'call',
    id: stringOf(call['id']),
    name: stringOf(called['name']),
    arguments: textOfInput(called[isCustom ? 'input' : 'arguments']),
    input: isCustom ? null : frozenInput(called['arguments']),
    item: null,
    unfit: isCustom ? 'calls of custom tools are not supported' : isCutOff ? CUT_OFF : null,
    more: moreOf(call, 'id', 'function', 'index', 'custom', ...(isCustom ? [] : ['type'])),
  }
}
