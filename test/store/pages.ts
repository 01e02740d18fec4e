import type { EventPage, EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** All pages of a query. If they are equal, two stores agree on items, order and cursors. */
export async function pages(store: Store, requests: EventQuery): Promise<EventPage[]> {
  const all: EventPage[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: EventPage = await store.search({ ...requests, ...(cursor !== undefined && { cursor }) })
    all.push(page)
    cursor = page.cursor
  }
  return all
}
