import type { Unwatch, Wake } from '../contract/store.ts'
import { checkPollInterval } from '../../event/check-value.ts'
import { Watches } from '../kit/watches.ts'
import type { Connection } from './connection.ts'
import {
  type HeldClient,
  isListening,
  isPool,
  isSubscribing,
  type ListeningClient,
  type PostgresClient,
  type PostgresPool,
  type PostgresStoreOptions,
} from './driver.ts'
import { quoteName } from './schema.ts'

/** Milliseconds before a lost connection is replaced: the first delay, and the maximum. */
const BACKOFF = { first: 100, maximum: 5_000 }

const DEFAULT_POOL_SIZE = 10

/** Number of listening clients of each pool, over all stores. Each pool must keep one client for other calls. */
const LENT = new WeakMap<PostgresPool, number>()

interface ListenerOptions {
  readonly channel: string
  readonly open: () => Promise<PostgresClient>
  readonly hear: (payload: string) => void
  /** Called when listening has begun, also after a reconnection, because notifications may have been lost. */
  readonly begin: () => void
}

type End = () => Promise<void>

interface Held {
  /** The listening client; null if the driver listens by itself. */
  readonly client: ListeningClient | null
  /** Whether a pool lent the client. The store then decides whether the client keeps the process alive. */
  readonly isLent: boolean
  readonly end: End
}

/** Listens for notifications. Does nothing if the client cannot hold a connection. */
class Listener {
  readonly #options: ListenerOptions
  #held: Held | null = null
  readonly #known = new WeakSet<ListeningClient>()
  #wanted = false
  #keepsAlive = false
  #hears = false
  #delay = BACKOFF.first
  #timer: ReturnType<typeof setTimeout> | null = null
  #attempt: Promise<void> = Promise.resolve()

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Whether notifications are known to arrive: at least one has arrived over this connection. */
  get hears(): boolean {
    return this.#hears
  }

  start(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#attempt = this.#connect()
  }

  keepAlive(on: boolean): void {
    this.#keepsAlive = on
    this.#refer()
  }

  #refer(): void {
    const { client = null, isLent = false } = this.#held ?? {}
    if (!isLent) return
    if (this.#keepsAlive) client?.ref?.()
    else client?.unref?.()
  }

  async stop(): Promise<void> {
    this.#wanted = false
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#attempt
    await this.#drop()
  }

  async #connect(): Promise<void> {
    try {
      if (!(await this.#hold())) return
      this.#delay = BACKOFF.first
      this.#refer()
      if (this.#wanted) this.#options.begin()
    } catch {
      await this.#drop()
      this.#tryLater()
    }
  }

  #tryLater(): void {
    if (!this.#wanted || this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#attempt = this.#connect()
    }, this.#delay)
    if (!this.#keepsAlive) this.#timer.unref?.()
    this.#delay = Math.min(2 * this.#delay, BACKOFF.maximum)
  }

  async #drop(): Promise<void> {
    const entry = this.#held
    this.#held = null
    this.#hears = false
    // Keeps the process alive until the connection has ended.
    if (entry?.isLent === true) entry.client?.ref?.()
    await entry?.end().catch(() => undefined)
  }

  async #hold(): Promise<boolean> {
    const { open, channel } = this.#options
    const client = await open()
    if (isPool(client)) {
      const lent = await lend(client)
      if (lent === null) return false
      this.#keep(lent.client, lent.end, true)
      await lent.client.query(`LISTEN ${quoteName(channel)}`)
      return true
    }
    if (isSubscribing(client)) {
      this.#held = {
        client: null,
        isLent: false,
        end: await client.listen(quoteName(channel), (payload) => this.#hear(payload)),
      }
      return true
    }
    if (!isListening(client)) return false
    this.#keep(client, async () => void (await client.query(`UNLISTEN ${quoteName(channel)}`)), false)
    await client.query(`LISTEN ${quoteName(channel)}`)
    return true
  }

  #keep(client: ListeningClient, end: End, isLent: boolean): void {
    this.#held = { client, end, isLent }
    // A passed client is used again after each loss, and has these listeners already.
    if (this.#known.has(client)) return
    this.#known.add(client)
    const lost = (): void => {
      if (this.#held?.client !== client) return
      void this.#drop()
      this.#tryLater()
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ channel, payload = '' }) => {
      if (this.#held?.client === client && channel === this.#options.channel) this.#hear(payload)
    })
  }

  #hear(payload: string): void {
    this.#hears = true
    if (this.#wanted) this.#options.hear(payload)
  }
}

/** Borrows a client from a pool; null if the pool's maximum size would leave no client for other calls. */
async function lend(pool: PostgresPool): Promise<{ readonly client: HeldClient; readonly end: End } | null> {
  const count = (by: number): number => {
    const lent = (LENT.get(pool) ?? 0) + by
    LENT.set(pool, lent)
    return lent
  }
  if (count(1) >= (pool.options?.max ?? DEFAULT_POOL_SIZE)) {
    count(-1)
    return null
  }
  try {
    const client = await pool.connect()
    const end = async (): Promise<void> => {
      count(-1)
      client.release(true)
    }
    return { client, end }
  } catch (error) {
    count(-1)
    throw error
  }
}

const POLL_INTERVAL = 1_000

/** Factor by which polls are rarer while notifications arrive. Polls then only replace lost notifications. */
const RARELY = 10

