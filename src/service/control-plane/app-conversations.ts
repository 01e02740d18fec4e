import { mapConcurrent, type RunInOrder } from '../../conversation/async.ts'
import { updateEvent } from '../../conversation/decide.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { STATUSES } from '../../state/status.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { ifDeleted, type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { changeRecord, getConversationOr404, shownId } from '../conversations/find-conversation.ts'
import { childIdsOf } from '../conversations/listing.ts'
import { listOf, maybe, objectOf } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { appOf, withApp } from './app-metadata.ts'
import type { AppUpdate } from '../request-schema.ts'
import { SANDBOX_STATUSES, NO_STATE, type SandboxState } from './sandbox-provider.ts'
import type { Sandboxes } from './sandboxes.ts'

export interface ControlPlaneContext {
  readonly lifecycle: Lifecycle
  readonly sandboxes: Sandboxes
}

const SHARED: JsonObject = {
  id: 'string',
  created_by_user_id: 'string?',
  selected_repository: 'string?',
  selected_branch: 'string?',
  git_provider: 'string?',
  title: 'string?',
  pr_number: listOf('integer'),
  llm_model: 'string?',
  metrics: 'object?',
  parent_conversation_id: 'string?',
  sub_conversation_ids: listOf('string'),
}

export const SHARED_CONVERSATION = objectOf({
  ...SHARED,
  sandbox_id: 'string',
  created_at: 'string',
  updated_at: 'string',
})

export const APP_CONVERSATION = objectOf({
  ...SHARED,
  sandbox_id: 'string?',
  trigger: 'string?',
  agent_kind: 'string',
  public: 'boolean',
  tags: { type: 'object', additionalProperties: { type: 'string' } },
  created_at: 'date-time',
  updated_at: 'date-time',
  sandbox_status: { type: 'string', enum: SANDBOX_STATUSES },
  execution_status: maybe({ type: 'string', enum: STATUSES }),
  conversation_url: 'string?',
  session_api_key: 'string?',
  acp_server: 'string?',
  launched_agent_profile: 'object?',
  observability_metadata: 'object',
  observability_tags: listOf('string'),
  observability_span_name: 'string?',
})

/** Maximum number of conversations opened at once. Opening more could evict other conversations from memory. */
export const AT_ONCE = 10

const ITSELF: SandboxState = { ...NO_STATE, status: 'RUNNING' }

export async function sandboxOf(sandboxes: Sandboxes, record: ConversationRecord): Promise<SandboxState> {
  const { sandbox_id: id } = appOf(record)
  return id === null ? ITSELF : sandboxes.state(id)
}

/** Describes conversations; null for a missing or deleted conversation. Queries each sandbox once. */
export async function describeApps(
  { lifecycle, sandboxes }: ControlPlaneContext,
  records: readonly (ConversationRecord | null)[],
  origin: string,
): Promise<(JsonObject | null)[]> {
  const ids = records.flatMap((record) => (record === null ? [] : (appOf(record).sandbox_id ?? [])))
  const states = await sandboxes.states(ids)
  return mapConcurrent(records, AT_ONCE, async (record) => {
    if (record === null) return null
    const { start_task_id: _task, ...rest } = appOf(record)
    const { sandbox_id: sandboxId } = rest
    const { status } = sandboxId === null ? ITSELF : (states.get(sandboxId) ?? NO_STATE)
    const runs = status === 'RUNNING'
    const opened = runs ? await openConversation(lifecycle, record).catch(ifDeleted) : null
    if (runs && opened === null) return null
    const id = shownId(record.id)
    return {
      ...rest,
      id,
      created_by_user_id: null,
      title: record.title,
      agent_kind: 'openhands',
      metrics: null,
      parent_conversation_id: record.parentConversationId && shownId(record.parentConversationId),
      sub_conversation_ids: (await childIdsOf(lifecycle.engine.store, record.id)).map(shownId),
      public: record.public,
      tags: record.tags,
      created_at: record.createdAt,
      updated_at: record.updatedAt,
      sandbox_status: status,
      execution_status: opened?.state.header.status ?? null,
      conversation_url: runs ? `${origin}/api/conversations/${encodeURIComponent(id)}` : null,
      session_api_key: null,
      acp_server: record.tags['acpserver'] ?? null,
      launched_agent_profile: null,
    }
  })
}

export async function describeApp(
  context: ControlPlaneContext,
  record: ConversationRecord,
  origin: string,
): Promise<JsonObject> {
  const [info] = await describeApps(context, [record], origin)
  if (info !== null && info !== undefined) return info
  throw new HttpProblem(404, `Conversation ${JSON.stringify(record.id)} was not found.`)
}

/** Changes a conversation. Null clears a field, but leaves `public` unchanged. */
export function changeConversation(
  { lifecycle, inTurn }: Pick<ControlPlaneContext, 'lifecycle'> & { readonly inTurn: RunInOrder },
  id: string,
  { title, public: isPublic, ...rest }: AppUpdate,
): Promise<ConversationRecord> {
  const appFields = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const recordFields: Readonly<Record<string, JsonValue>> = {
    ...(title !== undefined && { title }),
    ...(isPublic !== undefined && isPublic !== null && { public: isPublic }),
  }
  const { store } = lifecycle.engine
  return inTurn(async () => {
    if (Object.keys({ ...recordFields, ...appFields }).length === 0) return getConversationOr404(store, id)
    const updated = await changeRecord(store, id, (record) => ({
      ...recordFields,
      ...(Object.keys(appFields).length > 0 && { metadata: withApp(record, appFields) }),
    }))
    if (Object.keys(recordFields).length === 0) return updated
    // Live readers learn of the change from the log.
    const conversation = await lifecycle.engine.open(updated)
    await conversation.append(Object.entries(recordFields).map(([key, value]) => updateEvent(key, value)))
    return updated
  })
}
