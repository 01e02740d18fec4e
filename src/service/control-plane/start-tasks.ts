/** Executes start tasks in the background. Each task creates a conversation and, if needed, a sandbox. */

import type { Conversation } from '../../conversation/conversation.ts'
import { type Job, type JobKind, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { hasCode } from '../../event/errors.ts'
import { isLegalId, keyedId } from '../../event/ids.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ControlPlaneContext } from './app-conversations.ts'
import { appFieldsIn, type AppMetadata, appOf, withApp } from './app-metadata.ts'
import { newId } from './sandboxes.ts'
import { isUnknown, type Lifecycle, sendOnce } from '../conversations/conversations.ts'
import {
  dashedId,
  findConversation,
  findParent,
  formsOf,
  idInUse,
  missing,
  plainId,
  refuseReserved,
  shownId,
} from '../conversations/find-conversation.ts'
import { describeFailure, HttpProblem } from '../http/problem.ts'
import { type Records, recordsOf } from '../records.ts'
import { isAppField, type StartRequest } from '../request-schema.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { ItemChange } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { isTransient } from '../../store/kit/errors.ts'
import { retryConflicts } from '../../store/kit/items.ts'

/** Statuses of a start task, in order; the last two are final. */
export const TASK_STATUSES = [
  'WORKING',
  'WAITING_FOR_SANDBOX',
  'PREPARING_REPOSITORY',
  'RUNNING_SETUP_SCRIPT',
  'SETTING_UP_GIT_HOOKS',
  'SETTING_UP_SKILLS',
  'STARTING_CONVERSATION',
  'READY',
  'ERROR',
] as const

/** Status of a start task. */
export type TaskStatus = (typeof TASK_STATUSES)[number]

/** A task that starts a conversation, as clients see it. */
export interface StartTask {
  readonly id: string
  readonly created_by_user_id: null
  readonly status: TaskStatus
  readonly detail: string | null
  /** Id of the conversation; null until the status is `READY`. */
  readonly app_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly agent_server_url: string | null
  readonly request: JsonObject
  readonly created_at: string
  readonly updated_at: string
}

export interface StoredTask extends Omit<StartTask, 'agent_server_url'> {
  /** Id of the conversation to create, so that a resumed task does not create a second conversation. */
  readonly planned_id: string
  readonly makes_sandbox: boolean
  /** Id of the record with the secrets of the request; null without secrets. */
  readonly start_ref: string | null
}

export const isOver = ({ status }: Pick<StartTask, 'status'>): boolean =>
  status === 'READY' || status === 'ERROR'

/** Returns what a client sees of a task. `origin` is the origin of the client's request. */
export const publicTask = (
  { planned_id: _planned, makes_sandbox: _makes, start_ref: _ref, ...task }: StoredTask,
  origin: string | null,
): StartTask => {
  const { app_conversation_id: made } = task
  return { ...task, app_conversation_id: made === null ? null : shownId(made), agent_server_url: origin }
}

const startKey = (taskId: string): string => `start-${taskId}`

/** Creates the task's conversation and sends its first message. Skips steps that an earlier attempt completed. */
async function makeConversation(
  lifecycle: Lifecycle,
  task: StoredTask,
  { workingDir, signal }: { readonly workingDir: string | null; readonly signal: AbortSignal },
): Promise<Conversation> {
  const { engine } = lifecycle
  const { initial_message: message } = task.request as StartRequest
  const conversation = (await isMade(engine.store, task))
    ? await engine.open(task.planned_id)
    : await make(lifecycle, task, workingDir)
  if (message !== null && message !== undefined) {
    const { content, run = true } = message
    await sendOnce(lifecycle, conversation, { content, run, key: startKey(task.id), signal })
  }
  return conversation
}

async function isMade(store: Store, task: StoredTask): Promise<boolean> {
  const record = await findConversation(store, task.planned_id)
  if (record === null) return false
  if (appOf(record).start_task_id === task.id) return true
  throw idInUse(plainId(task.planned_id))
}

async function make(
  { engine }: Lifecycle,
  task: StoredTask,
  workingDir: string | null,
): Promise<Conversation> {
  const { title, public: open, tags, parent_conversation_id } = task.request as StartRequest
  const start = Object.fromEntries(Object.entries(task.request).filter(([name]) => !isAppField(name)))
  const parentId = parent_conversation_id ?? null
  const parent = parentId === null ? null : await findConversation(engine.store, parentId)
  const id = task.planned_id
  try {
    return await engine.create({
      id,
      title: title ?? `Conversation ${Array.from(id).slice(0, 5).join('')}`,
      public: open ?? false,
      tags: tags ?? {},
      metadata: withApp(
        {
          metadata: {
            start,
            start_ref: task.start_ref ?? null,
            ...(workingDir !== null && { workspace: { working_dir: workingDir } }),
          },
        },
        appFor(task, parent),
      ),
      parentConversationId: parent?.id ?? null,
      sandboxId: task.sandbox_id,
    })
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
    // Another process used the id, perhaps for the same task.
    if (await isMade(engine.store, task)) return engine.open(id)
    throw idInUse(plainId(id))
  }
}

function appFor(task: StoredTask, parent: ConversationRecord | null): Partial<AppMetadata> {
  const { sandbox_id, id: start_task_id } = task
  const { selected_repository, selected_branch, git_provider, llm_model } = appOf(parent ?? { metadata: {} })
  const inherited = { selected_repository, selected_branch, git_provider, llm_model }
  return { ...inherited, ...appFieldsIn(task.request), sandbox_id, start_task_id }
}

/** Plans a task. Stores its secrets, but not yet the task. Chooses all ids, so that a retry creates nothing twice. */
async function planTask(
  { lifecycle, sandboxes }: ControlPlaneContext,
  request: StartRequest,
): Promise<StoredTask> {
  const { store } = lifecycle.engine
  const wanted = request.conversation_id ?? null
  const sandboxId = request.sandbox_id ?? null
  refuseReserved(wanted, 'conversation_id')
  if (wanted !== null && (await findConversation(store, wanted)) !== null) throw idInUse(wanted)
  const parent = await findParent(store, request.parent_conversation_id ?? null)
  if (sandboxId !== null && (await sandboxes.find(sandboxId)) === null)
    throw missing('sandbox_id', 'sandbox', sandboxId)
  // A child uses its parent's sandbox while that sandbox exists.
  const inherited = parent === null ? null : appOf(parent).sandbox_id
  const isInheritable = inherited !== null && (await sandboxes.find(inherited)) !== null
  const known = sandboxId ?? (isInheritable ? inherited : null)
  const now = new Date().toISOString()
  const fields = Object.entries(request as object as JsonObject)
  const { start, start_ref } = await lifecycle.starts.store(
    Object.fromEntries(fields.filter(([name]) => !isAppField(name))),
    { observability_metadata: request.observability_metadata },
  )
  return {
    id: newId(),
    created_by_user_id: null,
    status: 'WORKING',
    detail: null,
    app_conversation_id: null,
    sandbox_id: known ?? (sandboxes.possible ? newId() : null),
    request: { ...Object.fromEntries(fields.filter(([name]) => isAppField(name))), ...start },
    start_ref,
    created_at: now,
    updated_at: now,
    // Use the agent server's form of ids, so that the store rejects a second conversation with the id.
    planned_id: wanted === null ? newId() : dashedId(wanted),
    makes_sandbox: known === null && sandboxes.possible,
  }
}

interface StartTasksOptions {
  readonly sandboxTimeout: number
  readonly staleAfter: number
  readonly onReady: (conversationId: string) => void
  readonly onFailed: (task: StartTask) => void
  readonly onFailure: (error: unknown) => void
}

type TakeStep = (change: Partial<StoredTask>) => Promise<void>

export class StartTasks {
  readonly #context: ControlPlaneContext
  readonly #options: StartTasksOptions
  readonly records: Records<StoredTask>
  /** The start task of each planned conversation. The key is the conversation's id in the control plane's form. */
  readonly #planned: Records<{ readonly task: string }>
  readonly #jobs: Jobs<StoredTask>
  readonly worker: JobWorker<StoredTask>
  /** A stream for each task id. It gets the task after each step, and ends when this process stops work on the task. */
  readonly #followers = new Map<string, ReadableStreamDefaultController<StoredTask>>()

  constructor(context: ControlPlaneContext, options: StartTasksOptions) {
    this.#context = context
    this.#options = options
    const { store } = context.lifecycle.engine
    const kind: JobKind<StoredTask> = { store, collection: 'start-tasks', keysOf, ttl: options.staleAfter }
    this.records = recordsOf<StoredTask>(store, kind.collection)
    this.#planned = recordsOf(store, 'planned-conversations')
    this.#jobs = new Jobs(kind)
    this.worker = new JobWorker(this.#jobs, (job, signal) => this.#work(job, signal), options.onFailure)
  }

  async find(id: string): Promise<StoredTask | null> {
    for (const form of formsOf(id)) {
      const stored = await this.records.find(form)
      if (stored !== null) return stored.record
    }
    return null
  }

  async maker(conversationId: string): Promise<StoredTask | null> {
    for (const value of formsOf(conversationId).filter(isLegalId)) {
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
   * Creates a task and starts it. @throws HttpProblem 409 for a used id, 413 for a request that is too large,
   * 422 for an unknown parent or sandbox.
   */
  async create(request: StartRequest): Promise<StoredTask> {
    const job = await this.#add(request)
    this.worker.start(job)
    return job.record
  }

  /**
   * Starts a task. Yields the task whenever its status changes, until the task is over or this process stops.
   * @throws as `create` does.
   */
  async follow(request: StartRequest): Promise<AsyncGenerator<StoredTask, void, undefined>> {
    const job = await this.#add(request)
    const task = job.record
    const steps = new ReadableStream<StoredTask>({
      start: (controller) => void this.#followers.set(task.id, controller),
      cancel: () => void this.#followers.delete(task.id),
    })
    this.worker.start(job)
    return (async function* () {
      let last = task
      yield task
      for await (const next of steps) {
        if (next.status !== last.status) yield next
        last = next
      }
    })()
  }

  /** Deletes a conversation's tasks and ends the work on them. */
  async forget(conversationId: string): Promise<void> {
    const { store } = this.#context.lifecycle.engine
    for await (const { id } of this.records.walk({ by: 'planned', value: plainId(conversationId) })) {
      await retryConflicts(async () => {
        const stored = await this.records.find(id)
        if (stored === null) return
        await store.changeItems([
          this.records.changeOf(id, null, stored.version),
          ...this.#freed(stored.record),
        ])
      })
    }
  }

  /** Removes an erased message from the task that sent it. An unfinished task continues without the message. */
  async eraseMessage(conversationId: string, eventId: string): Promise<void> {
    for await (const { id, record } of this.records.walk({ by: 'planned', value: plainId(conversationId) })) {
      if (keyedId('message', record.planned_id, startKey(id)) !== eventId) continue
      const job = await this.#jobs.take(
        id,
        (task) => task && { ...task, request: { ...task.request, initial_message: null } },
      )
      await job?.release(isOver(job.record) ? null : 0)
    }
  }

  /** Deletes a sandbox unless a conversation, task or fork uses it. */
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
      // Another process may have deleted the sandbox.
      if (!isUnknown(error)) throw error
    })
  }

  async #add(request: StartRequest): Promise<Job<StoredTask>> {
    const task = await planTask(this.#context, request)
    const plannedId = plainId(task.planned_id)
    try {
      return await this.#jobs.add(task.id, task, [this.#planned.changeOf(plannedId, { task: task.id }, null)])
    } catch (error) {
      await this.#context.lifecycle.starts.forget({ metadata: { start_ref: task.start_ref } })
      // Two requests for the same id can both find that it is free.
      if (hasCode(error, 'version_conflict')) throw idInUse(plannedId)
      throw error
    }
  }

  #freed(task: StoredTask): readonly ItemChange[] {
    return isOver(task) ? [] : [this.#planned.changeOf(plainId(task.planned_id), null)]
  }

  async #work(job: Job<StoredTask>, signal: AbortSignal): Promise<void> {
    const task = job.record
    const step: TakeStep = async (change) => {
      signal.throwIfAborted()
      const before = job.record
      job.record = { ...before, ...change, updated_at: new Date().toISOString() }
      if (isOver(job.record)) await job.release(null, this.#freed(before))
      else await job.save()
      this.#followers.get(job.id)?.enqueue(job.record)
    }
    try {
      await this.#make(task, signal, step)
    } catch (error) {
      await this.#fail(job, error, step)
    } finally {
      this.#followers.get(job.id)?.close()
      this.#followers.delete(job.id)
    }
  }

  async #make(task: StoredTask, signal: AbortSignal, step: TakeStep): Promise<void> {
    const { lifecycle, sandboxes } = this.#context
    const { sandbox_id: sandboxId } = task
    if (sandboxId !== null) {
      await this.#bringUp(sandboxId, task.makes_sandbox, signal, step).catch(async (error: unknown) => {
        // If an earlier attempt made the conversation, the task is ready, even without the sandbox.
        if (!(error instanceof HttpProblem && (await isMade(lifecycle.engine.store, task)))) throw error
      })
    }
    await step({ status: 'STARTING_CONVERSATION' })
    const workingDir = sandboxId === null ? null : (await sandboxes.state(sandboxId)).working_dir
    const { id } = await makeConversation(lifecycle, task, { workingDir, signal })
    await step({ status: 'READY', app_conversation_id: id })
    this.#options.onReady(id)
  }

  /**
   * Starts or resumes a sandbox and waits until it runs. @throws HttpProblem 409; the reason of the signal.
   */
  async #bringUp(id: string, mayStart: boolean, signal: AbortSignal, step: TakeStep): Promise<void> {
    const { sandboxes } = this.#context
    const { sandboxTimeout } = this.#options
    if (mayStart && (await sandboxes.find(id)) === null) await sandboxes.start(null, id)
    else await sandboxes.resume(id)
    await step({ status: 'WAITING_FOR_SANDBOX' })
    const { status, status_detail } = await sandboxes.settled(id, sandboxTimeout, signal)
    signal.throwIfAborted()
    if (status === 'RUNNING') return
    const end = status_detail === null ? '.' : `: ${status_detail}`
    if (status !== 'STARTING') throw new HttpProblem(409, `The sandbox is ${status}${end}`)
    throw new HttpProblem(409, `The sandbox did not start within ${sandboxTimeout} ms${end}`)
  }

  async #fail(job: Job<StoredTask>, error: unknown, step: TakeStep): Promise<void> {
    // Another process continues the task.
    if (this.worker.isClosed || hasCode(error, 'closed') || hasCode(error, 'store_closed')) return
    if (hasCode(error, 'lease_lost')) {
      if ((await this.records.find(job.id)) === null) await this.#undo(job.record)
      return
    }
    // The task is repeated when its lease ends.
    if (isTransient(error)) throw error
    const { code, detail } = describeFailure(error)
    if (code === 'InternalError') this.#options.onFailure(error)
    await step({ status: 'ERROR', detail })
    this.#options.onFailed(publicTask(job.record, null))
    await this.#forgetStart(job.record)
    await this.#releaseOwn(job.record)
  }

  async #undo(task: StoredTask): Promise<void> {
    const { engine } = this.#context.lifecycle
    if (await isMade(engine.store, task).catch(() => false)) await engine.delete(task.planned_id)
    if (task.makes_sandbox && task.sandbox_id !== null) await this.release(task.sandbox_id)
    await this.#forgetStart(task)
  }

  /** Releases the sandbox that a task made, unless the sandbox's status is ERROR: its error must stay readable. */
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
