/** Works on start tasks in the background; those of a process that died are claimed by others. */

import { serialQueue } from '../../conversation/async.ts'
import { hasCode } from '../../event/errors.ts'
import type { ItemChange, ItemFilter, ItemQuery } from '../../store/contract/items.ts'
import { type Count, type CountOptions, MAX_PAGE_SIZE, type Page } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { isUnknown } from '../conversations/conversations.ts'
import { formsOf, plainId } from '../conversations/find-conversation.ts'
import { isPassing } from '../conversations/transient.ts'
import { describeFailure, HttpProblem } from '../http/problem.ts'
import { type Index, type Kept, type Records, recordsOf, tryMake } from '../records.ts'
import type { ControlPlaneContext } from './app-conversations.ts'
import { appOf } from './app-metadata.ts'
import type { StartRequest } from '../request-schema.ts'
import { bringUp } from './sandboxes.ts'
import {
  isMade,
  isOver,
  type KeptTask,
  makeConversation,
  planTask,
  shown,
  type StartTask,
  taken,
} from './start-task.ts'

/** By what one is found. One that is not over is due when it was not written for too long. */
const indexOf = (task: KeptTask, staleAfter: number): Index => ({
  keys: {
    created_at: task.created_at,
    updated_at: task.updated_at,
    planned: plainId(task.planned_id),
    ...(task.app_conversation_id !== null && { conversation: task.app_conversation_id }),
    ...(task.sandbox_id !== null && { sandbox: task.sandbox_id }),
  },
  dueIn: isOver(task) ? null : staleAfter,
})

/** Keyed by ids without dashes, so that both forms of a UUID are one key. */
class PlannedIds {
  readonly #records: Records<{ readonly task: string }>

  constructor(store: Store) {
    this.#records = recordsOf(store, 'planned-conversations')
  }

  /** Gives an id to a task; with an expected version of null, only where no other task has it. */
  given({ id, planned_id }: KeptTask, expected?: null): ItemChange {
    return this.#records.changeOf(plainId(planned_id), { task: id }, expected)
  }

