/** Deletes conversations with everything that is stored for them. */

import { hasCode } from '../../event/errors.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import type { Lifecycle } from '../conversations/conversations.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { startOf } from '../conversations/starts.ts'
import { type Kept, recordsOf } from '../records.ts'
import type { PendingMessages } from './pending-messages.ts'
import type { StartTasks } from './start-tasks.ts'
import { appOf } from './app-metadata.ts'
import { newId } from './sandboxes.ts'

/** A deletion that is under way. */
interface Deletion {
  readonly conversation_id: string
  /** When the conversation was made: another one may have its id by now. */
  readonly created_at: string
  readonly start_ref: string | null
  readonly sandbox_id: string | null
}

/** The deletions of a service. */
export interface Deletions {
  /**
   * The tasks of a conversation are taken out first, so that it is not made again; its sandbox goes, in the background,
   * with the last conversation in it. O(its tasks). @throws HttpProblem 404.
   */
  readonly delete: (given: string) => Promise<void>
  /** Ends those that another process has begun and not ended. O(those). */
  readonly takeOver: () => Promise<void>
}

/** @param staleAfter milliseconds after which a deletion that has not ended is taken over */
export function deletionsOf(
  {
    store,
    lifecycle,
    tasks,
    pending,
    inBackground,
  }: {
    readonly store: Store
    readonly lifecycle: Lifecycle
    readonly tasks: StartTasks
    readonly pending: PendingMessages
    readonly inBackground: (work: Promise<void>) => void
  },
  staleAfter: number,
): Deletions {
  const records = recordsOf<Deletion>(store, 'deletions', () => ({ dueIn: staleAfter }))

  /** May be done again. */
  const carryOut = async ({ conversation_id: id, start_ref }: Deletion): Promise<void> => {
    await tasks.forget(id)
    await lifecycle.engine.delete(id)
    await pending.forget(id)
    await lifecycle.starts.forget({ metadata: { start_ref } })
  }

  const end = async ({ id, version, record }: Kept<Deletion>): Promise<void> => {
    if (record.sandbox_id !== null) await tasks.release(record.sandbox_id)
    await records.make([records.changeOf(id, null, version)]).catch((error: unknown) => {
      // Another process has taken it over.
      if (!hasCode(error, 'version_conflict')) throw error
    })
  }

  const goOn = async (kept: Kept<Deletion>): Promise<void> => {
    const { conversation_id, created_at, start_ref } = kept.record
    const found = await store.getConversation(conversation_id)
    if (found?.createdAt === created_at) await carryOut(kept.record)
    else await lifecycle.starts.forget({ metadata: { start_ref } })
    await end(kept)
  }

  return {
    async delete(given) {
      const found = await getConversationOr404(store, given)
      const record = deletionOf(found)
      const id = newId()
      const [version] = await records.make([records.changeOf(id, record, null)])
      // Where another process is faster, it has carried out this one.
      await carryOut(record)
      inBackground(end({ id, version: version ?? 0, record }))
    },
    async takeOver() {
      let due: readonly Kept<Deletion>[]
      do {
        due = await records.claim(staleAfter)
        for (const kept of due) {
          const work = goOn(kept)
          inBackground(work)
          // One that fails, which is told there, keeps back nothing else; it is due again later.
          await Promise.allSettled([work])
        }
      } while (due.length === MAX_PAGE_SIZE)
    },
  }
}

const deletionOf = (record: ConversationRecord): Deletion => ({
  conversation_id: record.id,
  created_at: record.createdAt,
  start_ref: startOf(record.metadata).start_ref,
  sandbox_id: appOf(record).sandbox_id,
})

/** Deletes conversations with everything stored for them. */
