import { checkInteger, checkText, invalid, invalidArgument, MAX_DELAY } from '../../event/check-value.ts'
import { ColloquyError, type ErrorCode, isColloquyError } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import { invalidWithin, storeClosed } from '../kit/errors.ts'
import type { SqlValue, SqlStep, Work } from '../sql/dialect.ts'
import { DURABLE } from './dialect.ts'
import type { PostgresClient, PostgresStoreOptions, PreparingClient } from './driver.ts'
import { codeOf, isListening, isPool, isTransacting, loadDriver } from './driver.ts'
import { createSchema, FORBIDDEN, quoteName, versionOf } from './schema.ts'

/**
 * SQLSTATEs: a pooler's server lacks the statement, has another statement with this name, or prepared it for
 * an older schema.
 */
const UNPREPARED = ['26000', '42P05', '0A000']

/**
 * An empty write, whose commit waits for the synchronous standby. On a standby it writes nothing, because
 * rows read there have been replicated.
 */
const BARRIER = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'colloquy', '') END
  FROM ${DURABLE}`

/** SQLSTATEs to retry: the conversation was deleted, or transactions conflicted. Nothing was changed. */
const RETRIED = ['23503', '40001', '40P01']

const MAX_RETRIES = 3

/** Milliseconds: the default of the option `timeout`, and the time limit of an attempt to connect. */
const TIMEOUT = 10_000

/** Maximum number of connections of the store's own pool: ten for calls, and one for `LISTEN`. */
const MAX_CONNECTIONS = 11

/** Maximum number of prepared statements. Each connection keeps them until it is closed. */
const MAX_PREPARED = 500

/**
 * Planner settings of the store's own pool, for plans that read rows in the order of an index. Each order has
 * an index. But the planner knows only the average length of logs. With many short logs, or no statistics,
 * its plans would read a long log whole and sort it. A statement that must sort still works. Its high
 * estimated cost would start the compiler at each call before PostgreSQL 18, so `jit` is off. One generic
 * plan suits all values; a new plan for each call would cost as much as reading a page.
 */
export const SESSION = ['sort', 'bitmapscan', 'seqscan', 'hashjoin', 'mergejoin', 'material']
  .map((name) => `SET enable_${name} = off`)
  .concat('SET jit = off', 'SET plan_cache_mode = force_generic_plan')
  .join('; ')

export class Connection {
  readonly schema: string
  readonly #schemaName: string
  readonly #options: PostgresStoreOptions
  readonly #calls = new Set<Promise<unknown>>()
  readonly #timeout: number
  readonly #names = new Map<string, string>()
  #prepare: boolean
  #client: PostgresClient | null
  #own: { end(): Promise<void> } | null = null
  #opening: Promise<PostgresClient> | null = null
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(options: PostgresStoreOptions) {
    const { url, client } = options ?? {}
    if (client ? url !== undefined || typeof client.query !== 'function' : typeof url !== 'string')
      throw invalid('The options of `postgresStore` must have either `url` (a string) or `client`.')
    this.#timeout = checkInteger('timeout', options.timeout, 1, MAX_DELAY, TIMEOUT, invalidArgument)
    this.#schemaName = checkText('schema', options.schema, invalidArgument) ?? 'colloquy'
    this.schema = quoteName(this.#schemaName)
    this.#options = options
    this.#client = options.client ?? null
    this.#prepare = options.prepare ?? options.client === undefined
  }

  checkOpen(): void {
    if (this.#closed) throw storeClosed()
  }

  /** Runs a call of the store. `close` waits until the call ends. */
  async call<T>(run: () => Promise<T>): Promise<T> {
    this.checkOpen()
    const call = run()
    this.#calls.add(call)
    const forget = (): boolean => this.#calls.delete(call)
    call.then(forget, forget)
    return inTime(call, this.#timeout)
  }

  readonly run = <T>(work: () => Work<T>): Promise<T> => perform(work, (step) => this.#step(step))

  async #step(step: SqlStep): Promise<readonly object[]> {
    if ('confirm' in step) return this.query(BARRIER)
    if ('callback' in step) throw new Error('A step has no transaction of its own.')
    if ('sql' in step) return this.query(step.sql, step.values)
    const { row, effects } = step.change
    const parts = [
      `changed AS (${row.sql})`,
      ...effects.map(({ sql }, index) => `effect_${index} AS (${sql})`),
    ]
    const sql = `WITH ${parts.join(', ')} SELECT changed.* FROM changed, ${DURABLE}`
    const values = [row, ...effects].flatMap((one) => one.values)
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.query(sql, values)
      } catch (error) {
        const state = isColloquyError(error) ? String(error.data['sqlState']) : ''
        if (attempt === MAX_RETRIES || !RETRIED.includes(state)) throw error
      }
    }
  }

  /** Runs a statement in a transaction of its own. */
  async query<Row extends object>(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      const client = await this.open()
      const { rows } = await this.#inTurn(client, () =>
        this.#send(client, numbered(sql), values.map(sentValue)),
      )
      return rows as Row[]
    } catch (error) {
      throw toStoreError(codeOf(error) === FORBIDDEN ? await this.#whyForbidden(error) : error)
    }
  }

  /** Runs a statement that belongs to no call, such as a poll. Does not keep the process alive. */
  queryInBackground<Row extends object>(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    return inTime(this.query<Row>(sql, values), this.#timeout, false)
  }

  /**
   * Runs a statement and then `work` in one transaction of the same client. `work` returns whether anything
   * was written. If `work` returns true although it has ended the transaction itself, the call rejects.
   */
  readonly transaction = async <Row extends object>(
    sql: string,
    values: readonly SqlValue[],
    work: (row: Row | undefined, connection: PostgresClient) => Promise<boolean>,
  ): Promise<Row | undefined> => {
    const client = await storeErrors(this.open())
    const steps = async (connection: PostgresClient): Promise<Row | undefined> => {
      const [row] = (await storeErrors(connection.query(numbered(sql), values.map(sentValue)))).rows as Row[]
      const isNew = await inTime(work(row, connection), this.#timeout)
      // Fails if a statement of the work has failed: COMMIT would then roll back silently.
      const { rows } = await storeErrors(connection.query(IS_ENDED))
      const isEnded = (rows[0] as { readonly ended: boolean } | undefined)?.ended === true
      if (isNew && isEnded) throw invalidWithin('must not end the transaction')
      return row
    }
    const run = (connection: PostgresClient): Promise<Row | undefined> =>
      inTransaction(connection, () => steps(connection))
    if (isPool(client)) {
      const connection = await storeErrors(client.connect())
      // After a failure, a transaction may be open, or the work may still be running.
      let isBroken = true
      try {
        const row = await run(connection)
        isBroken = false
        return row
      } finally {
        connection.release(isBroken)
      }
    }
    if (isListening(client)) return this.#inTurn(client, () => run(client))
    if (!isTransacting(client)) throw invalidWithin('requires a pool, or a client of `pg` or PGlite')
    return client.transaction(steps)
  }

  /** Whether {@link Connection.transaction} can run on the client. */
  async canHold(): Promise<boolean> {
    const client = await this.open()
    return isPool(client) || isListening(client) || isTransacting(client)
  }

  runOn<T>(connection: PostgresClient, work: () => Work<T>): Promise<T> {
    return perform(work, async (step) => {
      if (!('sql' in step)) throw new Error('Such a step has a transaction of its own.')
      const sent = connection.query(numbered(step.sql), step.values.map(sentValue))
      return (await storeErrors(sent)).rows as object[]
    })
  }

  /** Distinguishes a user without write permission from one without read permission. */
  async #whyForbidden(error: unknown): Promise<unknown> {
    const client = this.#client
    try {
      if (client !== null) await this.#inTurn(client, () => versionOf(client, this.#schemaName))
      return error
    } catch (worse) {
      return worse
    }
  }

  /** Returns the client. Creates the schema first if the database does not have it. */
  async open(): Promise<PostgresClient> {
    // An earlier attempt may fail for a cause that no longer exists: this call then makes its own attempt.
    return this.#opening === null ? this.#begin() : this.#opening.catch(() => this.#opening ?? this.#begin())
  }

  #begin(): Promise<PostgresClient> {
    // After a failure, the next call tries again.
    const opening = inTime(this.#start(), this.#timeout).catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    this.#opening = opening
    return opening
  }

  /** Waits for running calls, then ends the store's own pool, within the `timeout` of a call. Never rejects. */
  async close(lastWork: () => Promise<unknown>): Promise<void> {
    this.#closed = true
    const close = async (): Promise<void> => {
      await Promise.allSettled(this.#calls)
      await lastWork()
      await this.#own?.end()
    }
    // The timer also keeps the process alive until the pool has ended: the pool's connections do not.
    await inTime(close(), this.#timeout).catch(() => undefined)
  }

  async #start(): Promise<PostgresClient> {
    this.#client ??= await this.#makePool()
    const client = this.#client
    await this.#inTurn(client, () => createSchema(client, this.#schemaName))
    return client
  }

  async #makePool(): Promise<PostgresClient> {
    const { Pool } = await loadDriver()
    const connectionString = this.#options.url ?? ''
    const pool = new Pool({
      connectionString,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: TIMEOUT,
      // A connection without a response is dropped with its call.
      query_timeout: this.#timeout,
      keepAlive: true,
      // The server cancels statements that the store no longer awaits: they could still get a lock and
      // commit.
      onConnect: (client) => client.query(`${SESSION}; SET statement_timeout = ${this.#timeout}`),
      // A program that forgets to close its store still ends.
      allowExitOnIdle: true,
    })
    // An idle client that loses its server reports this here. The next call gets another client.
    pool.on('error', () => undefined)
    this.#own = pool
    return pool
  }

  /** Runs calls of a single `pg` client one after another. Other clients schedule statements themselves. */
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
    const name = this.#prepare ? this.#nameOf(text) : null
    if (name === null) return client.query(text, values)
    try {
      return await (client as object as PreparingClient).query({ name, text, values })
    } catch (error) {
      if (!UNPREPARED.includes(codeOf(error))) throw error
      this.#prepare = false
      return client.query(text, values)
    }
  }

  /**
   * Returns a name derived from the text, so that no proxy runs another statement under the same name.
   * Returns null if {@link MAX_PREPARED} statements already have names.
   */
  #nameOf(text: string): string | null {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    if (this.#names.size >= MAX_PREPARED) return null
    const name = `colloquy_${hashText(text)}`
    this.#names.set(text, name)
    return name
  }
}

