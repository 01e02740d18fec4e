/** Pages of records in memory: whatever their order and whatever the limit, they are the sorted whole, cut. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Page } from '../../src/store/contract/query.ts'
import { type Paging, pageOf } from '../../src/service/control-plane/page.ts'

interface Row {
  readonly key: string
  readonly id: string
}

const rows = fc.uniqueArray(
  fc.record({ key: fc.constantFrom('a', 'b', 'c', 'ä'), id: fc.nat(60).map(String) }),
  {
    selector: ({ id }) => id,
    maxLength: 40,
  },
)

const paging = (given: Pick<Paging<Row>, 'descending' | 'limit' | 'cursor'>): Paging<Row> => ({
  keyOf: ({ key, id }) => [key, id],
  list: 'rows',
  order: given.descending ? 'down' : 'up',
  filter: {},
  ...given,
})

describe('a page', () => {
  it('and those after it are all there is, in order', () => {
    fc.assert(
      fc.property(rows, fc.boolean(), fc.integer({ min: 1, max: 45 }), (records, descending, limit) => {
        const found: Row[] = []
        let cursor: string | null = null
        do {
          const page: Page<Row> = pageOf(records, paging({ descending, limit, cursor }))
          expect(page.items.length === limit || page.next_page_id === null).toBe(true)
          found.push(...page.items)
          cursor = page.next_page_id
        } while (cursor !== null)
        const text = ({ key, id }: Row): string => `${key}\n${id}`
        const sorted = records.toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
        expect(found).toEqual(descending ? sorted.toReversed() : sorted)
      }),
    )
  })

  it('is not begun by the cursor of another list', () => {
    const records = [1, 2, 3].map((n) => ({ key: 'a', id: String(n) }))
    const page = paging({ descending: false, limit: 1, cursor: null })
    const cursor = pageOf(records, page).next_page_id
    for (const other of [{ list: 'columns' }, { order: 'down', descending: true }, { filter: { a: 1 } }]) {
      expect(() => pageOf(records, { ...page, cursor, ...other })).toThrow(/cursor/i)
    }
  })
})
