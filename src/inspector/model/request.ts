import { explainPrefix, type PrefixChange, stablePrefix } from '../../context/explain-prefix.ts'
import { estimateTokens } from '../../context/estimate.ts'
import { isColloquyError } from '../../event/errors.ts'
import { requestHeadOf, type GrammarName, isOfReply, replyOf } from '../../event/reply.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import { GRAMMARS, grammarNamed } from '../../messages/grammars.ts'
import { toMessages } from '../../messages/neutral.ts'
import { type LeftOut, requestRecord } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import { hasEncrypted, type Replayed, stateOf } from './replayed.ts'
import { firstIndex } from '../../event/json.ts'
import type { Event } from '../../event/types.ts'
import { type ReplyTokens, tokensIn } from '../../messages/reply-usage.ts'
import { anchorOf, type Entry } from '../../log/entry.ts'
import { findEvent } from '../../state/read.ts'
import { reportsOf } from '../../explain/explanation.ts'

export type Form = GrammarName

export const FORMS: Readonly<Record<Form, string>> = Object.fromEntries([
  ...GRAMMARS.map(({ name, title }) => [name, title] as const),
  ['neutral', 'neutral messages'],
])

export interface Request {
  readonly form: Form
  readonly front: Readonly<Record<string, unknown>>
  readonly messages: readonly unknown[]
  readonly neutral: readonly NeutralMessage[]
  readonly leftOut: readonly LeftOut[]
  readonly refused: string | null
}

/**
 * Returns a state's request. If the grammar has encrypted content, does not check reply records, because
 * browsers do not receive this content.
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

export interface Difference {
  readonly before: Ask | null
  readonly shared: number
  readonly broken: PrefixBreak | null
  /** What the provider reported with the reply to this request. */
  readonly reports: readonly string[]
}

interface PrefixBreak {
  readonly change: PrefixChange
  readonly by: number | null
  readonly cacheTokens: number
  /** Number of signed parts that can no longer be sent. */
  readonly reasoning: number
}

/** Returns a request with its tools first, because providers read them first. */
const asSent = (state: State, { front, messages, form }: Request): object => ({
  ...(form !== 'neutral' && { tools: state.branch.systemPrompt?.event.tools ?? [] }),
  ...front,
  messages,
})

export function differenceAt(
  replayed: Replayed,
  asks: readonly Ask[],
  position: number,
  form: Form,
  now: Request = requestOf(stateOf(replayed, position), form),
): Difference {
  const index = askBefore(asks, position)
  const before = asks[index] ?? null
  const reports = asks.find((ask) => ask.position === position)?.reports ?? []
  if (before === null) return { before, shared: 0, broken: null, reports }
  const then = stateOf(replayed, before.position)
  const previous = requestOf(then, form)
  const sent = asSent(then, previous)
  const state = stateOf(replayed, position)
  const change = explainPrefix(sent, asSent(state, now))
  if (change === null) return { before, shared: previous.messages.length, broken: null, reports }
  const changes = (index: number): boolean => {
    const other = stateOf(replayed, index)
    return explainPrefix(sent, asSent(other, requestOf(other, form))) !== null
  }
  const stableCount = change.in === 'message' ? stablePrefix(previous.neutral, now.neutral) : 0
  const lost = now.leftOut.reduce((sum, { parts }) => sum + parts, 0)
  const lostBefore = previous.leftOut.reduce((sum, { parts }) => sum + parts, 0)
  return {
    before,
    shared: change.message ?? 0,
    broken: {
      change,
      by: firstChange(before.position, position, changes),
      cacheTokens: estimateTokens(previous.neutral.slice(stableCount)),
      reasoning: Math.max(0, lost - lostBefore),
    },
    reports,
  }
}

/** Returns the position of the first fact that changes the prefix. Bisects: a broken prefix usually stays broken. */
const firstChange = (from: number, to: number, changes: (position: number) => boolean): number | null =>
  from < to ? firstIndex(from + 1, to, changes) - 1 : null

export interface Ask {
  readonly seq: number
  /**
   * Number of facts up to the event that was HEAD at the request. If the log does not record that HEAD, the
   * number of facts before the reply.
   */
  readonly position: number
  readonly model: string | null
  readonly tokens: ReplyTokens | null
  readonly reports: readonly string[]
}

/** Returns the requests of a log, one per reply, in log order. */
export function asksOf({ states }: Replayed): Ask[] {
  const state = states.at(-1) as State
  const seen = new Set<string>()
  const asks: Ask[] = []
  for (const entry of state.log.entries) {
    const { event, seq, inTree } = entry
    if (event === null || !inTree || !isOfReply(event)) continue
    const record = replyOf(event)
    const id = event.kind === 'ActionEvent' ? event.llm_response_id : ''
    // Some servers use one id for all replies. But only the first event of a reply has more than `after`.
    const isFirst = Object.keys(record ?? {}).some((key) => key !== 'after')
    if (id !== '' && seen.has(id) && !isFirst) continue
    seen.add(id)
    asks.push({
      seq,
      position: orderOf(state, entry, event),
      model: typeof record?.model === 'string' ? record.model : null,
      tokens: record === null ? null : tokensIn(record),
      reports: reportsOf(event).map(({ text }) => text),
    })
  }
  return asks
}

function orderOf(state: State, { seq, parent }: Entry, event: Event): number {
  const after = requestHeadOf(event)
  if (after === null) return 0
  const requested =
    after === undefined ? undefined : after === true ? anchorOf(parent) : findEvent(state, after)
  return requested === undefined || requested === null || requested.seq >= seq ? seq : requested.seq + 1
}

/** Returns the index of the last request before a position; -1 if no request precedes it. */
function askBefore(asks: readonly Ask[], position: number): number {
  let index = firstIndex(0, asks.length, (at) => (asks[at] as Ask).seq >= position) - 1
  // A request at this position is compared with the request before it.
  while (index >= 0 && (asks[index] as Ask).position >= position) index -= 1
  return index
}
