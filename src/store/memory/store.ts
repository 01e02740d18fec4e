/** The reference store: plain lists that end with the process, and that every adapter is compared with. */

import { freezeJson } from '../../event/freeze.ts'
import type { Fact } from '../../event/quarantine.ts'
import { digestOf } from '../../event/sha-256.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { BlobAudit, BlobContent, BlobRange, GetOptions } from '../contract/blobs.ts'
import { FOLLOWERS, SHARDS } from '../contract/feed.ts'
import type { Item, ItemChange, ItemClaim, ItemFilter, ItemQuery, Items } from '../contract/items.ts'
import { type CountOptions, MOST_COUNTED, type StoredEvent } from '../contract/query.ts'
import type { AppendResult, DisposableStore } from '../contract/store.ts'
import { MAX_RANKED, type TextPage, type TextQuery, type TextRole } from '../contract/text.ts'
import { decideAppend, type PlacedEvent } from '../kit/append/decide-append.ts'
import { checkReplaced, checkReplacements } from '../kit/append/replace.ts'
import {
  blobsOf,
  checkGetOptions,
  checkRange,
  type Digests,
  type LargeString,
  replaceStrings,
  textContent,
  withReferences,
} from '../kit/blobs.ts'
import { refuseWithin, storeClosed } from '../kit/errors.ts'
import {
  type CheckedFeedQuery,
  checkFeedQuery,
  checkFeedRows,
  feedEnd,
  type FeedRow,
  fillFeed,
  heldPositions,
  HOLD_TIME,
  positionNumber,
  planFeed,
  rowsFor,
  shardOf,
  FEED_CHANGE,
} from '../kit/feed.ts'
import {
  checkChanges,
  checkClaim,
  type CheckedItemQuery,
  checkItemFilter,
  checkItemQuery,
  itemConflict,
  itemCursor,
  itemOf,
} from '../kit/items.ts'
import {
  checkConversationFilter,
  checkConversationQuery,
  checkExact,
  lookedCount,
} from '../kit/query/conversation-query.ts'
import { checkEventFilter, checkEventQuery, checkReadOptions, eventCursor } from '../kit/query/event-query.ts'
import { fitsRecord } from '../kit/query/fits.ts'
import { countWithin, pageOf } from '../kit/query/page.ts'
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
import {
  checkLease,
  checkLeaseQuery,
  checkParts,
  checkStatus,
  type Clock,
  compareIds,
  laterOf,
  microsNow,
  newRecord,
  nextLease,
  patchRecord,
} from '../kit/record.ts'
import { Watches } from '../kit/watches.ts'
import {
  Conversations,
  countConversations,
  type Kept,
  listConversations,
  type Walked,
} from './conversations.ts'
import {
  contextIn,
  countLog,
  eventOf,
  type MemoryLog,
  type LogRow,
  rowOf,
  searchLog,
  writeDecision,
} from './log.ts'
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
  readonly #isOn: boolean
  readonly #rows = new SortedList(comparePositions)
  readonly #byPosition = new Map<bigint, TextRow>()
  readonly #byConversation = new Map<Kept, TextRow[]>()

  constructor(isOn: boolean) {
    this.#isOn = isOn
  }

  /** @throws `invalid_query`. */
  refuseWhenOff(): void {
    if (!this.#isOn) noFullText()
  }

  /** O(length of the texts). */
  add(stored: Kept, added: readonly Pick<PlacedEvent, 'event' | 'time' | 'node'>[]): void {
    if (!this.#isOn) return
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

  /** O(texts of the conversation · log n). */
  remove(stored: Kept): void {
    for (const row of this.#byConversation.get(stored) ?? []) {
      this.#rows.delete(row)
      this.#byPosition.delete(row.position)
    }
    this.#byConversation.delete(stored)
  }

  /** O(all texts). @throws `invalid_query`, `invalid_cursor`. */
  search(query: TextQuery): TextPage {
    this.refuseWhenOff()
    const checked = checkTextQuery(query)
    const result = findTextPage(checked, this.#source(checked)).next()
    // The source has no steps.
    return result.done === true ? result.value : { items: [], cursor: null }
  }

  #source(query: CheckedTextQuery): TextSource<never, never> {
    const below = (position: bigint | null, count: number): TextRow[] => {
      const rows: TextRow[] = []
      for (const row of this.#rows.before((one) => position === null || one.position < position))
        if (matchesText(row, query) && rows.push(row) === count) break
      return rows
    }
    return {
      // oxlint-disable-next-line require-yield
      *newest(position, count) {
        return below(position, count)
      },
      // oxlint-disable-next-line require-yield
      *ranked({ top, bottom, after }, count) {
        const hits = below(top === null ? null : top + 1n, MAX_RANKED).filter(
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

interface Listed {
  readonly key: string
  readonly item: Item
}

interface Collection {
  readonly byId: Map<string, Item>
  /** By the name of a key, and all by their ids under the empty name. */
  readonly lists: Map<string, SortedList<Listed>>
  readonly due: SortedList<Item>
}

function memoryItems(clock: Clock): Items & { followers(): Item[] } {
  const collections = new Map<string, Collection>()
  let version = 0
  const now = (): number => Number(clock() / 1000n)
  const remove = (collection: string, id: string): void => {
    const stored = collections.get(collection)
    const item = stored?.byId.get(id)
    if (stored === undefined || item === undefined) return
    stored.byId.delete(id)
    if (item.dueAt !== null) stored.due.delete(item)
    for (const [name, key] of placesOf(item)) stored.lists.get(name)?.delete({ key, item })
  }
  const put = (input: Omit<Item, 'version'>, dueAt: number | null): Item => {
    remove(input.collection, input.id)
    const item = itemOf(input, input, (version += 1), dueAt)
    const stored = collections.get(item.collection) ?? emptyCollection()
    collections.set(item.collection, stored)
    stored.byId.set(item.id, item)
    if (dueAt !== null) stored.due.add(item)
    for (const [name, key] of placesOf(item)) {
      const list = stored.lists.get(name) ?? new SortedList<Listed>(compareListed)
      stored.lists.set(name, list)
      list.add({ key, item })
    }
    return item
  }
  const walk = (collection: string, query: CheckedItemQuery): Generator<Listed, void, undefined> =>
    walkList(collections.get(collection)?.lists.get(query.by ?? ''), query)
  return {
    /** The positions of followers that were active lately. */
    followers: () =>
      [...collections]
        .filter(([name]) => name.startsWith(FOLLOWERS))
        .flatMap(([, { byId }]) => [...byId.values()])
        .filter(({ dueAt }) => (dueAt ?? 0) > now() - HOLD_TIME),

    async getItem(collection, id) {
      return collections.get(collection)?.byId.get(id) ?? null
    },

    async changeItems(inputs: readonly ItemChange[]) {
      const changes = checkChanges(inputs)
      for (const change of changes) {
        const result = collections.get(change.collection)?.byId.get(change.id)?.version ?? null
        if (change.expected !== undefined && change.expected !== result) throw itemConflict(change, result)
      }
      const time = now()
      return changes.map(({ collection, id, put: next }) => {
        if (next === null) remove(collection, id)
        if (next === null || next === undefined) return null
        const dueAt = next.dueIn === null ? null : time + next.dueIn
        return put({ collection, id, body: next.body, keys: next.keys, dueAt }, dueAt)
      })
    },

    async listItems(collection: string, input?: ItemQuery) {
      const query = checkItemQuery(collection, input)
      const matches = firstOf(walk(collection, query), query.limit + 1).map(({ item }) => item)
      return pageOf(matches, query.limit, (last) => itemCursor(query, last))
    },

    async countItems(collection: string, filter?: ItemFilter, { exact: options }: CountOptions = {}) {
      const exact = checkExact(options)
      let count = 0
      for (const _ of walk(collection, checkItemFilter(collection, filter))) {
        count += 1
        if (!exact && count > MOST_COUNTED) break
      }
      return lookedCount(count, count, exact)
    },

    async claimItems(collection: string, claim: ItemClaim) {
      const { ttl, limit } = checkClaim(collection, claim)
      const time = now()
      const first = firstOf(collections.get(collection)?.due.from(() => false) ?? [], limit)
      return first.filter(({ dueAt }) => (dueAt ?? 0) <= time).map((item) => put(item, time + ttl))
    },
  }
}

const emptyCollection = (): Collection => ({
  byId: new Map(),
  lists: new Map(),
  due: new SortedList<Item>((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || compareIds(a.id, b.id)),
})

const placesOf = ({ id, keys }: Item): readonly (readonly [name: string, key: string])[] => [
  ['', id],
  ...Object.entries(keys),
]

const compareListed = (a: Listed, b: Listed): number =>
  compareIds(a.key, b.key) || compareIds(a.item.id, b.item.id)

/** The matching items after the cursor of a query, in order. O(log n) for the first. */
function* walkList(
  list: SortedList<Listed> | undefined,
  { value, from, below, after, descending }: CheckedItemQuery,
): Generator<Listed, void, undefined> {
  if (list === undefined) return
  const order = ({ key, item }: Listed): number =>
    after === null ? 0 : compareIds(key, after.key) || compareIds(item.id, after.id)
  const isEarly = ({ key }: Listed): boolean =>
    (value !== null && compareIds(key, value) < 0) || (from !== null && compareIds(key, from) < 0)
  const isLate = ({ key }: Listed): boolean =>
    (value !== null && compareIds(key, value) > 0) || (below !== null && compareIds(key, below) >= 0)
  const walk = descending
    ? list.before((listed) => !isLate(listed) && (after === null || order(listed) < 0))
    : list.from((listed) => isEarly(listed) || (after !== null && order(listed) <= 0))
  for (const listed of walk) {
    if (descending ? isEarly(listed) : isLate(listed)) return
    yield listed
  }
}

class MemoryBlobs {
  readonly #held = new Map<string, { readonly string: LargeString; readonly uses: Map<MemoryLog, number> }>()

  /** The event to keep, with the texts that are held already, and the same with references. O(values). */
  add(log: MemoryLog, event: StoredEvent, digests: Digests): Pick<LogRow, 'event' | 'refs'> {
    const strings = blobsOf(event.fact, digests)
    if (strings.length === 0) return { event, refs: null }
    for (const string of new Map(strings.map((one) => [one.hash, one])).values()) {
      const entry = this.#held.get(string.hash) ?? { string, uses: new Map() }
      this.#held.set(string.hash, entry)
      entry.uses.set(log, (entry.uses.get(log) ?? 0) + 1)
    }
    const textOf = ({ hash, text }: LargeString): string => this.#held.get(hash)?.string.text ?? text
    const fact = replaceStrings(event.fact as object as JsonValue, strings, textOf)
    freezeJson(fact)
    return {
      event: Object.freeze({ ...event, fact: fact as object as Fact }),
      refs: withReferences(event, strings),
    }
  }

  /** Ends the use by an event of a log. O(strings). */
  remove(log: MemoryLog, { refs }: Pick<LogRow, 'refs'>): void {
    for (const hash of new Set(refs?.blobs?.map((one) => one.hash))) {
      const uses = this.#held.get(hash)?.uses
      const remaining = (uses?.get(log) ?? 0) - 1
      if (remaining > 0) uses?.set(log, remaining)
      else uses?.delete(log)
      if (uses?.size === 0) this.#held.delete(hash)
    }
  }

  /** A blob of a log. @throws `invalid_argument`. */
  read(log: MemoryLog | undefined, hash: string, range?: BlobRange): BlobContent | null {
    checkRange(range)
    const entry = this.#held.get(hash)
    return entry !== undefined && log !== undefined && entry.uses.has(log)
      ? textContent(entry.string, range)
      : null
  }

  audit(rows: readonly LogRow[]): BlobAudit {
    const entry = [...this.#held]
    const used = new Set(rows.flatMap(({ refs }) => refs?.blobs ?? []).map(({ hash }) => hash))
    const lacking = rows.filter(({ refs }) => refs?.blobs?.some(({ hash }) => !this.#held.has(hash)))
    return {
      blobs: entry.length,
      bytes: entry.reduce((sum, [, { string }]) => sum + string.bytes, 0),
      events: rows.filter(({ refs }) => refs !== null).length,
      unused: entry.flatMap(([hash]) => (used.has(hash) ? [] : [hash])),
      damaged: entry.flatMap(([hash, { string }]) => (digestOf(string.text).hash === hash ? [] : [hash])),
      missing: lacking.map(({ event }) => ({ conversationId: event.conversationId, seq: event.seq })),
    }
  }
}

interface ChangeRow extends Pick<FeedRow, 'conversationId' | 'change' | 'from'> {
  readonly index: number
  until: number
}

/** Returns the position of a conversation's creation. */
type StartOf = (conversationId: string) => number | undefined

/** Changes in order; consecutive appends to one conversation share a row. */
class MemoryFeed {
  #all: ChangeRow[] = []
  #shards = Array.from({ length: SHARDS }, (): ChangeRow[] => [])
  readonly #witness = crypto.randomUUID()
  readonly #keep: number
  readonly #removed = Array.from({ length: SHARDS }, () => 0)
  #end = 1
  /** Number of rows after the last removal. */
  #trimmedSize = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  get end(): number {
    return this.#end
  }

  /** Removes rows of deleted conversations once the rows have doubled: O(1) for each row that was added. */
  trim(held: readonly (readonly bigint[] | null)[], startOf: StartOf): void {
    if (this.#all.length <= this.#keep || this.#all.length < 2 * this.#trimmedSize) return
    this.#all = this.#all.filter((row) => {
      const shard = shardOf(row.conversationId)
      const isHeld = row.index >= Number(held[shard]?.[0] ?? Infinity)
      const stays = isHeld || row.index >= this.#end - this.#keep || this.#rowOf(row, startOf).isThere
      if (!stays && row.change === FEED_CHANGE.deleted) this.#removed[shard] = row.index
      return stays
    })
    this.#shards = Array.from({ length: SHARDS }, () => [])
    for (const row of this.#all) this.#shards[shardOf(row.conversationId)]?.push(row)
    this.#trimmedSize = this.#all.length
  }

  appended(conversationId: string, from: number, until: number): void {
    const last = this.#all.at(-1)
    if (last?.conversationId === conversationId && last.change === FEED_CHANGE.events) last.until = until
    else this.#push(conversationId, FEED_CHANGE.events, from, until)
  }

  changed(conversationId: string): void {
    this.#push(conversationId, FEED_CHANGE.changed, 0, 1)
  }

  deleted(conversationId: string): void {
    this.#push(conversationId, FEED_CHANGE.deleted, 0, 1)
  }

  /** Returns a page's rows; `startOf` is the position of a conversation's creation. O(limit + log n). */
  rows(query: CheckedFeedQuery, startOf: StartOf): FeedRow[] {
    const rows = this.#of(query)
    const from = positionNumber(query)
    const start = firstFrom(rows, ({ index }) => index < from)
    const removed = query.shard === null ? Math.max(...this.#removed) : (this.#removed[query.shard] ?? 0)
    return rows
      .slice(start, start + rowsFor(query))
      .map((row) => ({ ...this.#rowOf(row, startOf), isBehind: row.index < removed }))
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

  #push(conversationId: string, change: number, from: number, until: number): void {
    const row = { conversationId, change, from, until, index: this.#end }
    this.#end += 1
    this.#all.push(row)
    this.#shards[shardOf(conversationId)]?.push(row)
  }
}

/** Options of a memory store. */
export interface MemoryStoreOptions {
  /** Microseconds since 1970, for records and leases. Default: the system's clock. */
  readonly clock?: Clock
  /** Whether later appends are indexed for {@link Store.searchText}. Default: false. */
  readonly fullText?: boolean
  /** Number of the latest rows that the feed keeps, see {@link Feed}. Default: 100,000. */
  readonly feedRows?: number
}

/**
 * Returns a store in memory, which ends with its process. All other stores behave like it. Each call runs in
 * one turn of the event loop, so no call sees half of another.
 *
 * `append` costs O(1) for each fact, or O(n) moves for an earlier time; `get` O(1); a page of `search` O(log
 * n + limit) at any depth, and more with a text or path filter; `listLeases` O(conversations).
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
  const clock = options.clock ?? microsNow
  const conversations = new Conversations()
  const items = memoryItems(clock)
  const feed = new MemoryFeed(checkFeedRows(options.feedRows))
  const blobs = new MemoryBlobs()
  const watches = new Watches()
  const texts = new MemoryTexts(options.fullText === true)
  let closed = false
  const open = <T>(stored: T): T => {
    if (!closed) return stored
    throw storeClosed()
  }

  const findEvents = (
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): (StoredEvent | null)[] => {
    const refs = checkGetOptions(options)
    const log = open(conversations).find(conversationId)?.log
    return ids.map((id) => {
      const row = log && rowOf(log, id)
      return row === undefined ? null : eventOf(row, refs)
    })
  }

  const startOf: StartOf = (id) => conversations.find(id)?.feedStart

  const walked: Walked = (walk) => open(conversations).walked(walk)

  return {
    name: 'memory',

    async append(conversationId, facts, options = {}): Promise<AppendResult> {
      const stored = open(conversations).get(conversationId)
      refuseWithin(options)
      const { log, record, lease } = stored
      const about = { conversationId, createdAt: record.createdAt, timeZone: record.timeZone, lease }
      const decision = decideAppend(contextIn(log, about), facts, options)
      const { version, head } = decision.tip
      const headId = head?.id ?? null
      if (decision.added.length > 0) {
        const digests: Digests = new Map()
        writeDecision(log, decision, (event) => blobs.add(log, event, digests))
        texts.add(stored, decision.added)
        const updatedAt = laterOf(record.updatedAt, clock())
        conversations.appended(stored, Object.freeze({ ...record, version, headId, updatedAt }))
        feed.appended(conversationId, version - decision.added.length, version)
        watches.wake(conversationId)
      }
      return { events: decision.events, version, headId }
    },

    async replaceEvents(conversationId, replacements) {
      const stored = open(conversations).get(conversationId)
      const { log } = stored
      const checked = checkReplacements(replacements).map((one) => {
        const row = rowOf(log, one.id)
        checkReplaced(conversationId, one, row?.event)
        return { row: row as LogRow, after: one.after }
      })
      const digests: Digests = new Map()
      for (const { row, after } of checked) {
        const before = { refs: row.refs }
        Object.assign(row, blobs.add(log, Object.freeze({ ...row.event, fact: after }), digests))
        delete row.text
        blobs.remove(log, before)
      }
      texts.remove(stored)
      texts.add(stored, log.rows)
      stored.snapshot.clear()
    },

    async read(conversationId, options = {}): Promise<StoredEvent[]> {
      const { rows } = open(conversations).get(conversationId).log
      const { from, backward, limit, refs } = checkReadOptions(options)
      const end = backward ? Math.min(rows.length, (from ?? rows.length) + 1) : (from ?? 0) + limit
      const part = rows
        .slice(backward ? Math.max(0, end - limit) : (from ?? 0), end)
        .map((row) => eventOf(row, refs))
      return backward ? part.toReversed() : part
    },

    async get(conversationId, id, options): Promise<StoredEvent | null> {
      return findEvents(conversationId, [id], options)[0] ?? null
    },

    async getMany(conversationId, ids, options): Promise<(StoredEvent | null)[]> {
      return findEvents(conversationId, ids, options)
    },

    async search(query) {
      const log = open(conversations).find(query.conversationId)?.log
      const checked = checkEventQuery(query)
      const rows = log === undefined ? [] : searchLog(log, checked, checked.limit + 1)
      const matches = rows.map((row) => eventOf(row, checked.refs))
      const count = countWithin(
        matches,
        checked.limit,
        checked.maxBytes,
        ({ fact }) => JSON.stringify(fact).length,
      )
      return pageOf(matches, count, (last) => eventCursor(checked, last))
    },

    async count(filter) {
      const log = open(conversations).find(filter.conversationId)?.log
      const checked = checkEventFilter(filter)
      return log === undefined ? 0 : countLog(log, checked)
    },

    searchText: async (query) => open(texts).search(query),

    async textIndex() {
      open(texts).refuseWhenOff()
      return { indexed: conversations.events, total: conversations.events }
    },

    async createConversation(conversation) {
      const record = newRecord(conversation, clock())
      open(conversations).add(record, feed.end)
      feed.changed(record.id)
      return record
    },

    async getConversation(id) {
      return open(conversations).find(id)?.record ?? null
    },

    async listConversations(query) {
      return listConversations(walked, checkConversationQuery(query))
    },

    async countConversations(filter, { exact } = {}) {
      return countConversations(walked, checkConversationFilter(filter), checkExact(exact))
    },

    async setStatus(id, status, version) {
      const stored = open(conversations).find(id)
      const checked = checkStatus(status)
      if (stored === undefined || stored.record.version !== version) return false
      conversations.change(stored, Object.freeze({ ...stored.record, status: checked }))
      return true
    },

    async updateConversation(id, patch, options) {
      const stored = open(conversations).get(id)
      conversations.change(stored, patchRecord(stored.record, patch, clock(), options))
      feed.changed(id)
      return stored.record
    },

    async deleteConversation(id) {
      const stored = open(conversations).find(id)
      const was = conversations.delete(id)
      if (stored !== undefined) {
        texts.remove(stored)
        for (const row of stored.log.rows) blobs.remove(stored.log, row)
      }
      if (was) {
        feed.deleted(id)
        feed.trim(heldPositions(items.followers()), startOf)
        watches.wake(id)
      }
      return was
    },

    async acquireLease(conversationId, owner, ttl) {
      const stored = open(conversations).get(conversationId)
      checkLease(owner, ttl)
      const now = Number(clock() / 1000n)
      const lease = nextLease(stored.lease, stored.generation, { conversationId, owner, ttl, now })
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

    async getLease(conversationId) {
      return open(conversations).find(conversationId)?.lease ?? null
    },

    async listLeases(query) {
      const stored = open(conversations)
      const { expired, after, limit } = checkLeaseQuery(query)
      const now = Number(clock() / 1000n)
      return stored
        .leases()
        .filter(({ conversationId: id, expiresAt }) => {
          const isLeft = after === null || compareIds(id, after) > 0
          return isLeft && (!expired || expiresAt <= now)
        })
        .slice(0, limit)
    },

    async saveSnapshot(conversationId, parts, options = {}) {
      const stored = open(conversations)
      checkParts(parts)
      const { snapshot } = stored.get(conversationId)
      if (options.complete === true) snapshot.clear()
      for (const { part, bytes } of parts) snapshot.set(part, new Uint8Array(bytes))
    },

    async loadSnapshot(conversationId) {
      const parts = open(conversations).find(conversationId)?.snapshot ?? []
      return [...parts]
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
      return blobs.read(open(conversations).find(id)?.log, hash, range)
    },

    async auditBlobs() {
      return blobs.audit(open(conversations).rows())
    },

    async feed(query) {
      const stored = open(conversations)
      const checked = checkFeedQuery(query)
      if (checked.fromEnd) return feedEnd(checked, feed.last(checked))
      const rows = feed.rows(checked, startOf)
      return fillFeed(planFeed(checked, rows), ({ row, from, until }) =>
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
