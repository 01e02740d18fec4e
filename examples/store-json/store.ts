/**
 * A store that keeps conversations as JSON files in a folder, for any number of processes on one machine.
 * Each file is one change, and is never half written. The whole folder is held in memory, and lists and
 * searches are linear: it is for small data, and for reading. docs/testing.md walks through it.
 */

import type { Store } from 'colloquy'
import * as kit from 'colloquy/store-kit'
import type { Kept, State } from './changes.ts'
import { openFolder } from './folder.ts'
import { jsonItems } from './items.ts'
import { type Decision, Journal } from './journal.ts'
import { contextOf, eventsIn } from './search.ts'
import { loadParts, saved } from './snapshots.ts'

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
  const opened = (): Journal => {
    if (closed) throw kit.storeClosed()
    return journal
  }
  const find = (id: string): Kept | undefined => opened().latest().conversations.get(id)
  const commit = <T>(decide: (state: State) => Decision<T>): T => opened().commit(decide)
  journal.latest()

  return {
    name: 'json',

    async append(id, facts, options = {}) {
      kit.refuseWithin(options)
      return commit((state) => {
        const retained = get(state, id)
        const { events, added, opened, tip } = kit.decideAppend(contextOf(retained), facts, options)
        const result = { events, version: tip.version, headId: tip.head?.id ?? null }
        if (added.length === 0) return { change: null, result }
        const nodes = added.flatMap(({ node }) => node ?? [])
        const updatedAt = kit.laterOf(retained.record.updatedAt, kit.microsNow())
        const stored = added.map(({ event }) => event)
        const tree = { nodes, opened, tip }
        return { change: { type: 'appended', id, updatedAt, events: stored, tree }, result }
      })
    },

    async read(id, options = {}) {
      const { events } = get(opened().latest(), id)
      const { from, backward, limit, refs } = kit.checkReadOptions(options)
      const end = backward ? Math.min(events.length, (from ?? events.length) + 1) : (from ?? 0) + limit
      const part = events.slice(backward ? Math.max(0, end - limit) : (from ?? 0), end)
      return (backward ? part.toReversed() : part).map((event) => shown(event, refs))
    },

    async get(conversationId, id, options) {
      const refs = kit.checkGetOptions(options)
      const event = eventOf(find(conversationId), id)
      return event && shown(event, refs)
    },

    async getMany(conversationId, ids, options) {
      const refs = kit.checkGetOptions(options)
      const stored = find(conversationId)
      return ids.map((id) => {
        const event = eventOf(stored, id)
        return event && shown(event, refs)
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

    // It has no text index.
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
      return kit.pageOfRecords(recordsIn(opened().latest(), checked), checked)
    },

    async countConversations(filter, options) {
      const { length } = recordsIn(opened().latest(), kit.checkConversationFilter(filter))
      return kit.lookedCount(length, length, kit.checkCountOptions(options))
    },

    async setStatus(id, input, version) {
      const status = kit.checkStatus(input)
      return commit(({ conversations }) => {
        const isAsSaid = conversations.get(id)?.record.version === version
        return { change: isAsSaid ? { type: 'listed', id, status } : null, result: isAsSaid }
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
        const isThere = conversations.has(id)
        return { change: isThere ? { type: 'deleted', id } : null, result: isThere }
      })
    },

    async acquireLease(id, owner, ttl) {
      return commit((state) => {
        const stored = get(state, id)
        kit.checkLease(owner, ttl)
        const ask = { conversationId: id, owner, ttl, now: Date.now() }
        const lease = kit.nextLease(stored.lease, stored.taken, ask)
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
      return [...opened().latest().conversations.values()]
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
        return { change: saved(id, parts, options), result: null }
      })
    },

    async loadSnapshot(id) {
      return loadParts(opened(), id)
    },

    async deleteSnapshot(id) {
      return commit(({ conversations }) => {
        const isThere = (conversations.get(id)?.snapshot.size ?? 0) > 0
        return { change: isThere ? saved(id, [], { complete: true }) : null, result: isThere }
      })
    },

    async readBlob(id, hash, range) {
      return kit.findBlob(find(id)?.events ?? [], hash, range)
    },

    async auditBlobs() {
      opened()
      return kit.NO_BLOBS
    },

    async feed(query) {
      const checked = kit.checkFeedQuery(query)
      const { feed, conversations } = opened().latest()
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

    ...jsonItems(opened),

    watch(id, wake) {
      opened()
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
function get({ conversations }: State, id: string): Kept {
  const stored = conversations.get(id)
  if (stored === undefined) throw kit.unknownConversation(id)
  return stored
}

const shown = (event: kit.StoredEvent, refs: boolean): kit.StoredEvent =>
  refs ? kit.withReferences(event) : event

function eventOf(stored: Kept | undefined, id: string): kit.StoredEvent | null {
  const node = stored?.nodes.get(id)
  return (node && stored?.events[node.seq]) ?? null
}

const recordsIn = (state: State, filter: kit.CheckedConversationFilter): kit.ConversationRecord[] =>
  [...state.conversations.values()]
    .map(({ record }) => record)
    .filter((record) => kit.fitsRecord(record, filter))
