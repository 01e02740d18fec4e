import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Sandboxes } from './sandboxes.ts'

const APP = 'app'

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
  readonly start_task_id: string | null
}

const NO_METADATA: AppMetadata = {
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

export function appOf({ metadata }: Pick<ConversationRecord, 'metadata'>): AppMetadata {
  const stored = metadata[APP]
  return isObject(stored) ? { ...NO_METADATA, ...(stored as Partial<AppMetadata>) } : NO_METADATA
}

/**
 * Returns an id that distinguishes a conversation from a later one with the same id. It is the id of the
 * start task, if any, because messages can be queued before the conversation is created.
 */
export const incarnationOf = (record: ConversationRecord): string =>
  appOf(record).start_task_id ?? record.createdAt

export const withApp = (
  { metadata }: Pick<ConversationRecord, 'metadata'>,
  app: Partial<AppMetadata>,
): JsonObject => ({
  ...metadata,
  [APP]: { ...appOf({ metadata }), ...app } as object as JsonObject,
})

/** If the original's sandbox was deleted, the fork runs in the service itself. */
export async function inheritedOf(
  sandboxes: Pick<Sandboxes, 'find'>,
  source: ConversationRecord,
): Promise<{ readonly metadata: JsonObject; readonly sandboxId: string | null }> {
  if (source.metadata[APP] === undefined) return { metadata: {}, sandboxId: null }
  const { sandbox_id: id, ...rest } = appOf(source)
  const sandboxId = id !== null && (await sandboxes.find(id)) !== null ? id : null
  const app = { ...rest, sandbox_id: sandboxId, start_task_id: null }
  return { metadata: withApp({ metadata: {} }, app), sandboxId }
}
