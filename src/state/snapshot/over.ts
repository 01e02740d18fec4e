/** Puts a state together: chunks of the skeleton, a record and bodies go in, the state comes out. */

import type { Event } from '../../event/types.ts'
import { logOver } from '../../log/log.ts'
import type { Chunk } from '../../log/skeleton/chunk.ts'
import { Skeleton } from '../../log/skeleton/skeleton.ts'
import { emptyBranch } from '../branch.ts'
import type { Moment, State } from '../state.ts'
import { type Held, SnapshotMoment } from './moment.ts'
import { branchFrom, type StateRecord } from './record.ts'

/** Everything that a snapshot holds. */
export interface Contents {
  readonly conversationId: string
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  readonly chunks: readonly Chunk[]
}

/** The state. O(view + open calls + length / 32), where answers were dropped also O(path). */
export function stateOver({ conversationId, record, bodies, chunks }: Contents): State {
  const { header, head, headHeader } = record
  const held: Held = { bodies, head, headHeader, lastHeader: header, branch: emptyBranch() }
  const skeleton = new Skeleton(chunks, (skeleton, seq) => new SnapshotMoment(skeleton, seq, held))
  if (head >= 0) held.branch = branchFrom(record, skeleton)
  const top = head < 0 ? null : (skeleton.entry(head) as Moment)
  return { conversationId, header, log: logOver<Moment>(skeleton, top), branch: held.branch }
}
