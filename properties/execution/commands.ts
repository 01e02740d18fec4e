/** Generates commands of users, and failures. */

import * as fc from 'fast-check'

export interface Command {
  readonly do:
    | 'send'
    /** A message from the environment; an empty user message. */
    | 'note'
    | 'blank'
    | 'prompt'
    /** Condenses everything before the last user message. */
    | 'condense'
    | 'back'
    /** Forks all of it or up to an event. */
    | 'fork'
    | 'pause'
    | 'interrupt'
    | 'resume'
    | 'approve'
    | 'reject'
    | 'policy'
    | 'run'
    /** A message, then a run. */
    | 'turn'
    | 'recover'
    /** All leases expire. */
    | 'expire'
    /** All leases expire, and this engine takes over the run. */
    | 'take_over'
    /** The engine's process dies and is replaced. */
    | 'crash'
    /** The engine's runs send heartbeats. */
    | 'beat'
    /** Aborts the signals of the engine's runs. */
    | 'abort'
  readonly on: number
  readonly n: number
  readonly when: Cue
}

/** Moments that a command can wait for. */
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
    // After a crash or another process's pause, the other engine often continues.
    wishes.map(([wish, when], index) => ({ do: wish, when, n, on: index === 0 ? on : other })),
  )

/** Sequences that random commands would hardly ever produce. */
export const habit = fc.oneof(
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
  // Timed to a hook or the end of a run.
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

export const user = fc
  .array(fc.oneof({ weight: 4, arbitrary: habit }, { weight: 3, arbitrary: command.map((one) => [one]) }), {
    minLength: 1,
    maxLength: 6,
    size: 'max',
  })
  .map((parts) => parts.flat())

/** A process dies while tools execute, and another continues. */
export const deaths = fc.oneof(
  chain(['crash', 'executing'], ['take_over', 'now']),
  chain(['crash', 'executing'], ['take_over', 'now'], ['crash', 'executing'], ['take_over', 'now']),
)
