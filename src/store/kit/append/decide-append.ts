/**
 * The rules of `append` that all adapters share: deduplication, expected version, lease, parents, HEAD. Pure, so that
 * it runs inside any transaction.
 */

import { ColloquyError } from '../../../event/errors.ts'
import { isLegalId } from '../../../event/ids.ts'
import { isObject } from '../../../event/json.ts'
import { isEventKind, KINDS } from '../../../event/kinds.ts'
import { isQuarantined, type Fact } from '../../../event/quarantine.ts'
import type { JsonValue } from '../../../event/shapes.ts'
import type { Event } from '../../../event/types.ts'
import type { AppendOptions, ExpectedVersion } from '../../contract/append.ts'
import { ownFact } from './body.ts'
import { invalidArgument } from '../query/check-value.ts'
import { leftLanes, newAppendDraft, placeNext, type PlacedEvent } from './place.ts'
import type { LaneEnd, LogTip, AppendContext } from './append-context.ts'
import type { Lane } from './lanes.ts'
import { deduplicate, versionConflict, versionOf } from './deduplicate.ts'
import type { StoredEvent } from '../../contract/stored-event.ts'

/** What an append comes to; nothing is to be written when `added` is empty. */
export interface AppendDecision {
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
 * Decides an append as the contract of `Store.append` says it: ids, version, lease, parents, HEAD. The context must be
 * of one transaction, in which the result is then written. O(log n) for each fact; only HEAD sent to a state update
 * costs a look-up for each state update above it.
 *
 * @throws `invalid_event`, `transient_event`, `invalid_id`, `id_conflict`, `version_conflict`, `lease_lost`,
 * `unknown_parent`, `unknown_event`, `invalid_argument` for options that are none.
 *
 * @example
 * const none = () => undefined
 * const tip = { version: 0, head: null, time: 0n, maxTime: 0n, lane: null }
 * const log = { conversationId: 'c', timeZone: null, tip, lease: null, find: none, laneEnd: none, at: none }
 * const { events, tip: after } = decideAppend(log, [{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * events[1].fact // { kind: 'PauseEvent', id: 'b', parent_id: 'a' }
 * after.head.id // 'b'
 */
export function decideAppend(
  context: AppendContext,
  given: readonly Fact[],
  options: AppendOptions = {},
): AppendDecision {
  const { mode = 'live', expected = 'any' } = options
  const live = mode === 'live'
  if (!live && mode !== 'import') invalidArgument('mode', 'must be live or import')
  if (expected !== 'any' && expected !== 'none' && !isVersion(expected)) {
    invalidArgument('expected', 'must be any, none or a number of events')
  }
  for (const fact of given) checkFact(fact, live)
  const facts = given.map(ownFact)
  const known = deduplicate(context, facts, options)
  // A repeated append is not checked again for whether it may be made.
  if (known.includes(null)) checkWriter(context, live ? expected : 'any', options)
  const draft = newAppendDraft(context, live)
  const events: StoredEvent[] = []
  for (const [i, fact] of facts.entries()) {
    const existing = known[i] ?? null
    if (existing === null) events.push(placeNext(draft, fact))
    else events.push(typeof existing === 'number' ? (events[existing] as StoredEvent) : existing)
  }
  const { added, opened, tip } = draft
  return { events, added, opened: [...opened.values()], left: leftLanes(draft), tip }
}

/**
 * The ids that a decision about these facts may ask for: their own, their parents', and those that HEAD is sent to. For
 * stores that must fetch beforehand; from an entry found that cannot be HEAD they fetch upwards to the next that can.
 * O(facts).
 *
 * @example
 * [...idsToLoad([{ kind: 'PauseEvent', id: 'b', parent_id: 'a' }])] // ['b', 'a']
 */
export function idsToLoad(facts: readonly Fact[]): Set<string> {
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

/**
 * Whether it is an event of a kind that there is, or a quarantined line, as a caller without types may not know. O(1).
 */
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

function checkWriter(context: AppendContext, expected: ExpectedVersion, { lease }: AppendOptions): void {
  if (expected !== 'any' && versionOf(expected) !== context.tip.version) {
    throw versionConflict(context, versionOf(expected))
  }
  if (lease === undefined) return
  if (context.lease?.owner === lease.owner && context.lease.generation === lease.generation) return
  throw new ColloquyError(
    'lease_lost',
    'The run lease has passed to another owner, or was given back; stop this run.',
    { conversationId: context.conversationId, ...lease, latest: context.lease },
  )
}
