/** The decision of an append: the log as it stood and the facts go in; new entries and the new end come out, or why they are refused. */

import { ColloquyError } from '../event/errors.ts'
import { isLegalId } from '../event/ids.ts'
import { isObject } from '../event/json.ts'
import { isEventKind, KINDS } from '../event/kinds.ts'
import { isQuarantined, type Fact } from '../event/quarantine.ts'
import type { JsonValue } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import type { AppendOptions, ExpectedVersion } from './append.ts'
import { ownFact } from './body.ts'
import { refuse } from './check.ts'
import { leftLanes, newDraft, placeNext, type PlacedEvent } from './draft.ts'
import type { LaneEnd, LogTip, Lookup } from './lookup.ts'
import type { Lane } from './path.ts'
import { recognise, versionConflict, versionOf } from './recognise.ts'
import type { StoredEvent } from './stored-event.ts'

/** What an append comes to; nothing is to be written when `added` is empty. */
export interface Placement {
  /** One for each fact given, in order: new, or as stored before. */
  readonly events: readonly StoredEvent[]
  /** The new ones, in order. */
  readonly added: readonly PlacedEvent[]
  /** New lanes, to be inserted. */
  readonly opened: readonly Lane[]
  /** Lanes that stood before, to be updated with their last entry. */
  readonly left: readonly LaneEnd[]
  /** The end of the log, with all that was added. */
  readonly tip: LogTip
}

/**
 * Decides an append as the contract of `Store.append` says it: ids, version, lease, parents, HEAD. The lookup must be of one
 * transaction, in which the result is then written. O(log n) for each fact; only HEAD sent to a state update costs a lookup for each
 * state update above it.
 *
 * @throws `invalid_event`, `transient_event`, `invalid_id`, `id_conflict`, `version_conflict`, `lease_lost`, `unknown_parent`, `unknown_event`,
 * `invalid_query` for options that are none.
 *
 * @example
 * const none = () => undefined
 * const tip = { version: 0, head: null, time: 0n, clock: 0n, lane: null }
 * const log = { conversationId: 'c', timeZone: null, tip, lease: null, find: none, laneEnd: none, at: none }
 * const { events, tip: after } = decideAppend(log, [{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * events[1].fact // { kind: 'PauseEvent', id: 'b', parent_id: 'a' }
 * after.head.id // 'b'
 */
export function decideAppend(lookup: Lookup, given: readonly Fact[], options: AppendOptions = {}): Placement {
  const { mode = 'live', expected = 'any' } = options
  const live = mode === 'live'
  if (!live && mode !== 'import') refuse('mode', 'must be live or import')
  if (expected !== 'any' && expected !== 'none' && !isVersion(expected)) {
    refuse('expected', 'must be any, none or a number of events')
  }
  for (const fact of given) checkFact(fact, live)
  const facts = given.map(ownFact)
  const known = recognise(lookup, facts, options)
  // Whoever repeats an append is not asked again whether it may be made.
  if (known.includes(null)) checkWriter(lookup, live ? expected : 'any', options)
  const draft = newDraft(lookup, live)
  const events: StoredEvent[] = []
  for (const [i, fact] of facts.entries()) {
    const twin = known[i] ?? null
    if (twin === null) events.push(placeNext(draft, fact))
    else events.push(typeof twin === 'number' ? (events[twin] as StoredEvent) : twin)
  }
  const { added, opened, tip } = draft
  return { events, added, opened: [...opened.values()], left: leftLanes(draft), tip }
}

/**
 * The ids that a decision about these facts may ask for: their own, their parents', and those that HEAD is sent to. For stores that
 * must fetch beforehand; from an entry found that is not real they fetch upwards to the next that is. O(facts).
 *
 * @example
 * [...askedIds([{ kind: 'PauseEvent', id: 'b', parent_id: 'a' }])] // ['b', 'a']
 */
export function askedIds(facts: readonly Fact[]): Set<string> {
  const asked = facts
    .filter(isFact)
    .flatMap((fact): unknown[] => [
      fact.id,
      fact.parent_id,
      !isQuarantined(fact) && fact.kind === 'ConversationStateUpdateEvent' ? fact.value : null,
    ])
  return new Set(asked.filter((id): id is string => typeof id === 'string' && isLegalId(id)))
}

const isVersion = (value: unknown): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Whether it is an event of a kind that there is, or a quarantined line, as whoever has no types may not know. O(1). */
export const isFact = (given: unknown): given is Fact =>
  isObject(given as JsonValue) && (isQuarantined(given as Fact) || isEventKind((given as Event).kind))

/** @throws `invalid_event` for what is none. */
export function checkIsFact(given: unknown): void {
  if (isFact(given)) return
  const message = 'What is appended must be an event of one of the 19 kinds, as decodeEvent gives it.'
  // Not what was given: it may hold secrets (law X3).
  const { kind } = Object(given) as { readonly kind?: unknown }
  throw new ColloquyError('invalid_event', message, typeof kind === 'string' ? { kind } : {})
}

function checkFact(fact: Fact, live: boolean): void {
  checkIsFact(fact)
  if (!isQuarantined(fact) && !KINDS[fact.kind].stored) {
    throw new ColloquyError(
      'transient_event',
      `${fact.kind} is for live readers only and is never stored; publish it instead.`,
      { kind: fact.kind },
    )
  }
  if (fact.id === undefined ? live : !isLegalId(fact.id)) {
    const rule = '1 to 200 characters of well-formed Unicode, without control characters, and not "__root__"'
    throw new ColloquyError('invalid_id', `An event to append needs an id of ${rule}.`, { id: fact.id })
  }
}

function checkWriter(lookup: Lookup, expected: ExpectedVersion, { lease }: AppendOptions): void {
  if (expected !== 'any' && versionOf(expected) !== lookup.tip.version) {
    throw versionConflict(lookup, versionOf(expected))
  }
  if (lease === undefined) return
  if (lookup.lease?.owner === lease.owner && lookup.lease.generation === lease.generation) return
  throw new ColloquyError(
    'lease_lost',
    'The run lease has passed to another owner, or was given back; stop this run.',
    { conversationId: lookup.conversationId, ...lease, latest: lookup.lease },
  )
}
