import { trajectoryOperations } from './event-operations.ts'
import { mapConcurrent } from '../../conversation/async.ts'
import { updateEvent } from '../../conversation/decide.ts'
import { withoutNulls } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type Status, STATUSES } from '../../state/status.ts'
import type { ConversationOrder, ConversationRecord } from '../../store/contract/conversation-record.ts'
import { hasCode } from '../../event/errors.ts'
import { type Count, MAX_PAGE_SIZE, MAX_COUNTED } from '../../store/contract/query.ts'
import { TEXT_ROLES } from '../../store/contract/text.ts'
import { allConversations } from '../../store/kit/query/page.ts'
import type { Lifecycle } from '../conversations/conversations.ts'
import { describeConversation, ifDeleted, openConversation } from '../conversations/conversations.ts'
import { INFO_SCHEMA, infoOf, infoWithChildrenOf, isArchived } from '../conversations/info.ts'
import { countReply, exact, listPage, COUNTED } from '../conversations/listing.ts'
import { changeRecord, findConversation } from '../conversations/find-conversation.ts'
import { jsonResponse } from '../http/app.ts'
import { batchGet } from '../http/batch-get.ts'
import { listOf, objectOf, operationsIn, type Operation, pageOfSchema } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { CURSOR_PAGING, type PageBody, pageInBytes } from '../http/paging.ts'
import type { Parameter, ValuesOf } from '../http/parameters.ts'
import { boolean, dateTime, integer, oneOf, optional, text, withDefault } from '../http/parameters.ts'
import { type FindLlm, agentOperations } from './agent-operations.ts'
import { create, fork, type Inherit } from './create.ts'
import { forkBody, startBody, updateBody } from '../request-schema.ts'
import { onConversation, runOperations } from './run-operations.ts'

const topic = 'Conversations'
const operation = operationsIn(topic)

const status = optional(oneOf(STATUSES as unknown as readonly [Status, ...Status[]]))

const tag: Parameter<Readonly<Record<string, string>>> = {
  schema: { type: 'array', items: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_]*:' }, default: [] },
  omitted: { value: {} },
  read(values) {
    const tags = new Map<string, string>()
    for (const text of values) {
      const [, key, value = ''] = /^([A-Za-z0-9][A-Za-z0-9_]*):([^]*)$/.exec(text) ?? []
      if (key === undefined)
        return { wrong: { type: 'string_pattern_mismatch', msg: 'Must be a key, a colon and a value' } }
      if ((tags.get(key) ?? value) !== value)
        return { wrong: { type: 'value_error', msg: `No conversation has two values of the tag ${key}` } }
      tags.set(key, value)
    }
    return { value: Object.fromEntries(tags) }
  },
}

const owner = optional(text())

/** `true` selects only archived conversations, `false` only unarchived ones. Default: all. */
const archived = optional(boolean())

/** A parameter that some clients send. It is ignored, because responses never contain skills. */
const include_skills = withDefault(boolean(), false)

const order = oneOf(['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC'])
const description =
  'By UPDATED_AT, pages may repeat a conversation that changes while you page; by UPDATED_AT_DESC, they may miss it.'
const sortOrder = withDefault({ ...order, schema: { ...order.schema, description } }, 'CREATED_AT_DESC')

const FILTERS = { status, tag, owner, archived } as const
const SEARCH = { ...FILTERS, include_skills, sort_order: sortOrder, ...CURSOR_PAGING } as const

interface Upkeep {
  readonly delete: (id: string) => Promise<void>
  readonly inherit: Inherit
  /** Creates the folder of a new conversation. Resolves even if the folder cannot be created. */
  readonly prepare: (record: ConversationRecord) => Promise<void>
}

const TEXT_HIT = objectOf({
  conversation_id: 'string',
  event_id: 'string',
  position: 'integer',
  role: { type: 'string', enum: TEXT_ROLES },
  timestamp: 'date-time',
  snippet: 'string',
  ranges: listOf(listOf('integer')),
})

