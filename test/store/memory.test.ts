/** The memory store passes the whole kit and skips nothing. */

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { handle } from './altered.ts'

describe('the memory store', () => {
  const cases = storeConformance({ name: 'memory', open: async () => memoryStore() })

  it('is tried in full', () => {
    expect(cases.length).toBeGreaterThan(60)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })

  for (const { name, run } of cases) it(name, run)
})

describe('the memory store, seen by several processes', () => {
  const shared = new Map<Store, Store>()
  const enter = async (inner: Store): Promise<Store> => {
    const way = handle(inner)
    shared.set(way, inner)
    return way
  }
  const cases = storeConformance({
    name: 'memory',
    open: () => enter(memoryStore()),
    reopen: (way) => enter(shared.get(way) as Store),
  })

  for (const { name, run } of cases) {
    if (/two processes|another process|^reopen|^close/.test(name)) it(name, run)
  }
})
