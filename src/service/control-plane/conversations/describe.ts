/** Conversations as the control plane shows them, with sandbox, status and children. */

import type { JsonObject } from '../../../event/shapes.ts'
import type { ConversationRecord } from '../../../store/contract/conversation-record.ts'
import { shownId } from '../../conversations/find.ts'
import { childIdsOf } from '../../conversations/walk.ts'
import { HttpProblem } from '../../http/problem.ts'
import { isUnknown, type Lifecycle, find } from '../../conversations/conversations.ts'
import { mapConcurrent } from '../../../conversation/async.ts'
import { appOf } from './metadata.ts'
import { NO_STATE, type SandboxState } from '../sandboxes/provider.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'

/** What describing conversations takes. */
export interface ControlPlaneContext {
  readonly lifecycle: Lifecycle
  readonly sandboxes: Sandboxes
}

/**
 * How many are looked up, or looked at, together: a page is soon described, and its conversations do not take the
 * memory from those that are in use.
 */
export const AT_ONCE = 10

/** A conversation that was made without a sandbox runs in the service itself, which is there. */
const ITSELF: SandboxState = { ...NO_STATE, status: 'RUNNING' }

/** How the sandbox of a conversation stands. */
export async function sandboxOf(sandboxes: Sandboxes, record: ConversationRecord): Promise<SandboxState> {
  const { sandbox_id: id } = appOf(record)
  return id === null ? ITSELF : sandboxes.state(id)
}

/**
 * What clients read of conversations, in their order; null for each that is null, or deleted meanwhile. Each sandbox is
 * asked once, and a status costs a look at the log, which for one that is not in memory is O(events since its last
 * snapshot).
 *
 * @param origin where the service is reached
 */
export async function describeApps(
  { lifecycle, sandboxes }: ControlPlaneContext,
  records: readonly (ConversationRecord | null)[],
  origin: string,
): Promise<(JsonObject | null)[]> {
  const ids = records.flatMap((record) => (record === null ? [] : (appOf(record).sandbox_id ?? [])))
  const states = await sandboxes.states(ids)
  return mapConcurrent(records, AT_ONCE, async (record) => {
    if (record === null) return null
    const { sandbox_id: id } = appOf(record)
    const { status } = id === null ? ITSELF : (states.get(id) ?? NO_STATE)
    return describe(lifecycle, record, status, origin)
  })
}

/** The same of one. @throws HttpProblem 404 when it is deleted meanwhile. */
export async function describeApp(
  telling: ControlPlaneContext,
  record: ConversationRecord,
  origin: string,
): Promise<JsonObject> {
  const [told] = await describeApps(telling, [record], origin)
  if (told !== null && told !== undefined) return told
  throw new HttpProblem(404, `Conversation ${JSON.stringify(record.id)} is not known.`)
}

async function describe(
  lifecycle: Lifecycle,
  record: ConversationRecord,
  sandboxStatus: SandboxState['status'],
  origin: string,
): Promise<JsonObject | null> {
  const runs = sandboxStatus === 'RUNNING'
  const execution = runs ? await statusOf(lifecycle, record) : null
  if (execution === undefined) return null
  const { start_task_id: _task, pr_number, observability_tags, ...rest } = appOf(record)
  const id = shownId(record.id)
  return {
    ...rest,
    id,
    created_by_user_id: null,
    title: record.title,
    pr_number: [...pr_number],
    observability_tags: [...observability_tags],
    agent_kind: 'openhands',
    metrics: null,
    parent_conversation_id: record.parentConversationId && shownId(record.parentConversationId),
    sub_conversation_ids: (await childIdsOf(lifecycle.engine.store, record.id)).map(shownId),
    public: record.public,
    tags: record.tags,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    sandbox_status: sandboxStatus,
    execution_status: execution,
    conversation_url: runs ? `${origin}/api/conversations/${encodeURIComponent(id)}` : null,
    session_api_key: null,
    acp_server: record.tags['acpserver'] ?? null,
    launched_agent_profile: null,
  }
}

/** Undefined when there is no such conversation any more. */
async function statusOf(lifecycle: Lifecycle, record: ConversationRecord): Promise<string | undefined> {
  try {
    return (await find(lifecycle, record)).state.header.status
  } catch (error) {
    if (isUnknown(error)) return undefined
    throw error
  }
}