const searchText = ({ engine: { store } }: Lifecycle): Operation =>
  operation('get /api/conversations/search-text', {
    operationId: 'search_text',
    query: {
      query: text(),
      conversation_id: optional(text()),
      tag,
      owner,
      public: optional(boolean()),
      role: optional(oneOf(TEXT_ROLES)),
      timestamp__gte: optional(dateTime()),
      timestamp__lt: optional(dateTime()),
      include_results: withDefault(boolean(), false),
      sort_order: withDefault(oneOf(['TIMESTAMP_DESC', 'RANK']), 'TIMESTAMP_DESC'),
      page_id: optional(text()),
      limit: withDefault(integer({ min: 1, max: MAX_PAGE_SIZE }), 20),
    },
    returns: pageOfSchema(TEXT_HIT),
    otherwise: { 501: 'The store has no full-text index' },
    async handle({ query: { conversation_id: id, ...requested } }) {
      const conversation = id === null ? null : ((await findConversation(store, id))?.id ?? id)
      const { owner, public: isPublic, role, page_id: cursor } = requested
      const { timestamp__gte: from, timestamp__lt: to } = requested
      const { items, cursor: next_page_id } = await store
        .searchText({
          query: requested.query,
          order: requested.sort_order === 'RANK' ? 'rank' : 'time',
          tags: requested.tag,
          includeResults: requested.include_results,
          limit: requested.limit,
          ...withoutNulls({ conversation, owner, public: isPublic, role, from, to, cursor }),
        })
        .catch((error: unknown) => {
          const hasNoIndex = hasCode(error, 'invalid_query') && error.data['field'] === 'query'
          throw hasNoIndex
            ? new HttpProblem(
                501,
                'This service has no full-text index. Open its store with `fullText: true`, or pass `--full-text`.',
              )
            : error
        })
      return {
        items: items.map(({ conversationId, id, seq, ...hit }) => ({
          conversation_id: conversationId,
          event_id: id,
          position: seq,
          ...hit,
        })),
        next_page_id,
      }
    },
  })

const conversationOperations = (lifecycle: Lifecycle, upkeep: Upkeep): Operation[] => [
  operation('post /api/conversations', {
    operationId: 'start_conversation',
    body: startBody,
    returns: INFO_SCHEMA,
    otherwise: { 201: 'Created', 429: 'Too many runs' },
    async handle({ body = {} }) {
      const { isNew, conversation } = await create(lifecycle, body)
      if (isNew) await upkeep.prepare(await conversation.record())
      return jsonResponse(await describeConversation(lifecycle, conversation), isNew ? 201 : 200)
    },
  }),
  operation('get /api/conversations/search', {
    operationId: 'search_conversations',
    query: SEARCH,
    returns: pageOfSchema(INFO_SCHEMA),
    handle: ({ query }) => search(lifecycle, query),
  }),
  searchText(lifecycle),
  operation('get /api/conversations/count', {
    operationId: 'count_conversations',
    query: { ...FILTERS, exact },
    ...COUNTED,
    handle: async ({ query: { exact, ...filter } }) => countReply(await count(lifecycle, filter, exact)),
  }),
  batchGet('get /api/conversations', {
    operationId: 'batch_get_conversations',
    tag: topic,
    what: 'conversations',
    by: 'ids',
    schema: INFO_SCHEMA,
    find: (ids) => mapConcurrent(ids, 1, (id) => describeIfThere(lifecycle, id)),
  }),
  operation('get /api/conversations/{conversation_id}', {
    operationId: 'get_conversation',
    returns: INFO_SCHEMA,
    async handle({ path }) {
      const { record, state } = await openConversation(lifecycle, path.conversation_id)
      return infoWithChildrenOf(lifecycle.engine.store, record, state)
    },
  }),
  operation('patch /api/conversations/{conversation_id}', {
    operationId: 'update_conversation',
    body: updateBody,
    async handle({ path, body }) {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      const patch = withoutNulls({ title: body.title?.trim(), tags: body.tags })
      await lifecycle.engine.store.updateConversation(conversation.id, patch)
      // Live readers learn of the change from the log.
      await conversation.append(Object.entries(patch).map(([key, value]) => updateEvent(key, value)))
    },
  }),
  operation('delete /api/conversations/{conversation_id}', {
    operationId: 'delete_conversation',
    handle: ({ path }) => upkeep.delete(path.conversation_id),
  }),
  ...(['archive', 'unarchive'] as const).map((verb) =>
    onConversation(lifecycle, verb, {
      operationId: `${verb}_conversation`,
      returns: INFO_SCHEMA,
      async work({ conversation }) {
        await changeRecord(lifecycle.engine.store, conversation.id, ({ metadata }) => ({
          metadata: { ...metadata, archived: verb === 'archive' },
        }))
        return describeConversation(lifecycle, conversation)
      },
    }),
  ),
  operation('post /api/conversations/{conversation_id}/fork', {
    operationId: 'fork_conversation',
    body: forkBody,
    status: 201,
    returns: INFO_SCHEMA,
    otherwise: { 404: 'Unknown conversation or event', 409: 'The id is taken' },
    async handle({ path, body = {} }) {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      return describeConversation(lifecycle, await fork(lifecycle, conversation, body, upkeep.inherit))
    },
  }),
]

