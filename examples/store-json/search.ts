/** Searches check each event of the conversation, which is simple but slow. */

import {
  type AppendContext,
  type CheckedEventFilter,
  fitsEvent,
  pathSegments,
  type StoredEvent,
} from 'colloquy/store-kit'
import type { StoredConversation } from './changes.ts'

/** The context in which the kit decides an append. */
export const contextOf = ({ record, tip, lease, events, nodes }: StoredConversation): AppendContext => ({
  conversationId: record.id,
  createdAt: record.createdAt,
  timeZone: record.timeZone,
  tip,
  lease,
  find: (id) => nodes.get(id),
  at: (seq) => events[seq] as StoredEvent,
})

/** The events that pass a filter, in log order; empty for an unknown conversation. O(events). */
export function eventsIn(stored: StoredConversation | undefined, filter: CheckedEventFilter): StoredEvent[] {
  if (stored === undefined) return []
  const { events, nodes, lanes } = stored
  const matches = events.filter((event) => fitsEvent(event, filter))
  if (filter.leafId === null) return matches
  const leaf = nodes.get(filter.leafId)
  if (leaf === undefined) return []
  const segments = pathSegments(leaf, (lane) => lanes.get(lane) ?? null)
  const upTo = new Map(segments.map((segment) => [segment.lane, segment.upTo]))
  return matches.filter(({ id, seq }) => seq <= (upTo.get(nodes.get(id ?? '')?.lane ?? -1) ?? -1))
}
