import { isLegalId } from '../../event/ids.ts'
import { hasCode } from '../../event/errors.ts'
import { copyJson, decodedLists, isFrozenJson, MAX_DEPTH } from '../../event/freeze.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { AppendOptions, AppendResult, DisposableStore, Unwatch, Wake } from '../contract/store.ts'
import { type FeedPage, FOLLOWERS } from '../contract/feed.ts'
import type { Item } from '../contract/items.ts'
import { checkGetOptions } from '../kit/blobs.ts'
import { checkReplacements } from '../kit/append/replace.ts'
import { unknownConversation } from '../kit/errors.ts'
import { type CheckedFeedQuery, checkFeedQuery, heldPositions, HOLD_TIME } from '../kit/feed.ts'
import type { CheckedChange } from '../kit/items.ts'
import { checkChanges, checkClaim, checkItemFilter, checkItemQuery } from '../kit/items.ts'
import { checkCreatedAt, checkLeaseQuery, checkParts, newRecord } from '../kit/record.ts'
import {
  checkConversationFilter,
  checkConversationQuery,
  checkCountOptions,
} from '../kit/query/conversation-query.ts'
import { checkEventFilter, checkEventQuery, checkReadOptions } from '../kit/query/event-query.ts'
import { blobReads } from './blobs.ts'
import { conversationWork } from './conversations.ts'
import { readObject } from '../kit/row.ts'
import { all, type Engine, type FeedTrimmer, type Work } from './dialect.ts'
import { eventReads } from './events.ts'
import { itemReads } from './items.ts'
import type { Watches } from '../kit/watches.ts'
import { checkTextQuery, noFullText } from '../kit/query/text-query.ts'
import { replaceEvents, type ReplaceText } from './replace.ts'
import { TextIndexer, textReads, type TextWork } from './texts.ts'

interface Adapter {
  append(
    conversationId: string,
    facts: readonly Fact[],
    options: AppendOptions,
  ): Promise<{ readonly result: AppendResult; readonly isNew: boolean }>
  changeItems(changes: readonly CheckedChange[]): () => Work<(Item | null)[]>
  claimItems(collection: string, claim: { readonly ttl: number; readonly limit: number }): () => Work<Item[]>
  transact<T>(work: () => Work<T>): Promise<T>
  /**
   * Runs work as `transact` does, or as `write` if the client cannot hold a transaction. Null for a read-only
   * store.
   */
  readonly index: (<T>(work: () => Work<T>) => Promise<T>) | null
  readonly replaceText: ReplaceText
  feed(query: CheckedFeedQuery): () => Work<FeedPage>
  readonly feedRows: FeedTrimmer
  readonly texts: TextWork | null
  readonly purgeTexts: (() => Work<boolean>) | null
  readonly watches: Pick<Watches, 'wake'>
  watch(conversationId: string | null, wake: Wake): Unwatch
  close(): Promise<void>
}

