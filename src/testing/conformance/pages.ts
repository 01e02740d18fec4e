import { isQuarantined } from '../../event/quarantine.ts'
import { KINDS } from '../../event/kinds.ts'
import { parseInstant } from '../../event/time.ts'
import { foldText, messageText } from '../../store/kit/query/message-text.ts'
import type { EventFilter, EventQuery, Page, StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { equal, holds } from './assert.ts'
import { idsOf } from './facts.ts'

/** Returns the items of all pages. Fails on a loop, an empty later page, or a short page before the last. */
export async function fullPages<T>(
  limit: number,
  page: (cursor: { readonly cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const all: T[] = []
  const cursors = new Set<string>()
  let cursor: string | null = null
  for (let pages = 0; ; pages += 1) {
    const { items, cursor: next }: Page<T> = await page(cursor === null ? {} : { cursor })
    all.push(...items)
    holds(items.length <= limit, `a page has ${items.length} items, limit ${limit}`)
    holds(
      next === null || items.length === limit,
      `a page of ${items.length} items has a cursor, limit ${limit}`,
    )
    holds(pages === 0 || items.length > 0, 'a cursor returned an empty page')
    if (next === null) return all
    holds(!cursors.has(next) && pages < 2000, 'the pages do not end')
    cursors.add(next)
    cursor = next
  }
}

export function searchAll(store: Store, query: EventQuery): Promise<StoredEvent[]> {
  return fullPages(query.limit ?? 100, (cursor) => store.search({ ...query, ...cursor }))
}

/**
 * Checks that a search finds exactly these events, in both orders and for each page size in `limits`, and that
 * `count` returns their number. Returns the events.
 */
export async function finds(
  store: Store,
  filter: EventFilter,
  ids: readonly (string | null)[],
  limits: readonly number[] = [2],
): Promise<StoredEvent[]> {
  const what = JSON.stringify(filter)
  let up: StoredEvent[] = []
  for (const limit of limits) {
    up = await searchAll(store, { ...filter, limit })
    equal(idsOf(up), ids, `${what}, limit ${limit}`)
    const down = await searchAll(store, { ...filter, limit, order: 'timestamp_desc' })
    equal(idsOf(down), ids.toReversed(), `${what}, limit ${limit}, descending`)
  }
  equal(await store.count(filter), ids.length, `count of ${what}`)
  return up
}

/**
 * Reads all pages, and calls `write` after each of the first nine pages. Fails if an item of `existing` is
 * missing, or if any item is repeated.
 */
export async function readsWhileWriting<T>(
  limit: number,
  existing: readonly (string | null)[],
  page: (cursor: { readonly cursor?: string }) => Promise<Page<T>>,
  idOf: (item: T) => string | null,
  write: (nth: number) => Promise<unknown>,
): Promise<void> {
  let pages = 0
  const items = await fullPages(limit, async (cursor) => {
    const result = await page(cursor)
    pages += 1
    if (pages < 10) await write(pages)
    return result
  })
  const ids = items.map(idOf)
  equal(new Set(ids).size, ids.length, 'number of distinct items')
  const known = ids.filter((id) => existing.includes(id))
  equal(known, existing, 'items from before the first page')
}

export function searchNaively(log: readonly StoredEvent[], filter: EventFilter): StoredEvent[] {
  const { kinds, excludeKinds = [], source, text, timestampGte: gte, timestampLt: lt, leafId } = filter
  const path = leafId === undefined ? null : pathOf(log, leafId)
  return log
    .filter((event) => {
      const { fact, inTree } = event
      const time = BigInt(event.time)
      if (isQuarantined(fact) || !inTree) return false
      return (
        (kinds === undefined || kinds.includes(fact.kind)) &&
        !excludeKinds.includes(fact.kind) &&
        (source === undefined || (fact.source ?? KINDS[fact.kind].defaultSource) === source) &&
        (text === undefined || messageText(fact)?.includes(foldText(text)) === true) &&
        (gte === undefined || time >= (parseInstant(gte) as bigint)) &&
        (lt === undefined || time < (parseInstant(lt) as bigint)) &&
        (path === null || path.has(event))
      )
    })
    .toSorted((a, b) => (a.time === b.time ? a.seq - b.seq : BigInt(a.time) < BigInt(b.time) ? -1 : 1))
}

function pathOf(log: readonly StoredEvent[], leafId: string): Set<StoredEvent> {
  const byId = new Map(log.flatMap((event) => (event.inTree && event.id !== null ? [[event.id, event]] : [])))
  const path = new Set<StoredEvent>()
  for (let index = byId.get(leafId); index !== undefined; index = byId.get(index.parentId ?? ''))
    path.add(index)
  return path
}
