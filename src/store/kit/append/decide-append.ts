/**
 * Rules of `append` for all adapters: deduplication, expected version, lease, parents, HEAD. Pure, so that
 * they run inside any transaction.
 */

import { ColloquyError } from '../../../event/errors.ts'
import { isLegalId } from '../../../event/ids.ts'
import { isObject } from '../../../event/json.ts'
import { isEventKind, KINDS } from '../../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../../event/quarantine.ts'
import { type Content, isTextPart, type JsonValue, SOURCES } from '../../../event/shapes.ts'
import type { StoredEvent } from '../../contract/query.ts'
import type { AppendOptions, ExpectedVersion } from '../../contract/store.ts'
import { invalidArgument } from '../query/check-value.ts'
import type { AppendContext, Lane, LogTip } from './append-context.ts'
import { checkOwnFact, sameBody } from './body.ts'
import { newAppendDraft, type PlacedEvent, placeNext } from './place.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Whether a value is a known event or quarantined line, with the fields a store needs: id, parent, time,
 * source and message text. Never throws. O(parts of a message).
 * @example
 * isFact({ kind: 'PauseEvent', id: 'p' }) // true
 * isFact({ kind: 'MessageEvent', id: 'm', source: 'user' }) // false
 */
export function isFact(input: unknown): input is Fact {
  try {
    if (!isObject(input) || !hasPlace(input)) return false
    if (isQuarantined(input as object as Fact)) return typeof input['raw'] === 'string'
    const { kind, timestamp, source } = input
    if (!isEventKind(kind) || !isTextOrNone(timestamp)) return false
    const from = source ?? KINDS[kind].defaultSource
    return SOURCES.some((one) => one === from) && (kind !== 'MessageEvent' || hasWords(input))
  } catch {
    // A getter threw, or a proxy.
    return false
  }
}

/** @throws `invalid_event` if it is not a fact. */
export function checkIsFact(input: unknown): void {
  if (!isFact(input)) refuse(input)
}

/**
 * The fact as the store keeps it. O(size).
 * @throws `invalid_event`; `transient_event`; `invalid_id`, also for a live event without an id.
 */
function checkedFact(input: Fact, live: boolean): ReturnType<typeof checkOwnFact> {
  checkIsFact(input)
  const ownValue = checkOwnFact(input)
  const { fact } = ownValue
  // What JSON made of it may be something else.
  if (fact !== input && !isFact(fact)) refuse(input)
  if (!isQuarantined(fact) && !KINDS[fact.kind].stored) {
    throw new ColloquyError(
      'transient_event',
      `${fact.kind} is for live readers only and is never stored. Publish it instead.`,
      { kind: fact.kind },
    )
  }
  if (fact.id === undefined ? live : !isLegalId(fact.id)) {
    const rule = '1 to 200 characters of well-formed Unicode, without control characters, and not "__root__"'
    throw new ColloquyError('invalid_id', `The id of an appended event must be ${rule}.`, { id: fact.id })
  }
  return ownValue
}

function refuse(input: unknown): never {
  const message = 'An appended value must be an event of one of the 19 kinds, as returned by decodeEvent.'
  throw new ColloquyError('invalid_event', message, kindOf(input))
}

/** No other part of the value: it may contain secrets (law X3). */
function kindOf(input: unknown): { readonly kind?: string } {
  try {
    const { kind } = Object(input) as Fields
    return typeof kind === 'string' ? { kind } : {}
  } catch {
    return {}
  }
}

const isTextOrNone = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string'

/** An event without an id gets one, but null is invalid. */
const hasPlace = ({ id, parent_id: parent }: Fields): boolean =>
  (id === undefined || typeof id === 'string') && isTextOrNone(parent)

function hasWords({ llm_message: message, extended_content: more }: Fields): boolean {
  return isObject(message) && areParts(message['content']) && areParts(more)
}

const areParts = (parts: unknown): boolean =>
  parts === undefined || parts === null || (Array.isArray(parts) && parts.every(isPart))

const isPart = (part: JsonValue): boolean =>
  isObject(part) && (!isTextPart(part as Content) || typeof part['text'] === 'string')

/** The decision of an append; nothing is written if `added` is empty. */
export interface AppendDecision {
  readonly events: readonly StoredEvent[]
  readonly added: readonly PlacedEvent[]
  readonly opened: readonly Lane[]
  readonly tip: LogTip
}

/**
 * Decides an append as `Store.append` specifies. Read the context in the writing transaction. O(log n) for
 * each fact; a move of HEAD to a state update looks up each state update above it.
 * @throws `invalid_event`, `transient_event`, `invalid_id`, `id_conflict`, `version_conflict`, `lease_lost`,
 *   `unknown_parent`,
 * `unknown_event`, `invalid_argument` for invalid options.
 * @example
 * const none = () => undefined
 * const tip = { version: 0, head: null, time: 0n, inOrder: true, lane: null }
 * const log = { conversationId: 'c', createdAt: '', timeZone: null, tip, lease: null, find: none, at: none }
 * const { events, tip: after } = decideAppend(log, [{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * events[1].fact // { kind: 'PauseEvent', id: 'b', parent_id: 'a' }
 * after.head.id // 'b'
 */
