/** The time of `findings` is nearly linear in the length of the log, for any mix of results and branches. */

import { expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { findings } from '../../src/explain/findings.ts'
import { action, agent, condensation, fail, moveHead, observe, user } from '../build.ts'
import { costOf } from '../growth.ts'

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, i) => make(i))

const calls = (n: number) => list(n, (i) => action(`a${i}`, { response: 'r' }))

const SHAPES: Readonly<Record<string, (n: number) => Event[]>> = {
  'second results of one call': (n) => {
    const one = action('a')
    return [one, ...list(n, (i) => observe(`o${i}`, one))]
  },
  'second results after all first ones': (n) => {
    const all = calls(n)
    return [
      ...all,
      ...all.map((each) => observe(`o-${each.id}`, each)),
      ...all.map((each) => fail(`d-${each.id}`, each)),
    ]
  },
  'second errors without call ids': (n) => {
    const all = calls(n)
    return [
      ...all,
      ...all.map((each) => fail(`e-${each.id}`, each)),
      ...all.map((each) => fail(`d-${each.id}`, each)),
    ]
  },
  'results of forgotten calls': (n) => {
    const all = list(n, (i) => action(`a${i}`))
    const ids = all.map(({ id }) => id ?? '')
    return [...all, condensation('c', ids), ...all.map((each) => observe(`o-${each.id}`, each))]
  },
  'sibling replies': (n) => [user('u'), ...list(n, (i) => agent(`m${i}`, 'so', { parent_id: 'u' }))],
  'replies that moves of HEAD abandoned': (n) => [
    user('u'),
    ...list(n, (i) => [agent(`m${i}`, 'so'), moveHead(`h${i}`, 'u')]).flat(),
  ],
}

const measure = (log: readonly Event[]): number => costOf(() => findings(log, { secrets: false }))

it.each(Object.entries(SHAPES))('the time of findings is nearly linear for %s', (_, make) => {
  const [short, long] = [make(500), make(4_000)]
  // The first run compiles; the minimum has the fewest pauses of the collector.
  const before = Math.min(measure(short), measure(short), measure(short))
  // Linear work grows by 8, quadratic work by 64.
  const bound = 24 * Math.max(before, 25)
  const first = measure(long)
  expect(first < bound ? first : Math.min(measure(long), measure(long))).toBeLessThan(bound)
})
