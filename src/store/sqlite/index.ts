import type { DisposableStore, Unwatch, Wake } from '../contract/store.ts'
import { storeClosed } from '../kit/errors.ts'
import { checkStoreOptions } from '../kit/feed.ts'
import { checkOptionNames, checkPollInterval } from '../../event/check-value.ts'
import { attempt } from '../../event/json.ts'
import { microsNow } from '../kit/record.ts'
import { Watches } from '../kit/watches.ts'
import { appendResult, type KnownLog } from '../sql/append.ts'
import { all } from '../sql/dialect.ts'
import { sqlStore } from '../sql/store.ts'
import { CallbackError, type Connection, connectionSource, type SqliteStoreOptions } from './database.ts'
import {
  append,
  changeItems,
  claimItems,
  FEED_LAST,
  FEED_ROWS,
  type FeedEnd,
  type FeedEntry,
  feedTrimmer,
  readFeed,
  SQLITE,
} from './dialect.ts'
import { Runner } from './runner.ts'
import { purge, replaceText, TEXT_WORK } from './texts.ts'

const MAX_NEWS = 1_000

type FeedPosition = Pick<FeedEnd, 'position' | 'witness'>

const START: FeedPosition = { position: 0, witness: 0 }

/**
 * Polls `PRAGMA data_version` for writes by other connections. After such a write, reads the feed to wake only
 * the watches of changed conversations. A poll also reopens a lost connection, because in a process that only
 * watches, no call would reopen it. Does not keep the process alive.
 */
class Poll {
  readonly watches = new Watches()
  readonly #runner: Runner
  readonly #interval: number
  #timer: ReturnType<typeof setInterval> | null = null
  #isPolling = false
  #polled: Connection | null = null
  #position: FeedPosition | undefined = undefined
  #seen: number | null = null

  constructor(runner: Runner, interval: number) {
    this.#runner = runner
    this.#interval = interval
  }

  watch(conversationId: string | null, wake: Wake): Unwatch {
    const unwatch = this.watches.add(conversationId, wake)
    if (this.#timer === null) {
      this.#polled = this.#runner.connection
      // Undefined if the database cannot be read now. The first poll then wakes all watches.
      this.#position = attempt(() => this.#polled?.all<FeedPosition>(FEED_LAST).concat(START)[0], undefined)
      this.#seen = null
      this.#timer = setInterval(() => void this.#poll(), this.#interval)
      this.#timer.unref?.()
      void this.#poll()
    }
    return () => {
      unwatch()
      this.#rest()
    }
  }

  close(): void {
    this.watches.clear()
    this.#rest()
  }

  #rest(): void {
    if (!this.watches.isEmpty) return
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    // A database that cannot be read now is polled again at the next tick.
    await this.#look().catch(() => undefined)
    this.#isPolling = false
  }

  async #look(): Promise<void> {
    const [last = START] = await this.#all<FeedPosition>(FEED_LAST)
    const from = this.#position
    const [row] = await this.#all<{ readonly data_version: number }>('PRAGMA data_version')
    const seen = row?.data_version ?? null
    const connection = this.#runner.connection
    if (connection !== this.#polled || from === undefined) this.watches.wakeAll()
    // An unchanged pragma means that this connection wrote the new rows, and has already woken their watches.
    else if (seen !== this.#seen) await this.#wakeSince(from)
    this.#polled = connection
    this.#position = last
    this.#seen = seen
  }

  /** Wakes watches of conversations that changed since a position. Each such change has a row in the feed. */
  async #wakeSince(from: FeedPosition): Promise<void> {
    const { position } = from
    const values = [position, position, MAX_NEWS + 2, position, null, MAX_NEWS + 2]
    const rows = await this.#all<FeedEntry>(FEED_ROWS, ...values)
    const isThere = from === START || (rows[0]?.position === position && rows[0].witness === from.witness)
    const news = new Set((from === START ? rows : rows.slice(1)).map(({ conversationId }) => conversationId))
    // A restored database has another row at this position, or no row.
    if (!isThere || rows.length > MAX_NEWS + 1) this.watches.wakeAll()
    else for (const id of news) this.watches.wake(id)
  }

  #all<R extends object>(sql: string, ...values: readonly (number | null)[]): Promise<readonly R[]> {
    return this.#runner.read(() => all<R>(sql, ...values))
  }
}

