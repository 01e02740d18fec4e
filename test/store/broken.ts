/** Memory stores, each with one fault of a real store. The kit must detect every fault. */

import { ColloquyError } from '../../src/event/errors.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { AppendOptions, Store } from '../../src/store/contract/store.ts'
import { checkEventFilter, checkEventQuery } from '../../src/store/kit/query/event-query.ts'
import { decodeCursor, encodeCursor } from '../../src/store/kit/query/page.ts'
import type { EventFilter, EventPage, EventQuery, StoredEvent } from '../../src/store/contract/query.ts'
import { altered, type Fault, nextTurn } from './altered.ts'

const versionIn = async (store: Store, id: string): Promise<number> =>
  (await store.getConversation(id))?.version ?? 0

export async function all(store: Store, query: EventQuery): Promise<StoredEvent[]> {
  const matches: StoredEvent[] = []
  let cursor: string | null = null
  do {
    const page: EventPage = await store.search({ ...query, limit: 100, ...(cursor !== null && { cursor }) })
    matches.push(...page.items)
    cursor = page.cursor
  } while (cursor !== null)
  return matches
}

/** Reads the end of the log, then writes there. The second of two concurrent appends overwrites the first. */
export const lostUpdate = (): Store =>
  altered((inner) => ({
    async append(id, facts, options) {
      const before = await inner.getConversation(id)
      await nextTurn()
      const after = await inner.getConversation(id)
      if (before === null || after?.version === before.version) return inner.append(id, facts, options)
      const events = facts.map((fact, i): StoredEvent => ({
        conversationId: id,
        seq: before.version + i,
        id: fact.id ?? null,
        fact,
        parentId: before.headId,
        inTree: true,
        time: '0',
      }))
      return { events, version: before.version + facts.length, headId: events.at(-1)?.id ?? null }
    },
  }))

/** Checks the version outside the transaction of the append. */
export const checkOutside = (): Store =>
  altered((inner) => ({
    async append(id, facts, options = {}) {
      const { expected = 'any', ...rest } = options
      const known = await inner.getMany(
        id,
        facts.map((fact) => fact.id ?? ''),
      )
      const version = await versionIn(inner, id)
      const fits =
        expected === 'any' || options.mode === 'import' || (expected === 'none' ? 0 : expected) === version
      if (!fits && known.includes(null)) throw new ColloquyError('version_conflict', 'overtaken', { version })
      await nextTurn()
      return inner.append(id, facts, fits && options.mode !== 'import' ? rest : options)
    },
  }))

/** Pages by offset. The cursor is otherwise correct. */
export const offsetCursor = (): Store =>
  altered((inner) => ({
    async search(query) {
      const { cursor, ...whole } = query
      const { scope, limit } = checkEventQuery(whole)
      const offset = cursor === undefined ? 0 : Number(decodeCursor(scope, cursor)[0])
      const result = await all(inner, whole)
      const next = offset + limit < result.length ? encodeCursor(scope, [String(offset + limit)]) : null
      return { items: result.slice(offset, offset + limit), cursor: next }
    },
  }))

const textOf = ({ fact }: StoredEvent): string => (isQuarantined(fact) ? '' : (fact.timestamp ?? ''))

/** Compares timestamps as text in bounds, order and cursor. */
export const textTimes = (): Store =>
  altered((inner) => {
    const find = async (filter: EventFilter): Promise<StoredEvent[]> => {
      const { timestampGte: gte, timestampLt: lt, ...rest } = filter
      checkEventFilter(filter)
      return (await all(inner, rest))
        .filter(
          (event) => (gte === undefined || textOf(event) >= gte) && (lt === undefined || textOf(event) < lt),
        )
        .toSorted((a, b) => (textOf(a) === textOf(b) ? a.seq - b.seq : textOf(a) < textOf(b) ? -1 : 1))
    }
    return {
      async search({ cursor, order, ...query }) {
        const { scope, limit, descending } = checkEventQuery({ ...query, ...(order && { order }) })
        const result = await find(query)
        if (descending) result.reverse()
        const last = cursor === undefined ? undefined : decodeCursor(scope, cursor)[0]
        const start = result.findIndex(({ seq }) => String(seq) === last) + 1
        const items = result.slice(start, start + limit)
        const more = start + limit < result.length
        return { items, cursor: more ? encodeCursor(scope, [String(items.at(-1)?.seq)]) : null }
      },
      count: async (filter) => (await find(filter)).length,
    }
  })

