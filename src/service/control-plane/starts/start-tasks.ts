/** Works on start tasks in the background; a task of a process that died is taken over. */

import { hasCode } from '../../../event/errors.ts'
import { formsOf } from '../../conversations/find.ts'
import { HttpProblem } from '../../http/problem.ts'
import { collection } from '../../records/collection.ts'
import { isUnknown } from '../../conversations/conversations.ts'
import { isPassing } from '../../conversations/transient.ts'
import { describeFailure } from '../../http/failure-text.ts'
import { serialQueue } from '../../async/serial.ts'
import type { ControlPlaneContext } from '../conversations/describe.ts'
import { appOf } from '../conversations/metadata.ts'
import { bringUp } from '../sandboxes/bring-up.ts'
import { planTask } from './plan-task.ts'
import type { StartRequest } from '../request-schema.ts'
import { isMade, makeConversation, taken } from './create-conversation.ts'
import { newId } from '../sandboxes/sandboxes.ts'
import { isOver, type KeptTask, shown, type StartTask } from './start-task.ts'

/** How tasks are worked on. */
export interface StartTasksOptions {
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
  readonly #records
  readonly #owner = newId()
  readonly #working = new Map<string, Promise<void>>()
  readonly #followers = new Map<string, Follower>()
  readonly #closing = new AbortController()
  /** Within a process no caller has to try twice. */
  readonly #inTurn = serialQueue()

  constructor(telling: ControlPlaneContext, options: StartTasksOptions) {
    this.#telling = telling
    this.#options = options
    this.#records = collection<KeptTask>(telling.lifecycle.engine.store, 'start-tasks')
  }

  /**
   * All of them by id, the oldest first: as they are now, and later as they are then. O(changes since it was last
   * asked).
   */
  all(): Promise<ReadonlyMap<string, KeptTask>> {
    return this.#records.all()
  }

  /** One by its id, with or without hyphens. */
  async find(id: string): Promise<KeptTask | null> {
    return findIn(await this.all(), id)
  }

  /** The one that has yet to make a conversation, by the id that this will have. O(tasks). */
  async starting(conversationId: string): Promise<KeptTask | null> {
    const forms = formsOf(conversationId)
    for (const task of (await this.all()).values()) {
      if (forms.includes(task.planned_id) && !isOver(task)) return task
    }
    return null
  }

  /**
   * Begins one; it is worked on in the background. O(tasks). @throws HttpProblem 409 for a taken id, 422 for what is
   * not there.
   */
  async create(request: StartRequest, origin: string): Promise<StartTask> {
    const task = await this.#keep(request, origin)
    this.#begin(task)
    return shown(task)
  }

