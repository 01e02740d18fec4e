/** The memory store visits a bounded number of rows for a page at any depth. Sorted lists merge with few comparisons. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkEventQuery, type CheckedEventQuery } from '../../src/store/kit/query/event-query.ts'
import {
  compareRows,
  contextIn,
  countLog,
  type MemoryLog,
  newLog,
  type LogRow,
  searchLog,
  writeDecision,
} from '../../src/store/memory/log.ts'
import { firstFrom, merge, SortedList } from '../../src/store/memory/sorted.ts'
import { decideAppend } from '../../src/store/kit/append/decide-append.ts'
import { formatInstant } from '../../src/store/kit/record.ts'
import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Event } from '../../src/event/types.ts'

const LENGTH = 50_000

/** Two branches: 100 shared events, the rest of the trunk, and a branch of the same length. */
function longLog(): MemoryLog {
  const log = newLog()
  const event = (i: number): Event => {
    const identity = {
      id: `e${i}`,
      timestamp: formatInstant(BigInt(i) * 1000n),
      ...(i === LENGTH / 2 && { parent_id: 'e99' }),
    }
    if (i % 1000 === 0) return { kind: 'PauseEvent', ...identity }
    return {
      kind: 'MessageEvent',
      source: i % 2 === 0 ? 'user' : 'agent',
      llm_message: { role: 'user', content: [] },
      ...identity,
    }
  }
  const facts = Array.from({ length: LENGTH }, (_, i) => event(i))
  writeDecision(
    log,
    decideAppend(contextIn(log, { conversationId: 'c', createdAt: '', timeZone: null, lease: null }), facts),
  )
  return log
}

const visitedRows = new Set<LogRow>()

/** Makes the rows of the log record that their time was read. */
function recordVisits(log: MemoryLog): MemoryLog {
  for (const row of log.rows) {
    const { time } = row
    Object.defineProperty(row, 'time', { get: () => (visitedRows.add(row), time) })
  }
  return log
}

const log = recordVisits(longLog())
const page = (
  query: Omit<EventQuery, 'conversationId'>,
  after: CheckedEventQuery['after'],
): { rows: LogRow[]; cost: number } => {
  visitedRows.clear()
  const rows = searchLog(log, { ...checkEventQuery({ conversationId: 'c', limit: 20, ...query }), after }, 21)
  return { rows, cost: visitedRows.size }
}

describe('the memory store', () => {
  it.each<[string, Omit<EventQuery, 'conversationId'>]>([
    ['no filter', {}],
    ['a rare kind', { kinds: ['PauseEvent'] }],
    ['an excluded common kind', { excludeKinds: ['MessageEvent'] }],
    ['a source', { source: 'agent' }],
    ['a kind and a source', { kinds: ['MessageEvent'], source: 'user' }],
    ['a time', { timestampGte: formatInstant(5_000_000n), timestampLt: formatInstant(45_000_000n) }],
    ['a leaf', { leafId: `e${LENGTH - 1}` }],
    ['a leaf on the trunk', { leafId: 'e60' }],
    ['a leaf and a rare kind', { leafId: `e${LENGTH - 1}`, kinds: ['PauseEvent'] }],
  ])('visits fewer than 150 rows for a page with %s, at any depth in both orders', (_, query) => {
    for (const order of ['timestamp', 'timestamp_desc'] as const) {
      for (const depth of [null, 10, 10_000, 25_001, 40_000, LENGTH - 2]) {
        const after = depth === null ? null : { time: BigInt(depth) * 1000n, seq: depth }
        const { rows, cost } = page({ ...query, order }, after)
        expect(rows.length).toBeLessThanOrEqual(21)
        expect(cost, `${order} after ${depth}: ${rows.length} rows`).toBeLessThan(150)
      }
    }
  })

  it('visits fewer than 200 rows to count without text and leaf', () => {
    visitedRows.clear()
    // With time bounds, each visited row is compared.
    const times = {
      timestampGte: formatInstant(1_000n),
      timestampLt: formatInstant(BigInt(LENGTH) * 1000n - 1_000n),
    }
    const query = { conversationId: 'c', kinds: ['MessageEvent' as const], ...times }
    expect(countLog(log, checkEventQuery(query))).toBe(LENGTH - 51)
    expect(visitedRows.size).toBeLessThan(200)
    expect(visitedRows.size).toBeGreaterThan(0)
  })
})

