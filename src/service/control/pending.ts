/** Messages to conversations that are not ready go in; each is sent once, in order, when its conversation is, also after a restart. */

import type { Store } from '../../store/store.ts'
import { findConversation } from '../conversation-id.ts'
import { HttpProblem } from '../http/problem.ts'
import { ledger } from '../ledger.ts'
import { endOf, open, userSays } from '../lifecycle/lifecycle.ts'
import { sandboxOf, type Telling } from './app-conversation.ts'
import { newId } from './sandboxes.ts'
import { isOver, type KeptTask } from './start-task.ts'
import type { StartTasks } from './start-tasks.ts'

/** Most messages that wait for one conversation. */
export const MOST_PENDING = 10

interface Kept {
  readonly id: string
  readonly conversation_id: string
  readonly content: readonly object[]
  readonly created_at: string
}

/** What is told of a message that waits. */
export interface Queued {
  readonly id: string
  readonly queued: true
  /** From 1 on. */
  readonly position: number
}

/** The messages that wait. */
export class Pending {
  readonly #telling: Telling
  readonly #tasks: Pick<StartTasks, 'all' | 'find'>
  readonly #records
  readonly #onFailure: (error: unknown) => void
  readonly #delivering = new Map<string, Promise<void>>()

  constructor(
    telling: Telling,
    tasks: Pick<StartTasks, 'all' | 'find'>,
    onFailure: (error: unknown) => void,
  ) {
    this.#telling = telling
    this.#tasks = tasks
    this.#onFailure = onFailure
    this.#records = ledger<Kept>(this.#store, 'pending-messages')
  }

  get #store(): Store {
    return this.#telling.lifecycle.engine.store
  }

  /**
   * Keeps a message for a conversation, which may be named by the task that starts it.
   * @throws HttpProblem 404 for neither, 409 for a task that failed, 429 when too many wait.
   */
  async add(target: string, content: readonly object[]): Promise<Queued> {
    const conversationId = await this.#resolve(target)
    const id = newId()
    const created_at = new Date().toISOString()
    const { position } = await this.#records.change((records) => {
      const position = waitingFor(records.values(), conversationId).length + 1
      if (position > MOST_PENDING) {
        throw new HttpProblem(
          429,
          `${MOST_PENDING} messages wait for the conversation already; try again later.`,
        )
      }
      return {
        position,
        changes: [[id, { id, conversation_id: conversationId, content, created_at }] as const],
      }
    })
    this.deliver(conversationId)
    return { id, queued: true, position }
  }

  /** Sends, in the background, what waits for a conversation, if that is ready now. */
  deliver(conversationId: string): void {
    const before = this.#delivering.get(conversationId) ?? Promise.resolve()
    const turn: Promise<void> = before
      .then(() => this.#deliver(conversationId))
      .catch(this.#onFailure)
      .finally(() => {
        if (this.#delivering.get(conversationId) === turn) this.#delivering.delete(conversationId)
      })
    this.#delivering.set(conversationId, turn)
  }

  /** The same for all that wait. */
  async deliverAll(): Promise<void> {
    const waiting = [...(await this.#records.all()).values()]
    for (const id of new Set(waiting.map(({ conversation_id }) => conversation_id))) this.deliver(id)
  }

  /** Takes out what waits for a conversation. */
  async forget(conversationId: string): Promise<void> {
    await this.#records.change((records) => ({
      changes: waitingFor(records.values(), conversationId).map(({ id }) => [id, null] as const),
    }))
  }

  /** Resolves when nothing is being sent. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#delivering.values())
  }

  async #resolve(target: string): Promise<string> {
    const task = (await this.#tasks.find(target)) ?? (await this.#taskFor(target))
    if (task !== null && task.status !== 'READY') {
      if (task.status === 'ERROR') throw new HttpProblem(409, 'The conversation could not be started.')
      return task.planned_id
    }
    const found = await findConversation(this.#store, task?.planned_id ?? target)
    if (found !== null) return found.id
    throw new HttpProblem(404, `Conversation ${JSON.stringify(target)} is not known.`)
  }

  /** The task that has yet to make a conversation. */
  async #taskFor(conversationId: string): Promise<KeptTask | null> {
    const tasks = await this.#tasks.all()
    return tasks.find((task) => task.planned_id === conversationId && !isOver(task)) ?? null
  }

  async #deliver(conversationId: string): Promise<void> {
    if ((await this.#taskFor(conversationId)) !== null) return
    const record = await findConversation(this.#store, conversationId)
    if (record === null) return
    if ((await sandboxOf(this.#telling.sandboxes, record)) !== 'RUNNING') return
    const { lifecycle } = this.#telling
    for (const { id, content } of waitingFor((await this.#records.all()).values(), conversationId)) {
      const conversation = await open(lifecycle, conversationId)
      // Under its key it is said once, however often it is sent.
      const sent = await conversation.sendMessage(userSays(content), { key: `pending-${id}` })
      await this.#records.remove(id)
      lifecycle.runs.join(conversation, endOf(sent))
    }
  }
}

const waitingFor = (records: Iterable<Kept>, conversationId: string): Kept[] =>
  [...records].filter((record) => record.conversation_id === conversationId)
