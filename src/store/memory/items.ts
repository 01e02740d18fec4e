/** Items in memory: for each collection a map, and lists by id, by key and by when they are due. */

import type { Item, ItemChange, ItemClaim, ItemFilter, ItemQuery, Items } from '../contract/items.ts'
import { type CountOptions, MOST_COUNTED } from '../contract/query.ts'
import {
  checkChanges,
  checkClaim,
  checkItemFilter,
  type CheckedItemQuery,
  checkItemQuery,
  itemConflict,
  itemCursor,
  itemOf,
} from '../kit/items.ts'
import { checkExact, lookedCount } from '../kit/query/conversation-query.ts'
import { pageOf } from '../kit/query/page.ts'
import { type Clock, compareIds } from '../kit/record.ts'
import { firstOf, SortedList } from './sorted.ts'

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

export function memoryItems(clock: Clock): Items {
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

/** Those that a query lets through, beyond its place, in order. O(log n) for the first. */
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