/** A row with only the fields that order it. */
const row = (time: bigint, seq: number): LogRow => ({
  event: { seq } as LogRow['event'],
  refs: null,
  time,
  node: null,
})

/** Comparisons per item when `length` lists of one item are merged. */
const perItem = (length: number): number => {
  let compared = 0
  const walks = Array.from({ length }, (_, n) => [(n * 7919) % length].values())
  expect([...merge(walks, (a, b) => ((compared += 1), a - b))]).toHaveLength(length)
  return compared / length
}

describe('sorted lists', () => {
  it('hold added items in order until they are removed', () => {
    const numbers = fc.uniqueArray(fc.nat(5_000), { maxLength: 3_000, size: 'max' })
    fc.assert(
      fc.property(numbers, fc.nat(5_000), fc.nat(5_000), fc.boolean(), (items, low, high, descending) => {
        const list = new SortedList<number>((a, b) => a - b)
        for (const item of items) list.add(item)
        const removed = items.filter((item) => item % 3 === 0)
        for (const item of removed) list.delete(item)
        const rest = items.filter((item) => item % 3 !== 0).toSorted((a, b) => a - b)
        expect(list.first).toBe(rest[0])
        expect(list.rank((item) => item < low)).toBe(rest.filter((item) => item < low).length)
        const expected = rest.filter((item) => item >= low && item <= high)
        const isEarly = (item: number): boolean => item < low
        const isLate = (item: number): boolean => item > high
        const all = [...list.between({ isEarly, isLate, order: null, descending })]
        expect(all).toEqual(descending ? expected.toReversed() : expected)
        const after = [...list.between({ isEarly, isLate, order: (item) => item - 2_500, descending })]
        expect(after).toEqual(all.filter((item) => (descending ? item < 2_500 : item > 2_500)))
      }),
      { numRuns: 50 },
    )
  })

  it('merge four lists of 1000 items with fewer than 4 comparisons per item', () => {
    let compared = 0
    const walks = Array.from({ length: 4 }, (_, list) =>
      Array.from({ length: 1_000 }, (__, n) => 4 * n + list).values(),
    )
    expect([...merge(walks, (a, b) => ((compared += 1), a - b))]).toHaveLength(4_000)
    expect(compared).toBeLessThan(4 * 4_000)
  })

  it('merge in order, with each item once', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.nat(50), fc.nat()), { selector: (item) => item[1] }),
        (items) => {
          const lists = Map.groupBy(items, ([list]) => list)
          const walks = [...lists.values()].map((list) =>
            list.map((item) => item[1]).toSorted((a, b) => a - b),
          )
          const merged = merge(
            walks.map((list) => list.values()),
            (a, b) => a - b,
          )
          expect([...merged]).toEqual(items.map((item) => item[1]).toSorted((a, b) => a - b))
        },
      ),
    )
  })

  it('merge 10,000 lists with less than three times the comparisons per item of 100 lists', () => {
    expect(perItem(10_000) / perItem(100)).toBeLessThan(3)
  })

  it('find the first item that is not before a value', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), fc.nat(20), (list, wanted) => {
        const sorted = list.toSorted((a, b) => a - b)
        const index = sorted.findIndex((item) => item >= wanted)
        expect(firstFrom(sorted, (item) => item < wanted)).toBe(index === -1 ? sorted.length : index)
      }),
    )
  })

  it('order rows by time, then by position', () => {
    expect(compareRows(row(1n, 9), row(2n, 0))).toBeLessThan(0)
    expect(compareRows(row(1n, 9), row(1n, 0))).toBeGreaterThan(0)
  })
})
