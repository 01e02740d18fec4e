/** The reference store: plain lists that end with the process, and that every adapter is compared with. */

import type { GetOptions } from '../contract/blobs.ts'
import { SHARDS } from '../contract/feed.ts'
import type { StoredEvent } from '../contract/query.ts'
import type { AppendResult, DisposableStore } from '../contract/store.ts'
import { decideAppend } from '../kit/append/decide-append.ts'
import { checkGetOptions, type Digests } from '../kit/blobs.ts'
import { checkReplaced, checkReplacements } from '../kit/append/replace.ts'
import { refuseWithin, storeClosed } from '../kit/errors.ts'
import {
  type CheckedFeedQuery,
  checkFeedQuery,
  feedEnd,
  type FeedRow,
  fillFeed,
  placeNumber,
  planFeed,
  rowsFor,
  shardOf,
  TOLD,
} from '../kit/feed.ts'
import {
  checkConversationFilter,
  checkConversationQuery,
  checkExact,
} from '../kit/query/conversation-query.ts'
import { checkEventFilter, checkEventQuery, checkReadOptions, eventCursor } from '../kit/query/event-query.ts'
import { countWithin, pageOf } from '../kit/query/page.ts'
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
import { Conversations, countConversations, listConversations, type Walked } from './conversations.ts'
import { memoryItems } from './items.ts'
import { MemoryBlobs } from './blobs.ts'
import { contextIn, countLog, eventOf, type Row, rowOf, searchLog, write } from './log.ts'
import { firstFrom } from './sorted.ts'
import { MemoryTexts } from './texts.ts'

interface Told extends Pick<FeedRow, 'conversationId' | 'told' | 'from'> {
  readonly at: number
  until: number
}

/** Changes in order; consecutive appends to one conversation share a row. */
class MemoryFeed {
  readonly #all: Told[] = []
  readonly #shards = Array.from({ length: SHARDS }, (): Told[] => [])
  readonly #witness = crypto.randomUUID()

  get end(): number {
    return this.#all.length + 1
  }

  appended(conversationId: string, from: number, until: number): void {
    const last = this.#all.at(-1)
    if (last?.conversationId === conversationId && last.told === TOLD.events) last.until = until
    else this.#tell(conversationId, TOLD.events, from, until)
  }

  changed(conversationId: string): void {
    this.#tell(conversationId, TOLD.changed, 0, 1)
  }

  deleted(conversationId: string): void {
    this.#tell(conversationId, TOLD.deleted, 0, 1)
  }

  /** Returns a page's rows; `startOf` is the position of a conversation's creation. O(limit + log n). */
  rows(query: CheckedFeedQuery, startOf: (conversationId: string) => number | undefined): FeedRow[] {
    const report = this.#of(query)
    const from = placeNumber(query)
    const start = firstFrom(report, ({ at: index }) => index < from)
    return report.slice(start, start + rowsFor(query)).map((row) => this.#rowOf(row, startOf))
  }

  last(query: CheckedFeedQuery): FeedRow | undefined {
    const row = this.#of(query).at(-1)
    return row && this.#rowOf(row, () => undefined)
  }

  #of({ shard }: CheckedFeedQuery): readonly Told[] {
    return (shard === null ? this.#all : this.#shards[shard]) ?? []
  }

  #rowOf(row: Told, startOf: (conversationId: string) => number | undefined): FeedRow {
    const { at: index, conversationId } = row
    const isThere = (startOf(conversationId) ?? Number.POSITIVE_INFINITY) <= index
    return { ...row, place: String(index), witness: this.#witness, isThere }
  }

  #tell(conversationId: string, report: number, from: number, until: number): void {
    const row = { conversationId, told: report, from, until, at: this.end }
    this.#all.push(row)
    this.#shards[shardOf(conversationId)]?.push(row)
  }
}

/** How a memory store is made. */
export interface MemoryStoreOptions {
  /** The clock of records and leases. Default: the system's. */
  readonly clock?: Clock
  /** Whether {@link Store.searchText} finds later events. Default: false. */
  readonly fullText?: boolean
}

/**
 * Returns a store in memory, the reference for all others. Each call is one turn of the event loop, so none
 * sees half of another. Costs: `append` O(1) for each fact, O(n) moves for an earlier time; `get` O(1); a
 * page of `search` O(log n + limit) at any depth, and with a text or several lanes, as `searchLog`;
 * `listLeases` visits all conversations.
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
  const feed = new MemoryFeed()
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
        write(log, decision, (event) => blobs.add(log, event, digests))
        texts.add(stored, decision.added)
        const updatedAt = laterOf(record.updatedAt, clock())
        conversations.change(stored, Object.freeze({ ...record, version, headId, updatedAt }))
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
        return { row: row as Row, after: one.after }
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
      const rows = feed.rows(checked, (id) => stored.find(id)?.feedStart)
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