  /** What else is changed when a task is over, or taken out: its id is free. */
  freed(task: KeptTask): readonly ItemChange[] {
    return isOver(task) ? [] : [this.#records.changeOf(plainId(task.planned_id), null)]
  }

  /** The task that an id is given to. */
  async taskOf(conversationId: string): Promise<string | null> {
    return (await this.#records.find(plainId(conversationId)))?.record.task ?? null
  }
}

/** How tasks are worked on. */
interface StartTasksOptions {
  /** Milliseconds that a sandbox may take to come up. */
  readonly sandboxTimeout: number
  /** Milliseconds without a heartbeat after which a task is stale. */
  readonly staleAfter: number
  /** Called when a conversation is ready. */
  readonly onReady: (conversationId: string) => void
  /** Called with each task that has failed. */
  readonly onFailed: (task: StartTask) => void
  /** Called with failures that could not be written to a task. */
  readonly onFailure: (error: unknown) => void
}

/** Is given the task as it is now, and null when this process works on it no more. */
type Follower = (task: KeptTask | null) => void

/** A task that this process works on. */
interface Work {
  /** The version that it holds it under. */
  version: number
  done: Promise<void>
}

/** Writes how far a task has come. */
type TakeStep = (change: Partial<KeptTask>) => Promise<void>

/** Ends the work on a task that is another's by now, or taken out. */
class NotOurs extends Error {
  /** Whether it is there no more: its conversation was deleted. */
  readonly isGone: boolean

  constructor(isGone: boolean) {
    super('The task is not ours.')
    this.isGone = isGone
  }
}

/** The tasks of a service. */
export class StartTasks {
  readonly #telling: ControlPlaneContext
  readonly #options: StartTasksOptions
  readonly #records: Records<KeptTask>
  readonly #planned: PlannedIds
  readonly #working = new Map<string, Work>()
  readonly #followers = new Map<string, Follower>()
  readonly #closing = new AbortController()
  /** Within a process no caller has to try twice. */
  readonly #inTurn = serialQueue()

  constructor(telling: ControlPlaneContext, options: StartTasksOptions) {
    this.#telling = telling
    this.#options = options
    const { store } = telling.lifecycle.engine
    this.#planned = new PlannedIds(store)
    this.#records = recordsOf<KeptTask>(store, 'start-tasks', (task) => indexOf(task, options.staleAfter))
  }

  /** A page of them, by the time of their making or of their last change. @throws ColloquyError `invalid_cursor`. */
  list(query: ItemQuery): Promise<Page<Kept<KeptTask>>> {
    return this.#records.list(query)
  }

  /** How many there are. */
  count(filter: ItemFilter, options: CountOptions): Promise<Count> {
    return this.#records.count(filter, options)
  }

  /** One by its id, with or without hyphens. */
  async find(id: string): Promise<KeptTask | null> {
    for (const form of formsOf(id)) {
      const kept = await this.#records.find(form)
      if (kept !== null) return kept.record
    }
    return null
  }

  /** The one that made a conversation. */
  async maker(conversationId: string): Promise<KeptTask | null> {
    for (const value of formsOf(conversationId)) {
      const { items } = await this.#records.list({ by: 'conversation', value, limit: 1 })
      if (items[0] !== undefined) return items[0].record
    }
    return null
  }

  /** The one that has yet to make a conversation, by the id that this will have. */
  async starting(conversationId: string): Promise<KeptTask | null> {
    const id = await this.#planned.taskOf(conversationId)
    const task = id === null ? null : await this.find(id)
    return task === null || isOver(task) ? null : task
  }

  /**
   * Begins one; it is worked on in the background. @throws HttpProblem 409 for a taken id, 422 for what is
   * not there.
   */
  async create(request: StartRequest, origin: string): Promise<StartTask> {
    const { record: task, version } = await this.#keep(request, origin)
    this.#begin(task, version)
    return shown(task)
  }

  /**
   * Begins one, and gives it as it is after each step, until it is over or this process works on it no more. @throws
   * the same.
   */
  async follow(request: StartRequest, origin: string): Promise<AsyncGenerator<StartTask, void, undefined>> {
    const { record: task, version } = await this.#keep(request, origin)
    const news: (KeptTask | null)[] = []
    let wake = nobodyWaits
    this.#followers.set(task.id, (next) => {
      news.push(next)
      wake()
    })
    this.#begin(task, version)
    return (async function* () {
      let last = task
      yield shown(task)
      for (;;) {
        const next = news.shift()
        if (next === null) return
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve))
        else {
          if (next.status !== last.status) yield shown(next)
          last = next
        }
      }
    })()
  }

  /** Goes on with what another service left behind, and with nothing that is still worked on. O(those that are due). */
  async takeOver(): Promise<void> {
    let due: readonly Kept<KeptTask>[]
    do {
      due = await this.#inTurn(() => this.#claim())
      for (const { record, version } of due) if (!this.#working.has(record.id)) this.#begin(record, version)
    } while (due.length === MAX_PAGE_SIZE)
  }

  async #claim(): Promise<readonly Kept<KeptTask>[]> {
    const due = await this.#records.claim(this.#options.staleAfter)
    // One that this process works on, and has not written for long, stays its own.
    for (const { id, version } of due) {
      const work = this.#working.get(id)
      if (work !== undefined) work.version = version
    }
    return due
  }

  /** Takes out those of a conversation, and gives whether there were any; who works on one stops. O(tasks of it). */
  async forget(conversationId: string): Promise<boolean> {
    let found = false
    for await (const { id } of this.#records.walk({ by: 'planned', value: plainId(conversationId) })) {
      for (;;) {
        const kept = await this.#records.find(id)
        if (kept === null) break
        const changes = [this.#records.changeOf(id, null, kept.version), ...this.#planned.freed(kept.record)]
        if (!(await tryMake(this.#records.make, changes))) continue
        found = true
        break
      }
    }
    return found
  }

  /**
   * Deletes a sandbox, unless a conversation lives in it or is about to: every one that does was made by a task, or is
   * a fork. O(tasks of the sandbox), and a look at each of their conversations.
   */
  async release(sandboxId: string): Promise<void> {
    const { lifecycle, sandboxes } = this.#telling
    for await (const { record: task } of this.#records.walk({ by: 'sandbox', value: sandboxId })) {
      if (!isOver(task)) return
      const record = await lifecycle.engine.store.getConversation(task.planned_id)
      if (record !== null && appOf(record).sandbox_id === sandboxId) return
    }
    if ((await lifecycle.engine.store.listConversations({ sandboxId, limit: 1 })).items.length > 0) return
    await sandboxes.delete(sandboxId).catch((error: unknown) => {
      // Another process was faster.
      if (!isUnknown(error)) throw error
    })
  }

  /** Gives up all tasks, which another service, or this one when it is there again, goes on with. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(Array.from(this.#working.values(), ({ done }) => done))
  }

  async #keep(request: StartRequest, origin: string): Promise<Kept<KeptTask>> {
    const task = await planTask(this.#telling, request, origin)
    const changes = [this.#records.changeOf(task.id, task, null), this.#planned.given(task, null)]
    try {
      const [version = null] = await this.#records.make(changes)
      return { id: task.id, record: task, version: version ?? 0 }
    } catch (error) {
      await this.#telling.lifecycle.starts.forget({ metadata: { start_ref: task.start_ref ?? null } })
      // Two who ask for one id at the same time both find it free.
      if (hasCode(error, 'version_conflict')) throw taken(plainId(task.planned_id))
      throw error
    }
  }

  #begin(task: KeptTask, version: number): void {
    const work: Work = { version, done: Promise.resolve() }
    this.#working.set(task.id, work)
    work.done = this.#work(task)
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#working.delete(task.id)
        this.#followers.get(task.id)?.(null)
        this.#followers.delete(task.id)
      })
  }

  async #work(task: KeptTask): Promise<void> {
    let now = task
    const step: TakeStep = async (change) => {
      this.#closing.signal.throwIfAborted()
      const next = { ...now, ...change, updated_at: new Date().toISOString() }
      await this.#write(now, next)
      now = next
      this.#followers.get(now.id)?.(now)
    }
    try {
      await this.#make(task, step)
    } catch (error) {
      if (error instanceof NotOurs) return error.isGone ? this.#undo(task) : undefined
      // The service is shutting down; the task stays, to be taken over.
      if (this.#closing.signal.aborted || hasCode(error, 'closed') || hasCode(error, 'store_closed')) return
      // What may be well soon is tried again when the task is stale.
      if (isPassing(error)) return this.#options.onFailure(error)
      const { code, detail } = describeFailure(error)
      if (code === 'InternalError') this.#options.onFailure(error)
      try {
        await step({ status: 'ERROR', detail })
        this.#options.onFailed(shown(now))
        await this.#forgetStart(now)
        await this.#releaseOwn(now)
      } catch (ended) {
        if (!(ended instanceof NotOurs)) throw ended
      }
    }
  }

  async #make(task: KeptTask, step: TakeStep): Promise<void> {
    const { lifecycle, sandboxes } = this.#telling
    const { sandbox_id: sandboxId } = task
    const { signal } = this.#closing
    const { sandboxTimeout, staleAfter } = this.#options
    if (sandboxId !== null) {
      await bringUp(
        sandboxes,
        { id: sandboxId, mayStart: task.makes_sandbox },
        {
          sandboxTimeout,
          heartbeatInterval: staleAfter / 3,
          signal,
          onBeat: () => step({ status: 'WAITING_FOR_SANDBOX' }),
        },
      ).catch(async (error: unknown) => {
        // Where it was made before, there is something to be ready, whatever has become of its sandbox since.
        if (!(error instanceof HttpProblem && (await isMade(lifecycle.engine.store, task)))) throw error
      })
    }
    await step({ status: 'STARTING_CONVERSATION' })
    const workingDir = sandboxId === null ? null : (await sandboxes.state(sandboxId)).working_dir
    const { id } = await makeConversation(lifecycle, task, { workingDir, signal })
    await step({ status: 'READY', app_conversation_id: id })
    this.#options.onReady(id)
  }

  /** Writes a task, for as long as it is ours: no other process has claimed it. @throws NotOurs. */
  async #write(before: KeptTask, task: KeptTask): Promise<void> {
    await this.#inTurn(async () => {
      const work = this.#working.get(task.id)
      const change = this.#records.changeOf(task.id, task, work?.version ?? 0)
      try {
        const [version] = await this.#records.make([
          change,
          ...(isOver(task) ? this.#planned.freed(before) : []),
        ])
        if (work !== undefined) work.version = version ?? 0
      } catch (error) {
        if (!hasCode(error, 'version_conflict')) throw error
        throw new NotOurs((await this.#records.find(task.id)) === null)
      }
    })
  }

  /** Takes away what was made for a task whose conversation was deleted meanwhile. */
  async #undo(task: KeptTask): Promise<void> {
    const { engine } = this.#telling.lifecycle
    if (await isMade(engine.store, task).catch(() => false)) await engine.delete(task.planned_id)
    if (task.makes_sandbox && task.sandbox_id !== null) await this.release(task.sandbox_id)
    await this.#forgetStart(task)
  }

  /** The sandbox of a start that has failed goes; one that has failed itself stays, for what it says. */
  async #releaseOwn({ makes_sandbox: isOwn, sandbox_id: id }: KeptTask): Promise<void> {
    if (!isOwn || id === null || (await this.#telling.sandboxes.state(id)).status === 'ERROR') return
    await this.release(id)
  }

  #forgetStart({ planned_id: id, start_ref = null }: KeptTask): Promise<void> {
    return this.#telling.lifecycle.starts.forgetUnlessMade({ id, metadata: { start_ref } })
  }
}

const nobodyWaits = (): void => undefined

/** Start tasks: each makes a conversation, and its sandbox, in the background. */