function inTime<T>(call: Promise<T>, timeout: number, keepsAlive = true): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const message = `PostgreSQL did not respond within ${timeout} ms. Retry later.`
  const fail = (): void => reject(new ColloquyError('store_unavailable', message, { timeout }))
  const timer = setTimeout(fail, timeout)
  if (!keepsAlive) timer.unref?.()
  return Promise.race([call, late]).finally(() => clearTimeout(timer))
}

const IS_ENDED = 'SELECT pg_current_xact_id_if_assigned() IS NULL AS ended'

async function perform<T>(
  work: () => Work<T>,
  answer: (step: SqlStep) => Promise<readonly object[]>,
): Promise<T> {
  const steps = work()
  for (let next = steps.next([]); ;) {
    if (next.done === true) return next.value
    next = steps.next(await answer(next.value))
  }
}

async function inTransaction<T>(client: PostgresClient, call: () => Promise<T>): Promise<T> {
  try {
    await storeErrors(client.query('BEGIN'))
    const result = await call()
    await storeErrors(client.query('COMMIT'))
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

const sentValue = (value: SqlValue): unknown => (typeof value === 'bigint' ? String(value) : value)

const storeErrors = <T>(call: Promise<T>): Promise<T> =>
  call.catch((error: unknown) => {
    throw toStoreError(error)
  })

const numberedTexts = new Map<string, string>()

function numbered(sql: string): string {
  const known = numberedTexts.get(sql)
  if (known !== undefined) return known
  let count = 0
  const text = sql.replaceAll('?', () => `$${(count += 1)}`)
  if (numberedTexts.size > 2_000) numberedTexts.clear()
  numberedTexts.set(sql, text)
  return text
}

const SQL_STATES: readonly (readonly [start: string, code: ErrorCode])[] = [
  ['40', 'store_busy'],
  ['55P03', 'store_busy'],
  ['57014', 'store_busy'],
  ['53300', 'store_busy'],
  ['53100', 'store_full'],
  ['53400', 'store_full'],
  ['25006', 'store_read_only'],
  ['42501', 'store_read_only'],
  ['54', 'invalid_argument'],
]

const SENTENCES: Readonly<Partial<Record<ErrorCode, string>>> = {
  store_busy: 'PostgreSQL is busy: a conflict, a time limit or too many connections. Retry.',
  store_full:
    'The disk of PostgreSQL is full, or a configured limit is exceeded. Free space or raise the limit, then retry.',
  invalid_argument: 'The value is too large for PostgreSQL. Pass a smaller one.',
  store_read_only:
    'PostgreSQL does not allow this write. Connect to a primary as a user with write permission.',
  store_unavailable: 'PostgreSQL rejected the call or is unreachable. Fix the cause, then retry.',
}

function toStoreError(cause: unknown): ColloquyError {
  if (isColloquyError(cause)) return cause
  const sqlState = codeOf(cause)
  const code = SQL_STATES.find(([start]) => sqlState.startsWith(start))?.[1] ?? 'store_unavailable'
  return new ColloquyError(
    code,
    `${SENTENCES[code] ?? ''} PostgreSQL reports: ${messageOf(cause)}.`,
    { sqlState },
    { cause },
  )
}

/** Returns an error's message. For a failed connection, joins the messages about each address of the host. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '' && cause.errors.length > 0)
    return cause.errors.map(messageOf).join(', ')
  return (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''
}
