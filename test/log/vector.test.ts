/** Compares many versions of the persistent vector with plain arrays. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lazyVector, Vector, vectorOf } from '../../src/log/vector.ts'
import { work } from '../../src/log/work.ts'

interface Version {
  readonly vector: Vector<number>
  readonly model: readonly number[]
}

type Step =
  | { readonly do: 'push'; readonly on: number; readonly many: number }
  | { readonly do: 'prefix'; readonly on: number; readonly index: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('push' as const), on: fc.nat(), many: fc.oneof(fc.nat(3), fc.nat(1_100)) }),
  fc.record({ do: fc.constant('prefix' as const), on: fc.nat(), index: fc.nat() }),
)

let serial = 0

/** A vector that loads its leaves on demand. Leaves are cached and frozen. */
function lazyVersion(length: number): Version {
  const model = Array.from({ length }, (_, index) => -index)
  const leaves = new Map<number, readonly number[]>()
  const vector = lazyVector(length, (start) => {
    expect(start % 32).toBe(0)
    const leaf = leaves.get(start) ?? Object.freeze(model.slice(start, start + 32))
    leaves.set(start, leaf)
    return leaf
  })
  return { vector, model }
}

function apply({ vector, model }: Version, step: Step): Version {
  if (step.do === 'push') {
    let next = vector
    const copy = [...model]
    for (let index = 0; index < step.many; index += 1) {
      serial += 1
      next = next.push(serial)
      copy.push(serial)
    }
    return { vector: next, model: copy }
  }
  const position = model.length === 0 ? 0 : step.index % (model.length + 1)
  return { vector: vector.prefix(position), model: model.slice(0, position) }
}

describe('a persistent vector', () => {
  it('keeps every version unchanged after pushes and prefixes of others', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.nat(2_200), (steps, first) => {
        const versions: Version[] = [{ vector: Vector.empty(), model: [] }, lazyVersion(first)]
        for (const one of steps) versions.push(apply(versions[one.on % versions.length] as Version, one))
        for (const { vector, model } of versions) {
          expect(vector.length).toBe(model.length)
          expect([...vector]).toEqual(model)
          expect(vector.slice()).toEqual(model)
          expect(vector.last()).toBe(model.at(-1))
          const tail = vector.tail()
          expect(tail).toEqual(model.slice(model.length - tail.length))
          for (const index of [0, 31, 32, model.length - 1]) {
            expect(vector.get(index)).toBe(index < 0 ? undefined : model[index])
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('returns the same slices as an array', () => {
    const vector = vectorOf(Array.from({ length: 2_000 }, (_, index) => index))
    for (const [from, to] of [
      [0, 0],
      [0, 32],
      [31, 33],
      [1_990, 2_500],
      [500, 400],
    ] as const) {
      expect(vector.slice(from, to)).toEqual([...vector].slice(from, to))
    }
  })

  it('copies fewer than 5 slots per push at any length', () => {
    let vector = Vector.empty<number>()
    const costs: number[] = []
    for (const length of [1_000, 200_000]) {
      while (vector.length < length) vector = vector.push(0)
      const before = work.slots
      for (let index = 0; index < 1_024; index += 1) vector = vector.push(0)
      costs.push((work.slots - before) / 1_024)
    }
    expect(costs[1]).toBeLessThan((costs[0] ?? 0) * 2)
    expect(costs[1]).toBeLessThan(5)
  })

  it('loads only its last leaf before another one is read', () => {
    const loaded: number[] = []
    const vector = lazyVector(100_001, (start) => {
      loaded.push(start)
      return Array.from({ length: Math.min(32, 100_001 - start) }, (_, index) => start + index)
    })
    expect(loaded).toEqual([100_000])
    expect(vector.push(7).get(100_001)).toBe(7)
    expect(vector.get(70)).toBe(70)
    expect(loaded).toEqual([100_000, 64])
  })
})
