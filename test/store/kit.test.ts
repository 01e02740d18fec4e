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
      'append: of many writers with one expected version exactly one wins',
      'append: writers who expect no version all land, in one line',
      'append: of many at once each one is rejected alone, and all others are appended',
      'append: an event without its required fields is invalid_event, and concurrent appends succeed',
      'record: patches and appends at once lose nothing of each other',
      'watch: an append wakes the watches of the conversation',
      'blobs: conversations that come and go at once lose none, and leave none',
      'close: calls that were made before it are carried out',
    ])
  })

  it('that checks the version outside the transaction fails where writers expect one', async () => {
    const failed = await failing(checkOutside)
    expect(failed).toContain('append: of many writers with one expected version exactly one wins')
    expect(failed).not.toContain('append: writers who expect no version all land, in one line')
    expect(failed.length).toBeLessThan(6)
  })

  it('that pages by offset fails where others append meanwhile', async () => {
    expect(await failing(offsetCursor)).toEqual([
      'cursor: pages that are bounded in bytes partition the result too, hold one event at least, and none beyond the bound',
      'cursor: appending while paging repeats and skips nothing that was there, both ways, with any filter',
      'blobs: read, get, getMany and search give references alike, and a page counts them as what they are',
    ])
  })

  it('that compares times as texts fails where zones and fractions differ', async () => {
    const failed = await failing(textTimes)
    expect(failed).toEqual(
      expect.arrayContaining([
        'time: events are ordered by instant, whatever their zone and however they are written',
        'time: timestampGte includes its instant, timestampLt excludes it, in any zone',
        'time: ties go by position, downwards as well, on whatever page they fall',
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
    const skip = [{ case: 'time: a bound that cannot be read is invalid_query', reason: 'it takes any text' }]
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
    const named = 'time: a bound that cannot be read is invalid_query'
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