/**
 * Returns a page. Even a short or empty page may have a next page. The store filters by status if it has the status
 * of every conversation. Otherwise, this function opens a limited number of conversations to read their status.
 */
async function search(
  lifecycle: Lifecycle,
  { status, tag: tags, owner, archived, sort_order, page_id: cursor, limit }: ValuesOf<typeof SEARCH>,
): Promise<PageBody<JsonObject>> {
  const { store } = lifecycle.engine
  const isListed = status !== null && (await settle(lifecycle, MAX_PAGE_SIZE))
  const storeFilter = { tags, ...(owner !== null && { owner }), ...(isListed && { status }) }
  const order = sort_order.toLowerCase() as ConversationOrder
  const list = { list: 'agent-conversations', order, filter: { status, tags, owner, archived } }
  return pageInBytes({
    cursor,
    limit,
    isCompared: archived === null && (status === null || isListed),
    read: (position, limit) => listPage(store, storeFilter, { ...list, cursor: position, limit: limit }),
    show: async (records) => {
      const matching = records.filter((record) => archived === null || isArchived(record) === archived)
      const infos = await mapConcurrent(matching, 1, (record) => describeIfThere(lifecycle, record))
      return infos.map((info) => (status === null || info?.['execution_status'] === status ? info : null))
    },
  })
}

/** Counts conversations. An exact count by status first opens every conversation whose status is unknown. */
async function count(
  lifecycle: Lifecycle,
  { status, tag: tags, owner, archived }: ValuesOf<typeof FILTERS>,
  exact: boolean,
): Promise<Count> {
  const { store } = lifecycle.engine
  const filter = { tags, ...(owner !== null && { owner }), ...(status !== null && { status }) }
  const isListed =
    status === null || (await settle(lifecycle, exact ? Number.POSITIVE_INFINITY : MAX_PAGE_SIZE))
  if (archived !== null) {
    let total = 0
    let visited = 0
    for await (const record of allConversations(store, filter)) {
      if (visited === MAX_COUNTED && !exact) return { count: total, more: true }
      if (isArchived(record) === archived) total += 1
      visited += 1
    }
    return { count: total, more: !isListed }
  }
  const { count: total, more } = await store.countConversations(filter, { exact })
  return { count: total, more: more || !isListed }
}

/**
 * Opens up to `limit` conversations of unknown status, such as imported conversations. Opening one stores its
 * status. Returns whether every status is known now. In a read-only store, statuses stay unknown.
 */
async function settle(lifecycle: Lifecycle, limit: number): Promise<boolean> {
  const { store } = lifecycle.engine
  const unknown = { status: '', order: 'created_at' } as const
  let looked = 0
  for await (const record of allConversations(store, unknown)) {
    if (looked >= limit) return false
    await describeIfThere(lifecycle, record)
    looked += 1
  }
  return looked === 0 || (await store.listConversations({ ...unknown, limit: 1 })).items.length === 0
}

/** Describes a conversation; null if deleted. Describe one conversation at a time: many may not fit into memory. */
async function describeIfThere(
  lifecycle: Lifecycle,
  input: string | ConversationRecord,
): Promise<JsonObject | null> {
  const opened = await openConversation(lifecycle, input).catch(ifDeleted)
  return opened && infoOf(opened.record, opened.state)
}

export const lifecycleOperations = (lifecycle: Lifecycle, findLlm: FindLlm, upkeep: Upkeep): Operation[] => [
  ...agentOperations(lifecycle, findLlm),
  ...trajectoryOperations(lifecycle),
  ...conversationOperations(lifecycle, upkeep),
  ...runOperations(lifecycle),
]
