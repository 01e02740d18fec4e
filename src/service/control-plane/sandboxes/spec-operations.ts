/** The operations on sandbox specs, which are read-only. */

import { type Operation, operation } from '../../http/operation.ts'
import { batchGet } from '../../http/batch-get.ts'
import { decodeCursor, encodeCursor, refuseCursor, scopeOf } from '../../../store/kit/query/cursor.ts'
import { pageOf } from '../../../store/kit/query/page.ts'
import { PAGING } from '../paging.ts'
import type { ControlPlane } from '../control-plane.ts'
import { pageOfSchema, SPEC } from '../replies.ts'

const tag = 'Sandbox Specs'

const SCOPE = scopeOf('sandbox-specs', 'configured', {})

/** The place in the configuration at which a page begins. @throws ColloquyError `invalid_cursor`. */
function placeAfter(cursor: string): number {
  const [place = ''] = decodeCursor(SCOPE, cursor)
  return /^\d{1,9}$/.test(place) ? Number(place) : refuseCursor('altered')
}

export const specOperations = ({ sandboxes }: ControlPlane): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/api/v1/sandbox-specs/search',
      operationId: 'search_sandbox_specs_api_v1_sandbox_specs_search_get',
      tag,
      summary: 'Search Sandbox Specs',
      query: PAGING,
      replies: { 200: { description: 'In the order of their configuration', schema: pageOfSchema(SPEC) } },
    },
    async ({ query: { page_id, limit } }) => {
      const { specs } = sandboxes
      const start = page_id === null ? 0 : placeAfter(page_id)
      const found = specs.slice(start, start + limit + 1)
      return { body: pageOf(found, limit, () => encodeCursor(SCOPE, [String(start + limit)])) }
    },
  ),
  batchGet(
    {
      path: '/api/v1/sandbox-specs',
      operationId: 'batch_get_sandbox_specs_api_v1_sandbox_specs_get',
      tag,
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
