/** Works on start tasks in the background: each creates a conversation, and its sandbox if it has one. */

import { hasCode } from '../../event/errors.ts'
import { keyedId } from '../../event/ids.ts'
import type { ItemChange } from '../../store/contract/items.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import { isUnknown } from '../conversations/conversations.ts'
import { formsOf, plainId } from '../conversations/find-conversation.ts'
import { isTransient } from '../conversations/transient.ts'
import { describeFailure, HttpProblem } from '../http/problem.ts'
import { type Job, type JobKind, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { type Records, recordsOf } from '../records.ts'
import type { StartRequest } from '../request-schema.ts'
import type { ControlPlaneContext } from './app-conversations.ts'
import { appOf } from './app-metadata.ts'
import { bringUp } from './sandboxes.ts'
import {
  isMade,
  isOver,
  makeConversation,
  planTask,
  shown,
  startKey,
  type StartTask,
  type StoredTask,
  idInUse,
} from './start-task.ts'

interface StartTasksOptions {
  readonly sandboxTimeout: number
  readonly staleAfter: number
  readonly onReady: (conversationId: string) => void
  readonly onFailed: (task: StartTask) => void
  readonly onFailure: (error: unknown) => void
}

/** Receives the task after each step, and null when this process no longer works on it. */
type Follower = (task: StoredTask | null) => void

type TakeStep = (change: Partial<StoredTask>) => Promise<void>

/** The start tasks of a service. */
export class StartTasks {
  readonly #context: ControlPlaneContext
  readonly #options: StartTasksOptions
  readonly records: Records<StoredTask>
  /** The task that will make a conversation, by the plain form of the conversation's id. */
  readonly #planned: Records<{ readonly task: string }>
  readonly #jobs: Jobs<StoredTask>
  readonly worker: JobWorker<StoredTask>
  readonly #followers = new Map<string, Follower>()
  readonly #closing = new AbortController()

  constructor(context: ControlPlaneContext, options: StartTasksOptions) {
    this.#context = context
    this.#options = options
    const { store } = context.lifecycle.engine
    const kind: JobKind<StoredTask> = { store, collection: 'start-tasks', keysOf, ttl: options.staleAfter }
    this.records = recordsOf<StoredTask>(store, kind.collection)
    this.#planned = recordsOf(store, 'planned-conversations')
    this.#jobs = new Jobs(kind)
    this.worker = new JobWorker(this.#jobs, (job) => this.#work(job), options.onFailure)
  }

  async find(id: string): Promise<StoredTask | null> {
    for (const form of formsOf(id)) {
      const stored = await this.records.find(form)
      if (stored !== null) return stored.record
    }
    return null
  }

  async maker(conversationId: string): Promise<StoredTask | null> {
    for (const value of formsOf(conversationId)) {
      const { items } = await this.records.list({ by: 'conversation', value, limit: 1 })
      if (items[0] !== undefined) return items[0].record
    }
    return null
  }

  async starting(conversationId: string): Promise<StoredTask | null> {
    const planned = await this.#planned.find(plainId(conversationId))
    const task = planned === null ? null : await this.find(planned.record.task)
    return task === null || isOver(task) ? null : task
  }

  /**
   * Starts a task in the background.
   * @throws HttpProblem 409 for a used id, 422 for an unknown parent or sandbox.
   */
  async create(request: StartRequest, origin: string): Promise<StartTask> {
    const job = await this.#add(request, origin)
    this.worker.start(job)
    return shown(job.record)
  }

  /**
   * Starts a task, and yields it after each step until it is over, or this process stops.
   * @throws as `create`.
   */
  async follow(request: StartRequest, origin: string): Promise<AsyncGenerator<StartTask, void, undefined>> {
    const job = await this.#add(request, origin)
    const task = job.record
    const steps: (StoredTask | null)[] = []
    let wake = nobodyWaits
    this.#followers.set(task.id, (next) => {
      steps.push(next)
      wake()
    })
    this.worker.start(job)
    return (async function* () {
      let last = task
      yield shown(task)
      for (;;) {
        const next = steps.shift()
        if (next === null) return
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve))
        else {
          if (next.status !== last.status) yield shown(next)
          last = next
        }
      }
    })()
  }

  /**
   * Deletes the tasks of a conversation, which ends the work on them; false if it has no tasks. O(its tasks).
   */
  async forget(conversationId: string): Promise<boolean> {
    let existed = false
    for await (const { id } of this.records.walk({ by: 'planned', value: plainId(conversationId) })) {
      await retryConflicts(async () => {
        const stored = await this.records.find(id)
        if (stored === null) return
        await this.records.make([
          this.records.changeOf(id, null, stored.version),
          ...this.#freed(stored.record),
        ])
        existed = true
      })
    }
    return existed
  }

  /** Removes an erased message from the task that sent it. O(tasks of the conversation). */
  async eraseMessage(conversationId: string, eventId: string): Promise<void> {
    for await (const { id, record } of this.records.walk({ by: 'planned', value: plainId(conversationId) })) {
      const isSender = keyedId('message', record.planned_id, startKey(id)) === eventId
      if (!isSender || !isOver(record)) continue
      const job = await this.#jobs.take(
        id,
        (task) => task && { ...task, request: { ...task.request, initial_message: null } },
      )
      await job?.release(null)
    }
  }

  /**
   * Deletes a sandbox unless it has, or will have, a conversation: from a task or a fork. O(tasks of the
   * sandbox).
   */
  async release(sandboxId: string): Promise<void> {
    const { lifecycle, sandboxes } = this.#context
    const { store } = lifecycle.engine
    for await (const { record: task } of this.records.walk({ by: 'sandbox', value: sandboxId })) {
      if (!isOver(task)) return
      const record = await store.getConversation(task.planned_id)
      if (record !== null && appOf(record).sandbox_id === sandboxId) return
    }
    if ((await store.listConversations({ sandboxId, limit: 1 })).items.length > 0) return
    await sandboxes.delete(sandboxId).catch((error: unknown) => {
      // Another process may have deleted it.
      if (!isUnknown(error)) throw error
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.worker.close()
  }

  async #add(request: StartRequest, origin: string): Promise<Job<StoredTask>> {
    const task = await planTask(this.#context, request, origin)
    const plannedId = plainId(task.planned_id)
    try {
      return await this.#jobs.add(task.id, task, [this.#planned.changeOf(plannedId, { task: task.id }, null)])
    } catch (error) {
      await this.#context.lifecycle.starts.forget({ metadata: { start_ref: task.start_ref } })
      // Two requests for one id can both find it free.
      if (hasCode(error, 'version_conflict')) throw idInUse(plannedId)
      throw error
    }
  }

  /** When a task is over, or deleted, its planned id is free. */
  #freed(task: StoredTask): readonly ItemChange[] {
    return isOver(task) ? [] : [this.#planned.changeOf(plainId(task.planned_id), null)]
  }

  async #work(job: Job<StoredTask>): Promise<void> {
    const task = job.record
    const step: TakeStep = async (change) => {
      this.#closing.signal.throwIfAborted()
      const before = job.record
      job.record = { ...before, ...change, updated_at: new Date().toISOString() }
      if (isOver(job.record)) await job.release(null, this.#freed(before))
      else await job.save()
      this.#followers.get(job.id)?.(job.record)
    }
    try {
      await this.#make(task, AbortSignal.any([this.#closing.signal, job.lost]), step)
    } catch (error) {
      await this.#fail(job, error, step)
    } finally {
      this.#followers.get(job.id)?.(null)
      this.#followers.delete(job.id)
    }
  }

  async #make(task: StoredTask, signal: AbortSignal, step: TakeStep): Promise<void> {
    const { lifecycle, sandboxes } = this.#context
    const { sandbox_id: sandboxId } = task
    if (sandboxId !== null) {
      await bringUp(sandboxes, sandboxId, {
        mayStart: task.makes_sandbox,
        sandboxTimeout: this.#options.sandboxTimeout,
        signal,
        onStarted: () => step({ status: 'WAITING_FOR_SANDBOX' }),
      }).catch(async (error: unknown) => {
        // A conversation that was made before is ready, whatever happened to its sandbox since.
        if (!(error instanceof HttpProblem && (await isMade(lifecycle.engine.store, task)))) throw error
      })
    }
    await step({ status: 'STARTING_CONVERSATION' })
    const workingDir = sandboxId === null ? null : (await sandboxes.state(sandboxId)).working_dir
    const { id } = await makeConversation(lifecycle, task, { workingDir, signal })
    await step({ status: 'READY', app_conversation_id: id })
    this.#options.onReady(id)
  }

  async #fail(job: Job<StoredTask>, error: unknown, step: TakeStep): Promise<void> {
    // The task stays for the next process.
    if (this.#closing.signal.aborted || hasCode(error, 'closed') || hasCode(error, 'store_closed')) return
    if (hasCode(error, 'lease_lost')) {
      if ((await this.records.find(job.id)) === null) await this.#undo(job.record)
      return
    }
    // The task is repeated when its lease ends.
    if (isTransient(error)) throw error
    const { code, detail } = describeFailure(error)
    if (code === 'InternalError') this.#options.onFailure(error)
    await step({ status: 'ERROR', detail })
    this.#options.onFailed(shown(job.record))
    await this.#forgetStart(job.record)
    await this.#releaseOwn(job.record)
  }

  async #undo(task: StoredTask): Promise<void> {
    const { engine } = this.#context.lifecycle
    if (await isMade(engine.store, task).catch(() => false)) await engine.delete(task.planned_id)
    if (task.makes_sandbox && task.sandbox_id !== null) await this.release(task.sandbox_id)
    await this.#forgetStart(task)
  }

  /** Deletes the sandbox of a failed start; a sandbox that failed itself stays, for its error. */
  async #releaseOwn({ makes_sandbox: isOwn, sandbox_id: id }: StoredTask): Promise<void> {
    if (!isOwn || id === null || (await this.#context.sandboxes.state(id)).status === 'ERROR') return
    await this.release(id)
  }

  #forgetStart({ planned_id: id, start_ref }: StoredTask): Promise<void> {
    return this.#context.lifecycle.starts.forgetUnlessMade({ id, metadata: { start_ref } })
  }
}

const keysOf = (task: StoredTask): Record<string, string> => ({
  created_at: task.created_at,
  updated_at: task.updated_at,
  planned: plainId(task.planned_id),
  ...(task.app_conversation_id !== null && { conversation: task.app_conversation_id }),
  ...(task.sandbox_id !== null && { sandbox: task.sandbox_id }),
})

const nobodyWaits = (): void => undefined
