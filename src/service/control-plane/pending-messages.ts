/** Queues messages for conversations that are not ready. Sends each message once, in order, even after a restart. */

import { hasCode } from '../../event/errors.ts'
import type { Content } from '../../event/shapes.ts'
import { openConversation, isUnknown, sendOnce } from '../conversations/conversations.ts'
import { findConversation, shownId } from '../conversations/find-conversation.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Job, type JobKind, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { type Records, recordsOf } from '../records.ts'
import { type ControlPlaneContext, sandboxOf } from './app-conversations.ts'
import { appOf, incarnationOf } from './app-metadata.ts'
import { newId } from './sandboxes.ts'
import type { StartTasks } from './start-tasks.ts'

export const MAX_PENDING = 10
/**
 * Maximum characters of a queue as JSON, because each change writes the whole queue. A queue with only one
 * message may be longer.
 */
export const MAX_PENDING_TEXT = 2 ** 22

/** Maximum milliseconds between two checks whether the sandbox of a queue is ready. */
const MAX_WAIT = 600_000

/** A conversation's messages, in order. The queue's id is the conversation's id in the control plane's form. */
interface Queue {
  readonly messages: readonly {
    readonly id: string
    readonly content: readonly Content[]
    readonly created_at: string
  }[]
  readonly sandbox_id: string | null
  readonly incarnation: string
}

interface Queued {
  readonly id: string
  readonly queued: true
  /** Position in the queue, from 1. */
  readonly position: number
}

export class PendingMessages {
  readonly #context: ControlPlaneContext
  readonly #tasks: Pick<StartTasks, 'starting' | 'find'>
  readonly #onFailure: (error: unknown) => void
  readonly #retryAfter: number
  readonly #records: Records<Queue>
  readonly worker: JobWorker<Queue>

  constructor(
    context: ControlPlaneContext,
    tasks: Pick<StartTasks, 'starting' | 'find'>,
    onFailure: (error: unknown) => void,
    retryAfter: number,
  ) {
    this.#context = context
    this.#tasks = tasks
    this.#onFailure = onFailure
    this.#retryAfter = retryAfter
    const { store } = context.lifecycle.engine
    const kind: JobKind<Queue> = { store, collection: 'pending-messages', keysOf, ttl: retryAfter }
    this.#records = recordsOf<Queue>(store, kind.collection, (queue) => ({
      keys: keysOf(queue),
      dueIn: this.#waitOf(queue),
    }))
    this.worker = new JobWorker(new Jobs(kind), (job, signal) => this.#send(job, signal), onFailure)
  }

  /**
   * Queues a message. `target` is the id of a conversation, or of its start task with or without the prefix `task-`.
   * @throws HttpProblem 404 for an unknown conversation, 409 for a failed task, 410 for a deleted sandbox, 429
   *   beyond the maximum number or length of pending messages.
   */
  async add(target: string, content: readonly Content[]): Promise<Queued> {
    const { id: conversationId } = await this.#resolve(target)
    const key = shownId(conversationId)
    const id = newId()
    const queue = await this.#records.update(key, async (stored) => {
      // Resolve the target again, now that the queue was read: messages for another incarnation are obsolete.
      const { incarnation } = await this.#resolve(target)
      const before = stored?.incarnation === incarnation ? stored : null
      const messages = before?.messages ?? []
      if (messages.length >= MAX_PENDING) throw new HttpProblem(429, TOO_MANY)
      const all = [...messages, { id, content, created_at: new Date().toISOString() }]
      if (messages.length > 0 && JSON.stringify(all).length > MAX_PENDING_TEXT)
        throw new HttpProblem(429, TOO_LONG)
      return { sandbox_id: null, ...before, incarnation, messages: all }
    })
    this.worker.wake(key)
    return { id, queued: true, position: queue?.messages.length ?? 1 }
  }

  deliver(conversationId: string): void {
    this.worker.wake(shownId(conversationId))
  }

  async deliverIn(sandboxId: string): Promise<void> {
    for await (const { id } of this.#records.walk({ by: 'sandbox', value: sandboxId })) this.worker.wake(id)
  }

  /** Deletes a conversation's messages, unless they belong to a later conversation with the same id. */
  async forget(conversationId: string, incarnation: string): Promise<void> {
    await this.#records.update(shownId(conversationId), (queue) =>
      queue?.incarnation === incarnation ? null : undefined,
    )
  }

  async #resolve(target: string): Promise<{ readonly id: string; readonly incarnation: string }> {
    const { lifecycle, sandboxes } = this.#context
    const taskId = target.replace(/^task-/, '')
    const task = (await this.#tasks.find(taskId)) ?? (await this.#tasks.starting(target))
    if (task !== null && task.status !== 'READY') {
      if (task.status === 'ERROR')
        throw new HttpProblem(409, 'The conversation failed to start. Read `detail` of its start task.')
      return { id: task.planned_id, incarnation: task.id }
    }
    const record = await findConversation(lifecycle.engine.store, task?.planned_id ?? target)
    // The task's conversation may have been deleted, and its id reused.
    if (record !== null && (task === null || appOf(record).start_task_id === task.id)) {
      const { sandbox_id: sandboxId } = appOf(record)
      if (sandboxId !== null && (await sandboxes.find(sandboxId)) === null)
        throw new HttpProblem(410, "The conversation's sandbox was deleted. Start another conversation.")
      return { id: record.id, incarnation: incarnationOf(record) }
    }
    throw new HttpProblem(404, `Conversation ${JSON.stringify(target)} was not found.`)
  }

  async #send(job: Job<Queue>, signal: AbortSignal): Promise<void> {
    const { lifecycle, sandboxes } = this.#context
    if ((await this.#tasks.starting(job.id)) !== null) return job.release(this.#retryAfter)
    // Read the record after the queue. A missing record, or another incarnation, means that the conversation
    // was deleted or could not be started.
    const record = await findConversation(lifecycle.engine.store, job.id)
    if (record === null || job.record.incarnation !== incarnationOf(record)) return job.finish()
    if ((await sandboxOf(sandboxes, record)).status !== 'RUNNING') {
      job.record = { ...job.record, sandbox_id: appOf(record).sandbox_id }
      return job.release(this.#waitOf(job.record))
    }
    for (const { id, content } of job.record.messages) {
      try {
        const { conversation } = await openConversation(lifecycle, record.id)
        await sendOnce(lifecycle, conversation, { content, key: `pending-${id}`, run: true, signal })
      } catch (error) {
        if (isUnknown(error)) return job.finish()
        // A message that cannot be sent at all must not block the next message.
        if (!hasCode(error, 'invalid_event')) throw error
        this.#onFailure(error)
      }
      const messages = job.record.messages.filter((message) => message.id !== id)
      job.record = { ...job.record, messages }
      await (messages.length === 0 ? job.finish() : job.save())
    }
  }

  /** Returns the milliseconds until the next attempt. The wait grows with the age of the oldest message. */
  #waitOf({ messages, sandbox_id }: Queue): number {
    const waited = Date.now() - Date.parse(messages[0]?.created_at ?? '')
    const wait = sandbox_id === null || Number.isNaN(waited) ? 0 : Math.min(waited, MAX_WAIT)
    return Math.max(this.#retryAfter, wait)
  }
}

const TOO_MANY = `The maximum of ${MAX_PENDING} queued messages per conversation has been reached. Try again later.`
const TOO_LONG = `The queued messages of this conversation would exceed ${MAX_PENDING_TEXT} characters. Try again later.`

const keysOf = ({ sandbox_id: sandbox }: Queue): Record<string, string> =>
  sandbox === null ? {} : { sandbox }
