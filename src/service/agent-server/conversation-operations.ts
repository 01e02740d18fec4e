/** Conversations as records: create, get, search, count, update, delete and fork, as operations. */

import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { ConversationStateUpdateEvent } from '../../event/types.ts'
import { COUNTED, countReply, exact } from '../conversations/listing.ts'
import { STATUSES, type Status } from '../../state/status.ts'
import type { ConversationOrder } from '../../store/contract/conversation-record.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from '../http/ids.ts'
import { listOf, maybe } from '../http/json-schema.ts'
import { type Operation, operation } from '../http/operation.ts'
import { readByIds } from '../http/page-bytes.ts'
import {
  boolean,
  integer,
  oneOf,
  optional,
  type Parameter,
  text,
  texts,
  withDefault,
} from '../http/parameters.ts'
import { create, fork, type Inherit } from './create.ts'
import { INFO_SCHEMA, infoWithChildrenOf, SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { describe, find, type Lifecycle, open } from '../conversations/conversations.ts'
import { forkBody, startBody, updateBody } from './request-schema.ts'
import { count, describeIfThere, mapSequential, search } from './list.ts'

const topic = 'Conversations'

const one = { 200: { description: 'Successful Response', schema: INFO_SCHEMA } }
const done = { 200: { description: 'Successful Response', schema: SUCCESS_SCHEMA } }
const unknown = { 404: { description: 'Unknown conversation' } }
const byId = { conversation_id: text() }
const status = optional(oneOf(STATUSES as unknown as readonly [Status, ...Status[]]))

/** Given any number of times, `key:value`: conversations that have all of these tags. */
const tag: Parameter<Readonly<Record<string, string>>> = {
  schema: { type: 'array', items: { type: 'string', pattern: '^[a-z0-9]+:' }, default: [] },
  required: false,
  read(given) {
    const tags = new Map<string, string>()
    for (const text of given) {
      const [, key, value = ''] = /^([a-z0-9]+):([^]*)$/.exec(text) ?? []
      if (key === undefined)
        return { wrong: { type: 'string_pattern_mismatch', msg: 'Must be a key, a colon and a value' } }
      if ((tags.get(key) ?? value) !== value)
        return { wrong: { type: 'value_error', msg: `No conversation has two values of the tag ${key}` } }
      tags.set(key, value)
    }
    return { value: Object.fromEntries(tags) }
  },
}

/** Some clients ask that skills be left out: there are none in what they are sent. */
const include_skills = withDefault(boolean(), false)

const ORDERS: Readonly<Record<string, ConversationOrder>> = {
  CREATED_AT: 'created_at',
  CREATED_AT_DESC: 'created_at_desc',
  UPDATED_AT: 'updated_at',
  UPDATED_AT_DESC: 'updated_at_desc',
}

/** What is done with conversations for whatever is kept for them beside their own record. */
export interface Upkeep {
  /** Deletes one with all that is kept for it. @throws HttpProblem 404. */
  readonly delete: (id: string) => Promise<void>
  readonly inherit: Inherit
}

/**
 * The operations on conversations as records.
 *
 * @param upkeep of those that whichever face has made
 */
export const conversationOperations = (lifecycle: Lifecycle, upkeep: Upkeep): Operation[] => [
  operation(
    {
      method: 'post',
      path: '/api/conversations',
      operationId: 'start_conversation',
      tag: topic,
      summary: 'Start Conversation',
      body: startBody,
      replies: {
        ...one,
        201: { description: 'Created', schema: INFO_SCHEMA },
        429: { description: 'Too many runs' },
      },
    },
    async ({ body = {} }) => {
      const { isNew, conversation } = await create(lifecycle, body)
      return { status: isNew ? 201 : 200, body: await describe(lifecycle, conversation) }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/conversations/search',
      operationId: 'search_conversations',
      tag: topic,
      summary: 'Search Conversations',
      query: {
        status,
        tag,
        include_skills,
        sort_order: withDefault(
          oneOf(['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']),
          'CREATED_AT_DESC',
        ),
        page_id: optional(text()),
        limit: withDefault(integer({ least: 1, most: MAX_PAGE_SIZE }), MAX_PAGE_SIZE),
      },
      replies: {
        200: {
          description: 'Successful Response',
          schema: {
            type: 'object',
            required: ['items', 'next_page_id'],
            properties: {
              items: listOf(INFO_SCHEMA),
              next_page_id: maybe({ type: 'string' }),
            },
          },
        },
      },
    },
    async ({ query: { status, tag: tags, sort_order, page_id, limit } }) => {
      const order = ORDERS[sort_order] ?? 'created_at_desc'
      return { body: await search(lifecycle, { status, tags, order, cursor: page_id, limit }) }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/conversations/count',
      operationId: 'count_conversations',
      tag: topic,
      summary: 'Count Conversations',
      query: { status, tag, exact },
      replies: COUNTED,
    },
    async ({ query: { status, tag: tags, exact } }) =>
      countReply(await count(lifecycle, { status, tags }, exact)),
  ),
  operation(
    {
      method: 'get',
      path: '/api/conversations',
      operationId: 'batch_get_conversations',
      tag: topic,
      summary: 'Batch Get Conversations',
      query: { ids: texts() },
      replies: {
        200: {
          description: 'Successful Response',
          schema: listOf(maybe(INFO_SCHEMA)),
        },
        ...TOO_MANY_IDS,
        ...TOO_LARGE,
      },
    },
    async ({ query: { ids } }) => {
      checkIds(ids, 'conversations')
      return {
        body: await readByIds(ids, 'conversations', (some) =>
          mapSequential(some, (id) => describeIfThere(lifecycle, id)),
        ),
      }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/conversations/{conversation_id}',
      operationId: 'get_conversation',
      tag: topic,
      summary: 'Get Conversation',
      params: byId,
      replies: { ...one, ...unknown },
    },
    async ({ path }) => {
      const { record, state } = await find(lifecycle, path.conversation_id)
      return { body: await infoWithChildrenOf(lifecycle.engine.store, record, state) }
    },
  ),
  operation(
    {
      method: 'patch',
      path: '/api/conversations/{conversation_id}',
      operationId: 'update_conversation',
      tag: topic,
      summary: 'Update Conversation',
      params: byId,
      body: updateBody,
      replies: { ...done, ...unknown },
    },
    async ({ path, body }) => {
      const conversation = await open(lifecycle, path.conversation_id)
      const title = body.title ?? null
      const tags = body.tags ?? null
      const patch = { ...(title !== null && { title }), ...(tags !== null && { tags }) }
      await lifecycle.engine.store.updateConversation(conversation.id, patch)
      // Live readers learn of it as of every change: from the log.
      await conversation.append(Object.entries(patch).map(([key, value]) => update(key, value)))
      return { body: SUCCESS }
    },
  ),
  operation(
    {
      method: 'delete',
      path: '/api/conversations/{conversation_id}',
      operationId: 'delete_conversation',
      tag: topic,
      summary: 'Delete Conversation',
      params: byId,
      replies: { ...done, ...unknown },
    },
    async ({ path }) => {
      await upkeep.delete(path.conversation_id)
      return { body: SUCCESS }
    },
  ),
  operation(
    {
      method: 'post',
      path: '/api/conversations/{conversation_id}/fork',
      operationId: 'fork_conversation',
      tag: topic,
      summary: 'Fork Conversation',
      params: byId,
      body: forkBody,
      replies: {
        201: { description: 'Created', schema: INFO_SCHEMA },
        404: { description: 'Unknown conversation or event' },
        409: { description: 'The id is taken' },
      },
    },
    async ({ path, body = {} }) => {
      const source = await open(lifecycle, path.conversation_id)
      return {
        status: 201,
        body: await describe(lifecycle, await fork(lifecycle, source, body, upkeep.inherit)),
      }
    },
  ),
]

const update = (key: string, value: JsonValue): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key,
  value,
})
