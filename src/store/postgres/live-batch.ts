/** Prepares a live append for the database, or says that it cannot be placed there. */

import { isLegalId, ROOT } from '../../event/ids.ts'
import { KINDS } from '../../event/kinds.ts'
import { isQuarantined, type Fact } from '../../event/quarantine.ts'
import { canKindBeHead } from '../../event/tree-rule.ts'
import type { Event } from '../../event/types.ts'
import type { AppendOptions } from '../contract/append.ts'
import { ownFact } from '../kit/append/body.ts'
import { isFact } from '../kit/append/check-fact.ts'
import { hasOwnZone, instantIn } from '../kit/query/time-zone.ts'
import { type FoundBy, foundBy } from './event-row.ts'

/** A fact of a batch. */
export interface Asked {
  readonly event: Event & { readonly id: string }
  /** The event as JSON. */
  readonly body: string
  /** What a search finds it by. */
  readonly found: FoundBy
  /** Read in UTC where it names no zone; null when there is none to read. */
  readonly time: bigint | null
  /** Whether the time depends on the conversation's zone. */
  readonly zoneless: boolean
  /** Whether it becomes HEAD. */
  readonly canBeHead: boolean
  /** Null for HEAD. */
  readonly parent: string | null
  /** Where it moves HEAD, an empty text for the empty HEAD; null when it does not. */
  readonly move: string | null
}

/** A batch whose ids are all there, legal and different. */
export interface LiveBatch {
  readonly asked: readonly Asked[]
  /** Parents and moves that must stand in the log: those that name nothing before them in the batch. */
  readonly refs: readonly string[]
}

/** The batch as the server is sent it; null when anything about it is unusual, or wrong. O(size). */
export function liveBatch(given: readonly Fact[], options: AppendOptions): LiveBatch | null {
  const { mode = 'live', expected = 'any', lease } = options
  if (mode !== 'live' || given.length === 0) return null
  if (expected !== 'any' && expected !== 'none' && !isCount(expected)) return null
  if (lease !== undefined && !(isLegalId(lease.owner) && isCount(lease.generation))) return null
  const asked: Asked[] = []
  for (const fact of given) {
    const one = ask(fact)
    if (one === null) return null
    asked.push(one)
  }
  const refs = asked.every(isPlain) ? [] : outerRefs(asked)
  const ids = given.length === 1 ? null : new Set(asked.map(({ event }) => event.id))
  return refs === null || (ids !== null && ids.size < given.length) ? null : { asked, refs }
}

/** Whether it goes on from HEAD and becomes HEAD. */
export const isPlain = ({ canBeHead, parent }: Asked): boolean => canBeHead && parent === null

/** What a batch names that is not before it in the batch; null when that cannot stand in the log either. */
function outerRefs(asked: readonly Asked[]): string[] | null {
  const before = new Set<string>()
  const refs = new Set<string>()
  for (const { event, parent, move } of asked) {
    if (parent !== null && parent !== ROOT && !before.has(parent)) refs.add(parent)
    if (move !== null && move !== '' && !before.has(move)) refs.add(move)
    before.add(event.id)
  }
  // What names a fact that comes later in the batch names nothing that stands.
  return [...refs].some((ref) => before.has(ref) || !isLegalId(ref)) ? null : [...refs]
}

function ask(given: Fact): Asked | null {
  // What is none is refused where everything is.
  if (!isFact(given) || isQuarantined(given) || !KINDS[given.kind].stored) return null
  if (given.id === undefined || !isLegalId(given.id)) return null
  const event = ownFact(given) as Event & { readonly id: string }
  const found = foundBy(event)
  if (found === null) return null
  const { timestamp } = event
  const asked = {
    event,
    found,
    body: JSON.stringify(event),
    time: (timestamp === undefined ? undefined : instantIn(timestamp, null)) ?? null,
    zoneless: timestamp !== undefined && !hasOwnZone(timestamp),
    canBeHead: canKindBeHead(event.kind),
    parent: event.parent_id ?? null,
    move: null,
  }
  if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'leaf_event_id') return asked
  if (event.value === null) return { ...asked, move: '' }
  return typeof event.value === 'string' && isLegalId(event.value) ? { ...asked, move: event.value } : null
}

/** A number of events or leases that a column can hold. */
const isCount = (value: number): boolean => Number.isInteger(value) && value >= 0 && value < 2 ** 31
