import type { DisposableStore } from '../contract/store.ts'
import { checkStoreOptions } from '../kit/feed.ts'
import { checkOptionNames } from '../../event/check-value.ts'
import type { Work } from '../sql/dialect.ts'
import { sqlStore } from '../sql/store.ts'
import { appender } from './append.ts'
import { Connection } from './connection.ts'
import {
  BE_DURABLE,
  changeItems,
  claimItems,
  feedTrimmer,
  postgresDialect,
  readFeed,
  settleFeed,
} from './dialect.ts'
import type { PostgresStoreOptions } from './driver.ts'
import { replaceText, textWork } from './texts.ts'
import { Watcher } from './watcher.ts'

export type {
  HeldClient,
  ListeningClient,
  PostgresClient,
  PostgresPool,
  PostgresStoreOptions,
  SubscribingClient,
} from './driver.ts'

/**
 * Returns a store in a PostgreSQL database, which any number of processes can share. The first call connects
 * and creates the schema; if it fails, the next call tries again.
 *
 * Pools and transaction-mode poolers work, because the store needs no session. A single client works too, one
 * statement at a time, until its connection is lost. `close` ends the pool of a URL, and leaves a passed
 * client open.
 *
 * `append` costs O(log n) for each fact, in one round trip. It needs a few more round trips if another
 * process has appended, or if a fact is already in the log or names a parent other than HEAD. Concurrent
 * appends share a round trip and its disk sync. A page of `search` costs two round trips; more with `leafId`,
 * and for large bodies. Snapshots and appends do not wait for each other.
 * @throws `invalid_argument` for invalid options; each call throws the database's errors, `store_unavailable`
 *   for a missing driver, and `store_newer` for a schema of a later version.
 * @example
 * const store = postgresStore({ url: 'postgres://localhost/app' })
 * store.name // 'postgres'
 * await store.close()
 */
export function postgresStore(options: PostgresStoreOptions): DisposableStore {
  const connection = new Connection(options)
  checkOptionNames(options, 'url client schema listen pollInterval timeout clock fullText feedRows prepare')
  const feedRows = checkStoreOptions({ ...options })
  const watcher = new Watcher(connection, options)
  const { schema, run } = connection
  const clock = (): bigint | null => options.clock?.() ?? null
  const engine = { name: 'postgres', dialect: postgresDialect(schema), clock, read: run, write: run }
  const fullText = options.fullText === true
  const append = appender(engine, schema, connection, fullText)
  const call = <T>(work: () => Work<T>): Promise<T> => connection.call(() => run(work))
  const transact = <T>(work: () => Work<T>): Promise<T> =>
    connection.call(async () => {
      const results: T[] = []
      await connection.transaction(BE_DURABLE, [], async (_, current) => {
        results.push(await connection.runOn(current, work))
        return false
      })
      return results[0] as T
    })
  let closing: Promise<void> | null = null
  let isSettled = false
  return sqlStore(
    { ...engine, read: call, write: call },
    {
      append: (id, facts, requested) => connection.call(() => append(id, facts, requested)),
      transact,
      index: async (work) => ((await connection.canHold()) ? transact(work) : call(work)),
      replaceText: replaceText(schema),
      changeItems: (changes) => () => changeItems(schema, changes, clock()),
      claimItems: (collection, claim) => () => claimItems(schema, collection, claim, clock()),
      feed: (query) =>
        function* () {
          if (!isSettled) yield* settleFeed(schema)
          isSettled = true
          return yield* readFeed(schema, query)
        },
      feedRows: feedTrimmer(schema, feedRows),
      texts: fullText ? textWork(schema) : null,
      purgeTexts: null,
      watches: watcher,
      watch(id, wake) {
        connection.checkOpen()
        return watcher.watch(id, wake)
      },
      close: () => (closing ??= connection.close(() => watcher.close())),
    },
  )
}
