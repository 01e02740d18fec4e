/** What each grammar would send of a state, and how it differs from what was sent before. */

import { explainPrefix, type PrefixChange, stablePrefix } from '../../context/explain-prefix.ts'
import { estimateTokens } from '../../context/estimate.ts'
import { isColloquyError } from '../../event/errors.ts'
import { askedAfter, type GrammarName, isOfReply, replyOf } from '../../event/reply.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import { GRAMMARS, grammarNamed } from '../../messages/grammars.ts'
import { toMessages } from '../../messages/neutral.ts'
import { type LeftOut, requestRecord } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import { hasEncrypted, type Replayed, stateOf } from './replayed.ts'
import type { Event } from '../../event/types.ts'
import { type ReplyTokens, tokensIn } from '../../messages/reply-usage.ts'
import { anchorOf, type Entry } from '../../log/entry.ts'
import { findEvent } from '../../state/read.ts'

/** In what a request is shown: a grammar, or `neutral`. */
export type Form = GrammarName

/** Every form, with its name for people. */
export const FORMS: Readonly<Record<Form, string>> = Object.fromEntries([
  ...GRAMMARS.map(({ name, title }) => [name, title] as const),
  ['neutral', 'neutral messages'],
])

/** What would be sent of a state. */
export interface Request {
  readonly form: Form
  /** The request without its list of messages; for a list alone, nothing. */
  readonly front: Readonly<Record<string, unknown>>
  readonly messages: readonly unknown[]
  readonly neutral: readonly NeutralMessage[]
  /** Replies that go without what is signed in them. */
  readonly leftOut: readonly LeftOut[]
  /** Why nothing can be sent; null where something can. */
  readonly refused: string | null
}

/**
 * What a form makes of a state; never throws. What is encrypted is not on the page, so that for the grammar that has
 * it nothing is proved. O(content of the view).
 */
export function requestOf(state: State, form: Form): Request {
  const neutral = toMessages(state)
  const empty = { form, front: {}, messages: [], neutral, leftOut: [] }
  if (form === 'neutral') return { ...empty, messages: neutral, refused: null }
  try {
    const { write, list } = grammarNamed(form)
    const written = write(neutral, { prove: !hasEncrypted(form) })
    const leftOut = requestRecord(written)?.leftOut ?? []
    if (Array.isArray(written)) return { ...empty, messages: written, leftOut, refused: null }
    const { [list ?? '']: messages, ...front } = written as Readonly<Record<string, readonly unknown[]>>
    return { ...empty, front, messages: messages ?? [], leftOut, refused: null }
  } catch (error) {
    if (isColloquyError(error)) return { ...empty, refused: error.message }
    throw error
  }
}

/** How a request differs from the one before it. */
export interface Difference {
  /** The reply to the request before; null where none was made. */
  readonly before: Ask | null
  /** How many messages at its start are those of the request before. */
  readonly shared: number
  /** Where the prefix broke, and why; null where the request only adds. */
  readonly broken: PrefixBreak | null
}

/** That a request is not what was sent before with more behind it. */
interface PrefixBreak {
  readonly change: PrefixChange
  /** Position of the event that did it; null where none can be named. */
  readonly by: number | null
  /** Estimated tokens of the request before that a cache can no longer give. */
  readonly cacheTokens: number
  /** Signed parts, thinking mostly, that go no longer. */
  readonly reasoning: number
}

/** What stands in the log about the tools goes with the request: providers read it first. */
const asSent = (state: State, { front, messages, form }: Request): object => ({
  ...(form !== 'neutral' && { tools: state.branch.systemPrompt?.event.tools ?? [] }),
  ...front,
  messages,
})

/** How what would be sent at a place differs from the last request before it. O(content of the view · log facts). */
export function differenceAt(
  replayed: Replayed,
  asks: readonly Ask[],
  place: number,
  form: Form,
  now: Request = requestOf(stateOf(replayed, place), form),
): Difference {
  const index = askBefore(asks, place)
  const before = asks[index] ?? null
  if (before === null) return { before, shared: 0, broken: null }
  const then = stateOf(replayed, before.place)
  const previous = requestOf(then, form)
  const sent = asSent(then, previous)
  const state = stateOf(replayed, place)
  const change = explainPrefix(sent, asSent(state, now))
  if (change === null) return { before, shared: previous.messages.length, broken: null }
  const changes = (at: number): boolean => {
    const other = stateOf(replayed, at)
    return explainPrefix(sent, asSent(other, requestOf(other, form))) !== null
  }
  const kept = change.in === 'message' ? stablePrefix(previous.neutral, now.neutral) : 0
  const lost = now.leftOut.reduce((sum, { parts }) => sum + parts, 0)
  const was = previous.leftOut.reduce((sum, { parts }) => sum + parts, 0)
  return {
    before,
    shared: change.message ?? 0,
    broken: {
      change,
      by: firstChange(before.place, place, changes),
      cacheTokens: estimateTokens(previous.neutral.slice(kept)),
      reasoning: Math.max(0, lost - was),
    },
  }
}

/** The position of the first fact after which the prefix is another one; what broke it stays broken mostly. */
function firstChange(from: number, to: number, changes: (place: number) => boolean): number | null {
  let [low, high] = [from + 1, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (changes(middle)) high = middle
    else low = middle + 1
  }
  return low > to ? null : low - 1
}

/** One reply, and when it was asked for. */
export interface Ask {
  /** Position of the reply's first event. */
  readonly seq: number
  /** How many facts stood in the log when the model was asked, as far as the log tells. */
  readonly place: number
  readonly model: string | null
  /** What it took; null where nothing says it. */
  readonly tokens: ReplyTokens | null
}

/** The replies of a log, in its order. O(n log n). */
export function asksOf({ states }: Replayed): Ask[] {
  const state = states.at(-1) as State
  const seen = new Set<string>()
  const asks: Ask[] = []
  for (const entry of state.log.entries) {
    const { event, seq, inTree } = entry
    if (event === null || !inTree || !isOfReply(event)) continue
    if (event.kind === 'ActionEvent' && event.llm_response_id !== '') {
      if (seen.has(event.llm_response_id)) continue
      seen.add(event.llm_response_id)
    }
    const record = replyOf(event)
    asks.push({
      seq,
      place: placeOf(state, entry, event),
      model: typeof record?.model === 'string' ? record.model : null,
      tokens: record === null ? null : tokensIn(record),
    })
  }
  return asks
}

function placeOf(state: State, { seq, parent }: Entry, event: Event): number {
  const after = askedAfter(event)
  if (after === null) return 0
  const asked = after === undefined ? undefined : after === true ? anchorOf(parent) : findEvent(state, after)
  return asked === undefined || asked === null || asked.seq >= seq ? seq : asked.seq + 1
}

/** The last request before what would be sent at a place: the index of its reply in the list; -1 for none. O(log n). */
function askBefore(asks: readonly Ask[], place: number): number {
  let low = 0
  for (let high = asks.length; low < high;) {
    const middle = (low + high) >>> 1
    if ((asks[middle] as Ask).seq < place) low = middle + 1
    else high = middle
  }
  let at = low - 1
  // What is sent at the very place of a request is that request, and the one before it is what it is held against.
  while (at >= 0 && (asks[at] as Ask).place >= place) at -= 1
  return at
}
