/** The responses of the control plane's operations, as JSON Schemas for the document. */

import type { JsonObject } from '../../event/shapes.ts'
import { STATUSES } from '../../state/status.ts'
import { listOf, maybe, objectOf } from '../http/json-schema.ts'
import { SANDBOX_STATUSES } from './sandboxes/provider.ts'
import { TASK_STATUSES } from './starts/start-task.ts'

export { listOf, maybe, objectOf }

const text: JsonObject = { type: 'string' }
const instant: JsonObject = { type: 'string', format: 'date-time' }
const texts: JsonObject = { type: 'object', additionalProperties: text }

export const pageOfSchema = (items: JsonObject): JsonObject =>
  objectOf({ items: listOf(items), next_page_id: maybe(text) })

export const SANDBOX = objectOf({
  id: text,
  created_by_user_id: maybe(text),
  sandbox_spec_id: text,
  status: { type: 'string', enum: SANDBOX_STATUSES },
  status_detail: maybe(text),
  session_api_key: maybe(text),
  exposed_urls: maybe(listOf(objectOf({ name: text, url: text, port: { type: 'integer' } }))),
  created_at: instant,
})

export const SPEC = objectOf({
  id: text,
  command: maybe(listOf(text)),
  created_at: instant,
  initial_env: texts,
  working_dir: text,
})

export const APP_CONVERSATION = objectOf({
  id: text,
  created_by_user_id: maybe(text),
  sandbox_id: maybe(text),
  selected_repository: maybe(text),
  selected_branch: maybe(text),
  git_provider: maybe(text),
  title: maybe(text),
  trigger: maybe(text),
  pr_number: listOf({ type: 'integer' }),
  llm_model: maybe(text),
  agent_kind: text,
  metrics: maybe({ type: 'object' }),
  parent_conversation_id: maybe(text),
  sub_conversation_ids: listOf(text),
  public: { type: 'boolean' },
  tags: texts,
  created_at: instant,
  updated_at: instant,
  sandbox_status: { type: 'string', enum: SANDBOX_STATUSES },
  execution_status: maybe({ type: 'string', enum: STATUSES }),
  conversation_url: maybe(text),
  session_api_key: maybe(text),
  acp_server: maybe(text),
  launched_agent_profile: maybe({ type: 'object' }),
  observability_metadata: { type: 'object' },
  observability_tags: listOf(text),
  observability_span_name: maybe(text),
})

export const START_TASK = objectOf({
  id: text,
  created_by_user_id: maybe(text),
  status: { type: 'string', enum: TASK_STATUSES },
  detail: maybe(text),
  app_conversation_id: maybe(text),
  sandbox_id: maybe(text),
  agent_server_url: maybe(text),
  request: { type: 'object' },
  created_at: instant,
  updated_at: instant,
})
