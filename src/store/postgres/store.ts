/** The store over PostgreSQL: every call is checked here and handed to the file that knows its statements. */

import { unknownConversation } from '../kit/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import {
  checkConversationFilter,
  checkConversationQuery,
  checkExact,
} from '../kit/query/conversation-query.ts'
import { checkEventFilter, checkEventQuery, checkReadOptions } from '../kit/query/event-query.ts'
import { checkFeedQuery } from '../kit/feed.ts'
import { checkChanges, checkClaim, checkItemFilter, checkItemQuery, mayBeItem } from '../kit/items.ts'
import { checkLease, checkLeaseQuery } from '../kit/leases.ts'
import { checkStatus, newRecord } from '../kit/record.ts'
import { checkParts } from '../kit/check-parts.ts'
import type { Store } from '../contract/store.ts'
import { appendDecided } from './append-decided.ts'
import { Appends } from './append-together.ts'
import { Connection } from './connection.ts'
import * as conversations from './conversations.ts'
import { readFeed, settleFeed } from './feed.ts'
import { changeItems, claimItems, countItems, findItem, listItems } from './items.ts'
import { releaseLease, findLease, findLeases, acquireLease } from './leases.ts'
import { countConversations, listConversations } from './list.ts'
import { liveBatch } from './live-batch.ts'
import type { PostgresStoreOptions } from './options.ts'
import { eventsById, eventsFrom } from './read.ts'
import { countEvents, searchEvents } from './search.ts'
import { deleteSnapshot, loadSnapshot, saveSnapshot } from './snapshots.ts'
import { Watcher } from './watcher.ts'

/**
 * A store in a PostgreSQL database, for any number of processes. Nothing is connected until the first call, which also
 * brings the schema to its latest version; a call that fails leaves the store as it was, and the next one tries anew.
 *
 * Needs no session of its own: every call is one statement, or a few that do not depend on each other's connection, so
 * that a pool and a transaction-mode pooler serve it. A single client serves it too, one statement at a time, and when
 * that client has lost its connection the store has. The store ends what it made: the pool of a URL; a client that was
 * given stays open.
 *
 * Costs: `append` is one round trip, O(log n) for each fact, two for an import or an event that is there already; those
 * that one conversation is asked for while one is under way share the next round trip and its wait for the disk; a
 * page of `search` what `searchEvents` says. A snapshot is saved beside appends: neither waits for the other.
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
  const appends = new Appends(connection)
  const clock = (): bigint | null => options.clock?.() ?? null
  const call = <T>(run: () => Promise<T>): Promise<T> => connection.call(run)
  let settled: Promise<void> | null = null
  let closing: Promise<void> | null = null

  return {
    name: 'postgres',

    append: (conversationId, facts, asked = {}) =>
      call(async () => {
        known(conversationId)
        const now = clock()
        const batch = liveBatch(facts, asked)
        const live = batch && (await appends.append(conversationId, batch, asked, now))
        if (live !== null) {
          watcher.wrote(conversationId)
          return live
        }
        const { appended, wrote } = await appendDecided(connection, conversationId, facts, asked, now)
        if (wrote) watcher.wrote(conversationId)
        return appended
      }),

    read: (conversationId, asked = {}) =>
      call(async () => {
        known(conversationId)
        return eventsFrom(connection, conversationId, checkReadOptions(asked))
      }),

    get: (conversationId, id) =>
      call(async () => (await eventsById(connection, conversationId, [id]))[0] ?? null),

    getMany: (conversationId, ids) => call(() => eventsById(connection, conversationId, ids)),

    search: (query) => call(async () => searchEvents(connection, checkEventQuery(query))),

    count: (filter) => call(async () => countEvents(connection, checkEventFilter(filter))),

    createConversation: (conversation) =>
      call(async () => conversations.createConversation(connection, newRecord(conversation, 0n), clock())),

    getConversation: (id) =>
      call(async () => (isLegalId(id) ? conversations.findConversation(connection, id) : null)),

    listConversations: (query) =>
      call(async () => listConversations(connection, checkConversationQuery(query))),

    countConversations: (filter, { exact } = {}) =>
      call(async () => countConversations(connection, checkConversationFilter(filter), checkExact(exact))),

    setStatus: (id, status, version) =>
      call(async () => {
        const checked = checkStatus(status)
        // A column holds no other number.
        const mayBe = isLegalId(id) && Number.isInteger(version) && version >= 0 && version < 2 ** 31
        return mayBe && conversations.setStatus(connection, id, checked, version)
      }),

    updateConversation: (id, patch, options) =>
      call(async () => {
        known(id)
        return conversations.updateConversation(connection, id, patch, clock(), options)
      }),

    deleteConversation: (id) =>
      call(async () => {
        const was = isLegalId(id) && (await conversations.deleteConversation(connection, id))
        if (was) watcher.wrote(id)
        return was
      }),

    acquireLease: (conversationId, owner, ttl) =>
      call(async () => {
        known(conversationId)
        checkLease(owner, ttl)
        return acquireLease(connection, { conversationId, owner, ttl }, clock())
      }),

    releaseLease: (lease) =>
      call(async () => {
        const { conversationId, owner, generation } = lease
        const isLegal = isLegalId(conversationId) && isLegalId(owner) && Number.isSafeInteger(generation)
        return isLegal && releaseLease(connection, lease)
      }),

    getLease: (conversationId) =>
      call(async () => (isLegalId(conversationId) ? findLease(connection, conversationId) : null)),

    listLeases: (query) => call(async () => findLeases(connection, checkLeaseQuery(query), clock())),

    saveSnapshot: (conversationId, parts, { complete = false } = {}) =>
      call(async () => {
        checkParts(parts)
        known(conversationId)
        return saveSnapshot(connection, conversationId, parts, complete)
      }),

    loadSnapshot: (conversationId) =>
      call(async () => (isLegalId(conversationId) ? loadSnapshot(connection, conversationId) : [])),

    deleteSnapshot: (conversationId) =>
      call(async () => isLegalId(conversationId) && deleteSnapshot(connection, conversationId)),

    feed: (query) =>
      call(async () => {
        const checked = checkFeedQuery(query)
        settled ??= settleFeed(connection)
        await settled.catch((error: unknown) => {
          settled = null
          throw error
        })
        return readFeed(connection, checked)
      }),

    getItem: (collection, id) =>
      call(async () => (mayBeItem(collection, id) ? findItem(connection, collection, id) : null)),

    changeItems: (changes) => call(async () => changeItems(connection, checkChanges(changes), clock())),

    listItems: (collection, query) =>
      call(async () => listItems(connection, collection, checkItemQuery(collection, query))),

    countItems: (collection, filter, { exact } = {}) =>
      call(async () =>
        countItems(connection, collection, checkItemFilter(collection, filter), checkExact(exact)),
      ),

    claimItems: (collection, claim) =>
      call(async () => claimItems(connection, collection, checkClaim(collection, claim), clock())),

    watch: (conversationId, wake) => {
      connection.checkOpen()
      return watcher.watch(conversationId, wake)
    },

    close: () => {
      closing ??= connection
        .close()
        .then(() => watcher.close())
        .then(() => connection.end())
      return closing
    },
  }
}

/** No database is asked for an id that it would change on the way in. @throws ColloquyError `unknown_conversation`. */
function known(conversationId: string): void {
  if (!isLegalId(conversationId)) throw unknownConversation(conversationId)
}
