/**
 * The rules of `append` that all adapters share: deduplication, expected version, lease, parents, HEAD. Pure, so that
 * it runs inside any transaction.
 */

import { ColloquyError } from '../../../event/errors.ts'
import { isLegalId } from '../../../event/ids.ts'
import { isQuarantined, type Fact } from '../../../event/quarantine.ts'
import type { AppendOptions, ExpectedVersion } from '../../contract/append.ts'
import { checkedFact, isFact } from './check-fact.ts'
import { invalidArgument } from '../query/check-value.ts'
import { newAppendDraft, placeNext, type PlacedEvent } from './place.ts'
import type { LogTip, AppendContext } from './append-context.ts'
import type { Lane } from './lanes.ts'
import { deduplicate, versionConflict, versionOf } from './deduplicate.ts'
import type { StoredEvent } from '../../contract/stored-event.ts'

export { checkIsFact, isFact } from './check-fact.ts'

/** What an append comes to; nothing is to be written when `added` is empty. */
export interface AppendDecision {
  /** One for each fact given, in order: new, or as stored before. */
  readonly events: readonly StoredEvent[]
  /** The new ones, in order. */
  readonly added: readonly PlacedEvent[]
  /** New lanes, to be inserted. */
  readonly opened: readonly Lane[]
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
 * const tip = { version: 0, head: null, time: 0n, inOrder: true, lane: null }
 * const log = { conversationId: 'c', createdAt: '', timeZone: null, tip, lease: null, find: none, at: none }
 * const { events, tip: after } = decideAppend(log, [{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * events[1].fact // { kind: 'PauseEvent', id: 'b', parent_id: 'a' }
 * after.head.id // 'b'
 */
export function decideAppend(
  context: AppendContext,
  given: readonly Fact[],
  options: AppendOptions = {},
): AppendDecision {
  const { mode = 'live', expected = 'any', createdAt } = options
  const live = mode === 'live'
  if (!live && mode !== 'import') invalidArgument('mode', 'must be live or import')
  if (expected !== 'any' && expected !== 'none' && !isVersion(expected)) {
    invalidArgument('expected', 'must be any, none or a number of events')
  }
  if (createdAt !== undefined && createdAt !== context.createdAt)
    throw versionConflict(context, versionOf(expected))
  const facts = given.map((fact) => checkedFact(fact, live))
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
  return { events, added, opened, tip }
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
