/** Moves HEAD: the log and its next entry go in, the entry that HEAD then means comes out (design D7, D8). */

import { anchorOf, type Entry, type Report } from './entry.ts'
import { findEntry, type Log } from './log.ts'
import { quote } from './place.ts'

/** HEAD after an entry: where it is, whether a move was asked for and done, or why it was ignored. */
export interface HeadMove {
  readonly head: Entry | null
  readonly moved: boolean
  readonly report: Report | null
}

/** HEAD once `entry` is appended: the entry itself, where a valid `leaf_event_id` update sends it, else unchanged. */
export function headAfter(log: Log, entry: Entry): HeadMove {
  if (entry.canBeHead) return { head: entry, moved: false, report: null }
  const stay = { head: log.head, moved: false, report: null }
  const event = entry.event
  if (!entry.stands || event?.kind !== 'ConversationStateUpdateEvent') return stay
  if (event.key !== 'leaf_event_id') return stay
  if (event.value === null) return { head: null, moved: true, report: null }
  const target = typeof event.value === 'string' ? findEntry(log, event.value) : undefined
  if (target !== undefined) return { head: anchorOf(target), moved: true, report: null }
  const asked = typeof event.value === 'string' ? quote(event.value) : 'a value that is no id'
  const message = `HEAD stays: ${asked} does not stand earlier in the log`
  return { ...stay, report: { seq: entry.seq, id: entry.id, code: 'head_ignored', message } }
}
