/** The operations that start conversations, and show how that goes. */

import { type Operation, operation } from '../../http/operation.ts'
import { dateTime, oneOf, optional, text, withDefault } from '../../http/parameters.ts'
import { parseInstant } from '../../../event/time.ts'
import { formsOf } from '../../conversations/find.ts'
import { batchGet } from '../../http/batch-get.ts'
import { originOf } from '../conversations/operations.ts'
import { pageOf, PAGING } from '../page.ts'
import type { ControlPlane } from '../control-plane.ts'
import { startBody } from '../request-schema.ts'
import { listOf, pageOfSchema, START_TASK } from '../replies.ts'
import { type KeptTask, shown } from './start-task.ts'
import { findIn } from './start-tasks.ts'

const tag = 'Conversations'

const FILTERS = { conversation_id__eq: optional(text()), created_at__gte: optional(dateTime()) } as const

const REFUSED = { 409: { description: 'The id is taken' } }

export const startOperations = (plane: ControlPlane): Operation[] => [
  operation(
    {
      method: 'post',
      path: '/api/v1/app-conversations',
      operationId: 'start_app_conversation_api_v1_app_conversations_post',
      tag,
      summary: 'Start App Conversation',
      body: startBody,
      replies: {
        200: { description: 'The task that starts it, in the background', schema: START_TASK },
        ...REFUSED,
      },
    },
    async ({ body = {}, request }) => ({ body: await plane.tasks.create(body, originOf(request)) }),
  ),
  operation(
    {
      method: 'post',
      path: '/api/v1/app-conversations/stream-start',
      operationId: 'stream_app_conversation_start_api_v1_app_conversations_stream_start_post',
      tag,
      summary: 'Stream App Conversation Start',
      body: startBody,
      replies: {
        200: {
          description: 'The task after each step, as they are done, in one list',
          schema: listOf(START_TASK),
        },
        ...REFUSED,
      },
    },
    async ({ body = {}, request }) => {
      const steps = await plane.tasks.follow(body, originOf(request))
      return new Response(jsonStream(steps), { headers: { 'content-type': 'application/json' } })
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/app-conversations/start-tasks/search',
      operationId: 'search_app_conversation_start_tasks_api_v1_app_conversations_start_tasks_search_get',
      tag,
      summary: 'Search App Conversation Start Tasks',
      query: {
        ...FILTERS,
        sort_order: withDefault(
          oneOf(['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']),
          'CREATED_AT_DESC',
        ),
        ...PAGING,
      },
      replies: { 200: { description: 'Successful Response', schema: pageOfSchema(START_TASK) } },
    },
    async ({ query: { sort_order, page_id, limit, ...filter } }) => {
      const by = sort_order.startsWith('CREATED_AT') ? 'created_at' : 'updated_at'
      const { items, next_page_id } = pageOf(await find(plane, filter), {
        keyOf: (task) => [task[by], task.id],
        descending: sort_order.endsWith('_DESC'),
        list: 'start-tasks',
        order: sort_order,
        filter,
        cursor: page_id,
        limit,
      })
      return { body: { items: items.map(shown), next_page_id } }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/app-conversations/start-tasks/count',
      operationId: 'count_app_conversation_start_tasks_api_v1_app_conversations_start_tasks_count_get',
      tag,
      summary: 'Count App Conversation Start Tasks',
      query: FILTERS,
      replies: { 200: { description: 'As many as a search finds', schema: { type: 'integer' } } },
    },
    async ({ query }) => ({ body: (await find(plane, query)).length }),
  ),
  batchGet(
    {
      path: '/api/v1/app-conversations/start-tasks',
      operationId: 'batch_get_app_conversation_start_tasks_api_v1_app_conversations_start_tasks_get',
      tag,
      summary: 'Batch Get App Conversation Start Tasks',
      what: 'start tasks',
      by: 'ids',
      schema: START_TASK,
    },
    async (ids) => {
      const tasks = await plane.tasks.all()
      return ids.map((id) => {
        const task = findIn(tasks, id)
        return task === null ? null : shown(task)
      })
    },
  ),
]

/** The tasks that a filter lets through, the oldest first. O(tasks). */
async function find(
  { tasks }: ControlPlane,
  {
    conversation_id__eq: id,
    created_at__gte: since,
  }: { conversation_id__eq: string | null; created_at__gte: string | null },
): Promise<KeptTask[]> {
  const forms = id === null ? null : formsOf(id)
  const from = since === null ? undefined : parseInstant(since)
  return [...(await tasks.all()).values()].filter(
    (task) =>
      (forms === null || (task.app_conversation_id !== null && forms.includes(task.app_conversation_id))) &&
      (from === undefined || (parseInstant(task.created_at) ?? 0n) >= from),
  )
}

/** A list in JSON, each item as soon as it is there. A client that stops reading stops nothing but that. */
function jsonStream(items: AsyncGenerator<unknown, void, undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let begin = '['
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await items.next()
      if (done === true) {
        controller.enqueue(encoder.encode(begin === '[' ? '[]' : ']'))
        controller.close()
        return
      }
      controller.enqueue(encoder.encode(`${begin}${JSON.stringify(value)}`))
      begin = ','
    },
    cancel() {
      // It comes back when the task has made its next step.
      void items.return()
    },
  })
}