export type { SqliteStoreOptions } from './database.ts'
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts'

/** Maximum number of logs whose end is kept in memory, so that the next append need not read it. */
const MAX_LOGS = 1_000

/**
 * Returns a store in SQLite: a file, `:memory:`, or an open database of `node:sqlite`, better-sqlite3 or
 * bun:sqlite. Several processes can share a file. The first call opens the file and creates the `colloquy_…`
 * tables; the database can have other tables too. If the store is a file, the next call after
 * `store_unavailable` opens the file again.
 *
 * An open database belongs to the store until `close`, which leaves it open. The store switches it to
 * write-ahead logging, and no other code may hold a transaction on it. Its encoding must be UTF-8, the
 * default; UTF-16, which orders texts differently, throws `store_unavailable`. Use only one driver for a file
 * in a process, because file locks do not work between drivers of one process.
 *
 * `append` costs O(log n) per fact, and one disk sync per turn of the event loop; `get` costs O(log n). A
 * page of `search`, at any depth, costs O(log n + limit) for each kind and source in the log and, with
 * `leafId`, for each path segment in the page. A text filter, or `leafId` in a log whose times decrease, may
 * read every event. Calls block the calling thread.
 * @throws `invalid_argument` for invalid options; each call throws the database's errors.
 * @example
 * const store = sqliteStore({ file: ':memory:' })
 * await store.createConversation({ id: 'c' })
 * const { version, headId } = await store.append('c', [{ kind: 'PauseEvent', id: 'p1' }], { expected: 'none' })
 * version // 1
 * headId // 'p1'
 * await store.close()
 */
export function sqliteStore(options: SqliteStoreOptions): DisposableStore {
  const pollInterval = checkPollInterval(options?.pollInterval, 50)
  const feedRows = checkStoreOptions({ ...options })
  const source = connectionSource(options)
  checkOptionNames(
    options,
    'file database synchronous readOnly busyTimeout pollInterval clock fullText feedRows',
  )
  const { readOnly = false, fullText = false } = options
  const runner = new Runner(source)
  const clock = options.clock ?? microsNow
  const millis = (): number => Number(clock() / 1000n)
  const poll = new Poll(runner, pollInterval)
  const logs = new Map<string, KnownLog>()
  return sqlStore(
    { name: 'sqlite', dialect: SQLITE, clock, read: runner.read, write: runner.write },
    {
      async append(id, facts, options) {
        const isAlone = options.within !== undefined
        const known = logs.get(id) ?? null
        logs.delete(id)
        const { decision, log } = await runner
          .write(() => append(id, facts, options, known, clock(), fullText), { isAlone })
          .catch((error: unknown) => {
            throw error instanceof CallbackError ? error.cause : error
          })
        log.trim()
        logs.set(id, log)
        // The least recently used is the first.
        for (const [oldest] of logs) {
          if (logs.size <= MAX_LOGS) break
          logs.delete(oldest)
        }
        return { result: appendResult(decision), isNew: decision.added.length > 0 }
      },
      transact: runner.write,
      index: readOnly ? null : runner.write,
      replaceText,
      changeItems: (changes) => () => changeItems(changes, millis()),
      claimItems: (collection, claim) => () => claimItems(collection, claim, millis()),
      feed: (query) => () => readFeed(query),
      feedRows: feedTrimmer(feedRows),
      texts: fullText ? TEXT_WORK : null,
      purgeTexts: purge,
      watches: poll.watches,
      watch(id, wake) {
        if (runner.isClosed) throw storeClosed()
        return poll.watch(id, wake)
      },
      async close() {
        poll.close()
        await runner.close()
      },
    },
  )
}
