/** Listens on a channel over one held connection, and begins anew when it is lost. */

import {
  CONNECT_TIMEOUT,
  isListening,
  isPool,
  isSubscribing,
  loadDriver,
  type HeldClient,
  type ListeningClient,
  type PostgresClient,
  type PostgresPool,
} from './driver.ts'
import { quoteName } from './schema.ts'

/** Milliseconds until a lost connection is made again: at first, and at most. */
const BACKOFF = { first: 100, most: 5_000 }

/** What `pg` takes for a pool that names no size. */
const DEFAULT_POOL_SIZE = 10

/** How many clients of a pool are held to listen, by whatever stores share it: one must be left to work with. */
const LENT = new WeakMap<PostgresPool, number>()

/** What a listener is made with. */
export interface ListenerOptions {
  readonly channel: string
  /** The server; null when `client` is to be used. */
  readonly url: string | null
  readonly client: PostgresClient | null
  /** Called with the payload of each notification. */
  readonly hear: (payload: string) => void
  /** Called when listening has begun, again after each loss: what came before it was not heard. */
  readonly begin: () => void
}

/** Ends a connection that was held; never rejects. */
type End = () => Promise<void>

interface Held {
  /** Null where the driver listens by itself. */
  readonly client: ListeningClient | null
  /** Whether the connection was made or lent to listen: the caller's own client keeps alive what the caller wants. */
  readonly isOwn: boolean
  readonly end: End
}

/** Listens from `start` to `stop`. Where no connection can be held it does nothing. */
export class Listener {
  readonly #options: ListenerOptions
  /** What ends the connection that is held now; another connection's end does not count. */
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

  /** Whether notifications are known to arrive: one did since the connection was made. */
  get hears(): boolean {
    return this.#hears
  }

  /** Begins to listen, in the background, and keeps at it. May be called more than once. */
  start(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#attempt = this.#connect()
  }

  /** Whether the process is to live on for what is heard. Without, it ends as if there were no connection. */
  keepAlive(on: boolean): void {
    this.#keepsAlive = on
    this.#refer()
  }

  #refer(): void {
    const { client = null, isOwn = false } = this.#held ?? {}
    if (!isOwn) return
    if (this.#keepsAlive) client?.ref?.()
    else client?.unref?.()
  }

  /** Ends listening and gives the connection back. Never rejects. */
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
    if (!this.#keepsAlive) unref(this.#timer)
    this.#delay = Math.min(2 * this.#delay, BACKOFF.most)
  }

  async #drop(): Promise<void> {
    const held = this.#held
    this.#held = null
    this.#hears = false
    // An end that is awaited keeps the process alive until it is done.
    if (held?.isOwn === true) held.client?.ref?.()
    await held?.end().catch(() => undefined)
  }

  /** Holds a connection that listens; false when there is none to hold. */
  async #hold(): Promise<boolean> {
    const { client, url, channel } = this.#options
    if (url !== null) {
      const { Client } = await loadDriver()
      const own = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT })
      const held = this.#keep(own, () => own.end(), true)
      await own.connect()
      await listen(own, channel)
      return this.#held === held
    }
    if (client !== null && isPool(client)) {
      const lent = await lend(client)
      if (lent === null) return false
      this.#keep(lent.client, lent.end, true)
      await listen(lent.client, channel)
      return true
    }
    if (client !== null && isSubscribing(client)) {
      this.#held = {
        client: null,
        isOwn: false,
        end: await client.listen(quoteName(channel), (payload) => this.#hear(payload)),
      }
      return true
    }
    if (client === null || !isListening(client)) return false
    this.#keep(client, async () => void (await client.query(`UNLISTEN ${quoteName(channel)}`)), false)
    await listen(client, channel)
    return true
  }

  /** Takes what a connection says as long as it is the one that is held. */
  #keep(client: ListeningClient, end: End, isOwn: boolean): Held {
    const held = { client, end, isOwn }
    this.#held = held
    // A client that was given is kept anew after each loss.
    if (this.#known.has(client)) return held
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
    return held
  }

  #hear(payload: string): void {
    this.#hears = true
    if (this.#wanted) this.#options.hear(payload)
  }
}

/** Takes a client out of a pool, for as long as it is held; null when the pool would have nothing left to work with. */
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

async function listen(client: ListeningClient, channel: string): Promise<void> {
  await client.query(`LISTEN ${quoteName(channel)}`)
}

/** Lets the process end while a timer waits; not every runtime has it. */
export function unref(timer: ReturnType<typeof setTimeout>): void {
  if (typeof timer === 'object' && 'unref' in timer) timer.unref()
}
