/** The memory store and `replay` assign malformed events the same ids, parents, times and HEAD (design D7, D8, D15). */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import { parseInstant } from '../../src/event/time.ts'
import { pathToEntry } from '../../src/log/entry.ts'
import { findEventIn } from '../../src/log/log.ts'
import { replay } from '../../src/state/reduce.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'

const storable = (facts: readonly Fact[]): readonly Fact[] =>
  facts.filter((fact) => isQuarantined(fact) || fact.kind !== 'StreamingDeltaEvent')

const comparable = ({ seq, id, parentId, inTree, time }: StoredEvent) => ({ seq, id, parentId, inTree, time })

/** The entries, log and HEAD that `replay` makes of the same facts. */
function replayed(facts: readonly Fact[]) {
  const state = replay(facts, { conversationId: 'c' })
  const entries = [...state.log.entries].map(({ seq, id, parent, inTree, timestamp }) => ({
    seq,
    id,
    parentId: parent?.id ?? null,
    inTree,
    time: timestamp === null ? '0' : String(parseInstant(timestamp)),
  }))
  return { log: state.log, entries, headId: state.log.head?.id ?? null }
}

describe('import into the memory store', () => {
  it('builds the same log as replay in batches of any size, and is idempotent', async () => {
    let branched = 0
    let runs = 0
    await fc.assert(
      fc.asyncProperty(
        hostileLog(),
        fc.infiniteStream(fc.integer({ min: 1, max: 12 })),
        async (log, sizes) => {
          const facts = storable(log)
          const expected = replayed(facts)
          const store = memoryStore()
          await store.createConversation({ id: 'c' })
          for (let index = 0; index < facts.length;) {
            const size = sizes.next().value as number
            const batch = facts.slice(index, index + size)
            const done = await store.append('c', batch, { mode: 'import', expected: index })
            expect(done.headId).toBe(replayed(facts.slice(0, index + size)).headId)
            expect(done.events.map(({ fact }) => fact)).toEqual(batch)
            index += size
          }
          const stored = await store.read('c')
          expect(stored.map(comparable)).toEqual(expected.entries)
          const again = await store.append('c', facts, { mode: 'import', expected: 'none' })
          expect(again).toEqual({ events: stored, version: facts.length, headId: expected.headId })
          const half = await store.append('c', facts.slice(3), {
            mode: 'import',
            expected: Math.min(3, facts.length),
          })
          expect(half.version).toBe(facts.length)

          for (const { id, inTree } of stored.filter((_, i) => i % 5 === 0)) {
            if (id === null || !inTree) continue
            const result = await allItems((cursor) =>
              store.search({ conversationId: 'c', leafId: id, limit: 7, ...(cursor !== null && { cursor }) }),
            )
            const path = pathToEntry(findEventIn(expected.log, id) ?? null).filter(
              ({ event }) => event !== null,
            )
            expect(result.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual(path.map(({ seq }) => seq))
            if (path.length + 1 < stored.length) branched += 1
          }
          runs += 1
        },
      ),
      { numRuns: 120 },
    )
    expect(branched).toBeGreaterThan(runs / 20)
  })
})

async function allItems(
  page: (
    cursor: string | null,
  ) => Promise<{ readonly items: readonly StoredEvent[]; readonly cursor: string | null }>,
): Promise<StoredEvent[]> {
  const all: StoredEvent[] = []
  let cursor: string | null = null
  do {
    const { items, cursor: next } = await page(cursor)
    all.push(...items)
    cursor = next
  } while (cursor !== null)
  return all
}
