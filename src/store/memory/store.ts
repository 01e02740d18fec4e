/** The in-memory store: the reference that tests compare the other stores with. */

import type { Fact } from '../../event/quarantine.ts'
import type { GetOptions } from '../contract/blobs.ts'
import { FOLLOWERS, SHARDS } from '../contract/feed.ts'
import type { Item, ItemChange, ItemClaim, ItemFilter, ItemQuery, Items } from '../contract/items.ts'
import { type Count, type CountOptions, MAX_COUNTED, type Page, type StoredEvent } from '../contract/query.ts'
import type { AppendResult, DisposableStore } from '../contract/store.ts'
import type { TextPage, TextQuery, TextRole } from '../contract/text.ts'
import type { PlacedEvent } from '../kit/append/decide-append.ts'
import { checkRange, textContent } from '../kit/blobs.ts'
import type { CheckedFeedQuery, FeedRow } from '../kit/feed.ts'
import { checkStoreOptions, heldPositions, HOLD_TIME, positionNumber } from '../kit/feed.ts'
import * as kit from '../kit/index.ts'
import { type CheckedItemQuery, compareItems, itemCursor, type ItemPlace } from '../kit/items.ts'
import { checkOptionNames } from '../../event/check-value.ts'
import { fitsRecord } from '../kit/query/fits.ts'
import { bodyBytes, countWithin } from '../kit/query/page.ts'
import {
  type CheckedTextQuery,
  checkTextQuery,
  findTextPage,
  fitsText,
  noFullText,
  scoreText,
  textPlace,
  type TextSource,
} from '../kit/query/text-query.ts'
import { eventText, lineOf, sizeOfLine } from '../kit/query/text-tokens.ts'
import type { Clock } from '../kit/record.ts'
import { Conversations, type Kept } from './conversations.ts'
import type { LogRow } from './log.ts'
import { contextIn, countLog, eventOf, replaceFacts, rowOf, searchLog, writeDecision } from './log.ts'
import { firstFrom, firstOf, SortedList } from './sorted.ts'

interface TextRow {
  readonly position: bigint
  readonly kept: Kept
  readonly event: StoredEvent
  readonly role: TextRole
  readonly line: string
  readonly size: number
}

const comparePositions = (a: TextRow, b: TextRow): number =>
  a.position < b.position ? -1 : a.position > b.position ? 1 : 0

class MemoryTexts {
  readonly #rows = new SortedList(comparePositions)
  readonly #byPosition = new Map<bigint, TextRow>()
  readonly #byConversation = new Map<Kept, TextRow[]>()