export function sqlStore(engine: Engine, adapter: Adapter): DisposableStore {
  const events = eventReads(engine.dialect)
  const blobs = blobReads(engine.dialect)
  const conversations = conversationWork(engine.dialect, engine.clock)
  const items = itemReads(engine.dialect)
  const texts = adapter.texts === null ? null : textReads(engine.dialect, adapter.texts, events)
  const indexer =
    texts === null || adapter.texts === null || adapter.index === null
      ? null
      : new TextIndexer(texts, adapter.texts.maintain, adapter.index)
  /** Runs a read. The caller has checked the arguments, so that an invalid call does not open the database. */
  const read = <A extends readonly unknown[], T>(work: (...input: A) => Work<T>, ...input: A): Promise<T> => {
    indexer?.start()
    return engine.read(() => work(...input))
  }
  const write: Engine['write'] = (work) => {
    indexer?.start()
    return engine.write(work)
  }
  function* trimFeed(): Work<void> {
    const item = engine.dialect.table('item')
    const rows = yield* all<{ readonly id: string; readonly body: string }>(
      `SELECT id, body FROM ${item} WHERE collection >= ? AND collection < ?
        AND due_at > ${engine.dialect.now} / 1000 - ${HOLD_TIME}`,
      FOLLOWERS,
      `${FOLLOWERS}\u{10ffff}`,
      engine.clock(),
    )
    yield* adapter.feedRows.trim(
      heldPositions(
        rows.map(({ id, body }) => ({ id, body: readObject(body, 'The position of a follower', { id }) })),
      ),
    )
  }
  const searched = (): ReturnType<typeof textReads> => {
    indexer?.look()
    return texts ?? noFullText()
  }
  return {
    name: engine.name,

    async append(id, facts, options = {}) {
      if (!isLegalId(id)) throw unknownConversation(id)
      const copies = decodedLists.has(facts) || !Array.isArray(facts) ? facts : facts.map(ownedJson)
      const { result, isNew } = await adapter.append(id, copies, { ...options })
      if (isNew) adapter.watches.wake(id)
      indexer?.start()
      if (isNew) indexer?.wrote(copies.length)
      return result
    },

    replaceEvents: async (id, replacements) => {
      if (!isLegalId(id)) throw unknownConversation(id)
      const checked = checkReplacements(replacements)
      await adapter.transact(() => replaceEvents(engine.dialect, events, adapter.replaceText, id, checked))
    },

    read: async (id, options = {}) => read(events.read, id, checkReadOptions(options)),
    get: async (conversationId, id, options) =>
      (await read(events.getMany, conversationId, [id], checkGetOptions(options)))[0] ?? null,
    getMany: async (id, ids, options) => read(events.getMany, id, [...ids], checkGetOptions(options)),
    search: async (query) => read(events.search, checkEventQuery(query)),
    count: async (filter) => read(events.count, checkEventFilter(filter)),

    searchText: async (query) => read(searched().search, checkTextQuery(query)),
    textIndex: async () => read(searched().count),

    createConversation: async (conversation) => {
      const [record, created] = [newRecord(conversation, 0n), checkCreatedAt(conversation.createdAt)]
      return write(() => conversations.create(record, created))
    },
    getConversation: async (id) => read(() => conversations.find(id)),
    listConversations: async (query) => read(conversations.list, checkConversationQuery(query)),
    countConversations: async (filter, options) =>
      read(conversations.count, checkConversationFilter(filter), checkCountOptions(options)),
    setStatus: async (id, status, version) => write(() => conversations.setStatus(id, status, version)),
    updateConversation: async (id, patch, options) => {
      const copy = ownedJson({ patch, options })
      return write(() => conversations.update(id, copy.patch, copy.options))
    },
    deleteConversation: async (id) => {
      let hasTexts = false
      const deleted = await write(function* () {
        const deleted = yield* conversations.remove(id)
        // Also purges texts of earlier deletions, whose purge below may have failed.
        hasTexts = adapter.purgeTexts !== null && (yield* adapter.purgeTexts())
        return deleted
      })
      if (deleted) {
        adapter.watches.wake(id)
        // A failure is harmless: the next deletion repeats this. A short feed costs no second commit.
        await read(() => adapter.feedRows.isLong())
          .then((isLong) => (isLong ? write(trimFeed) : undefined))
          .catch(() => undefined)
      }
      // In parts, so that other calls run in between. After `close`, a later store purges the rest.
      while (hasTexts && adapter.purgeTexts !== null)
        hasTexts = await write(adapter.purgeTexts).catch((error: unknown) => {
          if (hasCode(error, 'store_closed')) return false
          throw error
        })
      return deleted
    },

    acquireLease: async (id, owner, ttl) => write(() => conversations.acquireLease(id, owner, ttl)),
    releaseLease: async ({ ...lease }) => write(() => conversations.releaseLease(lease)),
    getLease: async (id) => read(() => conversations.findLease(id)),
    listLeases: async (query) => read(conversations.listLeases, checkLeaseQuery(query)),

    saveSnapshot: async (id, parts, options) => {
      const complete = checkParts(parts, options)
      return write(() => conversations.saveSnapshot(id, parts, complete))
    },
    loadSnapshot: async (id) => read(() => conversations.loadSnapshot(id)),
    deleteSnapshot: async (id) => write(() => conversations.deleteSnapshot(id)),

    readBlob: (id, hash, range) => blobs.readBlob(read, id, hash, range),
    auditBlobs: () => blobs.audit(read),

    feed: async (query) => read(adapter.feed(checkFeedQuery(query))),

    getItem: async (collection, id) => read(() => items.find(collection, id)),
    changeItems: async (changes) => write(adapter.changeItems(checkChanges(changes))),
    listItems: async (collection, query) => read(items.list, collection, checkItemQuery(collection, query)),
    countItems: async (collection, filter, options) =>
      read(items.count, collection, checkItemFilter(collection, filter), checkCountOptions(options)),
    claimItems: async (collection, claim) =>
      write(adapter.claimItems(collection, checkClaim(collection, claim))),

    watch: (id, wake) => adapter.watch(id, wake),
    close: () => {
      indexer?.close()
      return adapter.close()
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}

/** Copies an argument, because the caller may change it during the call. */
function ownedJson<T extends object>(input: T): T {
  if (isFrozenJson(input, MAX_DEPTH)) return input
  const { value, issues } = copyJson(input)
  return issues.length === 0 ? (value as object as T) : input
}