export function decideAppend(
  context: AppendContext,
  inputs: readonly Fact[],
  options: AppendOptions = {},
): AppendDecision {
  const { mode = 'live', expected = 'any', createdAt } = options
  const live = mode === 'live'
  if (!live && mode !== 'import') invalidArgument('mode', 'must be live or import')
  if (options.within !== undefined && typeof options.within !== 'function')
    invalidArgument('within', 'must be a function')
  if (expected !== 'any' && expected !== 'none' && !isVersion(expected)) {
    invalidArgument('expected', 'must be any, none or a number of events')
  }
  if (createdAt !== undefined && createdAt !== context.createdAt)
    throw versionConflict(context, versionOf(expected))
  const checked = inputs.map((fact) => checkedFact(fact, live))
  const facts = checked.map(({ fact }) => fact)
  const known = deduplicate(context, facts, options)
  // A repeated append is not checked again for whether it may be made.
  if (known.includes(null)) checkWriter(context, live ? expected : 'any', options)
  const draft = newAppendDraft(context, live)
  const events: StoredEvent[] = []
  for (const [i, { fact, hasLargeString }] of checked.entries()) {
    const existing = known[i] ?? null
    if (existing === null) events.push(placeNext(draft, fact, hasLargeString))
    else events.push(typeof existing === 'number' ? (events[existing] as StoredEvent) : existing)
  }
  const { added, opened, tip } = draft
  return { events, added, opened, tip }
}

/**
 * Returns the ids that a decision may need: the facts' own, parents', and targets of HEAD. Stores that
 * prefetch also fetch upwards to the next possible HEAD. O(facts).
 * @example
 * [...idsToLoad([{ kind: 'PauseEvent', id: 'b', parent_id: 'a' }])] // ['b', 'a']
 */
export function idsToLoad(facts: readonly Fact[]): Set<string> {
  const requested = facts
    .filter(isFact)
    .flatMap((fact): unknown[] => [
      fact.id,
      fact.parent_id,
      !isQuarantined(fact) && fact.kind === 'ConversationStateUpdateEvent' ? fact.value : null,
    ])
  return new Set(requested.filter((id): id is string => typeof id === 'string' && isLegalId(id)))
}

const isVersion = (value: unknown): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

function checkWriter(context: AppendContext, expected: ExpectedVersion, { lease }: AppendOptions): void {
  if (expected !== 'any' && versionOf(expected) !== context.tip.version) {
    throw versionConflict(context, versionOf(expected))
  }
  if (lease === undefined) return
  if (context.lease?.owner === lease.owner && context.lease.generation === lease.generation) return
  throw new ColloquyError('lease_lost', 'The run lease was released or has another owner. Stop this run.', {
    conversationId: context.conversationId,
    ...lease,
    latest: context.lease,
  })
}

type Existing = StoredEvent | number | null

/**
 * Finds facts in the log: by id; by position for an import with a version, which continues or repeats a copy.
 * O(facts) lookups.
 * @throws `id_conflict` for another body under a known id, in a live append; `version_conflict` for another body at a
 * position.
 */
function deduplicate(
  context: AppendContext,
  facts: readonly Fact[],
  options: AppendOptions,
): readonly Existing[] {
  const { mode = 'live', expected = 'any' } = options
  return mode === 'import' && expected !== 'any'
    ? byPosition(context, facts, expected)
    : byId(context, facts, mode === 'live')
}

function byId(context: AppendContext, facts: readonly Fact[], refuse: boolean): readonly Existing[] {
  const input = new Map<string, number>()
  return facts.map((fact, i): Existing => {
    const { id } = fact
    if (id === undefined) return null
    const before = input.get(id)
    const node = before === undefined ? context.find(id) : undefined
    if (before === undefined && node === undefined) {
      input.set(id, i)
      return null
    }
    const existing = before === undefined ? context.at((node as { seq: number }).seq) : before
    if (sameBody(typeof existing === 'number' ? (facts[existing] as Fact) : existing.fact, fact))
      return existing
    if (!refuse) return null
    throw new ColloquyError(
      'id_conflict',
      `Another event has the id ${JSON.stringify(id)}. Choose another id.`,
      { conversationId: context.conversationId, id },
    )
  })
}

function byPosition(
  context: AppendContext,
  facts: readonly Fact[],
  expected: Exclude<ExpectedVersion, 'any'>,
): readonly Existing[] {
  const { version } = context.tip
  const base = versionOf(expected)
  if (base > version) throw versionConflict(context, base)
  return facts.map((fact, i): Existing => {
    if (base + i >= version) return null
    const stored = context.at(base + i)
    if (sameBody(stored.fact, fact)) return stored
    throw versionConflict(context, base)
  })
}

export function versionOf(expected: ExpectedVersion): number {
  return typeof expected === 'number' ? expected : 0
}

function versionConflict(context: AppendContext, expected: number): ColloquyError {
  const { conversationId, tip } = context
  return new ColloquyError(
    'version_conflict',
    `The log has ${tip.version} events, not the expected ${expected}. Read it again and retry.`,
    { conversationId, version: tip.version, expected },
  )
}
