/** The conformance kit detects faulty stores: each fails the case for its fault, and few others. */

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type ConformanceOptions, storeConformance } from '../../src/testing/index.ts'
import { checkOutside, FAULTS, lostUpdate, offsetCursor, textTimes } from './broken.ts'
import { BLOB_FAULTS } from './broken-blobs.ts'
import { FEED_FAULTS } from './broken-feed.ts'
import { LIST_FAULTS } from './broken-lists.ts'
import { ITEM_FAULTS } from './broken-items.ts'
import { SNAPSHOT_FAULTS } from './broken-snapshots.ts'
import { WATCH_FAULTS } from './broken-watches.ts'

async function failedCases(make: () => Store): Promise<string[]> {
  const failed: string[] = []
  for (const { name, run } of storeConformance({
    name: 'broken',
    open: async () => make(),
    watchTimeout: 100,
    size: 'quick',
  })) {
    await run().catch(() => failed.push(name))
  }
  return failed
}

describe('the conformance kit', () => {
  it('fails a store that loses updates in exactly the cases with concurrent writers', async () => {
    expect(await failedCases(lostUpdate)).toEqual([
      'append: exactly one of many writers with the same expected version wins',
      'append: concurrent writers without an expected version all succeed, on one branch',
      'append: of concurrent appends, only the invalid ones are rejected',
      'append: an event without its required fields is invalid_event, and concurrent appends succeed',
      'record: concurrent patches and appends lose nothing',
      'watch: an append notifies the watchers of the conversation',
      'blobs: concurrent creations and deletions of conversations lose and leave no strings',
      'close: earlier calls are completed',
    ])
  })

  it('fails a store that checks the expected version outside the transaction', async () => {
    const failed = await failedCases(checkOutside)
    expect(failed).toContain('append: exactly one of many writers with the same expected version wins')
    expect(failed).not.toContain(
      'append: concurrent writers without an expected version all succeed, on one branch',
    )
    expect(failed.length).toBeLessThan(6)
  })

  it('fails a store that pages by offset', async () => {
    expect(await failedCases(offsetCursor)).toEqual([
      'cursor: pages with a limit of bytes partition the result, and have at least one event',
      'cursor: appending while paging repeats and skips no earlier events, in both directions',
      'blobs: read, get, getMany and search return equal references, and the page size counts these',
    ])
  })

  it('fails a store that compares timestamps as text', async () => {
    const failed = await failedCases(textTimes)
    expect(failed).toEqual(
      expect.arrayContaining([
        'time: events are ordered by instant, in any zone and format',
        'time: timestampGte includes its instant, timestampLt excludes it, in any zone',
        'time: equal times are ordered by position, in both directions, across pages',
        'time: an event without a readable time has the time of the event before it',
      ]),
    )
    expect(failed.filter((name) => !/^(time|search|import|cursor|leaf|blobs):/.test(name))).toEqual([])
  })

  it.each([
    ...FAULTS,
    ...BLOB_FAULTS,
    ...SNAPSHOT_FAULTS,
    ...ITEM_FAULTS,
    ...FEED_FAULTS,
    ...LIST_FAULTS,
    ...WATCH_FAULTS,
  ])('fails a store that %s in the case "%s"', async (_, finder, make) => {
    const cases = storeConformance({ name: 'broken', open: async () => make(), watchTimeout: 100 })
    const match = cases.find(({ name }) => name === finder)
    await expect(match?.run()).rejects.toThrow(finder)
  })
})

const open = async (): Promise<Store> => memoryStore()

/** Case names for a persistent store. */
const caseNames = (options: Partial<ConformanceOptions>): string[] =>
  storeConformance({ name: 'any', open, reopen: async (store) => store, ...options }).map(({ name }) => name)

describe('the cases of the conformance kit', () => {
  it('have unique names and number more than 90', () => {
    const names = storeConformance({ name: 'any', open, reopen: async (store) => store }).map(
      ({ name }) => name,
    )
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThan(90)
  })

  it('omit the 14 cases that reopen a store if `reopen` is missing', () => {
    const volatile = storeConformance({ name: 'any', open })
    const persistent = storeConformance({ name: 'any', open, reopen: async (store) => store })
    expect(persistent.length - volatile.length).toBe(14)
  })

  it('can be limited to some parts, or to quick cases', () => {
    const [whole, quick, parts] = [
      caseNames({}),
      caseNames({ size: 'quick' }),
      caseNames({ parts: ['leases', 'watch'] }),
    ]
    expect([whole.length, quick.length, caseNames({ parts: [] }).length]).toEqual([165, 161, 0])
    expect(
      whole.filter((name) => !quick.includes(name)).every((name) => /rare|thousand|mebibytes/.test(name)),
    ).toBe(true)
    expect(parts.every((name) => /^(lease|watch):/.test(name))).toBe(true)
    expect(parts).toEqual(whole.filter((name) => parts.includes(name)))
  })

  it('include a skipped case with its reason, but do not run it', async () => {
    const skip = [{ case: 'time: an unreadable bound is invalid_query', reason: 'it takes any text' }]
    const cases = storeConformance({
      name: 'any',
      open: async () => Promise.reject(new Error('opened')),
      skip,
    })
    const skipped = cases.filter(({ skipped }) => skipped !== null)
    expect(skipped.map(({ name }) => name)).toEqual([`${skip[0]?.case} (skipped: it takes any text)`])
    await skipped[0]?.run()
  })

  it('reject a skip without a reason or of an unknown case', () => {
    const caseName = 'time: an unreadable bound is invalid_query'
    expect(() => storeConformance({ name: 'any', open, skip: [{ case: caseName, reason: ' ' }] })).toThrow(
      'Say why',
    )
    expect(() => storeConformance({ name: 'any', open, skip: [{ case: 'nonsense', reason: 'x' }] })).toThrow(
      'Unknown case',
    )
  })

  it('close their store even if they fail', async () => {
    let closed = 0
    const openCounted = async (): Promise<Store> => {
      const inner = memoryStore()
      return {
        ...inner,
        append: () => Promise.reject(new Error('broken')),
        close: async () => void (closed += 1),
      }
    }
    const [first] = storeConformance({ name: 'any', open: openCounted })
    await expect(first?.run()).rejects.toThrow('broken')
    expect(closed).toBe(1)
  })
})
