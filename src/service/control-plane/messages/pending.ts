/** Messages to conversations that are not ready: each is sent once, in order, also after a restart. */

import { hasCode } from '../../../event/errors.ts'
import type { Store } from '../../../store/contract/store.ts'
import { findConversation } from '../../conversations/find.ts'
import { HttpProblem } from '../../http/problem.ts'
import { collection } from '../../records/collection.ts'
import { isUnknown, open } from '../../conversations/conversations.ts'
import { sandboxOf, type ControlPlaneContext } from '../conversations/describe.ts'
import { newId } from '../sandboxes/sandboxes.ts'
import { sendOnce } from '../../conversations/send-once.ts'
import type { StartTasks } from '../starts/start-tasks.ts'

/** Most messages that wait for one conversation. */
export const MOST_PENDING = 10

interface Kept {
  readonly id: string
  readonly conversation_id: string
  readonly content: readonly object[]
  readonly created_at: string
}

/** What clients read of a message that waits. */
export interface Queued {
  readonly id: string
  readonly queued: true
  /** From 1 on. */
  readonly position: number
}

/** The messages that wait. */
export class Pending {
  readonly #telling: ControlPlaneContext
  readonly #tasks: Pick<StartTasks, 'starting' | 'find'>
  readonly #records
  readonly #onFailure: (error: unknown) => void
  /** The conversations to which a message is being sent; true when there may be more since. */
  readonly #saying = new Map<string, boolean>()
  readonly #work = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(
    telling: ControlPlaneContext,
    tasks: Pick<StartTasks, 'starting' | 'find'>,
    onFailure: (error: unknown) => void,
  ) {
    this.#telling = telling
    this.#tasks = tasks
    this.#onFailure = onFailure
    this.#records = collection<Kept>(this.#store, 'pending-messages')
  }

  get #store(): Store {
    return this.#telling.lifecycle.engine.store
  }

  /**
   * Keeps a message for a conversation, which may be named by the task that starts it. O(messages that wait + tasks).
   * @throws HttpProblem 404 for neither, 409 for a task that failed, 429 when too many wait.
   */
  async add(target: string, content: readonly object[]): Promise<Queued> {
    const conversationId = await this.#resolve(target)
    const id = newId()
    const created_at = new Date().toISOString()
    const { position } = await this.#records.change((records) => {
      const position = waitingFor(records, conversationId).length + 1
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

  /** Says, in the background, what waits for a conversation, if that is ready now. O(messages that wait + tasks). */
  deliver(conversationId: string): void {
    const isBusy = this.#saying.has(conversationId)
    this.#saying.set(conversationId, true)
    if (isBusy) return
    const work = this.#deliver(conversationId)
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.#onFailure(error)
      })
      .finally(() => this.#work.delete(work))
    this.#work.add(work)
  }

  /** The same for all conversations that something waits for. */
  async deliverAll(): Promise<void> {
    const waiting = new Set<string>()
    for (const { conversation_id } of (await this.#records.all()).values()) waiting.add(conversation_id)
    for (const id of waiting) this.deliver(id)
  }

  /** Takes out what waits for a conversation. O(messages that wait). */
  async forget(conversationId: string): Promise<void> {
    await this.#records.change((records) => ({
      changes: waitingFor(records, conversationId).map(({ id }) => [id, null] as const),
    }))
  }

  /** Stops what is being sent; what was not sent stays, to be sent later. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#work)
  }

  async #resolve(target: string): Promise<string> {
    const task = (await this.#tasks.find(target)) ?? (await this.#tasks.starting(target))
    if (task !== null && task.status !== 'READY') {
      if (task.status === 'ERROR') throw new HttpProblem(409, 'The conversation could not be started.')
      return task.planned_id
    }
    const found = await findConversation(this.#store, task?.planned_id ?? target)
    if (found !== null) return found.id
    throw new HttpProblem(404, `Conversation ${JSON.stringify(target)} is not known.`)
  }

  /** Again and again, until nothing has come since it looked. */
  async #deliver(conversationId: string): Promise<void> {
    try {
      while (this.#saying.get(conversationId) === true && !this.#closing.signal.aborted) {
        this.#saying.set(conversationId, false)
        await this.#say(conversationId)
      }
    } finally {
      this.#saying.delete(conversationId)
    }
  }

  async #say(conversationId: string): Promise<void> {
    const { lifecycle, sandboxes } = this.#telling
    const record = await this.#store.getConversation(conversationId)
    // Those that wait long wait for their sandbox, and cost no more than this look.
    if (record !== null && (await sandboxOf(sandboxes, record)).status !== 'RUNNING') return
    const waiting = waitingFor(await this.#records.all(), conversationId)
    if (waiting.length === 0 || (await this.#tasks.starting(conversationId)) !== null) return
    if (record === null) {
      // It was made since, or was deleted, or could not be started: then there is no conversation to send it to.
      if ((await this.#store.getConversation(conversationId)) !== null) return this.deliver(conversationId)
      for (const { id } of waiting) await this.#records.remove(id)
      return
    }
    const { signal } = this.#closing
    for (const { id, content } of waiting) {
      try {
        const conversation = await open(lifecycle, conversationId)
        await sendOnce(lifecycle, conversation, { content, key: `pending-${id}`, run: true, signal })
      } catch (error) {
        // It was deleted meanwhile: the next look takes out what waits for it.
        if (isUnknown(error)) return this.deliver(conversationId)
        // What cannot be said at all must not keep back what comes after it.
        if (!hasCode(error, 'invalid_event')) throw error
        this.#onFailure(error)
      }
      await this.#records.remove(id)
    }
  }
}

function waitingFor(records: ReadonlyMap<string, Kept>, conversationId: string): Kept[] {
  const waiting: Kept[] = []
  for (const record of records.values()) if (record.conversation_id === conversationId) waiting.push(record)
  return waiting
}
