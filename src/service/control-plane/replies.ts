/** The responses of the control plane's operations, as JSON Schemas for the OpenAPI document. */

import type { JsonObject } from '../../event/shapes.ts'
import { STATUSES } from '../../state/status.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { listOf, maybe, objectOf, string, instant, bool, int } from '../http/operation.ts'
import { integer, optional, text, withDefault } from '../http/parameters.ts'
import { SANDBOX_STATUSES } from './sandbox-provider.ts'
import { TASK_STATUSES } from './start-tasks.ts'

const texts: JsonObject = { type: 'object', additionalProperties: string }

export const SANDBOX = objectOf({
  id: string,
  created_by_user_id: maybe(string),
  sandbox_spec_id: string,
  status: { type: 'string', enum: SANDBOX_STATUSES },
  status_detail: maybe(string),
  session_api_key: maybe(string),
  exposed_urls: maybe(listOf(objectOf({ name: string, url: string, port: int }))),
  created_at: instant,
})

export const SPEC = objectOf({
  id: string,
  command: maybe(listOf(string)),
  created_at: instant,
  initial_env: texts,
  working_dir: string,
})

const SHARED: JsonObject = {
  id: string,
  created_by_user_id: maybe(string),
  selected_repository: maybe(string),
  selected_branch: maybe(string),
  git_provider: maybe(string),
  title: maybe(string),
  pr_number: listOf(int),
  llm_model: maybe(string),
  metrics: maybe({ type: 'object' }),
  parent_conversation_id: maybe(string),
  sub_conversation_ids: listOf(string),
}

export const SHARED_CONVERSATION = objectOf({
  ...SHARED,
  sandbox_id: string,
  created_at: string,
  updated_at: string,
})

export const APP_CONVERSATION = objectOf({
  ...SHARED,
  sandbox_id: maybe(string),
  trigger: maybe(string),
  agent_kind: string,
  public: bool,
  tags: texts,
  created_at: instant,
  updated_at: instant,
  sandbox_status: { type: 'string', enum: SANDBOX_STATUSES },
  execution_status: maybe({ type: 'string', enum: STATUSES }),
  conversation_url: maybe(string),
  session_api_key: maybe(string),
  acp_server: maybe(string),
  launched_agent_profile: maybe({ type: 'object' }),
  observability_metadata: { type: 'object' },
  observability_tags: listOf(string),
  observability_span_name: maybe(string),
})

export const START_TASK = objectOf({
  id: string,
  created_by_user_id: maybe(string),
  status: { type: 'string', enum: TASK_STATUSES },
  detail: maybe(string),
  app_conversation_id: maybe(string),
  sandbox_id: maybe(string),
  agent_server_url: maybe(string),
  request: { type: 'object' },
  created_at: instant,
  updated_at: instant,
})

export const CURSOR_PAGING = {
  page_id: optional(text()),
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_SIZE }), MAX_PAGE_SIZE),
} as const
