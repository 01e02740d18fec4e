/** Reads replies of OpenAI Chat Completions, and of the many servers that speak its grammar, as events. */

import type { JsonObject } from '../../event/shapes.ts'
import {
  asJson,
  failedWith,
  failureOf,
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
 * `reasoning`, `thinking` parts of the content) is kept; what came with calls as `reasoning_content` goes back with
 * them, since some servers refuse calls without it, all else of it does not. The last call of a reply that was cut off
 * by a limit is not executed, nor are those of a refused or filtered one.
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
  const ending = failureOf(found) ?? endingOf(choice, message)
  const calls = objectsOf(message['tool_calls'])
  const { content, refusal, reasoning_content } = message
  const reasoning = stringOf(reasoning_content) || stringOf(message['reasoning']) || thoughtIn(content)
  const fields: JsonObject = {
    ...moreOf(message, ...KNOWN),
    // Where it came; its text stands in the field that all events have.
    ...(calls.length > 0 && reasoning !== '' && reasoning === reasoning_content
      ? { reasoning_content: true }
      : {}),
  }
  const parts: ReplyPart[] = [
    ...contentParts(partsIn(content)),
    ...(typeof refusal === 'string' ? refusalPart(refusal) : []),
    ...Object.entries(fields).map(([field, value]) => ({ is: 'other' as const, value: { [field]: value } })),
    ...calls.map((call, at) => callPart(call, ending?.type === 'truncated' && at === calls.length - 1)),
  ]
  return replyEvents(
    {
      id: idOf(found),
      model: stringOf(found['model']),
      stopReason: stringOf(choice['finish_reason']),
      usage: usageOf(found['usage']),
      reasoning,
      parts,
      ending,
    },
    LIMITS,
    options,
  )
}

/** Ollama draws its ids from a thousand numbers, so that two replies of a conversation often have the same. */
function idOf({ id, created }: Found): string {
  const given = stringOf(id)
  return /^chatcmpl-\d{1,3}$/.test(given) && typeof created === 'number' ? `${given}-${created}` : given
}

const KNOWN = ['role', 'content', 'refusal', 'tool_calls', 'reasoning_content', 'reasoning'] as const

function endingOf(choice: Found, { refusal }: Found): ReplyOutcome | null {
  const reason = stringOf(choice['finish_reason'])
  // A proxy says so where its server failed in the middle.
  if (reason === 'error') return failureOf(choice) ?? failedWith(null)
  if (reason === 'length') return { type: 'truncated', reason }
  if (reason === 'content_filter') return { type: 'filtered', reason }
  return typeof refusal === 'string' && refusal !== '' ? { type: 'refused', explanation: refusal } : null
}

/** What stands in content: a text, or a list of parts; a list that was collected has texts among its parts. */
const partsIn = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content.flat() : typeof content === 'string' ? [content] : []

/** The words in content, or in a piece of it. O(length). */
export const wordsIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsIn(content)
        .flatMap(contentPart)
        .map((part) => (part.is === 'text' ? part.text : ''))
        .join('')

/** The reasoning in content, or in a piece of it. O(length). */
export const thoughtIn = (content: unknown): string =>
  partsIn(content)
    .map((part) => thoughtOf(objectOf(part)))
    .join('')

/** What a part of content thinks: a text, or the texts of a list. */
function thoughtOf(part: Found): string {
  const { thinking } = part
  if (!isThinking(part)) return ''
  if (typeof thinking === 'string') return thinking
  return objectsOf(thinking)
    .map(({ text }) => stringOf(text))
    .join('')
}

const isThinking = ({ type, thinking }: Found): boolean =>
  type === 'thinking' && (typeof thinking === 'string' || Array.isArray(thinking))

/** An empty text is how many servers write that there is none. */
const textPart = (text: string): ReplyPart[] => (text === '' ? [] : [{ is: 'text', text, more: null }])

const refusalPart = (text: string): ReplyPart[] =>
  text === '' ? [] : [{ is: 'text', text, more: { type: 'refusal' } }]

function contentPart(part: unknown): ReplyPart[] {
  if (typeof part === 'string') return textPart(part)
  const found = objectOf(part)
  const { type, text, refusal } = found
  if (type === 'text' && typeof text === 'string') {
    const more = moreOf(found, 'type', 'text')
    return more === null ? textPart(text) : [{ is: 'text', text, more }]
  }
  if (isThinking(found)) return unthought(moreOf(found, 'type', 'thinking', 'closed'))
  return typeof refusal === 'string' ? refusalPart(refusal) : [{ is: 'other', value: asJson(found) }]
}

/** What a thinking part holds beside its text, such as a signature; it is in the record alone. */
const unthought = (more: JsonObject | null): ReplyPart[] =>
  more === null ? [] : [{ is: 'other', value: { thinking: more } }]

/** The parts of content but for its thinking. Plain texts that touch are one: a stream cuts them anywhere. */
function contentParts(content: readonly unknown[]): ReplyPart[] {
  const out: ReplyPart[] = []
  let run: string[] = []
  const close = (): void => {
    out.push(...textPart(run.join('')))
    run = []
  }
  for (const part of content) {
    if (isThinking(objectOf(part))) close()
    for (const found of contentPart(part)) {
      if (found.is === 'text' && found.more === null) run.push(found.text)
      else {
        close()
        out.push(found)
      }
    }
  }
  close()
  return out
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