  /**
   * Begins one, and gives it as it is after each step, until it is over or this process works on it no more. @throws
   * the same.
   */
  async follow(request: StartRequest, origin: string): Promise<AsyncGenerator<StartTask, void, undefined>> {
    const task = await this.#keep(request, origin)
    const news: (KeptTask | null)[] = []
    let wake = nobodyWaits
    this.#followers.set(task.id, (next) => {
      news.push(next)
      wake()
    })
    this.#begin(task)
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

  /** Goes on with what another service left behind, and with nothing that anybody still works on. O(tasks). */
  async takeOver(): Promise<void> {
    const { taken } = await this.#inTurn(() =>
      this.#records.change((records) => {
        const now = Date.now()
        const before = new Date(now - this.#options.staleAfter).toISOString()
        const taken: KeptTask[] = []
        for (const task of records.values()) {
          if (isOver(task) || task.updated_at >= before || this.#working.has(task.id)) continue
          taken.push({ ...task, owner: this.#owner, updated_at: new Date(now).toISOString() })
        }
        return { taken, changes: taken.map((task) => [task.id, task] as const) }
      }),
    )
    for (const task of taken) this.#begin(task)
  }

  /** Takes out those of a conversation; a process that still works on one stops. O(tasks). */
  async forget(conversationId: string): Promise<void> {
    await this.#inTurn(() =>
      this.#records.change((records) => ({
        changes: [...records.values()]
          .filter((task) => task.planned_id === conversationId)
          .map(({ id }) => [id, null] as const),
      })),
    )
  }

  /**
   * Deletes a sandbox, unless a conversation lives in it or is about to: every one that does was made by a task.
   * O(tasks), and a look at each conversation of the sandbox.
   */
  async release(sandboxId: string): Promise<void> {
    const { lifecycle, sandboxes } = this.#telling
    for (const task of (await this.all()).values()) {
      if (task.sandbox_id !== sandboxId) continue
      if (!isOver(task)) return
      const record = await lifecycle.engine.store.getConversation(task.planned_id)
      if (record !== null && appOf(record).sandbox_id === sandboxId) return
    }
    await sandboxes.delete(sandboxId).catch((error: unknown) => {
      // Another process was faster.
      if (!isUnknown(error)) throw error
    })
  }

  /** Gives up all tasks, which another service, or this one when it is there again, goes on with. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#working.values())
  }

  async #keep(request: StartRequest, origin: string): Promise<KeptTask> {
    const task = await planTask(this.#telling, request, { origin, owner: this.#owner })
    await this.#inTurn(() =>
      this.#records.change((records) => {
        // Two who ask for one id at the same time both find it free.
        for (const other of records.values()) {
          if (other.planned_id === task.planned_id && !isOver(other)) throw taken(task.planned_id)
        }
        return { changes: [[task.id, task] as const] }
      }),
    )
    return task
  }

  #begin(task: KeptTask): void {
    const work = this.#work(task)
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#working.delete(task.id)
        this.#followers.get(task.id)?.(null)
        this.#followers.delete(task.id)
      })
    this.#working.set(task.id, work)
  }

  async #work(task: KeptTask): Promise<void> {
    let now = task
    const step: TakeStep = async (change) => {
      this.#closing.signal.throwIfAborted()
      now = { ...now, ...change, updated_at: new Date().toISOString() }
      await this.#write(now)
      this.#followers.get(now.id)?.(now)
    }
    try {
      await this.#make(task, step)
    } catch (error) {
      if (error instanceof NotOurs) return error.isGone ? this.#undo(task) : undefined
      // The service goes away; the task stays, to be taken over.
      if (this.#closing.signal.aborted || hasCode(error, 'closed') || hasCode(error, 'store_closed')) return
      // What may be well soon is tried again when the task is stale.
      if (isPassing(error)) return this.#options.onFailure(error)
      const { code, detail } = describeFailure(error)
      if (code === 'InternalError') this.#options.onFailure(error)
      try {
        await step({ status: 'ERROR', detail })
        this.#options.onFailed(shown(now))
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

  /** Writes a task, for as long as it is ours. @throws NotOurs. */
  async #write(task: KeptTask): Promise<void> {
    const { ended } = await this.#inTurn(() =>
      this.#records.change((records) => {
        const kept = records.get(task.id)
        const isOurs = kept !== undefined && kept.owner === this.#owner && !isOver(kept)
        return {
          ended: isOurs ? null : new NotOurs(kept === undefined),
          changes: isOurs ? [[task.id, task] as const] : [],
        }
      }),
    )
    if (ended !== null) throw ended
  }

  /** Takes away what was made for a task whose conversation was deleted meanwhile. */
  async #undo(task: KeptTask): Promise<void> {
    const { engine } = this.#telling.lifecycle
    if (await isMade(engine.store, task).catch(() => false)) await engine.delete(task.planned_id)
    if (task.makes_sandbox && task.sandbox_id !== null) await this.release(task.sandbox_id)
  }
}

/** One of the tasks by its id, with or without hyphens. */
export function findIn(tasks: ReadonlyMap<string, KeptTask>, id: string): KeptTask | null {
  for (const form of formsOf(id)) {
    const task = tasks.get(form)
    if (task !== undefined) return task
  }
  return null
}

const nobodyWaits = (): void => undefined
