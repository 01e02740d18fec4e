import { isObject, withoutNulls } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Sandboxes } from './sandboxes.ts'

const APP = 'app'

const NO_METADATA = {
  sandbox_id: null as string | null,
  selected_repository: null as string | null,
  selected_branch: null as string | null,
  git_provider: null as string | null,
  llm_model: null as string | null,
  trigger: null as string | null,
  pr_number: [] as readonly number[],
  observability_metadata: {} as JsonObject,
  observability_tags: [] as readonly string[],
  observability_span_name: null as string | null,
  start_task_id: null as string | null,
}

export type AppMetadata = Readonly<typeof NO_METADATA>

export function appOf({ metadata }: Pick<ConversationRecord, 'metadata'>): AppMetadata {
  const stored = metadata[APP]
  return isObject(stored) ? { ...NO_METADATA, ...(stored as Partial<AppMetadata>) } : NO_METADATA
}

/** Returns the metadata in a start request. A field that is null or missing has the value of the parent, or none. */
export const appFieldsIn = (request: JsonObject): Partial<AppMetadata> =>
  withoutNulls(Object.fromEntries(Object.keys(NO_METADATA).map((name) => [name, request[name]])))

/**
 * Distinguishes a conversation from a later conversation with the same id. Returns the id of its start task, if
 * any, because messages can be queued before the conversation exists; otherwise, its creation time.
 */
export const incarnationOf = (record: ConversationRecord): string =>
  appOf(record).start_task_id ?? record.createdAt

export const withApp = (
  { metadata }: Pick<ConversationRecord, 'metadata'>,
  app: Partial<AppMetadata>,
): JsonObject => ({ ...metadata, [APP]: { ...appOf({ metadata }), ...app } as object as JsonObject })

/** Returns a fork's metadata and sandbox. If the original's sandbox was deleted, the fork runs in the service. */
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