/** Wakes watches: at once for writes of this store, and by notification or polling for other writes. */
export class Watcher {
  readonly #connection: Connection
  readonly #interval: number
  readonly #watches = new Watches()
  readonly #notifier: Notifier | null
  readonly #listener: Listener | null
  readonly #seen = new Map<string, string | null>()
  #timer: ReturnType<typeof setInterval> | null = null
  #looking: Promise<void> | null = null
  /**
   * Conversations to poll next. A watch that begins during a poll waits for the next poll, because the
   * running query may have read older rows.
   */
  #due = new Set<string>()
  /** Whether a poll of all watches is due or running. */
  #isAtAll = false
  #skipped = 0

  constructor(connection: Connection, options: PostgresStoreOptions) {
    const { schema: channel = 'colloquy', listen = true } = options
    this.#connection = connection
    this.#interval = checkPollInterval(options.pollInterval, POLL_INTERVAL)
    this.#notifier = listen ? new Notifier(connection, channel) : null
    this.#listener = listen
      ? new Listener({
          channel,
          open: () => connection.open(),
          hear: (id) => {
            if (id !== '') this.#watches.wake(id)
          },
          begin: () => this.#begin(),
        })
      : null
  }

  wake(conversationId: string): void {
    this.#watches.wake(conversationId)
    this.#notifier?.tell(conversationId)
  }

  /** Calls `wake` at each change and at the first poll. A watch of all conversations (null) starts no polls. */
  watch(conversationId: string | null, wake: Wake): Unwatch {
    const unwatch = this.#watches.add(conversationId, wake)
    this.#listener?.keepAlive(true)
    this.#listener?.start()
    const end = (): void => {
      unwatch()
      if (this.#watches.isEmpty) this.#listener?.keepAlive(false)
    }
    if (conversationId === null) return end
    this.#seen.set(conversationId, null)
    if (this.#timer === null) {
      this.#timer = setInterval(() => this.#tick(), this.#interval)
      this.#timer.unref?.()
    }
    this.#due.add(conversationId)
    this.#look()
    return end
  }

  async close(): Promise<void> {
    this.#watches.clear()
    if (this.#timer !== null) clearInterval(this.#timer)
    await Promise.all([this.#notifier?.flush(), this.#listener?.stop(), this.#looking])
  }

  /** Polls for earlier changes, and sends an empty notification: if it arrives, later notifications will, too. */
  #begin(): void {
    this.#notifier?.tell('')
    this.#lookAtAll()
  }

  #tick(): void {
    this.#skipped += 1
    if (this.#isAtAll || (this.#listener?.hears === true && this.#skipped < RARELY)) return
    this.#lookAtAll()
  }

  #lookAtAll(): void {
    this.#skipped = 0
    this.#isAtAll = true
    for (const id of this.#watches.ids()) this.#due.add(id)
    for (const id of this.#seen.keys()) if (!this.#due.has(id)) this.#seen.delete(id)
    this.#look()
  }

  #look(): void {
    if (this.#due.size > 0) this.#looking ??= this.#lookOn()
  }

  async #lookOn(): Promise<void> {
    while (this.#due.size > 0) {
      const [ids, isAtAll] = [this.#due, this.#isAtAll]
      this.#due = new Set()
      await this.#compare(ids)
      if (isAtAll) this.#isAtAll = false
    }
    this.#looking = null
  }

  async #compare(ids: ReadonlySet<string>): Promise<void> {
    try {
      const rows = await this.#connection.queryInBackground<{ readonly id: string; readonly state: string }>(
        `SELECT conversation_id AS id, version || ' ' || number AS state FROM ${this.#connection.schema}.log
        WHERE conversation_id = ANY (CAST(? AS text[]))`,
        [[...ids]],
      )
      const states = new Map(rows.map(({ id, state }) => [id, state]))
      for (const id of ids) {
        const state = states.get(id) ?? ''
        if (this.#seen.get(id) === state) continue
        this.#seen.set(id, state)
        this.#watches.wake(id)
      }
    } catch {
      // The next tick may reach the database again, so it is not skipped.
      this.#skipped = RARELY
    }
  }
}

/** Milliseconds between two notifications. Appends in between share the next notification. */
const NOTIFY_PAUSE = 25

/**
 * Notifies other processes after an append is durable. The append's own transaction sends no notification,
 * because PostgreSQL serializes all commits of a database that notify, and because an append must not depend
 * on listeners. If the process crashes before the notification, other processes find the append by polling.
 */
class Notifier {
  readonly #connection: Connection
  readonly #channel: string
  #waiting = new Set<string>()
  #sending: Promise<void> | null = null
  #open = true

  constructor(connection: Connection, channel: string) {
    this.#connection = connection
    this.#channel = channel
  }

  tell(conversationId: string): void {
    this.#waiting.add(conversationId)
    this.#sending ??= this.#sendAll()
  }

  async flush(): Promise<void> {
    this.#open = false
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting]
      this.#waiting = new Set()
      // A notification need not survive a crash: a process that misses it polls.
      await this.#connection
        .queryInBackground(
          `SELECT set_config('synchronous_commit', 'off', true), pg_notify(CAST(? AS text), id) FROM unnest(CAST(? AS text[])) AS id`,
          [this.#channel, ids],
        )
        .catch(() => undefined)
      if (this.#open) await new Promise((resolve) => setTimeout(resolve, NOTIFY_PAUSE))
    }
    this.#sending = null
  }
}
