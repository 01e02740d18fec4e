/** Items in memory: a map for each collection. */

import type { Item, ItemChange, ItemClaim, ItemQuery, Items } from '../contract/items.ts'
import {
  checkChanges,
  checkClaim,
  checkItemQuery,
  dueItems,
  itemConflict,
  itemOf,
  pageOfItems,
} from '../kit/items.ts'
import type { Clock } from '../kit/record.ts'

/** Items by collection and id. Lists and claims look at the whole collection. */
export function memoryItems(clock: Clock): Items {
  const collections = new Map<string, Map<string, Item>>()
  let version = 0
  const now = (): number => Number(clock() / 1000n)
  const put = (item: Omit<Item, 'version'>, dueAt: number | null): Item => {
    const kept = itemOf(item, item, (version += 1), dueAt)
    const items = collections.get(item.collection) ?? new Map<string, Item>()
    collections.set(item.collection, items.set(item.id, kept))
    return kept
  }
  return {
    async getItem(collection, id) {
      return collections.get(collection)?.get(id) ?? null
    },

    async changeItems(given: readonly ItemChange[]) {
      const changes = checkChanges(given)
      for (const change of changes) {
        const found = collections.get(change.collection)?.get(change.id)?.version ?? null
        if (change.expected !== undefined && change.expected !== found) throw itemConflict(change, found)
      }
      const at = now()
      return changes.map(({ collection, id, put: next }) => {
        if (next === null) collections.get(collection)?.delete(id)
        if (next === null || next === undefined) return null
        const dueAt = next.dueIn === null ? null : at + next.dueIn
        return put({ collection, id, body: next.body, keys: next.keys, dueAt }, dueAt)
      })
    },

    async listItems(collection: string, given?: ItemQuery) {
      return pageOfItems(collections.get(collection)?.values() ?? [], checkItemQuery(collection, given))
    },

    async claimItems(collection: string, claim: ItemClaim) {
      const { ttl, limit } = checkClaim(collection, claim)
      const at = now()
      const due = dueItems(collections.get(collection)?.values() ?? [], at, limit)
      return due.map((item) => put(item, at + ttl))
    },
  }
}
