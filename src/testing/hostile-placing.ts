/** Arbitrary places: references to other facts, and the id, parent and time that a fact comes with. */

import * as fc from 'fast-check'
import type { Placing, Ref } from './hostile-steps.ts'
import { shape } from './shape.ts'
import { always, weighed } from './weighed.ts'

const near = (): fc.Arbitrary<number> => weighed([4, fc.nat(2)], [2, fc.nat(6)], [1, fc.nat(40)])
/** A fact not far back, mostly. */
export const back = (): fc.Arbitrary<Ref> => near().map((n) => ({ to: 'back', n }))
/** The summary that such a fact has, or would have were it a condensation. */
export const summaryBack = (): fc.Arbitrary<Ref> => near().map((n) => ({ to: 'back', n, summary: true }))
/** One of these texts, whether a fact has it for an id or not. */
export const text = (...texts: readonly string[]): fc.Arbitrary<Ref> =>
  fc.constantFrom(...texts).map((each) => ({ to: 'text', text: each }))

const id = (): fc.Arbitrary<Placing['id']> =>
  weighed<Placing['id']>(
    [60, always({ as: 'fresh' })],
    [2, always({ as: 'absent' })],
    [1, back().map((ref) => ({ as: 'ref', ref }))],
    [1, summaryBack().map((ref) => ({ as: 'ref', ref }))],
    [1, text('__proto__', 'e1', 'e2-summary', 'é 😀').map((ref) => ({ as: 'ref', ref }))],
  )

const parent = (): fc.Arbitrary<Placing['parent']> =>
  weighed<Placing['parent']>(
    [50, always({ as: 'absent' })],
    [4, back().map((ref) => ({ as: 'ref', ref }))],
    [2, fc.constantFrom('null', 'root', 'self', 'later').map((as) => ({ as }))],
    [1, weighed([1, text('', 'unknown', 'toString')], [1, summaryBack()]).map((ref) => ({ as: 'ref', ref }))],
  )

/** Nearly always a new id, no parent and the next second; now and then something that collides. */
export const placing = (): fc.Arbitrary<Placing> =>
  shape({
    id: id(),
    parent: parent(),
    time: weighed<Placing['time']>(
      [30, always('next')],
      [3, fc.constantFrom('absent', 'same', 'earlier', 'unreadable')],
    ),
  })
