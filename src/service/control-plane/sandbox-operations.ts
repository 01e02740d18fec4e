import { decodeCursor, encodeCursor, pageOf, refuseCursor, scopeOf } from '../../store/kit/query/page.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { batchGet } from '../http/batch-get.ts'
import { operation, type Operation, pageOfSchema } from '../http/operation.ts'
import { optional, text } from '../http/parameters.ts'
import type { ControlPlane } from './control-plane.ts'
import { PAGING, SANDBOX, SPEC } from './replies.ts'

const tag = 'Sandboxes'

const UNKNOWN = { 404: { description: 'Unknown sandbox' } }
const NONE = { 409: { description: 'The service was made without sandboxes' } }
const byId = { sandbox_id: text() }
const done = { 200: { description: 'Successful Response', schema: SUCCESS_SCHEMA }, ...UNKNOWN }

export const sandboxOperations = ({ sandboxes, inBackground, whenUp }: ControlPlane): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/api/v1/sandboxes/search',
      operationId: 'search_sandboxes_api_v1_sandboxes_search_get',
      tag,
      summary: 'Search Sandboxes',
      query: PAGING,
      replies: { 200: { description: 'The newest first', schema: pageOfSchema(SANDBOX) } },
    },
    async ({ query: { page_id, limit } }) => {
      const { items, next_page_id } = await sandboxes.list(page_id, limit)
      return {
        body: { items: await Promise.all(items.map((one) => sandboxes.info(one))), next_page_id },
      }
    },
  ),
  batchGet(
    {
      path: '/api/v1/sandboxes',
      operationId: 'batch_get_sandboxes_api_v1_sandboxes_get',
      tag,
      summary: 'Batch Get Sandboxes',
      what: 'sandboxes',
      by: 'id',
      schema: SANDBOX,
    },
    (ids) => sandboxes.infos(ids),
  ),
  operation(
    {
      method: 'post',
      path: '/api/v1/sandboxes',
      operationId: 'start_sandbox_api_v1_sandboxes_post',
      tag,
      summary: 'Start Sandbox',
      query: { sandbox_spec_id: optional(text()) },
      replies: {
        200: { description: 'Begun', schema: SANDBOX },
        404: { description: 'Unknown sandbox spec' },
        ...NONE,
      },
    },
    async ({ query }) => {
      const record = await sandboxes.start(query.sandbox_spec_id)
      return { body: await sandboxes.info(record) }
    },
  ),
  operation(
    {
      method: 'post',
      path: '/api/v1/sandboxes/{sandbox_id}/pause',
      operationId: 'pause_sandbox_api_v1_sandboxes__sandbox_id__pause_post',
      tag,
      summary: 'Pause Sandbox',
      params: byId,
      replies: done,
    },
    async ({ path }) => {
      await sandboxes.pause(path.sandbox_id)
      return { body: SUCCESS }
    },
  ),
  operation(
    {
      method: 'post',
      path: '/api/v1/sandboxes/{sandbox_id}/resume',
      operationId: 'resume_sandbox_api_v1_sandboxes__sandbox_id__resume_post',
      tag,
      summary: 'Resume Sandbox',
      params: byId,
      replies: { ...done, ...NONE },
    },
    async ({ path }) => {
      await sandboxes.resume(path.sandbox_id)
      inBackground(whenUp(path.sandbox_id))
      return { body: SUCCESS }
    },
  ),
  operation(
    {
      method: 'delete',
      path: '/api/v1/sandboxes/{sandbox_id}',
      operationId: 'delete_sandbox_api_v1_sandboxes__sandbox_id__delete',
      tag,
      summary: 'Delete Sandbox',
      params: byId,
      // Clients of the public service send the id twice.
      query: { sandbox_id: optional(text()) },
      replies: done,
    },
    async ({ path }) => {
      await sandboxes.delete(path.sandbox_id)
      return { body: SUCCESS }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/sandbox-specs/search',
      operationId: 'search_sandbox_specs_api_v1_sandbox_specs_search_get',
      tag: SPECS_TAG,
      summary: 'Search Sandbox Specs',
      query: PAGING,
      replies: { 200: { description: 'In the order of their configuration', schema: pageOfSchema(SPEC) } },
    },
    async ({ query: { page_id, limit } }) => {
      const { specs } = sandboxes
      const start = page_id === null ? 0 : indexAfter(page_id)
      const page = specs.slice(start, start + limit + 1)
      return { body: pageOf(page, limit, () => encodeCursor(SCOPE, [String(start + limit)])) }
    },
  ),
  batchGet(
    {
      path: '/api/v1/sandbox-specs',
      operationId: 'batch_get_sandbox_specs_api_v1_sandbox_specs_get',
      tag: SPECS_TAG,
      summary: 'Batch Get Sandbox Specs',
      what: 'sandbox specs',
      by: 'id',
      schema: SPEC,
    },
    async (ids) => {
      const { specs } = sandboxes
      return ids.map((id) => specs.find((spec) => spec.id === id) ?? null)
    },
  ),
]

const SPECS_TAG = 'Sandbox Specs'

const SCOPE = scopeOf('sandbox-specs', 'configured', {})

/**
 * The index in the configuration at which a page begins.
 * @throws ColloquyError `invalid_cursor`.
 */
function indexAfter(cursor: string): number {
  const [index = ''] = decodeCursor(SCOPE, cursor)
  return /^\d{1,9}$/.test(index) ? Number(index) : refuseCursor('altered')
}
