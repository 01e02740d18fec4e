/** Counts the jumps from a leaf to the root of a long path. */

import { expect, it } from 'vitest'
import type { Entry } from '../../src/log/entry.ts'
import { jumpFrom } from '../../src/log/place.ts'

/** The last entry of a path with `length` entries. */
function endOf(length: number): Entry {
  let parent: Entry | null = null
  for (let depth = 0; depth < length; depth += 1) {
    parent = {
      seq: depth,
      id: String(depth),
      event: null,
      quarantined: null,
      timestamp: null,
      inTree: true,
      canBeHead: true,
      parent,
      depth,
      jump: jumpFrom(parent),
      above: null,
      unit: null,
      warnings: [],
    }
  }
  return parent as unknown as Entry
}

it('fewer than 60 jumps lead from the end to the root of a path of 100,000', () => {
  const leaf = endOf(100_000)
  expect(leaf.depth).toBe(99_999)
  let steps = 0
  for (let index: Entry | null = leaf; index !== null && index.depth > 1; steps += 1) {
    index = index.jump !== null && index.jump.depth >= 1 ? index.jump : index.parent
  }
  expect(steps).toBeLessThan(60)
})
