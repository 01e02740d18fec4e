/** What clients see of a conversation, as JSON without secrets. */

import { openCallsOf } from '../../conversation/decide.ts'
import { isObject, textAt } from '../../event/json.ts'
import { maskSecrets } from '../../event/mask.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { activatedSkillsIn } from '../../state/branch.ts'
import type { State } from '../../state/state.ts'
import { STATUSES } from '../../state/status.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { maybe } from '../http/json-schema.ts'
import { startOf } from './starts.ts'
import { statsOf } from './stats.ts'
import { childIdsOf } from './walk.ts'

/** The policy of a conversation that was given none. */
const NEVER = { kind: 'NeverConfirm' } as const

/**
 * What clients read of a conversation. What it was started with stands beside what the service knows, secrets masked.
 * O(pending calls + skills).
 */
export function infoOf(record: ConversationRecord, state: State): JsonObject {
  const { header, branch, log } = state
  const { metadata } = record
  const { start } = startOf(metadata)
  const { workspace } = metadata
  return maskSecrets({
    stuck_detection: true,
    ...start,
    agent: start['agent'] ?? agentOf(start),
    id: record.id,
    title: record.title,
    tags: record.tags,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    execution_status: header.status,
    error: header.error === null ? null : { ...header.error },
    confirmation_policy: header.confirmationPolicy ?? NEVER,
    pending_action_ids: openCallsOf(state).map(({ id }) => id),
    leaf_event_id: log.head?.id ?? null,
    head_is_empty: log.head === null,
    event_count: log.entries.length,
    last_user_message_id: branch.lastUserMessage?.id ?? null,
    activated_knowledge_skills: [...activatedSkillsIn(branch)],
    parent_conversation_id: record.parentConversationId,
    forked_from_conversation_id: textAt(metadata, 'forked_from_conversation_id'),
    forked_from_event_id: textAt(metadata, 'forked_from_event_id'),
    workspace: { kind: 'LocalWorkspace', working_dir: 'workspace', ...(isObject(workspace) && workspace) },
    // Where it is kept, for clients that ask: a name, and no folder.
    persistence_dir: `conversations/${record.id}`,
    max_iterations: metadata['max_iterations'] ?? 500,
  } satisfies JsonObject)
}

/** The agent of a conversation that was started with no whole one: whatever the service runs. */
function agentOf({ agent_settings: settings }: JsonObject): JsonObject {
  const llm = isObject(settings) ? settings['llm'] : undefined
  return { kind: 'Agent', llm: { model: 'default', usage_id: 'agent', ...(isObject(llm) && llm) }, tools: [] }
}

/**
 * The same with what its models have cost, as the value of the `full_state` that a live reader is sent. O(events since
 * it was asked before).
 */
export async function wholeInfoOf(
  store: Store,
  record: ConversationRecord,
  state: State,
): Promise<JsonObject> {
  return { ...infoOf(record, state), ...(await statsOf(store, record, state)) }
}

/**
 * The same with its children: what a client reads of one conversation alone, and a webhook is sent. O(children), too.
 */
export async function infoWithChildrenOf(
  store: Store,
  record: ConversationRecord,
  state: State,
): Promise<JsonObject> {
  const sub_conversation_ids = await childIdsOf(store, record.id)
  return { ...(await wholeInfoOf(store, record, state)), sub_conversation_ids }
}

const text: JsonObject = { type: 'string' }
const instant: JsonObject = { type: 'string', format: 'date-time' }
const integer: JsonObject = { type: 'integer', minimum: 0 }

/** The same for the document. */
export const INFO_SCHEMA: JsonObject = {
  type: 'object',
  required: ['id', 'created_at', 'updated_at', 'execution_status', 'event_count'],
  properties: {
    id: text,
    title: maybe(text),
    tags: { type: 'object', additionalProperties: text },
    created_at: instant,
    updated_at: instant,
    execution_status: { type: 'string', enum: STATUSES },
    error: maybe({
      type: 'object',
      required: ['code', 'detail', 'event_id'],
      properties: { code: text, detail: text, event_id: text },
    }),
    confirmation_policy: { type: 'object' },
    pending_action_ids: { type: 'array', items: text },
    leaf_event_id: maybe(text),
    head_is_empty: { type: 'boolean' },
    event_count: integer,
    last_user_message_id: maybe(text),
    activated_knowledge_skills: { type: 'array', items: text },
    parent_conversation_id: maybe(text),
    forked_from_conversation_id: maybe(text),
    forked_from_event_id: maybe(text),
    workspace: { type: 'object' },
    persistence_dir: text,
    max_iterations: integer,
    agent: { type: 'object' },
    stats: { type: 'object' },
    metrics: { type: 'object' },
    sub_conversation_ids: { type: 'array', items: text },
  },
}

/** That something was done. */
export const SUCCESS = { success: true } as const

export const SUCCESS_SCHEMA: JsonObject = {
  type: 'object',
  required: ['success'],
  properties: { success: { type: 'boolean' } },
}
