/**
 * Deletes conversations with everything that is stored for them. After a crash, another process finishes the
 * deletion.
 */

import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Lifecycle } from '../conversations/conversations.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { startOf } from '../conversations/starts.ts'
import { type Job, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { appOf } from './app-metadata.ts'
import type { PendingMessages } from './pending-messages.ts'
import { newId } from './sandboxes.ts'
import type { StartTasks } from './start-tasks.ts'

interface Deletion {
  readonly conversation_id: string
  /** Distinguishes the conversation from a later one with its id. */
  readonly created_at: string
  readonly start_ref: string | null
  readonly sandbox_id: string | null
}

/** The parts from which a conversation is deleted. */
export interface DeletionParts {
  readonly lifecycle: Lifecycle
  readonly tasks: Pick<StartTasks, 'forget' | 'release'>
  readonly pending: Pick<PendingMessages, 'forget'>
}

/** The deletions of a service. */
export class Deletions {
  readonly #parts: DeletionParts
  readonly #jobs: Jobs<Deletion>
  readonly worker: JobWorker<Deletion>

  /** @param ttl milliseconds after which another process finishes a deletion */
  constructor(parts: DeletionParts, ttl: number, onFailure: (error: unknown) => void) {
    this.#parts = parts
    this.#jobs = new Jobs({ store: parts.lifecycle.engine.store, collection: 'deletions', ttl })
    this.worker = new JobWorker(this.#jobs, (job) => this.#finish(job), onFailure)
  }

  /**
   * Deletes a conversation: first its start tasks, so they cannot create it again; its sandbox in the
   * background, after its last conversation. O(its start tasks).
   * @throws HttpProblem 404.
   */
  async delete(id: string): Promise<void> {
    const record = await getConversationOr404(this.#parts.lifecycle.engine.store, id)
    const job = await this.#jobs.add(newId(), deletionOf(record))
    try {
      await this.#delete(job.record)
    } catch (error) {
      job.abandon()
      throw error
    }
    this.worker.start(job)
  }

  async #delete({ conversation_id: id, start_ref }: Deletion): Promise<void> {
    const { lifecycle, tasks, pending } = this.#parts
    await tasks.forget(id)
    await lifecycle.engine.delete(id)
    await pending.forget(id)
    await lifecycle.starts.forget({ metadata: { start_ref } })
  }

  async #finish(job: Job<Deletion>): Promise<void> {
    const { lifecycle, tasks } = this.#parts
    const { conversation_id: id, created_at, start_ref, sandbox_id } = job.record
    const record = await lifecycle.engine.store.getConversation(id)
    if (record?.createdAt === created_at) await this.#delete(job.record)
    else await lifecycle.starts.forget({ metadata: { start_ref } })
    if (sandbox_id !== null) await tasks.release(sandbox_id)
    await job.finish()
  }
}

const deletionOf = (record: ConversationRecord): Deletion => ({
  conversation_id: record.id,
  created_at: record.createdAt,
  start_ref: startOf(record.metadata).start_ref,
  sandbox_id: appOf(record).sandbox_id,
})
