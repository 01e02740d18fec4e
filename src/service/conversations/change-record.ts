/** Changes the record of a conversation by what it holds, so that no other change of it is lost. */

import { hasCode } from '../../event/errors.ts'
import type { ConversationPatch, ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { getConversationOr404 } from './find.ts'

/** Says what becomes of a record. */
type Decide = (before: ConversationRecord) => ConversationPatch | Promise<ConversationPatch>

/**
 * Changes a record to what a decision over it says, which is asked again when another request was faster, in whatever
 * process. @throws HttpProblem 404; what the decision and the store throw.
 */
export async function changeRecord(store: Store, id: string, decide: Decide): Promise<ConversationRecord> {
  for (;;) {
    const before = await getConversationOr404(store, id)
    const patch = await decide(before)
    try {
      return await store.updateConversation(before.id, patch, { expected: before })
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error
    }
  }
}
