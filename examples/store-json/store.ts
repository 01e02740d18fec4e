/**
 * A store of JSON files in a folder, for any number of processes on one machine. Each file contains one
 * change and is written atomically. Each process holds the whole folder in memory, and lists and searches
 * are linear, so the store suits only small data. docs/testing.md explains it step by step.
 */

import type { Store } from 'colloquy'
import * as kit from 'colloquy/store-kit'
import type { StoredConversation, State } from './changes.ts'
import { openFolder } from './folder.ts'
import { jsonItems } from './items.ts'
import { type Decision, Journal } from './journal.ts'
import { contextOf, eventsIn } from './search.ts'
import { loadParts, snapshotChange } from './snapshots.ts'

export interface JsonStoreOptions {
  /** Folder of the files; created when missing. */
  readonly folder: string
  /** Whether to wait for the disk, so that acknowledged changes survive a power loss. Default: true. */
  readonly durable?: boolean
  /** Milliseconds between polls for changes of other processes. Default: 50. */
  readonly pollInterval?: number
}

/**
 * Opens a folder. O(its contents).
 * @throws `store_read_only`, `store_unavailable`.
 */
export function jsonStore({ folder, durable = true, pollInterval = 50 }: JsonStoreOptions): Store {
  const watches = new kit.Watches()
  const journal = new Journal(openFolder(folder, durable), watches)
  let polling: NodeJS.Timeout | null = null
  let closed = false
  const journalOrThrow = (): Journal => {
    if (closed) throw kit.storeClosed()
    return journal
  }
  const find = (id: string): StoredConversation | undefined => journalOrThrow().latest().conversations.get(id)
  const commit = <T>(decide: (state: State) => Decision<T>): T => journalOrThrow().commit(decide)
  journal.latest()

  return {
    name: 'json',

    async append(id, facts, options = {}) {
      kit.refuseWithin(options)
      return commit((state) => {
        const stored = get(state, id)
        const { events, added, opened, tip } = kit.decideAppend(contextOf(stored), facts, options)
        const result = { events, version: tip.version, headId: tip.head?.id ?? null }
        if (added.length === 0) return { change: null, result }
        const nodes = added.flatMap(({ node }) => node ?? [])
        const updatedAt = kit.laterOf(stored.record.updatedAt, kit.microsNow())
        const newEvents = added.map(({ event }) => event)
        const tree = { nodes, opened, tip }
        return { change: { type: 'appended', id, updatedAt, events: newEvents, tree }, result }
      })
    },

    async read(id, options = {}) {
      const { events } = get(journalOrThrow().latest(), id)
      const { from, backward, limit, refs } = kit.checkReadOptions(options)
      const end = backward ? Math.min(events.length, (from ?? events.length) + 1) : (from ?? 0) + limit
      const part = events.slice(backward ? Math.max(0, end - limit) : (from ?? 0), end)
      return (backward ? part.toReversed() : part).map((event) => toResult(event, refs))
    },

    async get(conversationId, id, options) {
      const refs = kit.checkGetOptions(options)
      const event = eventOf(find(conversationId), id)
      return event && toResult(event, refs)
    },

    async getMany(conversationId, ids, options) {
      const refs = kit.checkGetOptions(options)
      const stored = find(conversationId)
      return ids.map((id) => {
        const event = eventOf(stored, id)
        return event && toResult(event, refs)
      })
    },

    async search(query) {
      const checked = kit.checkEventQuery(query)
      return kit.pageOfEvents(eventsIn(find(checked.conversationId), checked), checked)
    },

    async count(filter) {
      const checked = kit.checkEventFilter(filter)
      return eventsIn(find(checked.conversationId), checked).length
    },

    // The store has no text index.
    searchText: async () => kit.noFullText(),
    textIndex: async () => kit.noFullText(),

    async createConversation(conversation) {
      return commit(({ conversations }) => {
        const record = kit.newRecord(conversation, kit.microsNow())
        if (conversations.has(record.id)) throw kit.conversationExists(record.id)
        return { change: { type: 'created', id: record.id, record }, result: record }
      })
    },

    async getConversation(id) {
      return find(id)?.record ?? null
    },

    async listConversations(query) {
      const checked = kit.checkConversationQuery(query)
      return kit.pageOfRecords(recordsIn(journalOrThrow().latest(), checked), checked)
    },

    async countConversations(filter, options) {
      const { length } = recordsIn(journalOrThrow().latest(), kit.checkConversationFilter(filter))
      return kit.lookedCount(length, length, kit.checkCountOptions(options))
    },

    async setStatus(id, input, version) {
      const status = kit.checkStatus(input)
      return commit(({ conversations }) => {
        const isCurrent = conversations.get(id)?.record.version === version
        return { change: isCurrent ? { type: 'listed', id, status } : null, result: isCurrent }
      })
    },

    async updateConversation(id, patch, options) {
      return commit((state) => {
        const record = kit.patchRecord(get(state, id).record, patch, kit.microsNow(), options)
        return { change: { type: 'patched', id, record }, result: record }
      })
    },

    async deleteConversation(id) {
      return commit(({ conversations }) => {
        const exists = conversations.has(id)
        return { change: exists ? { type: 'deleted', id } : null, result: exists }
      })
    },

    async acquireLease(id, owner, ttl) {
      return commit((state) => {
        const stored = get(state, id)
        kit.checkLease(owner, ttl)
        const request = { conversationId: id, owner, ttl, now: Date.now() }
        const lease = kit.nextLease(stored.lease, stored.taken, request)
        if (lease === null) return { change: null, result: null }
        return { change: { type: 'leased', id, lease, taken: lease.generation }, result: lease }
      })
    },

    async releaseLease({ conversationId: id, owner, generation }) {
      return commit(({ conversations }) => {
        const stored = conversations.get(id)
        const isLatest = stored?.lease?.owner === owner && stored.lease.generation === generation
        const change = { type: 'leased', id, lease: null, taken: generation } as const
        return isLatest ? { change, result: true } : { change: null, result: false }
      })
    },

    async getLease(id) {
      return find(id)?.lease ?? null
    },

    async listLeases(query) {
      const { expired, after, limit } = kit.checkLeaseQuery(query)
      const now = Date.now()
      return [...journalOrThrow().latest().conversations.values()]
        .flatMap(({ lease }) => lease ?? [])
        .filter((lease) => after === null || kit.compareIds(lease.conversationId, after) > 0)
        .filter(({ expiresAt }) => !expired || expiresAt <= now)
        .toSorted((a, b) => kit.compareIds(a.conversationId, b.conversationId))
        .slice(0, limit)
    },

    async saveSnapshot(id, parts, options) {
      commit((state) => {
        get(state, id)
        kit.checkParts(parts)
        return { change: snapshotChange(id, parts, options), result: null }
      })
    },

    async loadSnapshot(id) {
      return loadParts(journalOrThrow(), id)
    },

    async deleteSnapshot(id) {
      return commit(({ conversations }) => {
        const exists = (conversations.get(id)?.snapshot.size ?? 0) > 0
        return { change: exists ? snapshotChange(id, [], { complete: true }) : null, result: exists }
      })
    },

    async readBlob(id, hash, range) {
      return kit.findBlob(find(id)?.events ?? [], hash, range)
    },

    async auditBlobs() {
      journalOrThrow()
      return kit.NO_BLOBS
    },

    async feed(query) {
      const checked = kit.checkFeedQuery(query)
      const { feed, conversations } = journalOrThrow().latest()
      const rows = feed
        .filter(({ conversationId: id }) => checked.shard === null || kit.shardOf(id) === checked.shard)
        .map(({ number, ...row }): kit.FeedRow => {
          const since = conversations.get(row.conversationId)?.changes[0] ?? Number.POSITIVE_INFINITY
          return { ...row, position: String(number), isThere: since <= number }
        })
      if (checked.fromEnd) return kit.feedEnd(checked, rows.at(-1))
      const from = Number(checked.after?.position ?? 0)
      const page = rows.filter(({ position }) => Number(position) >= from).slice(0, kit.rowsFor(checked))
      return kit.fillFeed(kit.planFeed(checked, page), ({ row, from, until }) =>
        (conversations.get(row.conversationId)?.events ?? []).slice(from, until),
      )
    },

    ...jsonItems(journalOrThrow),

    watch(id, wake) {
      journalOrThrow()
      polling ??= setInterval(() => {
        // A watch is a hint: the next read reports the disk error.
        try {
          journal.latest()
        } catch {}
      }, pollInterval).unref()
      return watches.add(id, wake)
    },

    async close() {
      closed = true
      watches.clear()
      if (polling !== null) clearInterval(polling)
    },
  }
}

/** @throws `unknown_conversation`. */
function get({ conversations }: State, id: string): StoredConversation {
  const stored = conversations.get(id)
  if (stored === undefined) throw kit.unknownConversation(id)
  return stored
}

const toResult = (event: kit.StoredEvent, refs: boolean): kit.StoredEvent =>
  refs ? kit.withReferences(event) : event

function eventOf(stored: StoredConversation | undefined, id: string): kit.StoredEvent | null {
  const node = stored?.nodes.get(id)
  return (node && stored?.events[node.seq]) ?? null
}

const recordsIn = (state: State, filter: kit.CheckedConversationFilter): kit.ConversationRecord[] =>
  [...state.conversations.values()]
    .map(({ record }) => record)
    .filter((record) => kit.fitsRecord(record, filter))
