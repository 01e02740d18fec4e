/** Messages to conversations that are not ready: each is sent once, in order, also after a restart. */

import { hasCode } from '../../event/errors.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { isUnknown, open, sendOnce } from '../conversations/conversations.ts'
import { findConversation, shownId } from '../conversations/find-conversation.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Index, type Kept, type Records, recordsOf } from '../records.ts'
import { type ControlPlaneContext, sandboxOf } from './app-conversations.ts'
import { appOf } from './app-metadata.ts'
import { newId } from './sandboxes.ts'
import type { StartTasks } from './start-tasks.ts'

/** Most messages that wait for one conversation. */
export const MOST_PENDING = 10
/** Characters of them together, as JSON, where there are several: with each that comes or goes all are written anew. */
export const MOST_PENDING_TEXT = 2 ** 22

/** One message that waits. */
interface Waiting {
  readonly id: string
  readonly content: readonly object[]
  readonly created_at: string
}

/**
 * What waits for one conversation, in order. The id of the record is that of the conversation without dashes: two
 * forms of one UUID are one, whichever the conversation was made under.
 */
interface Queue {
  readonly messages: readonly Waiting[]
  /** The sandbox that it waits for; null when it is not known to wait for one. */
  readonly sandbox_id: string | null
  /** Distinguishes the conversation from later ones with the same id. */
  readonly incarnation: string
}

/** What a message is kept for. */
interface Addressee {
  readonly id: string
  readonly incarnation: string
}

/** Milliseconds between two looks at what waits long, at most. */
const LONGEST_WAIT = 600_000

/** What clients read of a message that waits. */
interface Queued {
  readonly id: string
  readonly queued: true
  /** From 1 on. */
  readonly position: number
}

/** The messages that wait. */
export class PendingMessages {
  readonly #telling: ControlPlaneContext
  readonly #tasks: Pick<StartTasks, 'starting' | 'find'>
  readonly #records: Records<Queue>
  readonly #onFailure: (error: unknown) => void
  readonly #retryAfter: number
  /** The conversations to which a message is being sent; true when there may be more since. */
  readonly #saying = new Map<string, boolean>()
  readonly #work = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  /** @param retryAfter milliseconds after which it is looked again whether what waits can be said */
  constructor(
    telling: ControlPlaneContext,
    tasks: Pick<StartTasks, 'starting' | 'find'>,
    onFailure: (error: unknown) => void,
    retryAfter: number,
  ) {
    this.#telling = telling
    this.#tasks = tasks
    this.#onFailure = onFailure
    this.#retryAfter = retryAfter
    this.#records = recordsOf<Queue>(this.#store, 'pending-messages', (queue) => this.#indexOf(queue))
  }

