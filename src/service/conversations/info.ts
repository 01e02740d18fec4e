/** What clients see of a conversation, as JSON without secrets. */

import { openCallsOf } from '../../conversation/decide.ts'
import { maskSecrets } from '../../event/mask.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { activatedSkillsIn } from '../../state/branch.ts'
import type { State } from '../../state/state.ts'
import { STATUSES } from '../../state/status.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { maybe } from '../http/json-schema.ts'

/**
 * What clients read of a conversation; also the value of the `full_state` that a live reader begins with. O(pending
 * calls + skills).
 */
export function infoOf(record: ConversationRecord, state: State): JsonObject {
  const { header, branch, log } = state
  const { metadata } = record
  return maskSecrets({
    id: record.id,
    title: record.title,
    tags: record.tags,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    execution_status: header.status,
    error: header.error === null ? null : { ...header.error },
    confirmation_policy: header.confirmationPolicy,
    pending_action_ids: openCallsOf(state).map(({ id }) => id),
    leaf_event_id: log.head?.id ?? null,
    head_is_empty: log.head === null,
    event_count: log.entries.length,
    last_user_message_id: branch.lastUserMessage?.id ?? null,
    activated_knowledge_skills: [...activatedSkillsIn(branch)],
    parent_conversation_id: record.parentConversationId,
    forked_from_conversation_id: textAt(metadata, 'forked_from_conversation_id'),
    forked_from_event_id: textAt(metadata, 'forked_from_event_id'),
    workspace: metadata['workspace'] ?? null,
    max_iterations: metadata['max_iterations'] ?? null,
  } satisfies JsonObject)
}

const textAt = (metadata: JsonObject, key: string): string | null => {
  const value: JsonValue | undefined = metadata[key]
  return typeof value === 'string' ? value : null
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
    confirmation_policy: maybe({ type: 'object' }),
    pending_action_ids: { type: 'array', items: text },
    leaf_event_id: maybe(text),
    head_is_empty: { type: 'boolean' },
    event_count: integer,
    last_user_message_id: maybe(text),
    activated_knowledge_skills: { type: 'array', items: text },
    parent_conversation_id: maybe(text),
    forked_from_conversation_id: maybe(text),
    forked_from_event_id: maybe(text),
    workspace: maybe({ type: 'object' }),
    max_iterations: maybe(integer),
  },
}

/** That something was done. */
export const SUCCESS = { success: true } as const

export const SUCCESS_SCHEMA: JsonObject = {
  type: 'object',
  required: ['success'],
  properties: { success: { type: 'boolean' } },
}
