/** Generates actions of writers and readers during streaming. */

import * as fc from 'fast-check'

/** Numbers choose among the existing processes and readers. */
export type Command =
  | { readonly type: 'say'; readonly content: string; readonly reasoning: string }
  | { readonly type: 'end' | 'note' | 'resume' | 'interrupt' | 'crash' | 'stall' }
  | { readonly type: 'tick' | 'learn' | 'join' | 'leave' | 'read'; readonly pick: number }

const deltaText = fc.oneof(
  fc.constant(''),
  fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom('a', 'b', ' ', 'é', '😀', '\ud800') }),
)
const picked = (type: 'tick' | 'learn' | 'join' | 'leave' | 'read') =>
  fc.record({ type: fc.constant(type), pick: fc.nat(99) })
const command = (): fc.Arbitrary<Command> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ type: fc.constant('say' as const), content: deltaText, reasoning: deltaText }),
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

export const streamCommands: fc.Arbitrary<readonly Command[]> = fc.array(command(), {
  minLength: 20,
  maxLength: 120,
  size: 'max',
})
