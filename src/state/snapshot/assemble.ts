/** Puts a state together from the parts of a snapshot. */

import type { Event } from '../../event/types.ts'
import { logOver } from '../../log/log.ts'
import type { Chunk } from '../../log/columnar/chunk.ts'
import { ColumnarLog } from '../../log/columnar/columnar-log.ts'
import { emptyBranch } from '../branch.ts'
import type { Checkpoint, State } from '../state.ts'
import { type Held, SnapshotEntry } from './entry.ts'
import { branchFrom, type StateRecord } from './record.ts'

/** Everything that a snapshot holds. */
export interface Contents {
  readonly conversationId: string
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  readonly chunks: readonly Chunk[]
}

/** The state. O(view + pending calls + length / 32), where results were dropped also O(path). */
export function stateOver({ conversationId, record, bodies, chunks }: Contents): State {
  const { header, head, headHeader } = record
  const held: Held = { bodies, head, headHeader, lastHeader: header, branch: emptyBranch() }
  const columns = new ColumnarLog(chunks, (columns, seq) => new SnapshotEntry(columns, seq, held))
  if (head >= 0) held.branch = branchFrom(record, columns)
  const top = head < 0 ? null : (columns.entry(head) as Checkpoint)
  return { conversationId, header, log: logOver<Checkpoint>(columns, top), branch: held.branch }
}
