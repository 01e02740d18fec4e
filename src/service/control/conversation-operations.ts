/** The control plane's operations on conversations: list, search, count, update, delete; what they work on goes in, the table comes out. */

import { hasCode } from '../../event/errors.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { findConversation } from '../conversation-id.ts'
import { type Operation, operation } from '../http/operation.ts'
import { boolean, dateTime, integer, optional, text, texts, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../lifecycle/info.ts'
import { appOf, describeApp, withApp } from './app-conversation.ts'
import { countConversations, searchConversations } from './conversations.ts'
import type { Plane } from './plane.ts'
import { updateBody } from './schema.ts'
import { APP_CONVERSATION, listOf, maybe, pageOfSchema } from './shapes.ts'

const tag = 'Conversations'

/** Most that are asked for at once. */
const MOST_IDS = 100

export const FILTERS = {
  title__contains: optional(text()),
  created_at__gte: optional(dateTime()),
  created_at__lt: optional(dateTime()),
  updated_at__gte: optional(dateTime()),
  updated_at__lt: optional(dateTime()),
  sandbox_id__eq: optional(text()),
  include_sub_conversations: withDefault(boolean(), false),
} as const

export const PAGING = {
  page_id: optional(text()),
  limit: withDefault(integer({ least: 1, most: 100 }), 100),
} as const

const PAGE = pageOfSchema(APP_CONVERSATION)
const UNKNOWN = { 404: { description: 'Unknown conversation' } }
const byId = { conversation_id: text() }

export const conversationOperations = (plane: Plane): Operation[] => [
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
      query: FILTERS,
      replies: { 200: { description: 'As many as a search finds', schema: { type: 'integer' } } },
    },
    async ({ query }) => ({ body: await countConversations(plane.store, query) }),
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
        400: { description: 'Too many ids' },
      },
    },
    async ({ query: { ids, ...query }, request }) => {
      if (ids === null) return { body: await search(plane, query, request) }
      if (ids.length > MOST_IDS) {
        throw new HttpProblem(
          400,
          `Cannot get more than ${MOST_IDS} conversations at once, got ${ids.length}.`,
        )
      }
      const found: (JsonObject | null)[] = []
      for (const id of ids) {
        const record = await findConversation(plane.store, id)
        found.push(record === null ? null : await describeApp(plane, record, originOf(request)))
      }
      return { body: found }
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
      const record = await theApp(plane, path.conversation_id)
      const updated = await update(plane, record, body)
      const told = await describeApp(plane, updated, originOf(request))
      if (told === null) throw unknownApp(path.conversation_id)
      return { body: told }
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
      const record = await theApp(plane, path.conversation_id)
      if (!(await plane.lifecycle.engine.delete(record.id))) throw unknownApp(path.conversation_id)
      await plane.tasks.forget(record.id)
      await plane.pending.forget(record.id)
      plane.inBackground(dropSandbox(plane, record))
      return { body: SUCCESS }
    },
  ),
]

/** Where the service was reached. */
export const originOf = ({ url }: Pick<Request, 'url'>): string => new URL(url).origin

const unknownApp = (id: string): HttpProblem =>
  new HttpProblem(404, `Conversation ${JSON.stringify(id)} is not known.`)

export async function theApp({ store }: Plane, id: string): Promise<ConversationRecord> {
  const record = await findConversation(store, id)
  if (record !== null) return record
  throw unknownApp(id)
}

async function search(
  plane: Plane,
  {
    page_id: cursor,
    limit,
    ...filter
  }: Parameters<typeof countConversations>[1] & {
    readonly page_id: string | null
    readonly limit: number
  },
  request: Request,
): Promise<JsonObject> {
  const { items, next_page_id } = await searchConversations(plane.store, filter, { cursor, limit })
  const told: JsonObject[] = []
  for (const record of items) {
    const one = await describeApp(plane, record, originOf(request))
    if (one !== null) told.push(one)
  }
  return { items: told, next_page_id }
}

/** Null takes the title or the repository away, and means nothing for the sharing flag; what is left out stays. */
async function update(
  { store, lifecycle }: Plane,
  record: ConversationRecord,
  { title, public: open, ...given }: NonNullable<BodyOf<typeof updateBody>>,
): Promise<ConversationRecord> {
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const patch = {
    ...(title !== undefined && { title }),
    ...(open !== undefined && open !== null && { public: open }),
    ...(Object.keys(own).length > 0 && { metadata: withApp(record, own) }),
  }
  const updated = await store.updateConversation(record.id, patch).catch((error: unknown) => {
    if (hasCode(error, 'unknown_conversation')) throw unknownApp(record.id)
    throw error
  })
  // Live readers learn of it as of every change: from the log.
  const told: Readonly<Record<string, JsonValue | undefined>> = { title: patch.title, public: patch.public }
  const conversation = await lifecycle.engine.open(record.id)
  await conversation.append(
    Object.entries(told).flatMap(([key, value]) =>
      value === undefined
        ? []
        : [{ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value } as const],
    ),
  )
  return updated
}

type BodyOf<S> = S extends { readonly read: (value: unknown) => infer R }
  ? Extract<R, { readonly value: unknown }>['value']
  : never

/** A sandbox in which no other conversation lives goes with its last one. */
async function dropSandbox({ store, sandboxes, tasks }: Plane, record: ConversationRecord): Promise<void> {
  const { sandbox_id: id } = appOf(record)
  if (id === null || (await sandboxes.find(id)) === null) return
  const filter = { title__contains: null, created_at__gte: null, created_at__lt: null, updated_at__gte: null }
  const rest = { updated_at__lt: null, sandbox_id__eq: id, include_sub_conversations: true }
  const { items } = await searchConversations(store, { ...filter, ...rest }, { cursor: null, limit: 1 })
  const starting = (await tasks.all()).some(
    ({ sandbox_id, status }) => sandbox_id === id && status !== 'READY' && status !== 'ERROR',
  )
  if (items.length === 0 && !starting) await sandboxes.delete(id)
}
