/** `colloquy/postgres`: a store over PostgreSQL, for any number of processes. */

import type { Store } from '../contract/store.ts'
import type { Work } from '../sql/dialect.ts'
import { sqlStore } from '../sql/store.ts'
import { appender } from './append.ts'
import { Connection } from './connection.ts'
import { changeItems, claimItems, postgresDialect, readFeed, settleFeed } from './dialect.ts'
import type { PostgresStoreOptions } from './driver.ts'
import { textWork } from './texts.ts'
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
 * A store in a PostgreSQL database, for any number of processes. Nothing is connected until the first call, which also
 * creates the schema; a call that fails leaves the store as it was, and the next one tries again.
 *
 * Needs no session of its own: every call is one statement, or a few that do not depend on each other's connection, so
 * that a pool and a transaction-mode pooler serve it. A single client serves it too, one statement at a time, and when
 * that client has lost its connection the store has. The store ends what it created: the pool of a URL; a client that
 * was passed stays open.
 *
 * Costs: `append` is one round trip, O(log n) for each fact, and a few where another process has appended since, where
 * a fact names a parent other than HEAD, or is in the log already; appends to one conversation that are asked for while
 * one is under way share the next round trip and its wait for the disk; a page of `search` is two round trips. A
 * snapshot is saved beside appends: neither waits for the other.
 *
 * @throws (every call) `store_unavailable` also for a missing driver; `store_newer` for a schema of a later version.
 *
 * @example
 * const store = postgresStore({ url: 'postgres://localhost/app' })
 * store.name // 'postgres'
 * await store.close()
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const connection = new Connection(options)
  const watcher = new Watcher(connection, options)
  const { schema, run } = connection
  const clock = (): bigint | null => options.clock?.() ?? null
  const own = { name: 'postgres', dialect: postgresDialect(schema), clock, read: run, write: run }
  const fullText = options.fullText === true
  const append = appender(own, schema, connection.transaction, fullText)
  const call = <T>(work: () => Work<T>): Promise<T> => connection.call(() => run(work))
  let closing: Promise<void> | null = null
  let isSettled = false
  return sqlStore(
    { ...own, read: call, write: call },
    {
      append: (id, facts, asked) => connection.call(() => append(id, facts, asked)),
      changeItems: (changes) => () => changeItems(schema, changes, clock()),
      claimItems: (collection, claim) => () => claimItems(schema, collection, claim, clock()),
      feed: (query) =>
        function* () {
          if (!isSettled) yield* settleFeed(schema)
          isSettled = true
          return yield* readFeed(schema, query)
        },
      texts: fullText ? textWork(schema) : null,
      purgeTexts: null,
      wake: (id) => watcher.wrote(id),
      watch(id, wake) {
        connection.checkOpen()
        return watcher.watch(id, wake)
      },
      close: () => {
        closing ??= connection.close(() => watcher.close())
        return closing
      },
    },
  )
}
