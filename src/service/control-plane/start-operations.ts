import { mapConcurrent } from '../../conversation/async.ts'
import { parseInstant } from '../../event/time.ts'
import type { Count } from '../../store/contract/query.ts'
import { decodeCursor, encodeCursor, scopeOf } from '../../store/kit/query/page.ts'
import { countReply, exact, COUNTED } from '../conversations/listing.ts'
import { streamOf } from '../http/app.ts'
import { batchGet } from '../http/batch-get.ts'
import { objectOf, listOf, operationsIn, type Operation, pageOfSchema } from '../http/operation.ts'
import { CURSOR_PAGING, type PageBody, pageInBytes } from '../http/paging.ts'
import { dateTime, oneOf, optional, text, type ValuesOf, withDefault } from '../http/parameters.ts'
import { originOf } from './app-conversation-operations.ts'
import { AT_ONCE } from './app-conversations.ts'
import type { ControlPlane } from './control-plane.ts'
import { startAppBody } from '../request-schema.ts'
import { publicTask, type StoredTask, TASK_STATUSES } from './start-tasks.ts'

const tag = 'Conversations'
const operation = operationsIn(tag)

const START_TASK = objectOf({
  id: 'string',
  created_by_user_id: 'string?',
  status: { type: 'string', enum: TASK_STATUSES },
  detail: 'string?',
  app_conversation_id: 'string?',
  sandbox_id: 'string?',
  agent_server_url: 'string?',
  request: 'object',
  created_at: 'date-time',
  updated_at: 'date-time',
})

const FILTERS = { conversation_id__eq: optional(text()), created_at__gte: optional(dateTime()) } as const

const REFUSED = { 409: 'The id is taken' }

export const startOperations = (plane: ControlPlane): Operation[] => [
  operation('post /api/v1/app-conversations', {
    name: 'start_app_conversation',
    body: startAppBody,
    returns: START_TASK,
    description: 'The background task that starts the conversation',
    otherwise: REFUSED,
    handle: async ({ body = {}, request }) => publicTask(await plane.tasks.create(body), originOf(request)),
  }),
  operation('post /api/v1/app-conversations/stream-start', {
    name: 'stream_app_conversation_start',
    body: startAppBody,
    returns: listOf(START_TASK),
    description: 'A list that is streamed: the task after each of its steps',
    otherwise: REFUSED,
    async handle({ body = {}, request }) {
      const steps = await plane.tasks.follow(body)
      return new Response(streamOf(jsonList(steps, originOf(request))), {
        headers: { 'content-type': 'application/json' },
      })
    },
  }),
  operation('get /api/v1/app-conversations/start-tasks/search', {
    name: 'search_app_conversation_start_tasks',
    query: {
      ...FILTERS,
      sort_order: withDefault(
        oneOf(['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']),
        'CREATED_AT_DESC',
      ),
      ...CURSOR_PAGING,
    },
    returns: pageOfSchema(START_TASK),
    async handle({ query: { sort_order, page_id, limit, ...filter }, request }) {
      const by = sort_order.startsWith('CREATED_AT') ? 'created_at' : 'updated_at'
      const order = { by, descending: sort_order.endsWith('_DESC') } as const
      const scope = scopeOf('start-tasks', sort_order, filter)
      const [inner = null] = page_id === null ? [] : decodeCursor(scope, page_id)
      const { items, next_page_id: next } = await findTasks(plane, filter, order, { cursor: inner, limit })
      const next_page_id = next === null ? null : encodeCursor(scope, [next])
      return { items: items.map((task) => publicTask(task, originOf(request))), next_page_id }
    },
  }),
  operation('get /api/v1/app-conversations/start-tasks/count', {
    name: 'count_app_conversation_start_tasks',
    query: { ...FILTERS, exact },
    ...COUNTED,
    handle: async ({ query: { exact, ...filter } }) => countReply(await countTasks(plane, filter, exact)),
  }),
  batchGet('get /api/v1/app-conversations/start-tasks', {
    name: 'batch_get_app_conversation_start_tasks',
    tag,
    what: 'start tasks',
    by: 'ids',
    schema: START_TASK,
    find: (ids, request) =>
      mapConcurrent(ids, AT_ONCE, async (id) => {
        const task = await plane.tasks.find(id)
        return task === null ? null : publicTask(task, originOf(request))
      }),
  }),
]

type StartFilter = ValuesOf<typeof FILTERS>

/**
 * Returns a page of matching tasks. O(limit), unless the page is filtered by creation time but sorted by
 * update time. Such a search checks a limited number of tasks, so its page may be short or empty and still
 * have a next page. Large tasks also shorten a page.
 */
async function findTasks(
  { tasks }: ControlPlane,
  { conversation_id__eq: id, created_at__gte: since }: StartFilter,
  { by, descending }: { readonly by: 'created_at' | 'updated_at'; readonly descending: boolean },
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Promise<PageBody<StoredTask>> {
  const from = since === null ? null : atLeast(since)
  const fits = (task: StoredTask): boolean => from === null || task.created_at >= from
  if (id !== null) {
    const task = await tasks.maker(id)
    return { items: task !== null && fits(task) ? [task] : [], next_page_id: null }
  }
  return pageInBytes<{ readonly record: StoredTask }, StoredTask>({
    cursor,
    limit,
    isCompared: false,
    read: (position, limit) =>
      tasks.records.list({
        by,
        descending,
        limit: limit,
        ...(by === 'created_at' && from !== null && { from }),
        ...(position !== null && { cursor: position }),
      }),
    show: async (some) => some.map(({ record }) => (fits(record) ? record : null)),
  })
}

async function countTasks(plane: ControlPlane, filter: StartFilter, exact: boolean): Promise<Count> {
  const { conversation_id__eq: id, created_at__gte: since } = filter
  const created = since === null ? {} : { by: 'created_at', from: atLeast(since) }
  if (id === null) return plane.tasks.records.count(created, { exact })
  const order = { by: 'created_at', descending: false } as const
  const { items } = await findTasks(plane, filter, order, { cursor: null, limit: 1 })
  return { count: items.length, more: false }
}

const atLeast = (instant: string): string => {
  const milliseconds = Number(((parseInstant(instant) ?? 0n) + 999n) / 1000n)
  // The ISO text of a year after 9999 begins with a sign, which sorts before digits.
  return new Date(Math.min(milliseconds, Date.UTC(9999, 11, 31))).toISOString()
}

/** Streams the states of a start task as a JSON list. A client that disconnects does not stop the task. */
async function* jsonList(tasks: AsyncIterable<StoredTask>, origin: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let begin = '['
  for await (const task of tasks) {
    yield encoder.encode(`${begin}${JSON.stringify(publicTask(task, origin))}`)
    begin = ','
  }
  yield encoder.encode(begin === '[' ? '[]' : ']')
}
