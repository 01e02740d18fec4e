/** Items. The version of an item is the number of the change that wrote it, since numbers are unique. */

import {
  checkChanges,
  checkClaim,
  checkCountOptions,
  checkItemFilter,
  checkItemQuery,
  dueItems,
  type Item,
  itemConflict,
  itemOf,
  type Items,
  lookedCount,
  pageOfItems,
} from 'colloquy/store-kit'
import type { State } from './changes.ts'
import type { Journal } from './journal.ts'

const find = ({ items }: State, collection: string, id: string): Item | null =>
  items.get(collection)?.get(id) ?? null

const all = ({ items }: State, collection: string): Iterable<Item> => items.get(collection)?.values() ?? []

/** @param journalOrThrow returns the journal, or throws when the store is closed */
export function jsonItems(journalOrThrow: () => Journal): Items {
  return {
    async getItem(collection, id) {
      return find(journalOrThrow().latest(), collection, id)
    },

    async changeItems(input) {
      return journalOrThrow().commit((state) => {
        const changes = checkChanges(input)
        for (const change of changes) {
          const version = find(state, change.collection, change.id)?.version ?? null
          if (change.expected !== undefined && change.expected !== version)
            throw itemConflict(change, version)
        }
        const now = Date.now()
        const result = changes.map(({ put, ...name }) => {
          if (put === null || put === undefined) return null
          return itemOf(name, put, state.next, put.dueIn === null ? null : now + put.dueIn)
        })
        const gone = changes
          .filter(({ put }) => put === null)
          .map(({ collection, id }) => ({ collection, id }))
        const put = result.filter((item) => item !== null)
        return { change: put.length + gone.length === 0 ? null : { type: 'items', put, gone }, result }
      })
    },

    async listItems(collection, query) {
      return pageOfItems(all(journalOrThrow().latest(), collection), checkItemQuery(collection, query))
    },

    async countItems(collection, filter, options) {
      const query = checkItemFilter(collection, filter)
      const { items } = pageOfItems(all(journalOrThrow().latest(), collection), {
        ...query,
        limit: Number.MAX_SAFE_INTEGER,
      })
      return lookedCount(items.length, items.length, checkCountOptions(options))
    },

    async claimItems(collection, claim) {
      return journalOrThrow().commit((state) => {
        const { ttl, limit } = checkClaim(collection, claim)
        const now = Date.now()
        const put = dueItems(all(state, collection), now, limit).map((item) =>
          itemOf(item, item, state.next, now + ttl),
        )
        return { change: put.length === 0 ? null : { type: 'items', put, gone: [] }, result: put }
      })
    },
  }
}
