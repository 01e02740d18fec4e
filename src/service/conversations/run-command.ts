/**
 * A command to run a conversation, and those who wait until it is safe: within a second a run has a lease, or the
 * command stands in the store, and whichever process dies then, another one carries it out.
 */

import type { Item } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'

const COLLECTION = 'wanted-runs'

/** One that is kept: that a conversation be run, for what was said before a position of its log. */
export interface KeptCommand {
  readonly item: string
  readonly conversationId: string
  readonly from: number
}

/** Who waits. */
interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  readonly timer: ReturnType<typeof setTimeout>
}

/** That a conversation be run, for what was said before a position of its log. */
export class RunCommand {
  /** The position; what is said later moves it on. */
  from: number
  readonly #store: Store
  readonly #conversationId: string
  readonly #dueIn: number
  readonly #items = new Set<string>()
  readonly #waiting = new Set<Waiting>()
  #keeping: Promise<void> = Promise.resolve()

  /** @param dueIn milliseconds after which another process takes over what is kept */
  constructor(store: Store, conversationId: string, from: number, dueIn: number) {
    this.#store = store
    this.#conversationId = conversationId
    this.#dueIn = dueIn
    this.from = from
  }

  /** Whether it is kept as this item. */
  isKeptAs(item: string): boolean {
    return this.#items.has(item)
  }

  /** Takes over what another process has kept. */
  adopt(item: string): void {
    this.#items.add(item)
  }

  /** Resolves when it is safe. @throws what the store throws that cannot keep it. */
  wait(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      // One after the other, so that what was said last is what stands there.
      this.#keeping = this.#keeping.then(() => this.#keep()).then(resolve, reject)
    }, IN_TIME)
    this.#waiting.add({ resolve, reject, timer })
    return promise
  }

  /** Lets go of those who wait: a run is to look at it, or need not. */
  release(): void {
    for (const { resolve } of this.#leave()) resolve()
  }

  /** Tells those who wait that it could not be carried out; what is kept of it stays. */
  fail(error: unknown): void {
    for (const { reject } of this.#leave()) reject(error)
  }

  /** It is carried out: takes out what is kept of it. @throws what the store throws. */
  async end(): Promise<void> {
    this.release()
    await this.#keeping
    for (const item of this.#items) await forgetCommand(this.#store, item)
  }

  async #keep(): Promise<void> {
    const [item = crypto.randomUUID()] = this.#items
    // Also where the store does not say that it was put.
    this.#items.add(item)
    const body = { conversation_id: this.#conversationId, from: this.from }
    await this.#store.changeItems([{ collection: COLLECTION, id: item, put: { body, dueIn: this.#dueIn } }])
  }

  *#leave(): Generator<Waiting, void, undefined> {
    for (const waiting of this.#waiting) {
      clearTimeout(waiting.timer)
      this.#waiting.delete(waiting)
      yield waiting
    }
  }
}

/**
 * Those that no process has carried out in time, at most a page: no other process is given them for `ttl` milliseconds.
 */
export async function claimCommands(store: Store, ttl: number): Promise<KeptCommand[]> {
  return (await store.claimItems(COLLECTION, { ttl })).map(commandOf)
}

/** Takes out one that was carried out, or that no process can carry out any more. */
export async function forgetCommand(store: Store, item: string): Promise<void> {
  await store.changeItems([{ collection: COLLECTION, id: item, put: null }])
}

const commandOf = ({ id, body }: Item): KeptCommand => ({
  item: id,
  conversationId: String(body['conversation_id']),
  from: Number(body['from']),
})

/** Milliseconds for which a request waits for what goes on without it. */
const IN_TIME = 1_000

/** Whether a work is done within a second; later it goes on. @throws what it throws by then. */
export async function isInTime(work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), IN_TIME)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
