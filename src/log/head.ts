/** The rule of the tree over a log, which warns of what it cannot do: a log that is replayed is never refused. */

import { quote } from '../event/quote.ts'
import { type HeadStep, headAfterIn, type TreeAccess } from '../event/tree-rule.ts'
import type { Entry, LogWarning } from './entry.ts'
import { findEventIn, type Log } from './log.ts'

/** A log as a tree; its entries know already what is above them. */
export const LOG_TREE: TreeAccess<Log, Entry> = {
  head: (log) => log.head,
  find: findEventIn,
  above: (_, entry) => entry.above,
}

/**
 * HEAD once `entry` is appended: the entry itself, where a valid `leaf_event_id` update sends it, else unchanged. O(log
 * n).
 */
export function headAfter(log: Log, entry: Entry): HeadStep<Entry> {
  return headAfterIn(LOG_TREE, log, entry.inTree ? entry : null, entry.event)
}

/** The warning about a move to what is not earlier in the log. */
export function headIgnored({ seq, id, event }: Entry): LogWarning {
  const value = event?.kind === 'ConversationStateUpdateEvent' ? event.value : undefined
  const asked = typeof value === 'string' ? quote(value) : 'a value that is no id'
  return { seq, id, code: 'head_ignored', message: `HEAD stays: ${asked} does not stand earlier in the log` }
}
