/** The memory store visits a constant number of entries for a page, whatever its depth. */

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
import { firstFrom, insertSorted, merge, type Walk } from '../../src/store/memory/sorted.ts'
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
    (event) => ({ event, refs: null }),
  )
  return log
}

const looks = { count: 0 }

/** A list that counts reads. */
const counted = (rows: LogRow[]): LogRow[] =>
  new Proxy(rows, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks.count += 1
      return Reflect.get(target, key, receiver) as unknown
    },
  })

function watched(log: MemoryLog): MemoryLog {
  const groups = (input: MemoryLog['groups']): MemoryLog['groups'] =>
    new Map([...input].map(([key, group]) => [key, { ...group, rows: counted(group.rows) }]))
  return {
    ...log,
    all: counted(log.all),
    groups: groups(log.groups),
    laneGroups: new Map([...log.laneGroups].map(([lane, input]) => [lane, groups(input)])),
  }
}

const log = watched(longLog())
const page = (
  query: Omit<EventQuery, 'conversationId'>,
  after: CheckedEventQuery['after'],
): { rows: LogRow[]; cost: number } => {
  looks.count = 0
  const rows = searchLog(log, { ...checkEventQuery({ conversationId: 'c', limit: 20, ...query }), after }, 21)
  return { rows, cost: looks.count }
}

describe('a page', () => {
  it.each<[string, Omit<EventQuery, 'conversationId'>]>([
    ['no filter', {}],
    ['a kind that is rare', { kinds: ['PauseEvent'] }],
    ['the rare kind alone left', { excludeKinds: ['MessageEvent'] }],
    ['a source', { source: 'agent' }],
    ['a kind and a source', { kinds: ['MessageEvent'], source: 'user' }],
    ['a time', { timestampGte: formatInstant(5_000_000n), timestampLt: formatInstant(45_000_000n) }],
    ['a leaf', { leafId: `e${LENGTH - 1}` }],
    ['a leaf where the trunk goes on', { leafId: 'e60' }],
    ['a leaf and a rare kind', { leafId: `e${LENGTH - 1}`, kinds: ['PauseEvent'] }],
  ])('with %s costs the same at any depth, both ways', (_, query) => {
    for (const order of ['timestamp', 'timestamp_desc'] as const) {
      for (const depth of [null, 10, 10_000, 25_001, 40_000, LENGTH - 2]) {
        const after = depth === null ? null : { time: BigInt(depth) * 1000n, seq: depth }
        const { rows, cost } = page({ ...query, order }, after)
        expect(cost, `${order} after ${depth}: ${rows.length} rows`).toBeLessThan(600)
      }
    }
  })

  it('of a count without text or leaf costs no more', () => {
    looks.count = 0
    expect(countLog(log, checkEventQuery({ conversationId: 'c', kinds: ['MessageEvent'] }))).toBe(LENGTH - 50)
    expect(looks.count).toBeLessThan(200)
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
  const walks = Array.from({ length }, (_, n) => ({
    list: [(n * 7919) % length],
    index: 0,
    end: 1,
    step: 1 as const,
  }))
  const items = [...merge(walks, (a, b) => ((compared += 1), a - b))]
  expect(items).toHaveLength(length)
  return compared / length
}

describe('sorted lists', () => {
  it('keep what is put in, in order, equals as they came', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat())), (items) => {
        const list: (typeof items)[number][] = []
        for (const item of items) insertSorted(list, item, (a, b) => a[0] - b[0])
        expect(list).toEqual(items.toSorted((a, b) => a[0] - b[0]))
      }),
    )
  })

  it('are merged in order, each item once, up and down', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(50))), fc.boolean(), (lists, down) => {
        const walks = lists.map((list): Walk<number> => {
          const sorted = list.toSorted((a, b) => a - b)
          return down
            ? { list: sorted, index: sorted.length - 1, end: -1, step: -1 }
            : { list: sorted, index: 0, end: sorted.length, step: 1 }
        })
        const expected = lists.flat().toSorted((a, b) => (down ? b - a : a - b))
        expect([...merge(walks, (a, b) => (down ? b - a : a - b))]).toEqual(expected)
      }),
    )
  })

  it('are merged at a cost that hardly grows with their number', () => {
    expect(perItem(10_000) / perItem(100)).toBeLessThan(3)
  })

  it('find the first that is not before', () => {
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
