/**
 * Runs statements over the caller's pool; the schema is migrated before the first one, and closing waits for those
 * under way.
 */

import { ColloquyError } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import { storeClosed } from '../kit/errors.ts'
import {
  CONNECT_TIMEOUT,
  isListening,
  isPool,
  loadDriver,
  type PostgresClient,
  type PreparingClient,
} from './driver.ts'
import { codeOf, toStoreError } from './to-store-error.ts'
import { quoteName } from './identifier.ts'
import { FORBIDDEN, migrate, versionOf } from './migrate.ts'
import type { PostgresStoreOptions } from './options.ts'
import { DURABLE } from './schema/phrases.ts'

/**
 * The server behind a pooler does not know a statement that another server prepared, or prepared it for an older
 * schema.
 */
const UNPREPARED = ['26000', '42P05', '0A000']

/** A write of nothing; what a standby shows itself, has reached one. */
const BARRIER = `CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'colloquy', '') END`

/** The connection of one store. */
export class Connection {
  /** The schema's name, quoted. */
  readonly schema: string
  readonly #schemaName: string
  readonly #options: PostgresStoreOptions
  readonly #calls = new Set<Promise<unknown>>()
  readonly #names = new Map<string, string>()
  #prepare: boolean
  #client: PostgresClient | null
  #own: { end(): Promise<void> } | null = null
  #opening: Promise<PostgresClient> | null = null
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(options: PostgresStoreOptions) {
    if ((options.url === undefined) === (options.client === undefined)) {
      throw new ColloquyError(
        'invalid_argument',
        'postgresStore needs either a url or a client, and not both.',
      )
    }
    this.#schemaName = options.schema ?? 'colloquy'
    this.schema = quoteName(this.#schemaName)
    this.#options = options
    this.#client = options.client ?? null
    this.#prepare = options.prepare ?? options.client === undefined
  }

  /** Whether it was closed. */
  get closed(): boolean {
    return this.#closed
  }

  /** @throws `store_closed`. */
  checkOpen(): void {
    if (this.#closed) throw storeClosed()
  }

  /** Makes a call of the store, which `close` waits for. @throws `store_closed`; what the call throws. */
  async call<T>(run: () => Promise<T>): Promise<T> {
    this.checkOpen()
    const call = run()
    this.#calls.add(call)
    try {
      return await call
    } finally {
      this.#calls.delete(call)
    }
  }

  /**
   * Runs one statement, in a transaction of its own. @throws what `toStoreError` says, or a failure as it is when `raw`
   * lists its code.
   */
  async query<Row>(text: string, values: unknown[], raw: readonly string[] = []): Promise<Row[]> {
    try {
      const client = await this.open()
      const { rows } = await this.#inTurn(client, () => this.#send(client, text, values))
      return rows as Row[]
    } catch (error) {
      const code = codeOf(error)
      if (raw.includes(code)) throw error
      throw toStoreError(code === FORBIDDEN ? await this.#whyForbidden(error) : error)
    }
  }

  /**
   * Waits until all that was seen so far would outlive this server, as a write of one's own does. A commit whose writer
   * was cut off may be seen before any standby has it: who acknowledges what it finds, or hands it on, waits for that.
   */
  async waitForStandby(): Promise<void> {
    await this.query(`SELECT ${BARRIER} FROM ${DURABLE}`, [])
  }

  /** Tells a user who may not write from one who may not even read. */
  async #whyForbidden(error: unknown): Promise<unknown> {
    const client = this.#client
    try {
      if (client !== null) await this.#inTurn(client, () => versionOf(client, this.#schemaName))
      return error
    } catch (worse) {
      return worse
    }
  }

  /** The client, with a schema of the latest version behind it. @throws what the driver throws. */
  async open(): Promise<PostgresClient> {
    // An attempt that began before this call may fail for what is mended by now: then this call makes its own.
    return this.#opening === null ? this.#begin() : this.#opening.catch(() => this.#opening ?? this.#begin())
  }

  #begin(): Promise<PostgresClient> {
    // What failed is tried again by the next call.
    const opening = this.#start().catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    this.#opening = opening
    return opening
  }

  /** Refuses further calls, waits for those that were made, and ends the pool if it is the store's own. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#calls)
  }

  /** Ends the pool if it is the store's own. */
  async end(): Promise<void> {
    const own = this.#own
    this.#own = null
    await own?.end()
  }

  async #start(): Promise<PostgresClient> {
    this.#client ??= await this.#makePool()
    const client = this.#client
    await this.#inTurn(client, () => migrate(client, this.#schemaName))
    return client
  }

  async #makePool(): Promise<PostgresClient> {
    const { Pool } = await loadDriver()
    const connectionString = this.#options.url ?? ''
    const pool = new Pool({
      connectionString,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      // A program that forgets to close its store still ends.
      allowExitOnIdle: true,
    })
    // An idle client that loses its server says so here; the next call gets another one.
    pool.on('error', () => undefined)
    this.#own = pool
    return pool
  }

  /** A single connection takes one statement after the other; anything else sorts that out by itself. */
  async #inTurn<T>(client: PostgresClient, run: () => Promise<T>): Promise<T> {
    if (isPool(client) || !isListening(client)) return run()
    const turn = this.#last.then(run)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async #send(
    client: PostgresClient,
    text: string,
    values: unknown[],
  ): Promise<{ readonly rows: unknown[] }> {
    if (!this.#prepare) return client.query(text, values)
    try {
      return await (client as object as PreparingClient).query({ name: this.#nameOf(text), text, values })
    } catch (error) {
      if (!UNPREPARED.includes(codeOf(error))) throw error
      this.#prepare = false
      return client.query(text, values)
    }
  }

  /**
   * Tells the text, so that no other statement is ever run under the name, whatever stands between here and the server.
   */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `colloquy_${hashText(text)}`
    this.#names.set(text, name)
    return name
  }
}
