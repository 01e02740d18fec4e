/** Events of public conversations: search, count and get without a key (interface section 4.1). */

import type { RedactionRules } from '../../context/redaction/rules.ts'
import { redactStored } from '../../context/redaction/store.ts'
import { EVENT_KINDS, type EventKind, KINDS } from '../../event/kinds.ts'
import type { Event } from '../../event/types.ts'
import type { Store } from '../../store/contract/store.ts'
import { memoryStore } from '../../store/memory/store.ts'
import { findPublicConversation } from '../conversations/find-conversation.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from '../http/batch-get.ts'
import { listOf, operationsIn, type Operation } from '../http/operation.ts'
import { text, texts } from '../http/parameters.ts'
import { EVENT_OR_NULL, EVENT_PAGE, filterOf, FILTERS, getEvents, PAGING, searchPage } from './pages.ts'

const HIDDEN: readonly EventKind[] = EVENT_KINDS.filter((kind) => !KINDS[kind].searchable)

const operation = operationsIn('Sharing')

/** The id of a public conversation; null for any other. */
const sharedId = async (store: SharedReads, id: string): Promise<string | null> =>
  (await findPublicConversation(store, id))?.id ?? null

/** An empty store, in which queries of private conversations are checked. */
const NOTHING: SharedReads = memoryStore()

export const sharedEvents = (store: SharedReads): Operation[] => [
  operation(
    'get /api/shared-events/search',
    {
      name: 'search_shared_events',
      open: true,
      query: { conversation_id: text(), ...FILTERS, ...PAGING },
      replies: { 200: { schema: EVENT_PAGE } },
    },
    async ({ query }) => {
      const id = await sharedId(store, query.conversation_id)
      // An invalid query is the same error for every conversation.
      const reads = id === null ? NOTHING : store
      return { body: await searchPage(reads, filterOf(id ?? query.conversation_id, query, HIDDEN), query) }
    },
  ),
  operation(
    'get /api/shared-events/count',
    {
      name: 'count_shared_events',
      open: true,
      query: { conversation_id: text(), ...FILTERS },
      replies: { 200: { schema: { type: 'integer' } } },
    },
    async ({ query }) => {
      const id = await sharedId(store, query.conversation_id)
      const filter = filterOf(id ?? query.conversation_id, query, HIDDEN)
      return { body: await (id === null ? NOTHING : store).count(filter) }
    },
  ),
  operation(
    'get /api/shared-events',
    {
      name: 'batch_get_shared_events',
      open: true,
      query: { conversation_id: text(), id: texts() },
      replies: { 200: { schema: listOf(EVENT_OR_NULL) }, ...TOO_MANY_IDS, ...TOO_LARGE },
    },
    async ({ query: { conversation_id: conversationId, id: ids } }) => {
      checkIds(ids, 'events')
      const id = await sharedId(store, conversationId)
      const events = id === null ? ids.map(() => null) : await getEvents(store, id, ids)
      return { body: events.map(visible) }
    },
  ),
  operation(
    'get /api/shared-events/{conversation_id}/{event_id}',
    { name: 'get_shared_event', open: true, replies: { 200: { schema: EVENT_OR_NULL } } },
    async ({ path: { conversation_id: conversationId, event_id: eventId } }) => {
      const id = await sharedId(store, conversationId)
      const [event = null] = id === null ? [] : await getEvents(store, id, [eventId])
      return { body: visible(event) }
    },
  ),
]

const visible = (event: Event | null): Event | null =>
  event !== null && KINDS[event.kind].searchable ? event : null

type SharedReads = Pick<Store, 'getConversation' | 'search' | 'getMany' | 'count'>

/** The reads with redaction, whenever an event was written. O(size of the result). */
export const redactedReads = (store: SharedReads, rules: RedactionRules): SharedReads => ({
  getConversation: (id) => store.getConversation(id),
  count: (filter) => store.count(filter),
  search: async (query) => {
    const page = await store.search(query)
    return { ...page, items: page.items.map((event) => redactStored(event, rules)) }
  },
  getMany: async (id, ids) => {
    const events = await store.getMany(id, ids)
    return events.map((event) => (event === null ? null : redactStored(event, rules)))
  },
})
