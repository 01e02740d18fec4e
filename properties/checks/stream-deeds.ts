/** What may happen while a reply is streamed: deeds of who makes it, of who reads it, and of time. */

import * as fc from 'fast-check'

/** What may happen. Numbers choose among what there is. */
export type Deed =
  | { readonly type: 'say'; readonly content: string; readonly reasoning: string }
  | { readonly type: 'end' | 'note' | 'resume' | 'interrupt' | 'crash' | 'stall' }
  | { readonly type: 'tick' | 'learn' | 'join' | 'leave' | 'read'; readonly pick: number }

const words = fc.oneof(
  fc.constant(''),
  fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom('a', 'b', ' ', 'é', '😀', '\ud800') }),
)
const picked = (type: 'tick' | 'learn' | 'join' | 'leave' | 'read') =>
  fc.record({ type: fc.constant(type), pick: fc.nat(99) })
/** Any of them. */
const deed = (): fc.Arbitrary<Deed> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ type: fc.constant('say' as const), content: words, reasoning: words }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('end' as const, 'note' as const) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('resume' as const, 'interrupt' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constantFrom('crash' as const, 'crash' as const, 'crash' as const, 'stall' as const),
      }),
    },
    { weight: 14, arbitrary: picked('tick') },
    { weight: 3, arbitrary: picked('learn') },
    { weight: 3, arbitrary: picked('join') },
    { weight: 1, arbitrary: picked('leave') },
    { weight: 9, arbitrary: picked('read') },
  )

/** Many of them. */
export const streamDeeds: fc.Arbitrary<readonly Deed[]> = fc.array(deed(), {
  minLength: 20,
  maxLength: 120,
  size: 'max',
})
