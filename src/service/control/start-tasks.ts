/** Starts of conversations: requests go in; each becomes a task that is worked on in the background, goes on after a restart, and can be followed. */

import { hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { findConversation } from '../conversation-id.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { ledger } from '../ledger.ts'
import { tellOf } from '../live/faults.ts'
import { appOf, type Telling } from './app-conversation.ts'
import { pause } from './pause.ts'
import { newId } from './sandboxes.ts'
import { makeConversation } from './start-conversation.ts'
import { isOver, type KeptTask, shown, type StartRequest, type StartTask } from './start-task.ts'

/** How tasks are worked on. */
export interface StartTasksOptions {
  /** Milliseconds that a sandbox may take to come up. */
  readonly patience: number
  /** Milliseconds after which a task that nobody has written to is taken for left behind. */
  readonly stale: number
  /** Told when a conversation is ready. */
  readonly onReady: (conversationId: string) => void
  /** Told of failures that no task could be told of. */
  readonly onFailure: (error: unknown) => void
}

/** Is given the task as it is now, and null when nobody works on it here any more. */
type Follower = (task: KeptTask | null) => void

/** The tasks of a service. */
export class StartTasks {
  readonly #telling: Telling
  readonly #options: StartTasksOptions
  readonly #records
  readonly #owner = newId()
  readonly #working = new Map<string, Promise<void>>()
  readonly #followers = new Map<string, Follower>()
  readonly #closing = new AbortController()

  constructor(telling: Telling, options: StartTasksOptions) {
    this.#telling = telling
    this.#options = options
    this.#records = ledger<KeptTask>(telling.lifecycle.engine.store, 'start-tasks')
  }

  /** All of them, the oldest first. */
  async all(): Promise<readonly KeptTask[]> {
    return [...(await this.#records.all()).values()]
  }

  async find(id: string): Promise<KeptTask | null> {
    return (await this.#records.all()).get(id) ?? null
  }

  /** Begins one; it is worked on in the background. @throws HttpProblem 409 for a taken id, 422 for what is not there. */
  async create(request: StartRequest, origin: string): Promise<StartTask> {
    const task = await this.#keep(request, origin)
    this.#begin(task)
    return shown(task)
  }

  /** Begins one, and gives it as it is after each step, until it is over or nobody works on it here any more. @throws the same. */
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

  async #keep(request: StartRequest, origin: string): Promise<KeptTask> {
    const { store } = this.#telling.lifecycle.engine
    const wanted = request.conversation_id ?? null
    const parentId = request.parent_conversation_id ?? null
    const givenSandbox = request.sandbox_id ?? null
    if (wanted !== null && (await findConversation(store, wanted)) !== null) {
      throw new HttpProblem(409, `Conversation ${JSON.stringify(wanted)} exists already.`)
    }
    const parent = parentId === null ? null : await this.#parent(parentId)
    const sandboxId = givenSandbox ?? (parent === null ? null : appOf(parent).sandbox_id)
    if (givenSandbox !== null) await this.#checkSandbox(givenSandbox)
    const at = new Date().toISOString()
    const task: KeptTask = {
      id: newId(),
      created_by_user_id: null,
      status: 'WORKING',
      detail: null,
      app_conversation_id: null,
      // A sandbox of its own gets its name now, so that whoever goes on with the task starts no second one.
      sandbox_id: sandboxId ?? (this.#telling.sandboxes.possible ? newId() : null),
      agent_server_url: origin,
      request: request as object as JsonObject,
      created_at: at,
      updated_at: at,
      planned_id: wanted ?? newId(),
      owner: this.#owner,
    }
    await this.#records.put(task.id, task)
    return task
  }

  /** Goes on with what another service left behind, and with nothing that anybody still works on. */
  async takeOver(): Promise<void> {
    const before = new Date(Date.now() - this.#options.stale).toISOString()
    const { taken } = await this.#records.change((records) => {
      const left = [...records.values()].filter(
        (task) => !isOver(task) && task.updated_at < before && !this.#working.has(task.id),
      )
      const taken = left.map((task) => ({
        ...task,
        owner: this.#owner,
        updated_at: new Date().toISOString(),
      }))
      return { taken, changes: taken.map((task) => [task.id, task] as const) }
    })
    for (const task of taken) this.#begin(task)
  }

  /** Takes out those of a conversation. */
  async forget(conversationId: string): Promise<void> {
    await this.#records.change((records) => ({
      changes: [...records.values()]
        .filter((task) => task.planned_id === conversationId && isOver(task))
        .map(({ id }) => [id, null] as const),
    }))
  }

  /** Lets go of all tasks, which another service, or this one when it is there again, goes on with. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#working.values())
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
    const step = async (change: Partial<KeptTask>): Promise<void> => {
      this.#closing.signal.throwIfAborted()
      now = { ...now, ...change, updated_at: new Date().toISOString() }
      await this.#records.put(now.id, now)
      this.#followers.get(now.id)?.(now)
    }
    try {
      if (now.sandbox_id !== null) await this.#bringUp(now.sandbox_id, step)
      await step({ status: 'STARTING_CONVERSATION' })
      const state = now.sandbox_id === null ? null : await this.#telling.sandboxes.state(now.sandbox_id)
      const conversation = await makeConversation(this.#telling, now, state?.working_dir ?? null)
      await step({ status: 'READY', app_conversation_id: conversation.id })
      this.#options.onReady(conversation.id)
    } catch (error) {
      // The service goes away; the task stays, to be taken over.
      if (this.#closing.signal.aborted || hasCode(error, 'closed') || hasCode(error, 'store_closed')) return
      const { code, detail } = tellOf(error)
      if (code === 'InternalError') this.#options.onFailure(error)
      await step({ status: 'ERROR', detail })
    }
  }

  /** Starts a sandbox, or lets one that is held go on, and waits for it. */
  async #bringUp(id: string, step: (change: Partial<KeptTask>) => Promise<void>): Promise<void> {
    const { sandboxes } = this.#telling
    const { patience, stale } = this.#options
    if ((await sandboxes.find(id)) === null) await sandboxes.start(null, id)
    else await sandboxes.resume(id)
    await step({ status: 'WAITING_FOR_SANDBOX' })
    const start = performance.now()
    let told = start
    for (let wait = 20; ; wait = Math.min(500, wait * 1.5)) {
      const { status, status_detail } = await sandboxes.state(id)
      if (status === 'RUNNING') return
      const why = status_detail === null ? '' : `: ${status_detail}`
      if (status !== 'STARTING') throw new HttpProblem(409, `The sandbox is ${status}${why}`)
      if (performance.now() - start > patience) {
        throw new HttpProblem(409, `The sandbox did not come up within ${patience} ms${why}`)
      }
      if (performance.now() - told > stale / 3) {
        told = performance.now()
        await step({})
      }
      await pause(wait, this.#closing.signal)
      this.#closing.signal.throwIfAborted()
    }
  }

  async #parent(id: string): Promise<ConversationRecord> {
    const parent = await findConversation(this.#telling.lifecycle.engine.store, id)
    if (parent !== null) return parent
    throw missing('parent_conversation_id', 'conversation', id)
  }

  async #checkSandbox(id: string): Promise<void> {
    if ((await this.#telling.sandboxes.find(id)) === null) throw missing('sandbox_id', 'sandbox', id)
  }
}

const nobodyWaits = (): void => undefined

const missing = (field: string, what: string, id: string): HttpProblem =>
  invalid({
    type: 'value_error',
    loc: ['body', field],
    msg: `Value error, there is no ${what} ${JSON.stringify(id)}`,
    input: id,
  })
