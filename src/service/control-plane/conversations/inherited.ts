/** What a fork has of its source in the control plane: it works on the same, in the same sandbox. */

import type { JsonObject } from '../../../event/shapes.ts'
import type { ConversationRecord } from '../../../store/contract/conversation-record.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { APP, appOf, withApp } from './metadata.ts'

/** A sandbox that was deleted is none to live in: such a fork runs in the service itself. */
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
