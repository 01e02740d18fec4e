/** The operations on sandboxes. */

import { type Operation, operation } from '../../http/operation.ts'
import { optional, text } from '../../http/parameters.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../../conversations/info.ts'
import { batchGet } from '../../http/batch-get.ts'
import { PAGING } from '../paging.ts'
import type { ControlPlane } from '../control-plane.ts'
import { pageOfSchema, SANDBOX } from '../replies.ts'

const tag = 'Sandboxes'

const UNKNOWN = { 404: { description: 'Unknown sandbox' } }
const NONE = { 409: { description: 'The service was made without sandboxes' } }
const byId = { sandbox_id: text() }
const done = { 200: { description: 'Successful Response', schema: SUCCESS_SCHEMA }, ...UNKNOWN }

export const sandboxOperations = (plane: ControlPlane): Operation[] => [
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
      const { items, next_page_id } = await plane.sandboxes.list(page_id, limit)
      return {
        body: { items: await Promise.all(items.map((one) => plane.sandboxes.info(one))), next_page_id },
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
    (ids) => plane.sandboxes.infos(ids),
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
      const record = await plane.sandboxes.start(query.sandbox_spec_id)
      return { body: await plane.sandboxes.info(record) }
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
      await plane.sandboxes.pause(path.sandbox_id)
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
      await plane.sandboxes.resume(path.sandbox_id)
      plane.inBackground(plane.whenUp(path.sandbox_id))
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
      // Clients of the public service give the id twice.
      query: { sandbox_id: optional(text()) },
      replies: done,
    },
    async ({ path }) => {
      await plane.sandboxes.delete(path.sandbox_id)
      return { body: SUCCESS }
    },
  ),
]