/** Faults of appends, cursors, times, leases, ids and watches. */
export const FAULTS: readonly Fault[] = [
  [
    'reads HEAD outside the transaction of the append',
    'append: concurrent writers without an expected version all succeed, on one branch',
    () =>
      altered((inner) => ({
        async append(id, facts, options) {
          const head = (await inner.getConversation(id))?.headId ?? null
          await nextTurn()
          const [first, ...rest] = facts
          const stamp = first !== undefined && (first.parent_id ?? null) === null && head !== null
          return inner.append(id, stamp ? [{ ...first, parent_id: head }, ...rest] : facts, options)
        },
      })),
  ],
  [
    'appends the first event of a batch separately',
    'append: a batch is appended completely or not at all',
    () =>
      altered((inner) => ({
        async append(id, facts, options = {}) {
          if (facts.length < 2 || options.mode === 'import') return inner.append(id, facts, options)
          const { expected: _, ...later } = options
          const first = await inner.append(id, facts.slice(0, 1), options)
          const rest = await inner.append(id, facts.slice(1), later)
          return { ...rest, events: [...first.events, ...rest.events] }
        },
      })),
  ],
  [
    'shows readers part of a batch',
    'append: a concurrent reader sees all of a batch or nothing',
    () =>
      altered((inner) => ({
        async append(id, facts, options = {}) {
          if (facts.length !== 5) return inner.append(id, facts, options)
          await inner.append(id, facts.slice(0, 2), options)
          await new Promise((resolve) => setTimeout(resolve, 3))
          return inner.append(id, facts, options)
        },
      })),
  ],
  [
    'compares the version before the ids',
    'append: ids are compared before the expected version',
    () =>
      altered((inner) => ({
        async append(id, facts, options = {}) {
          const version = await versionIn(inner, id)
          const { expected = 'any', mode } = options
          if (
            expected !== 'any' &&
            mode !== 'import' &&
            facts.length > 0 &&
            (expected === 'none' ? 0 : expected) !== version
          ) {
            throw new ColloquyError('version_conflict', 'overtaken', { version })
          }
          return inner.append(id, facts, options)
        },
      })),
  ],
  [
    'accepts a different event with a known id',
    'append: the comparison ignores omitted fields, a null parent, defaults and the order of fields',
    () =>
      altered((inner) => ({
        async append(id, facts, options: AppendOptions = {}) {
          const known = await inner.getMany(
            id,
            facts.map((fact) => fact.id ?? ''),
          )
          if (options.mode === 'import' || known.includes(null)) return inner.append(id, facts, options)
          const record = await inner.getConversation(id)
          return {
            events: known as StoredEvent[],
            version: record?.version ?? 0,
            headId: record?.headId ?? null,
          }
        },
      })),
  ],
  [
    'returns a cursor after every full page',
    'cursor: it is null exactly on the last page',
    () =>
      altered((inner) => ({
        async search(query) {
          const page = await inner.search(query)
          const last = page.items.at(-1)
          if (page.cursor !== null || last === undefined || page.items.length < (query.limit ?? 100))
            return page
          const { scope } = checkEventQuery(query)
          return { ...page, cursor: encodeCursor(scope, [String(last.time), String(last.seq)]) }
        },
      })),
  ],
  [
    'continues a page after the timestamp, not after the event',
    'time: equal times are ordered by position, in both directions, across pages',
    () =>
      altered((inner) => ({
        async search(query) {
          const page = await inner.search(query)
          const last = page.items.at(-1)
          if (page.cursor === null || last === undefined) return page
          const { scope } = checkEventQuery(query)
          const beyond = query.order === 'timestamp_desc' ? 0 : 999_999
          return { ...page, cursor: encodeCursor(scope, [String(last.time), String(beyond)]) }
        },
      })),
  ],
  [
    'accepts the cursor of any query',
    'cursor: a cursor of another conversation, filter, order or list is invalid_cursor, foreign',
    () =>
      altered((inner) => ({
        async search(query) {
          const { scope } = checkEventQuery({ ...query, cursor: undefined as unknown as string })
          if (query.cursor === undefined) {
            const page = await inner.search(query)
            const last = page.items.at(-1)
            return {
              ...page,
              cursor: page.cursor && encodeCursor('', [String(last?.time), String(last?.seq)]),
            }
          }
          return inner.search({ ...query, cursor: encodeCursor(scope, decodeCursor('', query.cursor)) })
        },
      })),
  ],
  [
    'returns all events before the leaf, not its path',
    'leaf: finds branches off an old event, and branches of branches',
    () =>
      altered((inner) => ({
        async search({ leafId, ...query }) {
          if (leafId === undefined) return inner.search(query)
          const leaf = await inner.get(query.conversationId, leafId)
          const items = (await all(inner, { ...query, cursor: undefined as unknown as string })).filter(
            ({ seq }) => seq <= (leaf?.seq ?? -1),
          )
          return { items, cursor: null }
        },
      })),
  ],
  [
    'truncates `timestampGte` to milliseconds',
    'time: timestampGte includes its instant, timestampLt excludes it, in any zone',
    () =>
      altered((inner) => ({
        search: (query) =>
          inner.search({
            ...query,
            ...(query.timestampGte && { timestampGte: query.timestampGte.replace(/(\.\d{3})\d+/, '$1') }),
          }),
      })),
  ],
  [
    'lists all leases for `expired: true`',
    'lease: unreleased and expired leases are listed in order of their ids',
    () => altered((inner) => ({ listLeases: (query) => inner.listLeases({ ...query, expired: false }) })),
  ],
  [
    'restarts lease generations after a release',
    'lease: releasing ends it, the next one has a higher generation, and an old one cannot be released',
    () => {
      const base = new Map<string, number>()
      return altered((inner) => ({
        async acquireLease(id, owner, ttl) {
          const lease = await inner.acquireLease(id, owner, ttl)
          return lease && { ...lease, generation: lease.generation - (base.get(id) ?? 0) }
        },
        async getLease(id) {
          const lease = await inner.getLease(id)
          return lease && { ...lease, generation: lease.generation - (base.get(id) ?? 0) }
        },
        async releaseLease(lease) {
          const real = { ...lease, generation: lease.generation + (base.get(lease.conversationId) ?? 0) }
          const released = await inner.releaseLease(real)
          if (released) base.set(lease.conversationId, real.generation)
          return released
        },
      }))
    },
  ],
  [
    'ignores `within`',
    'within: rows are committed with new events, but not with events that the log already has',
    () =>
      altered((inner) => ({
        append(id, facts, options = {}) {
          const { within: _, ...rest } = options
          return inner.append(id, facts, rest)
        },
      })),
  ],
  [
    'ignores the lease of an append',
    'lease: an append under an old lease is lease_lost, and writes nothing',
    () =>
      altered((inner) => ({
        append(id, facts, options = {}) {
          const { lease: _, ...rest } = options
          return inner.append(id, facts, rest)
        },
      })),
  ],
  [
    'truncates ids at NUL',
    'get: returns the event with an id, else null',
    () => altered((inner) => ({ get: (id, ownId) => inner.get(id, ownId.split('\u0000')[0] ?? '') })),
  ],
  [
    'ignores the case of ids',
    'conversations: the same event id in two conversations is two events',
    () =>
      altered((inner) => ({
        createConversation: (input) => inner.createConversation({ ...input, id: input.id.toLowerCase() }),
      })),
  ],
  [
    'never wakes watchers',
    'watch: an append notifies the watchers of the conversation',
    () => altered(() => ({ watch: () => () => undefined })),
  ],
  [
    'never wakes watchers of all conversations',
    'watch: an append to any conversation notifies a watcher of all conversations',
    () =>
      altered((inner) => ({
        watch: (id, wake) => (id === null ? () => undefined : inner.watch(id, wake)),
      })),
  ],
]
