import type { EventPage, EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** All pages of a query, to compare items, order and cursors of two stores. */
export async function pages(store: Store, query: EventQuery): Promise<EventPage[]> {
  const all: EventPage[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: EventPage = await store.search({ ...query, ...(cursor !== undefined && { cursor }) })
    all.push(page)
    cursor = page.cursor
  }
  return all
}
