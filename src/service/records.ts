/** Typed records of the service, stored as items. They are not cached, so all processes see the same records. */

import type { JsonObject } from '../event/shapes.ts'
import type { Item, ItemChange, ItemFilter, ItemQuery, NewItem } from '../store/contract/items.ts'
import type { Count, CountOptions, Page } from '../store/contract/query.ts'
import type { Store } from '../store/contract/store.ts'
import { retryConflicts } from '../store/kit/items.ts'
import { allItems } from '../store/kit/query/page.ts'

export interface Kept<T extends object> {
  readonly id: string
  readonly version: number
  readonly record: T
}

export interface Records<T extends object> {
  readonly find: (id: string) => Promise<Kept<T> | null>
  readonly list: (query?: ItemQuery) => Promise<Page<Kept<T>>>
  readonly count: (filter?: ItemFilter, options?: CountOptions) => Promise<Count>
  readonly walk: (query?: ItemQuery) => AsyncGenerator<Kept<T>, void, undefined>
  /**
   * Returns a change for the store. If `record` is null, the change deletes the stored record. If
   * `expected` is a number, the change fails unless the record has this version. If `expected` is null, the
   * change fails if the record exists.
   */
  readonly changeOf: (id: string, record: T | null, expected?: number | null) => ItemChange
  /**
   * Changes a record to the result of `decide`; null deletes the record, undefined changes nothing. Calls
   * `decide` again if another process changed the record first. Returns the new record.
   */
  readonly update: (id: string, decide: Decide<T>) => Promise<T | null>
  readonly remove: (id: string) => Promise<boolean>
}

type Decided<T> = T | null | undefined

type Decide<T> = (before: T | null) => Decided<T> | Promise<Decided<T>>

export function recordsOf<T extends object>(
  store: Store,
  collection: string,
  indexOf: (record: T) => Pick<NewItem, 'keys' | 'dueIn'> = () => ({}),
): Records<T> {
  const changeOf: Records<T>['changeOf'] = (id, record, expected) => ({
    collection,
    id,
    ...(expected !== undefined && { expected }),
    put: record === null ? null : { body: record as JsonObject, ...indexOf(record) },
  })
  const keptOf = ({ id, version, body }: Item): Kept<T> => ({ id, version, record: body as object as T })
  const find = async (id: string): Promise<Kept<T> | null> => {
    const item = await store.getItem(collection, id)
    return item === null ? null : keptOf(item)
  }
  const list = async (query: ItemQuery = {}): Promise<Page<Kept<T>>> => {
    const { items, cursor } = await store.listItems(collection, query)
    return { items: items.map(keptOf), cursor }
  }
  const update: Records<T>['update'] = (id, decide) =>
    retryConflicts(async () => {
      const stored = await find(id)
      const before = stored?.record ?? null
      const after = await decide(before)
      if (after === undefined || (after === null && before === null)) return before
      await store.changeItems([changeOf(id, after, stored?.version ?? null)])
      return after
    })
  return {
    find,
    list,
    async count(filter, options) {
      return store.countItems(collection, filter, options)
    },
    async *walk(query = {}) {
      const read = (start: object) => store.listItems(collection, { ...query, ...start })
      for await (const item of allItems(read)) yield keptOf(item)
    },
    changeOf,
    update,
    async remove(id) {
      let existed = false
      await update(id, (before) => {
        existed = before !== null
        return null
      })
      return existed
    },
  }
}

/** Returns a clock in milliseconds that never repeats a time, so that a process's records have an order. */
export function risingClock(now: () => number = Date.now): () => number {
  let last = -Infinity
  return () => (last = Math.max(now(), last + 1))
}
