/** The memory store passes the whole conformance kit without skipped cases. */

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { handle } from './altered.ts'

describe('the memory store', () => {
  const cases = storeConformance({ name: 'memory', open: async () => memoryStore() })

  it('runs all cases of the conformance kit', () => {
    expect(cases.length).toBeGreaterThan(60)
    expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
  })

  for (const { name, run } of cases) it(name, run)
})

describe('the memory store behind several handles', () => {
  const shared = new Map<Store, Store>()
  const openHandle = async (inner: Store): Promise<Store> => {
    const client = handle(inner)
    shared.set(client, inner)
    return client
  }
  const cases = storeConformance({
    name: 'memory',
    open: () => openHandle(memoryStore()),
    reopen: (client) => openHandle(shared.get(client) as Store),
  })

  for (const { name, run } of cases) {
    if (/two processes|another process|^reopen|^close/.test(name)) it(name, run)
  }
})