  add(stored: Kept, added: readonly Pick<PlacedEvent, 'event' | 'time' | 'node'>[]): void {
    const rows = this.#byConversation.get(stored) ?? []
    this.#byConversation.set(stored, rows)
    for (const { event, time, node } of added) {
      const result = node === null ? null : eventText(event.fact)
      const line = result === null ? '' : lineOf(result.text)
      if (result === null || line === '') continue
      let position = textPlace(time, event.seq, 0)
      for (let attempt = 1; this.#byPosition.has(position); attempt += 1)
        position = textPlace(time, event.seq, attempt)
      const row = { position, kept: stored, event, role: result.role, line, size: sizeOfLine(line) }
      rows.push(row)
      this.#rows.add(row)
      this.#byPosition.set(position, row)
    }
  }

  remove(stored: Kept): void {
    for (const row of this.#byConversation.get(stored) ?? []) {
      this.#rows.delete(row)
      this.#byPosition.delete(row.position)
    }
    this.#byConversation.delete(stored)
  }

  search(query: TextQuery): TextPage {
    const checked = checkTextQuery(query)
    const result = findTextPage(checked, this.#source(checked)).next()
    // The source never yields, so the first `next` returns the result.
    return result.done === true ? result.value : { items: [], cursor: null }
  }

  #source(query: CheckedTextQuery): TextSource<never, never> {
    const below = (position: bigint | null, count: number): TextRow[] => {
      const isLate = (one: TextRow): boolean => position !== null && one.position >= position
      const range = { isEarly: () => false, isLate, order: null, descending: true }
      return firstOf(this.#rows.between(range), count, (row) => matchesText(row, query))
    }
    return {
      // oxlint-disable-next-line require-yield
      *newest(position, count) {
        return below(position, count)
      },
      // oxlint-disable-next-line require-yield
      *ranked({ top, bottom, after }, count, maximum) {
        const hits = below(top === null ? null : top + 1n, maximum).filter(
          ({ position }) => bottom === null || position >= bottom,
        )
        const [first, last] = [hits[0], hits.at(-1)]
        if (first === undefined || last === undefined) return null
        const rows = hits
          .map(({ position, event, line, size }) => ({
            position,
            event,
            score: scoreText(line, size, query.includes),
          }))
          .toSorted((a, b) => b.score - a.score || (a.position < b.position ? 1 : -1))
          .filter(
            ({ score, position }) =>
              after === null || score < after.score || (score === after.score && position < after.position),
          )
        return { rows: rows.slice(0, count), top: first.position, bottom: last.position, count: hits.length }
      },
    }
  }
}

function matchesText({ kept: stored, event, role, line }: TextRow, query: CheckedTextQuery): boolean {
  const { conversation, from, until, messagesOnly, record } = query
  const time = BigInt(event.time)
  return (
    (conversation === null || stored.record.id === conversation) &&
    (query.role === null ? !messagesOnly || role !== 'tool' : role === query.role) &&
    (from === null || time >= from) &&
    (until === null || time < until) &&
    fitsRecord(stored.record, record) &&
    fitsText(line, query)
  )
}

interface Listed extends ItemPlace {
  readonly item: Item
}

interface Collection {
  readonly byId: Map<string, Item>
  /** For the name of each key, the items sorted by this key's value. For the empty name, all items sorted by id. */
  readonly lists: Map<string, SortedList<Listed>>
  readonly due: SortedList<Item>
}

class MemoryItems implements Items {
  readonly #collections = new Map<string, Collection>()
  readonly #clock: Clock
  #version = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  followers(): Item[] {
    return [...this.#collections]
      .filter(([name]) => name.startsWith(FOLLOWERS))
      .flatMap(([, { byId }]) => [...byId.values()])
      .filter(({ dueAt }) => (dueAt ?? 0) > this.#now() - HOLD_TIME)
  }

  async getItem(collection: string, id: string): Promise<Item | null> {
    return this.#find(collection, id) ?? null
  }

  async changeItems(inputs: readonly ItemChange[]): Promise<(Item | null)[]> {
    const changes = kit.checkChanges(inputs)
    for (const change of changes) {
      const version = this.#find(change.collection, change.id)?.version ?? null
      if (change.expected !== undefined && change.expected !== version)
        throw kit.itemConflict(change, version)
    }
    const now = this.#now()
    return changes.map((change) => {
      const { put } = change
      if (put === null) this.#remove(change)
      if (put === null || put === undefined) return null
      return this.#put(change, put, put.dueIn === null ? null : now + put.dueIn)
    })
  }

  async listItems(collection: string, input?: ItemQuery): Promise<Page<Item>> {
    const query = kit.checkItemQuery(collection, input)
    const matches = firstOf(this.#walk(collection, query), query.limit + 1).map(({ item }) => item)
    return kit.pageOf(matches, query.limit, (last) => itemCursor(query, last))
  }

  async countItems(collection: string, filter?: ItemFilter, options?: CountOptions): Promise<Count> {
    const exact = kit.checkCountOptions(options)
    const items = this.#walk(collection, kit.checkItemFilter(collection, filter))
    const count = firstOf(items, exact ? Infinity : MAX_COUNTED + 1).length
    return kit.lookedCount(count, count, exact)
  }

  async claimItems(collection: string, claim: ItemClaim): Promise<Item[]> {
    const { ttl, limit } = kit.checkClaim(collection, claim)
    const now = this.#now()
    const isLate = ({ dueAt }: Item): boolean => (dueAt ?? 0) > now
    const range = { isEarly: () => false, isLate, order: null, descending: false }
    const due = this.#collections.get(collection)?.due.between(range) ?? []
    return firstOf(due, limit).map((item) => this.#put(item, item, now + ttl))
  }

  #now(): number {
    return Number(this.#clock() / 1000n)
  }

  #find(collection: string, id: string): Item | undefined {
    return this.#collections.get(collection)?.byId.get(id)
  }

  #walk(collection: string, query: CheckedItemQuery): Iterable<Listed> {
    const { by, value, from, below, after, descending } = query
    const list = this.#collections.get(collection)?.lists.get(by ?? '')
    return (
      list?.between({
        isEarly: ({ key }) =>
          (value !== null && kit.compareIds(key, value) < 0) ||
          (from !== null && kit.compareIds(key, from) < 0),
        isLate: ({ key }) =>
          (value !== null && kit.compareIds(key, value) > 0) ||
          (below !== null && kit.compareIds(key, below) >= 0),
        order: after && ((listed) => compareItems(listed, after)),
        descending,
      }) ?? []
    )
  }

  #remove({ collection, id }: Pick<Item, 'collection' | 'id'>): void {
    const stored = this.#collections.get(collection)
    const item = stored?.byId.get(id)
    if (stored === undefined || item === undefined) return
    stored.byId.delete(id)
    if (item.dueAt !== null) stored.due.delete(item)
    for (const [name, key] of keysOf(item)) stored.lists.get(name)?.delete({ key, id, item })
  }

  #put(
    name: Pick<Item, 'collection' | 'id'>,
    value: Pick<Item, 'body' | 'keys'>,
    dueAt: number | null,
  ): Item {
    this.#remove(name)
    const item = kit.itemOf(name, value, (this.#version += 1), dueAt)
    const { collection, id } = item
    const stored = this.#collections.get(collection) ?? {
      byId: new Map<string, Item>(),
      lists: new Map<string, SortedList<Listed>>(),
      due: new SortedList<Item>((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || kit.compareIds(a.id, b.id)),
    }
    this.#collections.set(collection, stored)
    stored.byId.set(id, item)
    if (dueAt !== null) stored.due.add(item)
    for (const [name, key] of keysOf(item)) {
      const list = stored.lists.get(name) ?? new SortedList<Listed>(compareItems)
      stored.lists.set(name, list)
      list.add({ key, id, item })
    }
    return item
  }
}

const keysOf = ({ id, keys }: Item): readonly (readonly [name: string, key: string])[] => [
  ['', id],
  ...Object.entries(keys),
]

interface ChangeRow extends Pick<FeedRow, 'conversationId' | 'change' | 'from'> {
  readonly index: number
  until: number
}

type StartOf = (conversationId: string) => number | undefined

/** The feed: a row for each change, in order. Consecutive appends to one conversation share a row. */
class MemoryFeed {
  #all: ChangeRow[] = []
  #shards = Array.from({ length: SHARDS }, (): ChangeRow[] => [])
  readonly #witness = crypto.randomUUID()
  readonly #keep: number
  readonly #removed = Array.from({ length: SHARDS }, () => 0)
  #end = 1
  #trimmedSize = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  get end(): number {
    return this.#end
  }

  /**
   * Removes rows of deleted conversations if the feed has twice as many rows as after the last removal. The
   * cost of removals is O(1) for each added row.
   */
  trim(positions: readonly (readonly bigint[] | null)[], startOf: StartOf): void {
    if (this.#all.length <= this.#keep || this.#all.length < 2 * this.#trimmedSize) return
    this.#all = this.#all.filter((row) => {
      const shard = kit.shardOf(row.conversationId)
      const isHeld = row.index >= Number(positions[shard]?.[0] ?? Infinity)
      const stays = isHeld || row.index >= this.#end - this.#keep || this.#rowOf(row, startOf).isThere
      if (!stays && row.change === kit.FEED_CHANGE.deleted) this.#removed[shard] = row.index
      return stays
    })
    this.#shards = Array.from({ length: SHARDS }, () => [])
    for (const row of this.#all) this.#shards[kit.shardOf(row.conversationId)]?.push(row)
    this.#trimmedSize = this.#all.length
  }

  add(conversationId: string, change: number, from = 0, until = 1): void {
    const last = this.#all.at(-1)
    if (
      change === kit.FEED_CHANGE.events &&
      last?.change === change &&
      last.conversationId === conversationId
    ) {
      last.until = until
      return
    }
    const row = { conversationId, change, from, until, index: this.#end }
    this.#end += 1
    this.#all.push(row)
    this.#shards[kit.shardOf(conversationId)]?.push(row)
  }

  /** Returns rows of the feed. `startOf` returns the feed position of a conversation's creation. */
  rows(query: CheckedFeedQuery, startOf: StartOf): FeedRow[] {
    const rows = this.#of(query)
    const from = positionNumber(query)
    const start = firstFrom(rows, ({ index }) => index < from)
    const removed = query.shard === null ? Math.max(...this.#removed) : (this.#removed[query.shard] ?? 0)
    const since = Number(query.after?.start ?? 0)
    return rows
      .slice(start, start + kit.rowsFor(query))
      .map((row) => ({ ...this.#rowOf(row, startOf), isBehind: Math.max(row.index, since) < removed }))
  }

  last(query: CheckedFeedQuery): FeedRow | undefined {
    const row = this.#of(query).at(-1)
    return row && this.#rowOf(row, () => undefined)
  }

  #of({ shard }: CheckedFeedQuery): readonly ChangeRow[] {
    return (shard === null ? this.#all : this.#shards[shard]) ?? []
  }

  #rowOf(row: ChangeRow, startOf: StartOf): FeedRow {
    const { index, conversationId } = row
    const isThere = (startOf(conversationId) ?? Number.POSITIVE_INFINITY) <= index
    return { ...row, position: String(index), witness: this.#witness, isThere }
  }
}

/** Options of a memory store. */
export interface MemoryStoreOptions {
  /** Returns microseconds since 1970, for records, leases and items. Default: the system's clock. */
  readonly clock?: Clock
  /** Whether to index text for {@link Store.searchText}. Default: false. */
  readonly fullText?: boolean
  /** The feed removes a row of a deleted conversation once this many later rows exist. Default: 100,000. */
  readonly feedRows?: number
}

/**
 * Returns a store in memory. Its data is lost when the process ends. Tests compare all other stores with it.
 * Each call runs in one turn of the event loop, so no call sees half of another call's work.
 *
 * `append` costs O(1) for each fact, or O(log n) if the fact is older than the log's latest fact; `get` O(1);
 * a page of `search` O(log n + limit) at any depth, and more with a text or path filter; `listLeases`
 * O(conversations).
 * @throws `invalid_argument` for invalid options.
 * @example
 * const store = memoryStore()
 * await store.createConversation({ id: 'c' })
 * const { version, headId } = await store.append('c', [{ kind: 'PauseEvent', id: 'p1' }], { expected: 'none' })
 * version // 1
 * headId // 'p1'
 * await store.close()
 */
export function memoryStore(options: MemoryStoreOptions = {}): DisposableStore {
  checkOptionNames(options, 'clock fullText feedRows')
  const clock = options.clock ?? kit.microsNow
  const conversations = new Conversations()
  const items = new MemoryItems(clock)
  const feed = new MemoryFeed(checkStoreOptions({ ...options }))
  const watches = new kit.Watches()
  const texts = options.fullText === true ? new MemoryTexts() : null
  let closed = false
  const open = <T>(stored: T): T => {
    if (!closed) return stored
    throw kit.storeClosed()
  }

  const findEvents = (
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): (StoredEvent | null)[] => {
    const refs = kit.checkGetOptions(options)
    const log = open(conversations).find(conversationId)?.log
    return ids.map((id) => {
      const row = log && rowOf(log, id)
      return row === undefined ? null : eventOf(row, refs)
    })
  }

  const startOf: StartOf = (id) => conversations.find(id)?.feedStart

  return {
    name: 'memory',

    async append(conversationId, facts, options = {}): Promise<AppendResult> {
      const stored = open(conversations).get(conversationId)
      kit.refuseWithin(options)
      const { log, record, lease } = stored
      const about = { conversationId, createdAt: record.createdAt, timeZone: record.timeZone, lease }
      const decision = kit.decideAppend(contextIn(log, about), facts, options)
      const { version, head } = decision.tip
      const headId = head?.id ?? null
      if (decision.added.length > 0) {
        writeDecision(log, decision)
        texts?.add(stored, decision.added)
        const updatedAt = kit.laterOf(record.updatedAt, clock())
        conversations.appended(stored, Object.freeze({ ...record, version, headId, updatedAt }))
        feed.add(conversationId, kit.FEED_CHANGE.events, version - decision.added.length, version)
        watches.wake(conversationId)
      }
      return { events: decision.events, version, headId }
    },

    async replaceEvents(conversationId, replacements) {
      const stored = open(conversations).get(conversationId)
      const { log } = stored
      const replaced = kit.checkReplacements(replacements).map((one): [LogRow, Fact] => {
        const row = rowOf(log, one.id)
        kit.checkReplaced(conversationId, one, row?.event)
        return [row as LogRow, one.after]
      })
      replaceFacts(log, replaced)
      texts?.remove(stored)
      texts?.add(stored, log.rows)
      stored.snapshot.clear()
    },

    async read(conversationId, options = {}): Promise<StoredEvent[]> {
      const { rows } = open(conversations).get(conversationId).log
      const { from, backward, limit, refs } = kit.checkReadOptions(options)
      const end = backward ? Math.min(rows.length, (from ?? rows.length) + 1) : (from ?? 0) + limit
      const part = rows
        .slice(backward ? Math.max(0, end - limit) : (from ?? 0), end)
        .map((row) => eventOf(row, refs))
      return backward ? part.toReversed() : part
    },

    get: async (conversationId, id, options) => findEvents(conversationId, [id], options)[0] ?? null,
    getMany: async (conversationId, ids, options) => findEvents(conversationId, ids, options),

    async search(query) {
      const log = open(conversations).find(query.conversationId)?.log
      const checked = kit.checkEventQuery(query)
      const rows = log === undefined ? [] : searchLog(log, checked, checked.limit + 1)
      const { limit, maxBytes } = checked
      const matches = rows.map(({ event, refs }) => (checked.refs ? (refs ?? event) : event))
      const sizeOf = ({ event, refs }: LogRow): number => bodyBytes(refs ?? event, checked.refs)
      const count = countWithin(rows, limit, maxBytes, sizeOf)
      return kit.pageOf(matches, count, (last) => kit.eventCursor(checked, last))
    },

    async count(filter) {
      const log = open(conversations).find(filter.conversationId)?.log
      const checked = kit.checkEventFilter(filter)
      return log === undefined ? 0 : countLog(log, checked)
    },

    searchText: async (query) => (open(texts) ?? noFullText()).search(query),

    async textIndex() {
      if (open(texts) === null) noFullText()
      return { indexed: conversations.events, total: conversations.events }
    },

    async createConversation(conversation) {
      const record = kit.newRecord(conversation, clock())
      open(conversations).add(record, feed.end)
      feed.add(record.id, kit.FEED_CHANGE.changed)
      return record
    },

    getConversation: async (id) => open(conversations).find(id)?.record ?? null,
    listConversations: async (query) => open(conversations).page(kit.checkConversationQuery(query)),
    countConversations: async (filter, options) =>
      open(conversations).count(kit.checkConversationFilter(filter), kit.checkCountOptions(options)),

    async setStatus(id, status, version) {
      const stored = open(conversations).find(id)
      const checked = kit.checkStatus(status)
      if (stored === undefined || stored.record.version !== version) return false
      conversations.change(stored, Object.freeze({ ...stored.record, status: checked }))
      return true
    },

    async updateConversation(id, patch, options) {
      const stored = open(conversations).get(id)
      conversations.change(stored, kit.patchRecord(stored.record, patch, clock(), options))
      feed.add(id, kit.FEED_CHANGE.changed)
      return stored.record
    },

    async deleteConversation(id) {
      const stored = open(conversations).find(id)
      if (stored === undefined) return false
      conversations.delete(stored)
      texts?.remove(stored)
      feed.add(id, kit.FEED_CHANGE.deleted)
      feed.trim(heldPositions(items.followers()), startOf)
      watches.wake(id)
      return true
    },

    async acquireLease(conversationId, owner, ttl) {
      const stored = open(conversations).get(conversationId)
      kit.checkLease(owner, ttl)
      const now = Number(clock() / 1000n)
      const lease = kit.nextLease(stored.lease, stored.generation, { conversationId, owner, ttl, now })
      if (lease === null) return null
      stored.lease = lease
      stored.generation = lease.generation
      return lease
    },

    async releaseLease({ conversationId, owner, generation }) {
      const stored = open(conversations).find(conversationId)
      const latest = stored?.lease
      if (!stored || latest?.owner !== owner || latest.generation !== generation) return false
      stored.lease = null
      return true
    },

    getLease: async (conversationId) => open(conversations).find(conversationId)?.lease ?? null,

    async listLeases(query) {
      const stored = open(conversations)
      const { expired, after, limit } = kit.checkLeaseQuery(query)
      const now = Number(clock() / 1000n)
      return stored
        .leases()
        .filter(({ conversationId: id, expiresAt }) => {
          return (after === null || kit.compareIds(id, after) > 0) && (!expired || expiresAt <= now)
        })
        .slice(0, limit)
    },

    async saveSnapshot(conversationId, parts, options) {
      const stored = open(conversations)
      const isComplete = kit.checkParts(parts, options)
      const { snapshot } = stored.get(conversationId)
      if (isComplete) snapshot.clear()
      for (const { part, bytes } of parts) snapshot.set(part, new Uint8Array(bytes))
    },

    async loadSnapshot(conversationId) {
      return [...(open(conversations).find(conversationId)?.snapshot ?? [])]
        .toSorted(([a], [b]) => a - b)
        .map(([part, bytes]) => ({ part, bytes: new Uint8Array(bytes) }))
    },

    async deleteSnapshot(conversationId) {
      const snapshot = open(conversations).find(conversationId)?.snapshot
      const had = snapshot !== undefined && snapshot.size > 0
      snapshot?.clear()
      return had
    },

    async readBlob(id, hash, range) {
      const string = open(conversations).find(id)?.log.strings.get(hash)
      checkRange(range)
      return string === undefined ? null : textContent(string, range)
    },

    auditBlobs: async () => open(conversations).audit(),

    async feed(query) {
      const stored = open(conversations)
      const checked = kit.checkFeedQuery(query)
      if (checked.fromEnd) return kit.feedEnd(checked, feed.last(checked))
      const rows = feed.rows(checked, startOf)
      const plan = kit.planFeed(checked, rows, undefined, feed.last({ ...checked, shard: null }))
      return kit.fillFeed(plan, ({ row, from, until }) =>
        (stored.find(row.conversationId)?.log.rows ?? []).slice(from, until).map(({ event }) => event),
      )
    },

    getItem: async (collection, id) => open(items).getItem(collection, id),
    changeItems: async (changes) => open(items).changeItems(changes),
    listItems: async (collection, query) => open(items).listItems(collection, query),
    countItems: async (collection, filter, options) => open(items).countItems(collection, filter, options),
    claimItems: async (collection, claim) => open(items).claimItems(collection, claim),

    watch(conversationId, wake) {
      open(conversations)
      return watches.add(conversationId, wake)
    },

    async close() {
      closed = true
      watches.clear()
    },

    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}
