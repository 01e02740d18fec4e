/** The service's own records: as they last were, for everybody who looks, whoever wrote them. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findConversation, otherForms } from '../../src/service/conversation-id.ts'
import { ledger } from '../../src/service/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { STORES } from './client.ts'

interface Thing {
  readonly n: number
}

const change = fc.record({
  by: fc.nat(2),
  id: fc.constantFrom('a', 'b', 'c'),
  n: fc.option(fc.nat(9)),
  look: fc.boolean(),
})

describe.each(Object.keys(STORES))('a ledger over %s', (name) => {
  const open = (): Store => STORES[name]?.() as Store

  it('is what was written last, seen by all alike', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
        const store = open()
        const writers = [0, 1, 2].map(() => ledger<Thing>(store, 'things'))
        const model = new Map<string, Thing>()
        for (const { by, id, n, look } of changes) {
          const writer = writers[by] as (typeof writers)[number]
          if (n === null) expect(await writer.remove(id)).toBe(model.delete(id))
          else {
            await writer.put(id, { n })
            model.set(id, { n })
          }
          if (look) expect(new Map(await writer.all())).toEqual(model)
        }
        for (const writer of [...writers, ledger<Thing>(store, 'things')]) {
          expect([...(await writer.all())]).toEqual([...model])
        }
        await store.close()
      }),
      { numRuns: 40 },
    )
  })

  it('loses nothing of many who write at once, the first time too', async () => {
    const store = open()
    const writers = Array.from({ length: 5 }, () => ledger<Thing>(store, 'things'))
    await Promise.all(
      writers.flatMap((writer, w) => Array.from({ length: 20 }, (_, n) => writer.put(`${w}-${n}`, { n }))),
    )
    const seen = await Promise.all(writers.map(async (writer) => [...(await writer.all()).keys()].toSorted()))
    expect(seen[0]).toHaveLength(100)
    expect(new Set(seen.map((ids) => ids.join())).size).toBe(1)
    await store.close()
  })

  it('is read in more pieces than one, and writes nothing before it must', async () => {
    const store = open()
    expect((await ledger<Thing>(store, 'things').all()).size).toBe(0)
    expect(await store.getConversation('colloquy:things')).toBeNull()
    const writer = ledger<Thing>(store, 'things')
    for (let n = 0; n < 2_050; n += 1) await writer.put(String(n % 7), { n })
    expect([...(await ledger<Thing>(store, 'things').all()).values()].map(({ n }) => n)).toEqual([
      2_044, 2_045, 2_046, 2_047, 2_048, 2_049, 2_043,
    ])
    expect(await findConversation(store, 'colloquy:things')).toBeNull()
    await store.close()
  })
})

describe('the forms of a UUID', () => {
  it('are with and without dashes, in small letters', () => {
    const [plain, dashed] = ['0123456789abcdef0123456789abcdef', '01234567-89ab-cdef-0123-456789abcdef']
    expect(otherForms(plain)).toEqual([dashed])
    expect(otherForms(dashed)).toEqual([plain])
    expect(otherForms(dashed.toUpperCase())).toEqual([plain, dashed])
    for (const other of ['c', '', `${plain}0`, '0123456789abcdef-0123456789abcdef-'])
      expect(otherForms(other)).toEqual([])
  })
})
