/** Walks and changes of items that several callers need. */

import { hasCode } from '../../event/errors.ts'
import type { Item, ItemQuery, Items } from '../contract/items.ts'
import type { Page } from '../contract/query.ts'

/** Yields the pages of a collection, in the order of the query. O(limit + log n) for each page. */
export async function* itemPages(
  items: Pick<Items, 'listItems'>,
  collection: string,
  query: ItemQuery = {},
): AsyncGenerator<readonly Item[]> {
  let page: Page<Item> = await items.listItems(collection, query)
  yield page.items
  while (page.next_page_id !== null) {
    // oxlint-disable-next-line no-await-in-loop
    page = await items.listItems(collection, { ...query, cursor: page.next_page_id })
    yield page.items
  }
}

/** Repeats a change, which reads what it expects, for as long as another writer of its items is faster. */
export async function retryConflicts<T>(change: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      // oxlint-disable-next-line no-await-in-loop
      return await change()
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error
    }
  }
}
