/** Short ways to choose among arbitraries by weight. */

import * as fc from 'fast-check'

/** One of the arbitraries, each as often as its weight says. */
export const weighed = <T>(...parts: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })))

/** This value and no other. */
export const always = <const T>(value: T): fc.Arbitrary<T> => fc.constant(value)
