/** What users, models, tools and machines do while a conversation runs: arbitrary plans come out, to be played in any order of events. */

import * as fc from 'fast-check'
import type { EarlyEnd } from '../../src/event/reply.ts'
import { type Part, type WireGrammar, WIRES } from '../wire/reply.ts'

/** A tool that a model calls. `odd` is one that nobody has: its action cannot be read. */
export type Tool = 'safe' | 'risky' | 'finish' | 'odd'

/**
 * What a model replies when it is asked; `thoughts` stand before its last word, or before its calls. `end`: what ends it early, as its record
 * says, and `told` whether the step says so too.
 */
export type Reply =
  | {
      readonly say: 'text'
      readonly pieces: number
      readonly thoughts: readonly Part[]
      readonly end: EarlyEnd | null
      readonly told: boolean
    }
  /** `split`: each call is yielded by itself. `two`: the calls belong to two LLM responses. */
  | {
      readonly say: 'calls'
      readonly tools: readonly Tool[]
      readonly split: boolean
      readonly two: boolean
      readonly thoughts: readonly Part[]
      readonly end: EarlyEnd | null
      readonly told: boolean
    }
  /** `lingers`: a last word, and then nothing ever ends. `wordless`: a message without a word. */
  | { readonly say: 'nothing' | 'wordless' | 'failed' | 'broken_off' | 'error' | 'silence' | 'lingers' }

/** What becomes of calls that are executed: each has a result, none has, an error is thrown, a reply is given too, or nothing ever ends. */
export type Outcome = 'results' | 'nothing' | 'error' | 'and_reply' | 'silence'

/** One thing that a user, or bad luck, does to a conversation, by way of one of two engines. */
export interface Command {
  readonly do:
    | 'send'
    /** A message of the environment, and one of a user that says nothing. */
    | 'note'
    | 'blank'
    /** Another system prompt. */
    | 'prompt'
    /** A condensation of all that the view holds before the last message of a user. */
    | 'condense'
    /** HEAD moves back to a message. */
    | 'back'
    /** A fork of the conversation, all of it or up to an event. */
    | 'fork'
    | 'pause'
    | 'interrupt'
    | 'resume'
    | 'approve'
    | 'reject'
    | 'policy'
    | 'run'
    /** A message, and then a run. */
    | 'turn'
    | 'recover'
    /** All leases run out. */
    | 'expire'
    /** All leases run out, and the engine runs it. */
    | 'take_over'
    /** The engine's process dies, and another takes its place. */
    | 'crash'
    /** The heartbeats of the engine's runs. */
    | 'beat'
    /** The signals that were given to the engine's runs. */
    | 'abort'
  readonly on: number
  readonly n: number
  readonly when: Cue
}

/**
 * What a user waits for before a command: nothing, a step that asks or executes, a hook before a call or at the end, a lease that was taken
 * or given back, the end of a run, or that nothing happens any more.
 */
export type Cue =
  | 'now'
  | 'asking'
  | 'executing'
  | 'guarding'
  | 'leased'
  | 'ending'
  | 'released'
  | 'ended'
  | 'quiet'

/** The hooks of a run: which messages and tools they block, and how often they deny the end. */
export interface HookPlan {
  readonly blocksPrompts: boolean
  readonly blocksRisky: boolean
  readonly denials: number
}

export interface Plan {
  /** The grammar in which the model is asked. */
  readonly grammar: WireGrammar
  readonly replies: readonly Reply[]
  readonly outcomes: readonly Outcome[]
  /** What several users do, each one after the other. */
  readonly users: readonly (readonly Command[])[]
  /** The policy that the conversation begins with. */
  readonly policy: number
  /** Whether the runs themselves want consent for risky calls. */
  readonly cautious: boolean
  readonly hooks: HookPlan | null
  /** Whether the store takes secrets out of what agents say. */
  readonly redacts: boolean
  readonly maxIterations: number
  /** Whether the model is asked, and the tools are executed, by a ready step; `safe` is then a tool that may be repeated. */
  readonly ready: boolean
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
  told: fc.boolean(),
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

/** Replies in which nothing is said, one after the other. */
const wordless = fc.record({ say: fc.constantFrom('nothing' as const, 'wordless' as const) })

const outcome = fc.oneof(
  { weight: 5, arbitrary: fc.constant('results' as const) },
  { weight: 4, arbitrary: fc.constant('nothing' as const) },
  { weight: 3, arbitrary: fc.constantFrom('error' as const, 'and_reply' as const, 'silence' as const) },
)

const command = fc.record<Command>({
  do: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('run' as const, 'turn' as const) },
    {
      weight: 5,
      arbitrary: fc.constantFrom('pause' as const, 'approve' as const, 'send' as const, 'crash' as const),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        'resume' as const,
        'interrupt' as const,
        'take_over' as const,
        'abort' as const,
      ),
    },
    { weight: 4, arbitrary: fc.constantFrom('reject' as const, 'policy' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom('note' as const, 'blank' as const, 'prompt' as const, 'condense' as const),
    },
    { weight: 1, arbitrary: fc.constantFrom('expire' as const, 'recover' as const, 'beat' as const) },
    { weight: 2, arbitrary: fc.constantFrom('back' as const, 'fork' as const) },
  ),
  on: fc.integer({ min: 0, max: 1 }),
  n: fc.nat(7),
  when: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('now' as const, 'ended' as const) },
    { weight: 3, arbitrary: fc.constantFrom('asking' as const, 'executing' as const) },
    { weight: 4, arbitrary: fc.constant('quiet' as const) },
  ),
})

