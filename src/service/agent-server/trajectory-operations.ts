/** A conversation as a zip, and several of its events at once, as an agent server gives them. */

import { find, type Lifecycle } from '../conversations/conversations.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { wholeInfoOf } from '../conversations/info.ts'
import { folderLayout, trajectory } from '../conversations/trajectory.ts'
import { getEvents } from '../events/pages.ts'
import { EVENT_OR_NULL } from '../events/parameters.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from '../http/ids.ts'
import { listOf } from '../http/json-schema.ts'
import { type Operation, operation } from '../http/operation.ts'
import { text, texts } from '../http/parameters.ts'

const params = { conversation_id: text() }

export const trajectoryOperations = (lifecycle: Lifecycle): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/api/file/download-trajectory/{conversation_id}',
      operationId: 'download_trajectory_api_file_download_trajectory__conversation_id__get',
      tag: 'Conversations',
      summary: 'Download Trajectory',
      params,
      replies: {
        200: { description: 'A zip of its folder', mediaType: 'application/zip', schema: { type: 'string' } },
        404: { description: 'Unknown conversation' },
        413: { description: 'Its log is too long for a zip' },
      },
    },
    async ({ path }) => {
      const { record, state } = await find(lifecycle, path.conversation_id)
      const { store } = lifecycle.engine
      return trajectory(store, record, await wholeInfoOf(store, record, state), folderLayout(record))
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/conversations/{conversation_id}/events',
      operationId: 'batch_get_conversation_events_api_conversations__conversation_id__events_get',
      tag: 'Events',
      summary: 'Batch Get Conversation Events',
      params,
      query: { id: texts() },
      replies: {
        200: { description: 'Successful Response', schema: listOf(EVENT_OR_NULL) },
        ...TOO_MANY_IDS,
        ...TOO_LARGE,
        404: { description: 'Unknown conversation' },
      },
    },
    async ({ path, query }) => {
      checkIds(query.id, 'events')
      const { store } = lifecycle.engine
      const { id } = await getConversationOr404(store, path.conversation_id)
      return { body: await getEvents(store, id, query.id) }
    },
  ),
]
