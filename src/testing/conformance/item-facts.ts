/** Small items for trials, and walks through their lists. */

import type { Item, ItemChange, ItemQuery } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { holds } from './assert.ts'

/** Milliseconds: longer than any trial, and soon over. */
export const LONG = 600_000
export const SHORT = 30

export const after = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Puts one; how it is then. */
export async function put(
  store: Store,
  id: string,
  body: object,
  more: Partial<ItemChange> & Partial<Pick<NonNullable<ItemChange['put']>, 'keys' | 'dueIn'>> = {},
): Promise<Item> {
  const { keys = {}, dueIn = null, ...change } = more
  const [item] = await store.changeItems([
    { collection: 'c', id, put: { body: body as Item['body'], keys, dueIn }, ...change },
  ])
  if (item === undefined || item === null) throw new Error('the item should be returned as it was stored')
  return item
}

/** A change of what is expected. */
export const write = (id: string, expected: number | null, n: number): ItemChange => ({
  collection: 'c',
  id,
  expected,
  put: { body: { n } },
})

/** The ids on all pages of a list. */
export async function walk(store: Store, query: ItemQuery = {}): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['listItems']>> = await store.listItems('c', {
      limit: 2,
      ...query,
      ...(cursor !== null && { cursor }),
    })
    holds(page.items.length <= (query.limit ?? 2), 'a page holds no more than its limit')
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== null)
  return ids
}

export const version = async (store: Store, id: string): Promise<number | null> =>
  (await store.getItem('c', id))?.version ?? null
