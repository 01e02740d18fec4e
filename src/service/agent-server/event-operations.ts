/** Endpoints that read events, for callers with a key. Responses omit only encrypted content. */

import type { Store } from '../../store/contract/store.ts'
import { openConversation, type Lifecycle } from '../conversations/conversations.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { wholeInfoOf } from '../conversations/info.ts'
import { folderLayout, trajectory } from '../conversations/trajectory.ts'
import {
  AGENT_FILTERS,
  EVENT,
  EVENT_OR_NULL,
  EVENT_PAGE,
  type EventPageBody,
  type FilterValues,
  filterOf,
  FILTERS,
  getEvents,
  type PageValues,
  searchPage,
  BLOBS_QUERY,
  PAGING,
} from '../events/search.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from '../http/batch-get.ts'
import { listOf, operationsIn, type Operation } from '../http/operation.ts'
import { type Parameters, texts } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'

const operation = operationsIn('Events')

async function ownPage(store: Store, id: string, query: PageValues): Promise<EventPageBody> {
  // A page with events proves that the conversation exists. This search fails for a cursor with another form of the id.
  const page = await searchPage(store, filterOf(id, query), query).catch(() => null)
  if (page !== null && page.items.length > 0) return page
  const { id: storedId } = await getConversationOr404(store, id)
  return searchPage(store, filterOf(storedId, query), query)
}

const eventOperations = <F extends Parameters>(
  store: Store,
  base: 'v1/conversation' | 'conversations',
  noun: string,
  filters: F,
): Operation[] => [
  operation(`get /api/${base}/{conversation_id}/events/search`, {
    name: `search_${noun}`,
    query: { ...filters, ...PAGING, ...BLOBS_QUERY },
    returns: EVENT_PAGE,
    handle: ({ path, query }) => ownPage(store, path.conversation_id, query as object as PageValues),
  }),
  operation(`get /api/${base}/{conversation_id}/events/count`, {
    name: `count_${noun}`,
    query: filters,
    returns: 'integer',
    async handle({ path, query }) {
      const { id } = await getConversationOr404(store, path.conversation_id)
      return store.count(filterOf(id, query as object as FilterValues))
    },
  }),
  operation(`get /api/${base}/{conversation_id}/events`, {
    name: `batch_get_${noun}`,
    query: { id: texts() },
    returns: listOf(EVENT_OR_NULL),
    otherwise: { ...TOO_MANY_IDS, ...TOO_LARGE },
    async handle({ path, query }) {
      checkIds(query.id, 'events')
      const { id } = await getConversationOr404(store, path.conversation_id)
      return getEvents(store, id, query.id)
    },
  }),
]

export const ownEvents = (store: Store): Operation[] => [
  ...eventOperations(store, 'v1/conversation', 'events', FILTERS),
  ...eventOperations(store, 'conversations', 'conversation_events', AGENT_FILTERS),
  operation('get /api/conversations/{conversation_id}/events/{event_id}', {
    name: 'get_conversation_event',
    returns: EVENT,
    otherwise: { 404: 'Unknown conversation or event' },
    async handle({ path }) {
      const { id } = await getConversationOr404(store, path.conversation_id)
      const [event = null] = await getEvents(store, id, [path.event_id])
      if (event === null) throw new HttpProblem(404, `Event ${JSON.stringify(path.event_id)} was not found.`)
      return event
    },
  }),
]

export const trajectoryOperations = (lifecycle: Lifecycle): Operation[] => [
  operation('get /api/file/download-trajectory/{conversation_id}', {
    name: 'download_trajectory',
    tag: 'Conversations',
    returns: 'string',
    description: 'A zip of the folder of the conversation',
    mediaType: 'application/zip',
    otherwise: { 413: 'The log is too long for a zip' },
    async handle({ path }) {
      const { record, state } = await openConversation(lifecycle, path.conversation_id)
      const { store } = lifecycle.engine
      return trajectory(store, record, await wholeInfoOf(store, record, state), folderLayout(record))
    },
  }),
]
