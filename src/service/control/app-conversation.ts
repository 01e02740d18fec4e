/** The record of a conversation goes in, what the control plane tells of it comes out; what the control plane keeps with it is written here too. */

import { hasCode } from '../../event/errors.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { isReserved } from '../conversation-id.ts'
import { type Lifecycle, open } from '../lifecycle/lifecycle.ts'
import { HttpProblem } from '../http/problem.ts'
import type { SandboxState } from './sandbox.ts'
import type { Sandboxes } from './sandboxes.ts'

/** Where it stands in a conversation's metadata. */
export const APP = 'app'

/** What the control plane keeps of a conversation, beside what every conversation has. */
export interface AppMetadata {
  readonly sandbox_id: string | null
  readonly selected_repository: string | null
  readonly selected_branch: string | null
  readonly git_provider: string | null
  readonly llm_model: string | null
  readonly trigger: string | null
  readonly pr_number: readonly number[]
  readonly observability_metadata: JsonObject
  readonly observability_tags: readonly string[]
  readonly observability_span_name: string | null
  /** The task that made it. */
  readonly start_task_id: string | null
}

const NONE: AppMetadata = {
  sandbox_id: null,
  selected_repository: null,
  selected_branch: null,
  git_provider: null,
  llm_model: null,
  trigger: null,
  pr_number: [],
  observability_metadata: {},
  observability_tags: [],
  observability_span_name: null,
  start_task_id: null,
}

/** What was kept of a conversation; nothing of one that the control plane did not make. */
export function appOf({ metadata }: Pick<ConversationRecord, 'metadata'>): AppMetadata {
  const kept: JsonValue | undefined = metadata[APP]
  return typeof kept === 'object' && kept !== null && !Array.isArray(kept)
    ? { ...NONE, ...(kept as Partial<AppMetadata>) }
    : NONE
}

/** The same with some fields changed, to be kept. */
export const withApp = (
  { metadata }: Pick<ConversationRecord, 'metadata'>,
  app: Partial<AppMetadata>,
): JsonObject => ({
  ...metadata,
  [APP]: { ...appOf({ metadata }), ...app } as object as JsonObject,
})

/** What telling of conversations takes. */
export interface Telling {
  readonly lifecycle: Lifecycle
  readonly sandboxes: Sandboxes
}

/** A conversation that was made without a sandbox runs in the service itself, which is there. */
const ITSELF = 'RUNNING'

/** Where the sandbox of a conversation stands. */
export async function sandboxOf(
  sandboxes: Sandboxes,
  record: ConversationRecord,
): Promise<SandboxState['status']> {
  const { sandbox_id: id } = appOf(record)
  return id === null ? ITSELF : (await sandboxes.state(id)).status
}

/** What is told of a conversation; null when it is deleted meanwhile. `origin` is where the service is reached. O(state + children). */
export async function describeApp(
  { lifecycle, sandboxes }: Telling,
  record: ConversationRecord,
  origin: string,
): Promise<JsonObject | null> {
  const app = appOf(record)
  const status = await sandboxOf(sandboxes, record)
  const runs = status === 'RUNNING'
  const execution = runs ? await statusOf(lifecycle, record.id) : null
  if (execution === undefined) return null
  const { start_task_id: _task, sandbox_id, pr_number, observability_tags, ...rest } = app
  return {
    ...rest,
    id: record.id,
    created_by_user_id: null,
    sandbox_id,
    title: record.title,
    pr_number: [...pr_number],
    observability_tags: [...observability_tags],
    agent_kind: 'openhands',
    metrics: null,
    parent_conversation_id: record.parentConversationId,
    sub_conversation_ids: await childrenOf(lifecycle, record.id),
    public: record.public,
    tags: record.tags,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    sandbox_status: status,
    execution_status: execution,
    conversation_url: runs ? `${origin}/api/conversations/${encodeURIComponent(record.id)}` : null,
    session_api_key: null,
    acp_server: record.tags['acpserver'] ?? null,
    launched_agent_profile: null,
  }
}

/** Undefined when there is no such conversation any more. */
async function statusOf(lifecycle: Lifecycle, id: string): Promise<string | undefined> {
  try {
    const conversation = await open(lifecycle, id)
    return (await conversation.state()).header.status
  } catch (error) {
    if (hasCode(error, 'unknown_conversation') || (error instanceof HttpProblem && error.status === 404)) {
      return undefined
    }
    throw error
  }
}

async function childrenOf({ engine }: Lifecycle, id: string): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const page = await engine.store.listConversations({
      parentConversationId: id,
      order: 'created_at',
      ...(cursor !== null && { cursor }),
    })
    ids.push(...page.items.map((child) => child.id).filter((child) => !isReserved(child)))
    cursor = page.next_page_id
  } while (cursor !== null)
  return ids
}
