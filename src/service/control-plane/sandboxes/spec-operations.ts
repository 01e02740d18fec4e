/** The operations on sandbox specs, which are read-only. */

import { type Operation, operation } from '../../http/operation.ts'
import { batchGet } from '../../http/batch-get.ts'
import { pageOf, PAGING } from '../page.ts'
import type { ControlPlane } from '../control-plane.ts'
import { pageOfSchema, SPEC } from '../replies.ts'

const tag = 'Sandbox Specs'

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
      const placed = sandboxes.specs.map((spec, at) => ({ spec, at: String(at).padStart(9, '0') }))
      const { items, next_page_id } = pageOf(placed, {
        keyOf: ({ at, spec }) => [at, spec.id],
        descending: false,
        list: 'sandbox-specs',
        order: 'configured',
        filter: {},
        cursor: page_id,
        limit,
      })
      return { body: { items: items.map(({ spec }) => spec), next_page_id } }
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
