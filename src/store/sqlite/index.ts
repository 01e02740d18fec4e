import type { DisposableStore, Unwatch, Wake } from '../contract/store.ts'
import { storeClosed } from '../kit/errors.ts'
import { checkFeedRows } from '../kit/feed.ts'
import { checkOptionNames, checkPollInterval } from '../../event/check-value.ts'
import { microsNow } from '../kit/record.ts'
import { Watches } from '../kit/watches.ts'
import { appendResult, type KnownLog } from '../sql/append.ts'
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
 * Polls `PRAGMA data_version` for other connections' writes, then the feed, to wake only watches of changed
 * conversations. Reopens a failed connection, because a process that only watches makes no calls. Does not
 * keep the process alive.
 */
class Poll {
  readonly watches = new Watches()
  readonly #runner: Runner
  readonly #interval: number
  #timer: ReturnType<typeof setInterval> | null = null
  #seen: number | null = null
  #polled: Connection | null = null
  #position: FeedPosition | null = null
  #isOpening = false

  constructor(runner: Runner, interval: number) {
    this.#runner = runner
    this.#interval = interval
  }

  watch(conversationId: string | null, wake: Wake): Unwatch {
    const unwatch = this.watches.add(conversationId, wake)
    this.#start()
    return () => {
      unwatch()
      this.#rest()
    }
  }

  close(): void {
    this.watches.clear()
    this.#rest()
  }

  #start(): void {
    if (this.#timer !== null) return
    this.#position = this.#last()
    // The first poll finds writes from before the timer.
    this.#seen = null
    this.#polled = this.#runner.connection
    this.#reopen()
    this.#timer = setInterval(() => this.#poll(), this.#interval)
    this.#timer.unref?.()
  }

  #rest(): void {
    if (!this.watches.isEmpty) return
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** Opens a lost connection again, because only an open one sees other processes' writes. */
  #reopen(): void {
    if (this.#runner.connection !== null || this.#isOpening) return
    this.#isOpening = true
    const end = (): void => {
      this.#isOpening = false
    }
    this.#runner.read(function* () {}).then(end, end)
  }

  #poll(): void {
    this.#reopen()
    const connection = this.#runner.connection
    const last = this.#last()
    const seen = this.#all<{ readonly data_version: number }>('PRAGMA data_version')?.[0]?.data_version
    // Unreadable now: retry at the next tick.
    if (last === null || seen === undefined) return
    const isSame = connection === this.#polled
    if (!isSame || this.#position === null) this.watches.wakeAll()
    // An unchanged pragma means that this connection wrote the new rows, and has already woken their watches.
    else if (seen !== this.#seen && !this.#wakeSince(this.#position)) return
    this.#seen = seen
    this.#polled = connection
    this.#position = last
  }

  /** Wakes watches of conversations that changed since a position; false if the database cannot be read now. */
  #wakeSince(from: FeedPosition): boolean {
    const { position } = from
    // Every change that wakes has a row.
    const values = [position, position, MAX_NEWS + 2, position, null, MAX_NEWS + 2]
    const rows = this.#all<FeedEntry>(FEED_ROWS, ...values)
    if (rows === null) return false
    const isThere = from === START || (rows[0]?.position === position && rows[0].witness === from.witness)
    const news = new Set((from === START ? rows : rows.slice(1)).map(({ conversationId }) => conversationId))
    // A restored database has another row at this position, or no row.
    if (!isThere || rows.length > MAX_NEWS + 1) this.watches.wakeAll()
    else for (const id of news) this.watches.wake(id)
    return true
  }

  #last(): FeedPosition | null {
    const rows = this.#all<FeedPosition>(FEED_LAST)
    return rows === null ? null : (rows[0] ?? START)
  }

  #all<R>(sql: string, ...values: (number | null)[]): R[] | null {
    try {
      return this.#runner.connection?.all<R>(sql, ...values) ?? null
    } catch {
      return null
    }
  }
}

export type { SqliteStoreOptions } from './database.ts'
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts'

/** Maximum number of logs whose end is kept in memory, so that the next append need not read it. */
const MAX_LOGS = 1_000

/**
 * Returns a store in SQLite: a file, `:memory:`, or an open database of `node:sqlite`, better-sqlite3 or
 * bun:sqlite. Several processes can share a file. The first call opens the file and creates the `colloquy_…`
 * tables; the database can have other tables too. After `store_unavailable`, the next call opens a file
 * again.
 *
 * An open database belongs to the store until `close`, which leaves it open. The store switches it to
 * write-ahead logging, and no other code may hold a transaction on it. Its encoding must be UTF-8, the
 * default; UTF-16, which orders texts differently, throws `store_unavailable`. Use only one driver for a file
 * in a process, because file locks do not separate two drivers.
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
  const feedRows = checkFeedRows(options?.feedRows)
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
