/** Updates a conversation: its record, and what its readers are told of it. */

import type { JsonValue } from '../../../event/shapes.ts'
import type { ConversationRecord } from '../../../store/contract/conversation-record.ts'
import { getConversationOr404 } from '../../conversations/find.ts'
import { changeRecord } from '../../conversations/change-record.ts'
import { withApp } from './metadata.ts'
import type { ControlPlane } from '../control-plane.ts'
import type { AppUpdate } from '../request-schema.ts'

/**
 * Null takes the title or the repository away, and means nothing for the sharing flag; what is left out stays. Gives
 * the record after it.
 * @throws HttpProblem 404; ColloquyError `unknown_conversation` when it is deleted meanwhile.
 */
export function changeConversation(
  { store, lifecycle, inTurn }: Pick<ControlPlane, 'store' | 'lifecycle' | 'inTurn'>,
  given: string,
  { title, public: open, ...rest }: AppUpdate,
): Promise<ConversationRecord> {
  const own = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const told: Readonly<Record<string, JsonValue>> = {
    ...(title !== undefined && { title }),
    ...(open !== undefined && open !== null && { public: open }),
  }
  return inTurn(async () => {
    if (Object.keys({ ...told, ...own }).length === 0) return getConversationOr404(store, given)
    const updated = await changeRecord(store, given, (record) => ({
      ...told,
      ...(Object.keys(own).length > 0 && { metadata: withApp(record, own) }),
    }))
    if (Object.keys(told).length === 0) return updated
    // Live readers learn of it as of every change: from the log.
    const conversation = await lifecycle.engine.open(updated)
    await conversation.append(
      Object.entries(told).map(
        ([key, value]) =>
          ({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value }) as const,
      ),
    )
    return updated
  })
}
