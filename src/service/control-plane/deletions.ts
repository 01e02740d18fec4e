/** Deletes conversations and what the service stores for them. After a crash, another process finishes a deletion. */

import type { Engine } from '../../conversation/engine.ts'
import { type DeletionOptions, EMPTY_REPORT } from '../../conversation/engine-context.ts'
import type { DeletionFilter, RetentionOptions } from '../../conversation/retention.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { deletionBody, erasureBody } from '../request-schema.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { formsOf, getConversationOr404 } from '../conversations/find-conversation.ts'
import { startOf } from '../conversations/starts.ts'
import { type Job, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { HttpProblem, invalidValue } from '../http/problem.ts'
import { appOf, incarnationOf } from './app-metadata.ts'
import type { PendingMessages } from './pending-messages.ts'
import { newId } from './sandboxes.ts'
import type { StartTasks } from './start-tasks.ts'

const operation = operationsIn('Events')

interface Deletion {
  readonly conversation_id: string
  readonly incarnation: string
  readonly start_ref: string | null
  readonly sandbox_id: string | null
}

export interface DeletionParts {
  readonly lifecycle: Lifecycle
  readonly tasks: Pick<StartTasks, 'eraseMessage' | 'forget' | 'release'>
  readonly pending: Pick<PendingMessages, 'forget'>
}

export class Deletions {
  readonly #parts: DeletionParts
  readonly #jobs: Jobs<Deletion>
  readonly worker: JobWorker<Deletion>

  /** @param ttl milliseconds after which another process finishes a crashed process's deletion */
  constructor(parts: DeletionParts, ttl: number, onFailure: (error: unknown) => void) {
    this.#parts = parts
    this.#jobs = new Jobs({ store: parts.lifecycle.engine.store, collection: 'deletions', ttl })
    this.worker = new JobWorker(this.#jobs, (job) => this.#finish(job), onFailure)
  }

  /**
   * Deletes a conversation. Deletes its start tasks first, so that they cannot create the conversation again.
   * Deletes its sandbox in the background, unless another conversation uses it. O(start tasks of the
   * conversation).
   * @throws HttpProblem 404.
   */
  async delete(id: string): Promise<void> {
    const { engine } = this.#parts.lifecycle
    const record = await getConversationOr404(engine.store, id)
    await this.deleteEach(async (onDelete) => {
      await onDelete(record)
      await engine.delete(record.id)
    })
  }

  /**
   * Calls `work` with a function `onDelete`. Deletes what the service stores for each conversation that
   * `work` passes to `onDelete`.
   */
  async deleteEach<R>(work: (onDelete: NonNullable<DeletionOptions['onDelete']>) => Promise<R>): Promise<R> {
    const jobs: Job<Deletion>[] = []
    try {
      const result = await work(async (record) => {
        jobs.push(await this.#jobs.add(newId(), deletionOf(record)))
        await this.#parts.tasks.forget(record.id)
      })
      for (const { record } of jobs) await this.#forget(record)
      return result
    } finally {
      for (const job of jobs) this.worker.start(job)
    }
  }

  /** Erases an event, and its copy in a start task. @throws HttpProblem 404; the errors of `eraseEvent`. */
  async erase(id: string, eventId: string, reason?: string): Promise<void> {
    const { lifecycle, tasks } = this.#parts
    const { conversation } = await openConversation(lifecycle, id)
    await conversation.eraseEvent(eventId, reason)
    await tasks.eraseMessage(conversation.id, eventId)
  }

  async #forget({ conversation_id: id, incarnation, start_ref }: Deletion): Promise<void> {
    const { lifecycle, pending } = this.#parts
    await pending.forget(id, incarnation)
    await lifecycle.starts.forget({ metadata: { start_ref } })
  }

  async #finish(job: Job<Deletion>): Promise<void> {
    const { lifecycle, tasks } = this.#parts
    const { conversation_id: id, incarnation, sandbox_id } = job.record
    const record = await lifecycle.engine.store.getConversation(id)
    if (record !== null && incarnationOf(record) === incarnation) {
      await tasks.forget(id)
      await lifecycle.engine.delete(id)
    }
    await this.#forget(job.record)
    if (sandbox_id !== null) await tasks.release(sandbox_id)
    await job.finish()
  }
}

const deletionOf = (record: ConversationRecord): Deletion => ({
  conversation_id: record.id,
  incarnation: incarnationOf(record),
  start_ref: startOf(record.metadata).start_ref,
  sandbox_id: appOf(record).sandbox_id,
})

export const deletionOperations = (engine: Engine, deletions: Deletions): Operation[] => [
  operation('post /api/conversations/delete', {
    operationId: 'delete_conversations',
    tag: 'Conversations',
    body: deletionBody,
    returns: objectOf({
      ...Object.fromEntries(Object.keys(EMPTY_REPORT).map((name) => [name, 'integer'])),
      more: 'boolean',
    }),
    description: 'Counts of deleted items, or of a dry run. If `more` is true, repeat the request.',
    otherwise: { 409: 'Another process is applying a retention policy' },
    async handle({ body: { dry_run: dryRun = false, limit = MAX_PAGE_SIZE, ...criteria } }) {
      const { older_than_days: days, keep_last: keepLast, ids, ...others } = criteria
      const filter = { ...others, ...(ids !== undefined && { ids: ids.flatMap(formsOf) }) }
      const isRetention = days !== undefined || keepLast !== undefined
      if (isRetention && (ids !== undefined || filter.before !== undefined))
        throw invalidValue(['body'], 'ids and before cannot be combined with older_than_days or keep_last')
      if (!isRetention && Object.keys(filter).length === 0)
        throw invalidValue(['body'], 'it needs ids, owner, tags, before, older_than_days or keep_last')
      const retention = {
        ...filter,
        ...(days !== undefined && { olderThan: Math.round(days * 86_400_000) }),
        ...(keepLast !== undefined && { keepLast }),
      } as RetentionOptions
      const report = await deletions.deleteEach((onDelete) =>
        isRetention
          ? engine.applyRetention({ ...retention, dryRun, limit, onDelete })
          : engine.deleteConversations(filter as DeletionFilter, { dryRun, limit, onDelete }),
      )
      if (report === null)
        throw new HttpProblem(409, 'Another process is applying a retention policy. Retry later.')
      return report
    },
  }),
  operation('post /api/conversations/{conversation_id}/events/{event_id}/erase', {
    operationId: 'erase_event',
    body: erasureBody,
    otherwise: { 404: 'Unknown conversation or event' },
    handle: ({ path, body }) => deletions.erase(path.conversation_id, path.event_id, body?.reason),
  }),
]