const chain = (...wishes: readonly (readonly [Command['do'], Cue])[]): fc.Arbitrary<Command[]> =>
  fc.tuple(fc.nat(1), fc.nat(1), fc.nat(7)).map(([on, other, n]) =>
    // What goes on after a death, or a pause of another process, may well go on elsewhere.
    wishes.map(([wish, when], at) => ({ do: wish, when, n, on: at === 0 ? on : other })),
  )

/** What users do in a row, and chance would hardly ever bring about. */
const habit = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.oneof(
      chain(['pause', 'asking'], ['resume', 'quiet'], ['run', 'now']),
      chain(['turn', 'quiet'], ['pause', 'asking'], ['resume', 'quiet'], ['run', 'now']),
      chain(['turn', 'quiet'], ['pause', 'asking'], ['run', 'quiet']),
      chain(['send', 'asking'], ['condense', 'now']),
      chain(['turn', 'quiet'], ['send', 'asking'], ['condense', 'now']),
      chain(
        ['turn', 'quiet'],
        ['send', 'asking'],
        ['condense', 'asking'],
        ['send', 'asking'],
        ['condense', 'now'],
      ),
      chain(['crash', 'asking'], ['expire', 'now'], ['recover', 'now'], ['turn', 'quiet']),
      chain(['turn', 'quiet'], ['crash', 'asking'], ['take_over', 'now'], ['reject', 'executing']),
      chain(['crash', 'executing'], ['expire', 'now'], ['recover', 'now'], ['turn', 'quiet']),
      chain(['turn', 'quiet'], ['crash', 'executing'], ['expire', 'now'], ['recover', 'now']),
      chain(['approve', 'executing'], ['turn', 'quiet'], ['abort', 'executing']),
      chain(['turn', 'quiet'], ['approve', 'executing']),
      chain(['approve', 'executing'], ['approve', 'executing'], ['turn', 'quiet']),
      chain(['pause', 'asking'], ['resume', 'quiet'], ['turn', 'quiet'], ['abort', 'asking']),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.oneof(
      chain(['pause', 'executing'], ['resume', 'executing'], ['run', 'now']),
      chain(['pause', 'asking'], ['resume', 'now'], ['run', 'ended']),
      chain(['interrupt', 'asking'], ['turn', 'quiet']),
      chain(['interrupt', 'executing'], ['turn', 'quiet'], ['interrupt', 'executing']),
      chain(['abort', 'asking'], ['turn', 'quiet']),
      chain(['abort', 'executing'], ['turn', 'quiet']),
      chain(['approve', 'quiet'], ['run', 'now'], ['crash', 'executing']),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.oneof(
      chain(['turn', 'quiet'], ['pause', 'now']),
      chain(['turn', 'ended'], ['pause', 'now']),
      chain(['turn', 'quiet'], ['send', 'asking']),
      chain(['back', 'quiet'], ['turn', 'now'], ['fork', 'quiet']),
      chain(['send', 'asking'], ['policy', 'asking']),
      chain(['turn', 'quiet'], ['note', 'asking'], ['note', 'asking']),
      chain(['blank', 'asking'], ['prompt', 'asking']),
      chain(['turn', 'quiet'], ['prompt', 'asking'], ['blank', 'asking']),
      chain(['turn', 'quiet'], ['send', 'asking'], ['condense', 'now'], ['interrupt', 'asking']),
      chain(['reject', 'quiet'], ['turn', 'now']),
      chain(['crash', 'executing'], ['take_over', 'now']),
      chain(['take_over', 'executing'], ['turn', 'quiet']),
      chain(
        ['crash', 'executing'],
        ['take_over', 'now'],
        ['pause', 'leased'],
        ['resume', 'quiet'],
        ['run', 'now'],
      ),
      chain(['expire', 'executing'], ['beat', 'now']),
    ),
  },
  // What meets a moment that only a hook, or the end of a run, brings about.
  {
    weight: 1,
    arbitrary: fc.oneof(
      chain(['policy', 'guarding'], ['approve', 'quiet']),
      chain(['turn', 'quiet'], ['policy', 'guarding'], ['approve', 'quiet']),
      chain(['turn', 'released']),
      chain(['turn', 'ending']),
    ),
  },
)

const user = fc
  .array(fc.oneof({ weight: 4, arbitrary: habit }, { weight: 3, arbitrary: command.map((one) => [one]) }), {
    minLength: 1,
    maxLength: 6,
    size: 'max',
  })
  .map((parts) => parts.flat())

/** Any plan. */
export const plan: fc.Arbitrary<Plan> = fc.record({
  grammar: fc.constantFrom(...(Object.keys(WIRES) as WireGrammar[])),
  replies: fc.oneof(
    { weight: 7, arbitrary: fc.array(reply, { minLength: 2, maxLength: 8, size: 'max' }) },
    { weight: 1, arbitrary: fc.array(wordless, { minLength: 3, maxLength: 4 }) },
  ),
  outcomes: fc.array(outcome, { maxLength: 6, size: 'max' }),
  users: fc.oneof(
    // One habit by itself, where nothing else gets in its way.
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
  ready: fc.constant(false),
})

/** A process dies while tools are executed, and another goes on, once or twice. */
const deaths = fc.oneof(
  chain(['crash', 'executing'], ['take_over', 'now']),
  chain(['crash', 'executing'], ['take_over', 'now'], ['crash', 'executing'], ['take_over', 'now']),
)

/** Any plan, with ready steps; in one of four something that is said is too long for the model. */
export const readyPlan: fc.Arbitrary<Plan> = fc
  .tuple(plan, fc.option(deaths, { freq: 2 }), fc.nat(3))
  .map(([one, dies, fate]) => ({
    ...one,
    ready: true,
    replies:
      fate === 0 ? [...one.replies.slice(0, 1), { say: 'error' }, ...one.replies.slice(1)] : one.replies,
    users: dies === null ? one.users : [...one.users, dies],
  }))
