/** The control plane and a conversation's id go in; the conversation is changed, or deleted with all that was kept for it. */

import type { JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { theConversation } from '../conversation-id.ts'
import { appOf, withApp } from './app-metadata.ts'
import type { Plane } from './plane.ts'
import type { AppUpdate } from './schema.ts'

/**
 * Null takes the title or the repository away, and means nothing for the sharing flag; what is left out stays. Gives the record after it.
 * @throws HttpProblem 404; ColloquyError `unknown_conversation` when it is deleted meanwhile.
 */
export function changeConversation(
  { store, lifecycle, inTurn }: Plane,
  given: string,
  { title, public: open, ...rest }: AppUpdate,
): Promise<ConversationRecord> {
  const own = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const told: Readonly<Record<string, JsonValue>> = {
    ...(title !== undefined && { title }),
    ...(open !== undefined && open !== null && { public: open }),
  }
  return inTurn(async () => {
    const record = await theConversation(store, given)
    const patch = { ...told, ...(Object.keys(own).length > 0 && { metadata: withApp(record, own) }) }
    if (Object.keys(patch).length === 0) return record
    const updated = await store.updateConversation(record.id, patch)
    if (Object.keys(told).length === 0) return updated
    // Live readers learn of it as of every change: from the log.
    const conversation = await lifecycle.engine.open(record.id)
    await conversation.append(
      Object.entries(told).map(
        ([key, value]) =>
          ({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value }) as const,
      ),
    )
    return updated
  })
}

/**
 * Its tasks are taken out first, so that nobody makes it again; its sandbox goes, in the background, with the last conversation in it.
 * O(tasks + messages that wait). @throws HttpProblem 404; ColloquyError `unknown_conversation` when somebody else was faster.
 */
export async function deleteConversation(
  { store, lifecycle, tasks, pending, inBackground }: Plane,
  given: string,
): Promise<void> {
  const record = await theConversation(store, given)
  await tasks.forget(record.id)
  const existed = await lifecycle.engine.delete(record.id)
  await pending.forget(record.id)
  const { sandbox_id: sandboxId } = appOf(record)
  if (sandboxId !== null) inBackground(tasks.release(sandboxId))
  if (!existed) await theConversation(store, record.id)
}
