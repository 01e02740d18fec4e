/** The kit detects faulty stores: each broken adapter fails the cases meant for it, and few others. */

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

async function failing(make: () => Store): Promise<string[]> {
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

describe('a store broken on purpose', () => {
  it('that loses an update fails where writers meet', async () => {
    expect(await failing(lostUpdate)).toEqual([
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

  it('that checks the version outside the transaction fails where writers expect one', async () => {
    const failed = await failing(checkOutside)
    expect(failed).toContain('append: exactly one of many writers with the same expected version wins')
    expect(failed).not.toContain(
      'append: concurrent writers without an expected version all succeed, on one branch',
    )
    expect(failed.length).toBeLessThan(6)
  })

  it('that pages by offset fails where others append meanwhile', async () => {
    expect(await failing(offsetCursor)).toEqual([
      'cursor: pages with a limit of bytes partition the result, and have at least one event',
      'cursor: appending while paging repeats and skips no earlier events, in both directions',
      'blobs: read, get, getMany and search return equal references, and the page size counts these',
    ])
  })

  it('that compares times as texts fails where zones and fractions differ', async () => {
    const failed = await failing(textTimes)
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
  ])('that %s fails: %s', async (_, finder, make) => {
    const cases = storeConformance({ name: 'broken', open: async () => make(), watchTimeout: 100 })
    const match = cases.find(({ name }) => name === finder)
    await expect(match?.run()).rejects.toThrow(finder)
  })
})

const open = async (): Promise<Store> => memoryStore()

/** Case names for a persistent store. */
const named = (options: Partial<ConformanceOptions>): string[] =>
  storeConformance({ name: 'any', open, reopen: async (store) => store, ...options }).map(({ name }) => name)

describe('the list of cases', () => {
  it('has each name once', () => {
    const names = storeConformance({ name: 'any', open, reopen: async (store) => store }).map(
      ({ name }) => name,
    )
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThan(90)
  })

  it('leaves out the cases of opening again for a store that forgets', () => {
    const forgetful = storeConformance({ name: 'any', open })
    const lasting = storeConformance({ name: 'any', open, reopen: async (store) => store })
    expect(lasting.length - forgetful.length).toBe(14)
  })

  it('is as long as is asked for, and quick without what only tries how much a store holds', () => {
    const [whole, quick, parts] = [named({}), named({ size: 'quick' }), named({ parts: ['leases', 'watch'] })]
    expect([whole.length, quick.length, named({ parts: [] }).length]).toEqual([165, 161, 0])
    expect(
      whole.filter((name) => !quick.includes(name)).every((name) => /rare|thousand|mebibytes/.test(name)),
    ).toBe(true)
    expect(parts.every((name) => /^(lease|watch):/.test(name))).toBe(true)
    expect(parts).toEqual(whole.filter((name) => parts.includes(name)))
  })

  it('shows a skipped case with its reason, and runs it not', async () => {
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

  it('takes no skip without reason, or of a case that there is not', () => {
    const named = 'time: an unreadable bound is invalid_query'
    expect(() => storeConformance({ name: 'any', open, skip: [{ case: named, reason: ' ' }] })).toThrow(
      'Say why',
    )
    expect(() => storeConformance({ name: 'any', open, skip: [{ case: 'nonsense', reason: 'x' }] })).toThrow(
      'Unknown case',
    )
  })

  it('closes what it opened, also when a case fails', async () => {
    let closed = 0
    const counted = async (): Promise<Store> => {
      const inner = memoryStore()
      return {
        ...inner,
        append: () => Promise.reject(new Error('broken')),
        close: async () => void (closed += 1),
      }
    }
    const [first] = storeConformance({ name: 'any', open: counted })
    await expect(first?.run()).rejects.toThrow('broken')
    expect(closed).toBe(1)
  })
})
