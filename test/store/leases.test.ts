/** A lease that was given comes but once, also where its conversation was deleted and made anew. */

import { expect, it, onTestFinished } from 'vitest'
import type { Lease } from '../../src/store/contract/lease.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const pause = (id: string) => ({ kind: 'PauseEvent' as const, id })

it.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore({ file: ':memory:' })],
] as const)(
  'a lease of a deleted conversation is none of what is made anew under its id (%s)',
  async (_, make) => {
    const store = make()
    onTestFinished(() => store.close())
    const generations = new Set<number>()
    let old: Lease | null = null
    for (let round = 0; round < 5; round += 1) {
      await store.createConversation({ id: 'c' })
      if (old !== null) {
        await expect(store.append('c', [pause('p')], { lease: old })).rejects.toMatchObject({
          code: 'lease_lost',
        })
        expect(await store.releaseLease(old)).toBe(false)
      }
      for (let nth = 0; nth <= round; nth += 1) {
        const lease = await store.acquireLease('c', 'me', 60_000)
        expect(generations).not.toContain(lease?.generation)
        generations.add(lease?.generation ?? 0)
        if (old !== null) {
          await expect(store.append('c', [pause('p')], { lease: old })).rejects.toMatchObject({
            code: 'lease_lost',
          })
        }
        if (lease !== null && nth < round) await store.releaseLease(lease)
        old = lease
      }
      await store.deleteConversation('c')
    }
    expect(generations.size).toBe(15)
  },
)
