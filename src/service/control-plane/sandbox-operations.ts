import { CURSOR_PAGING } from '../http/paging.ts'
import { decodeCursor, encodeCursor, pageOf, refuseCursor, scopeOf } from '../../store/kit/query/page.ts'
import { batchGet } from '../http/batch-get.ts'
import { objectOf, maybe, listOf, operationsIn, type Operation, pageOfSchema } from '../http/operation.ts'
import { optional, text } from '../http/parameters.ts'
import type { ControlPlane } from './control-plane.ts'
import { SANDBOX_STATUSES } from './sandbox-provider.ts'

const tag = 'Sandboxes'
const operation = operationsIn(tag)

const SANDBOX = objectOf({
  id: 'string',
  created_by_user_id: 'string?',
  sandbox_spec_id: 'string',
  status: { type: 'string', enum: SANDBOX_STATUSES },
  status_detail: 'string?',
  session_api_key: 'string?',
  exposed_urls: maybe(listOf(objectOf({ name: 'string', url: 'string', port: 'integer' }))),
  created_at: 'date-time',
})

const SPEC = objectOf({
  id: 'string',
  command: maybe(listOf('string')),
  created_at: 'date-time',
  initial_env: { type: 'object', additionalProperties: { type: 'string' } },
  working_dir: 'string',
})

const UNKNOWN = { 404: 'Unknown sandbox' }
const WITHOUT_SANDBOXES = { 409: 'The service was made without sandboxes' }

export const sandboxOperations = ({ sandboxes, deliverWhenUp }: ControlPlane): Operation[] => [
  operation('get /api/v1/sandboxes/search', {
    name: 'search_sandboxes',
    query: CURSOR_PAGING,
    returns: pageOfSchema(SANDBOX),
    description: 'The newest first',
    async handle({ query: { page_id, limit } }) {
      const { items, cursor } = await sandboxes.list(page_id, limit)
      return { items: await Promise.all(items.map((one) => sandboxes.info(one))), next_page_id: cursor }
    },
  }),
  batchGet('get /api/v1/sandboxes', {
    name: 'batch_get_sandboxes',
    tag,
    what: 'sandboxes',
    by: 'id',
    schema: SANDBOX,
    async find(ids) {
      const records = await Promise.all(ids.map((id) => sandboxes.find(id)))
      return Promise.all(records.map((record) => record && sandboxes.info(record)))
    },
  }),
  operation('post /api/v1/sandboxes', {
    name: 'start_sandbox',
    query: { sandbox_spec_id: optional(text()) },
    returns: SANDBOX,
    otherwise: { 404: 'Unknown sandbox spec', ...WITHOUT_SANDBOXES },
    async handle({ query }) {
      return sandboxes.info(await sandboxes.start(query.sandbox_spec_id))
    },
  }),
  operation('post /api/v1/sandboxes/{sandbox_id}/pause', {
    name: 'pause_sandbox',
    otherwise: UNKNOWN,
    handle: ({ path }) => sandboxes.pause(path.sandbox_id),
  }),
  operation('post /api/v1/sandboxes/{sandbox_id}/resume', {
    name: 'resume_sandbox',
    otherwise: { ...UNKNOWN, ...WITHOUT_SANDBOXES },
    async handle({ path }) {
      await sandboxes.resume(path.sandbox_id)
      deliverWhenUp(path.sandbox_id)
    },
  }),
  operation('delete /api/v1/sandboxes/{sandbox_id}', {
    name: 'delete_sandbox',
    // Some clients also send the id in the query.
    query: { sandbox_id: optional(text()) },
    otherwise: UNKNOWN,
    handle: ({ path }) => sandboxes.delete(path.sandbox_id),
  }),
  operation('get /api/v1/sandbox-specs/search', {
    name: 'search_sandbox_specs',
    tag: SPECS_TAG,
    query: CURSOR_PAGING,
    returns: pageOfSchema(SPEC),
    description: 'In the order of their configuration',
    async handle({ query: { page_id, limit } }) {
      const { specs } = sandboxes
      const start = page_id === null ? 0 : indexAfter(page_id)
      const page = specs.slice(start, start + limit + 1)
      const { items, cursor } = pageOf(page, limit, () => encodeCursor(SCOPE, [String(start + limit)]))
      return { items, next_page_id: cursor }
    },
  }),
  batchGet('get /api/v1/sandbox-specs', {
    name: 'batch_get_sandbox_specs',
    tag: SPECS_TAG,
    what: 'sandbox specs',
    by: 'id',
    schema: SPEC,
    find: async (ids) => {
      const { specs } = sandboxes
      return ids.map((id) => specs.find((spec) => spec.id === id) ?? null)
    },
  }),
]

const SPECS_TAG = 'Sandbox Specs'

const SCOPE = scopeOf('sandbox-specs', 'configured', {})

function indexAfter(cursor: string): number {
  const [index = ''] = decodeCursor(SCOPE, cursor)
  return /^\d{1,9}$/.test(index) ? Number(index) : refuseCursor('altered')
}
