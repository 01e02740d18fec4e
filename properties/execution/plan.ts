/** Generates plans: what users, models, tools and machines do. */

import * as fc from 'fast-check'
import type { EarlyEnd } from '../../src/event/reply.ts'
import { type Part, type WireGrammar, WIRES } from '../wire/reply.ts'
import { type Command, deaths, habit, user } from './commands.ts'

/** No tool is named `odd`, so its action cannot be decoded. */
export type Tool = 'safe' | 'risky' | 'finish' | 'odd'

/** `thoughts` precede the text or calls. `end` is the early end in the record, and `isReported` whether the step reports it. */
export type Reply =
  | {
      readonly say: 'text'
      readonly pieces: number
      readonly thoughts: readonly Part[]
      readonly end: Exclude<EarlyEnd, 'broken_off' | 'failed'> | null
      readonly isReported: boolean
    }
  /** `split` yields calls separately; `two` divides them between two LLM responses. */
  | {
      readonly say: 'calls'
      readonly tools: readonly Tool[]
      readonly split: boolean
      readonly two: boolean
      readonly thoughts: readonly Part[]
      readonly end: Exclude<EarlyEnd, 'broken_off' | 'failed'> | null
      readonly isReported: boolean
    }
  /** `lingers` never ends after its reply. `wordless` is an empty message. */
  | { readonly say: 'nothing' | 'wordless' | 'failed' | 'broken_off' | 'error' | 'silence' | 'lingers' }

export type Outcome = 'results' | 'nothing' | 'error' | 'and_reply' | 'silence'

/** `denials` counts denied ends of the run. */
export interface HookPlan {
  readonly blocksPrompts: boolean
  readonly blocksRisky: boolean
  readonly denials: number
}

export interface Plan {
  readonly grammar: WireGrammar
  readonly replies: readonly Reply[]
  readonly outcomes: readonly Outcome[]
  readonly users: readonly (readonly Command[])[]
  /** Index of the initial policy. */
  readonly policy: number
  readonly cautious: boolean
  readonly hooks: HookPlan | null
  readonly redacts: boolean
  readonly maxIterations: number
  /** Whether a built-in step is used; `safe` is then repeatable. */
  readonly builtIn: boolean
}

const thoughts = fc.array(fc.constantFrom<Part>('think', 'think', 'redacted', 'say', 'blank'), {
  maxLength: 3,
})

const end = {
  end: fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.constant('paused' as const) },
    { weight: 3, arbitrary: fc.constant('truncated' as const) },
    { weight: 1, arbitrary: fc.constantFrom('refused' as const, 'filtered' as const) },
  ),
  isReported: fc.boolean(),
}

const reply = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      say: fc.constant('text' as const),
      pieces: fc.integer({ min: 1, max: 2 }),
      thoughts,
      ...end,
    }),
  },
  {
    weight: 13,
    arbitrary: fc.record({
      say: fc.constant('calls' as const),
      tools: fc.array(
        fc.oneof(
          { weight: 5, arbitrary: fc.constantFrom('safe' as const, 'risky' as const) },
          { weight: 2, arbitrary: fc.constant('finish' as const) },
          { weight: 1, arbitrary: fc.constant('odd' as const) },
        ),
        { minLength: 1, maxLength: 3 },
      ),
      split: fc.boolean(),
      two: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
      thoughts,
      ...end,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      say: fc.constantFrom(
        'nothing' as const,
        'wordless' as const,
        'failed' as const,
        'broken_off' as const,
        'error' as const,
        'silence' as const,
        'lingers' as const,
      ),
    }),
  },
)

const wordless = fc.record({ say: fc.constantFrom('nothing' as const, 'wordless' as const) })

const outcome = fc.oneof(
  { weight: 5, arbitrary: fc.constant('results' as const) },
  { weight: 4, arbitrary: fc.constant('nothing' as const) },
  { weight: 3, arbitrary: fc.constantFrom('error' as const, 'and_reply' as const, 'silence' as const) },
)

export const plan: fc.Arbitrary<Plan> = fc.record({
  grammar: fc.constantFrom(...(Object.keys(WIRES) as WireGrammar[])),
  replies: fc.oneof(
    { weight: 7, arbitrary: fc.array(reply, { minLength: 2, maxLength: 8, size: 'max' }) },
    { weight: 1, arbitrary: fc.array(wordless, { minLength: 3, maxLength: 4 }) },
  ),
  outcomes: fc.array(outcome, { maxLength: 6, size: 'max' }),
  users: fc.oneof(
    // A sequence without interference.
    { weight: 1, arbitrary: habit.map((alone) => [alone]) },
    { weight: 3, arbitrary: fc.array(user, { minLength: 1, maxLength: 3, size: 'max' }) },
  ),
  policy: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3),
  cautious: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  hooks: fc.option(
    fc.record({
      blocksPrompts: fc.boolean(),
      blocksRisky: fc.constantFrom(true, true, false),
      denials: fc.nat(1),
    }),
    { freq: 2 },
  ),
  redacts: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  maxIterations: fc.constantFrom(2, 500),
  builtIn: fc.constant(false),
})

/** In one of four, a message is too long for the model. */
export const builtInPlan: fc.Arbitrary<Plan> = fc
  .tuple(plan, fc.option(deaths, { freq: 2 }), fc.nat(3))
  .map(([one, dies, fate]) => ({
    ...one,
    builtIn: true,
    replies:
      fate === 0 ? [...one.replies.slice(0, 1), { say: 'error' }, ...one.replies.slice(1)] : one.replies,
    users: dies === null ? one.users : [...one.users, dies],
  }))
