/** The control plane's operations on conversations: list, search, count, update, delete. */

import type { JsonObject } from '../../../event/shapes.ts'
import type { Page } from '../../../store/contract/query.ts'
import { findConversation } from '../../conversations/find.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from '../../http/ids.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { pageInBytes, readByIds } from '../../http/page-bytes.ts'
import {
  boolean,
  dateTime,
  optional,
  text,
  texts,
  withDefault,
  type ValuesOf,
} from '../../http/parameters.ts'
import { COUNTED, countReply, exact } from '../../conversations/listing.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../../conversations/info.ts'
import { mapConcurrent } from '../../../conversation/async.ts'
import { AT_ONCE, describeApp, describeApps } from './describe.ts'
import { changeConversation } from './change.ts'
import { countConversations, searchConversations } from './list.ts'
import { PAGING } from '../paging.ts'
import type { ControlPlane } from '../control-plane.ts'
import { updateBody } from '../request-schema.ts'
import { APP_CONVERSATION, listOf, maybe, pageOfSchema } from '../replies.ts'

const tag = 'Conversations'

const FILTERS = {
  title__contains: optional(text()),
  created_at__gte: optional(dateTime()),
  created_at__lt: optional(dateTime()),
  updated_at__gte: optional(dateTime()),
  updated_at__lt: optional(dateTime()),
  sandbox_id__eq: optional(text()),
  include_sub_conversations: withDefault(boolean(), false),
} as const

const PAGE = pageOfSchema(APP_CONVERSATION)
const UNKNOWN = { 404: { description: 'Unknown conversation' } }
const byId = { conversation_id: text() }

export const conversationOperations = (plane: ControlPlane): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/api/v1/app-conversations/search',
      operationId: 'search_app_conversations_api_v1_app_conversations_search_get',
      tag,
      summary: 'Search App Conversations',
      query: { ...FILTERS, ...PAGING },
      replies: { 200: { description: 'The newest first', schema: PAGE } },
    },
    async ({ query, request }) => ({ body: await search(plane, query, request) }),
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/app-conversations/count',
      operationId: 'count_app_conversations_api_v1_app_conversations_count_get',
      tag,
      summary: 'Count App Conversations',
      query: { ...FILTERS, exact },
      replies: COUNTED,
    },
    async ({ query: { exact, ...filter } }) =>
      countReply(await countConversations(plane.store, filter, exact)),
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/app-conversations',
      operationId: 'list_app_conversations_api_v1_app_conversations_get',
      tag,
      summary: 'List App Conversations, Or Get Those With Ids',
      query: { ids: optional(texts()), ...FILTERS, ...PAGING },
      replies: {
        200: {
          description: 'A page as of a search; with ids those, in their order, null for each that is missing',
          schema: { anyOf: [PAGE, listOf(maybe(APP_CONVERSATION))] },
        },
        ...TOO_MANY_IDS,
        ...TOO_LARGE,
      },
    },
    async ({ query: { ids, ...query }, request }) => {
      if (ids === null) return { body: await search(plane, query, request) }
      checkIds(ids, 'conversations')
      const read = async (some: readonly string[]) => {
        const records = await mapConcurrent(some, AT_ONCE, (id) => findConversation(plane.store, id))
        return describeApps(plane, records, originOf(request))
      }
      return { body: await readByIds(ids, 'conversations', read) }
    },
  ),
  operation(
    {
      method: 'patch',
      path: '/api/v1/app-conversations/{conversation_id}',
      operationId: 'update_app_conversation_api_v1_app_conversations__conversation_id__patch',
      tag,
      summary: 'Update App Conversation',
      params: byId,
      body: updateBody,
      replies: { 200: { description: 'As it is now', schema: APP_CONVERSATION }, ...UNKNOWN },
    },
    async ({ path, body, request }) => {
      const record = await changeConversation(plane, path.conversation_id, body)
      return { body: await describeApp(plane, record, originOf(request)) }
    },
  ),
  operation(
    {
      method: 'delete',
      path: '/api/v1/app-conversations/{conversation_id}',
      operationId: 'delete_app_conversation_api_v1_app_conversations__conversation_id__delete',
      tag,
      summary: 'Delete App Conversation',
      params: byId,
      replies: { 200: { description: 'It is gone', schema: SUCCESS_SCHEMA }, ...UNKNOWN },
    },
    async ({ path }) => {
      await plane.deletions.delete(path.conversation_id)
      return { body: SUCCESS }
    },
  ),
]

/** Where the service was reached. */
export const originOf = ({ url }: Pick<Request, 'url'>): string => new URL(url).origin

/** A page may be short of those that were deleted while it was made, and where conversations are large. */
const search = (
  plane: ControlPlane,
  { page_id: cursor, limit, ...filter }: ValuesOf<typeof FILTERS & typeof PAGING>,
  request: Request,
): Promise<Page<JsonObject>> =>
  pageInBytes({
    cursor,
    limit,
    isCompared: true,
    read: (place, most) => searchConversations(plane.store, filter, { cursor: place, limit: most }),
    show: (records) => describeApps(plane, records, originOf(request)),
  })