  get #store(): Store {
    return this.#telling.lifecycle.engine.store
  }

  /**
   * Keeps a message for a conversation, which may be named by the task that starts it. O(messages that wait for it).
   * @throws HttpProblem 404 for neither, 409 for a task that failed, 410 where its sandbox was deleted, 429 when too
   * many wait.
   */
  async add(target: string, content: readonly object[]): Promise<Queued> {
    const { id: conversationId } = await this.#resolve(target)
    const key = shownId(conversationId)
    const id = newId()
    const created_at = new Date().toISOString()
    const queue = await this.#records.update(key, async (kept) => {
      // Asked again after the queue was read: what that is for, where it is for another one, is gone.
      const { incarnation } = await this.#resolve(target)
      const before = kept !== null && isFor(kept, incarnation) ? kept : null
      const messages = before?.messages ?? []
      if (messages.length >= MOST_PENDING) {
        throw new HttpProblem(
          429,
          `${MOST_PENDING} messages wait for the conversation already; try again later.`,
        )
      }
      const all = [...messages, { id, content, created_at }]
      if (messages.length > 0 && JSON.stringify(all).length > MOST_PENDING_TEXT) {
        throw new HttpProblem(
          429,
          `What waits for the conversation already may take ${MOST_PENDING_TEXT} characters with this; try again later.`,
        )
      }
      return { sandbox_id: null, ...before, incarnation, messages: all }
    })
    this.#begin(key)
    return { id, queued: true, position: queue?.messages.length ?? 1 }
  }

  /** Says, in the background, what waits for a conversation, if that is ready now. O(messages that wait for it). */
  deliver(conversationId: string): void {
    this.#begin(shownId(conversationId))
  }

  /** The same for those that it was not tried for a while. O(those that are due). */
  async deliverDue(): Promise<void> {
    let due: readonly Kept<Queue>[]
    do {
      due = await this.#records.claim(this.#retryAfter)
      for (const { id } of due) this.#begin(id)
    } while (due.length === MAX_PAGE_SIZE)
  }

  /** The same for those that wait for a sandbox. O(those). */
  async deliverIn(sandboxId: string): Promise<void> {
    for await (const { id } of this.#records.walk({ by: 'sandbox', value: sandboxId })) this.#begin(id)
  }

  /** Takes out what waits for a conversation. */
  async forget(conversationId: string): Promise<void> {
    await this.#records.remove(shownId(conversationId))
  }

  /** Stops what is being sent; what was not sent stays, to be sent later. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#work)
  }

  async #resolve(target: string): Promise<Addressee> {
    const task = (await this.#tasks.find(target)) ?? (await this.#tasks.starting(target))
    if (task !== null && task.status !== 'READY') {
      if (task.status === 'ERROR') throw new HttpProblem(409, 'The conversation could not be started.')
      return { id: task.planned_id, incarnation: task.id }
    }
    const found = await findConversation(this.#store, task?.planned_id ?? target)
    // What a task has made may be deleted, and its id be another one's.
    if (found !== null && (task === null || appOf(found).start_task_id === task.id)) {
      const { sandbox_id: sandboxId } = appOf(found)
      if (sandboxId !== null && (await this.#telling.sandboxes.find(sandboxId)) === null)
        throw new HttpProblem(410, 'The sandbox was deleted: nothing more is said in the conversation.')
      return { id: found.id, incarnation: incarnationOf(found) }
    }
    throw new HttpProblem(404, `Conversation ${JSON.stringify(target)} is not known.`)
  }

  #begin(key: string): void {
    const isBusy = this.#saying.has(key)
    this.#saying.set(key, true)
    if (isBusy) return
    const work = this.#deliver(key)
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.#onFailure(error)
      })
      .finally(() => this.#work.delete(work))
    this.#work.add(work)
  }

  /** Again and again, until nothing has come since it looked. */
  async #deliver(key: string): Promise<void> {
    try {
      while (this.#saying.get(key) === true && !this.#closing.signal.aborted) {
        this.#saying.set(key, false)
        await this.#say(key)
      }
    } finally {
      this.#saying.delete(key)
    }
  }

  async #say(key: string): Promise<void> {
    const { lifecycle, sandboxes } = this.#telling
    const kept = await this.#records.find(key)
    if (kept === null || (await this.#tasks.starting(key)) !== null) return
    // Read after them: one that is not there, or is another one, was deleted, or could not be started.
    const record = await findConversation(this.#store, key)
    if (record === null || !isFor(kept.record, incarnationOf(record))) return this.#drop(key, kept.record)
    if ((await sandboxOf(sandboxes, record)).status !== 'RUNNING')
      return this.#waitFor(key, appOf(record).sandbox_id)
    const { signal } = this.#closing
    for (const { id, content } of kept.record.messages) {
      try {
        const conversation = await open(lifecycle, record.id)
        await sendOnce(lifecycle, conversation, { content, key: `pending-${id}`, run: true, signal })
      } catch (error) {
        // It was deleted meanwhile: the next look takes out what waits for it.
        if (isUnknown(error)) return this.#begin(key)
        // What cannot be said at all must not keep back what comes after it.
        if (!hasCode(error, 'invalid_event')) throw error
        this.#onFailure(error)
      }
      await this.#took(key, id)
    }
  }

  /** Takes out what waits for one that is gone; what waits for the next one with its id stays. */
  async #drop(key: string, { incarnation }: Queue): Promise<void> {
    await this.#records.update(key, (before) => (before?.incarnation === incarnation ? null : undefined))
  }

  /** Takes out one that was said. */
  async #took(key: string, id: string): Promise<void> {
    await this.#records.update(key, (before) => {
      const messages = before?.messages.filter((one) => one.id !== id) ?? []
      return before === null || messages.length === 0 ? null : { ...before, messages }
    })
  }

  /** What waits for a sandbox is found by it when that is up, and else looked at less often the longer it waits. */
  async #waitFor(key: string, sandboxId: string | null): Promise<void> {
    await this.#records.update(key, (before) => before && { ...before, sandbox_id: sandboxId })
  }

  #indexOf({ messages, sandbox_id }: Queue): Index {
    const waited = Date.now() - Date.parse(messages[0]?.created_at ?? '')
    const wait = sandbox_id === null || Number.isNaN(waited) ? 0 : Math.min(waited, LONGEST_WAIT)
    return {
      keys: sandbox_id === null ? {} : { sandbox: sandbox_id },
      dueIn: Math.max(this.#retryAfter, wait),
    }
  }
}

/** One that a task makes is told from others by the task: messages may be kept for it before it is there. */
const incarnationOf = (record: ConversationRecord): string => appOf(record).start_task_id ?? record.createdAt

const isFor = ({ incarnation }: Queue, wanted: string): boolean => incarnation === wanted

/** Messages to conversations that are not ready: each is sent once, in order, also after a restart. */
