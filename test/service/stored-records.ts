/** Reads and changes a collection of the service's store from outside. */

import type { Item, NewItem } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'

export interface StoredRecords<T extends object> {
  readonly all: () => Promise<ReadonlyMap<string, T>>
  readonly put: (id: string, body: object, index?: Pick<NewItem, 'keys' | 'dueIn'>) => Promise<void>
  readonly remove: (id: string) => Promise<void>
}

export const recordsIn = <T extends object>(store: Store, collection: string): StoredRecords<T> => ({
  async all() {
    const all = new Map<string, T>()
    let cursor: string | null = null
    do {
      const page: { readonly items: readonly Item[]; readonly cursor: string | null } = await store.listItems(
        collection,
        cursor === null ? {} : { cursor },
      )
      for (const { id, body } of page.items) all.set(id, body as object as T)
      cursor = page.cursor
    } while (cursor !== null)
    return all
  },
  async put(id, body, index = {}) {
    await store.changeItems([{ collection, id, put: { body: body as Item['body'], ...index } }])
  },
  async remove(id) {
    await store.changeItems([{ collection, id, put: null }])
  },
})
