/** Ancestry by jumps against a walk up the parents. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isOnPathIn, jumpFrom, pathToEntry } from '../../src/log/ancestry.ts'
import type { Entry } from '../../src/log/entry.ts'

function tree(parents: readonly number[]): Entry[] {
  const entries: Entry[] = []
  for (const [seq, choice] of parents.entries()) {
    // Mostly the entry before, so that the tree is deep; now and then an earlier one or none.
    const at = choice % 5 === 0 ? choice % (seq + 1) : seq - 1
    const parent = seq === 0 || at === seq ? null : (entries[at] ?? null)
    const depth = parent === null ? 0 : parent.depth + 1
    entries.push({
      seq,
      id: String(seq),
      event: null,
      quarantined: null,
      timestamp: null,
      inTree: true,
      canBeHead: true,
      parent,
      depth,
      jump: jumpFrom(parent),
      above: null,
      warnings: [],
    })
  }
  return entries
}

describe('ancestry', () => {
  it('by jumps says what the path says', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { minLength: 1, maxLength: 120 }), (parents) => {
        const entries = tree(parents)
        for (const entry of entries) {
          const path = pathToEntry(entry)
          expect(path.at(-1)).toBe(entry)
          expect(path[0]?.parent).toBeNull()
          expect(path.map((one) => one.depth)).toEqual(path.map((_, index) => index))
          const onPath = new Set(path)
          for (const other of entries) expect(isOnPathIn(other, entry)).toBe(onPath.has(other))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('of the empty HEAD is empty', () => {
    expect(pathToEntry(null)).toEqual([])
    expect(isOnPathIn(tree([0])[0] as Entry, null)).toBe(false)
  })

  it('takes few steps in a path of 100,000', () => {
    const entries = tree(Array.from({ length: 100_000 }, () => 1))
    const leaf = entries.at(-1) as Entry
    expect(leaf.depth).toBe(99_999)
    let steps = 0
    for (let at: Entry | null = leaf; at !== null && at.depth > 1; steps += 1) {
      at = at.jump !== null && at.jump.depth >= 1 ? at.jump : at.parent
    }
    expect(steps).toBeLessThan(60)
  })
})
