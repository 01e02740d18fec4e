/** Commands that a correct agent server carries out, and arbitraries of them. */

import * as fc from 'fast-check'
import type { Action, Content, ThinkingBlock } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { BODIES, signedThinking } from './event.ts'
import { plainContent } from './content.ts'
import { shape } from './shape.ts'
import { words } from './text.ts'

/** A null action cannot be executed. */
interface PlannedCall {
  readonly tool: string
  readonly action: Action | null
  readonly arguments: string
}

export type AnswerForm = 'result' | 'working' | 'failure' | 'rejected' | 'blocked' | 'error'

export interface Meanwhile {
  readonly content: readonly Content[]
  readonly position: number
}

/** A command that does not fit the state is skipped, so any list of commands makes a log. */
export type Command =
  | {
      readonly do: 'say'
      readonly content: readonly Content[]
      readonly skills: readonly string[]
      readonly late: boolean
    }
  | {
      readonly do: 'respond'
      readonly calls: readonly PlannedCall[]
      readonly text: string | null
      readonly thinking: readonly ThinkingBlock[]
      readonly confirm: boolean
      readonly searches: boolean
      readonly meanwhile: Meanwhile | null
    }
  | {
      readonly do: 'result'
      readonly n: number
      readonly form: AnswerForm
      readonly content: readonly Content[]
    }
  | { readonly do: 'report'; readonly n: number }
  | { readonly do: 'complete'; readonly n: number; readonly content: readonly Content[] }
  | { readonly do: 'settle'; readonly form: AnswerForm; readonly content: readonly Content[] }
  | {
      readonly do: 'reply'
      readonly content: readonly Content[]
      readonly meanwhile: Meanwhile | null
      /** Whether it is paused during a search, and resumed at once. */
      readonly pauses: 'no' | 'yes' | 'and_goes_on'
    }
  | { readonly do: 'finish' | 'approve' | 'pause' | 'interrupt' | 'resume' | 'error' }
  | {
      readonly do: 'condense'
      readonly from: number
      readonly to: number
      readonly summary: string | null
      readonly requested: boolean
    }
  | { readonly do: 'go'; readonly back: number | null }
  | { readonly do: 'aside'; readonly event: Event }

export interface LegalPlan {
  /** Whether every event names its parent, as live servers write, or none does, as in logs without a tree. */
  readonly stamped: boolean
  readonly reusedCallIds: boolean
  readonly recorded: boolean
  readonly commands: readonly Command[]
}

const plannedCall = (): fc.Arbitrary<PlannedCall> =>
  fc.constantFrom<PlannedCall>(
    { tool: 'terminal', action: { kind: 'TerminalAction', command: 'ls' }, arguments: '{"command":"ls"}' },
    { tool: 'think', action: { kind: 'ThinkAction', thought: 'hm' }, arguments: '{"thought":"hm"}' },
    { tool: 'mine', action: { kind: 'ClientAction_mine', depth: 2 }, arguments: '{"depth":2}' },
    { tool: 'nope', action: null, arguments: '{"depth":' },
  )

const form = (): fc.Arbitrary<AnswerForm> =>
  fc.constantFrom('result', 'result', 'result', 'working', 'failure', 'rejected', 'blocked', 'error')

const some = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })

const meanwhile = (): fc.Arbitrary<Meanwhile | null> =>
  fc.oneof(
    some(4, fc.constant(null)),
    some(1, shape<Meanwhile>({ content: plainContent(), position: fc.nat(1) })),
  )

type Do<K extends Command['do']> = Extract<Command, { readonly do: K }>

function command(): fc.Arbitrary<Command> {
  const say = shape<Do<'say'>>({
    do: fc.constant('say'),
    content: plainContent(),
    skills: fc.oneof(some(4, fc.constant([])), some(1, fc.constant(['git']))),
    late: fc.nat(4).map((n) => n === 0),
  })
  const respond = shape<Do<'respond'>>({
    do: fc.constant('respond'),
    calls: fc.array(plannedCall(), { minLength: 1, maxLength: 3 }),
    text: fc.option(words()),
    thinking: fc.oneof(
      some(2, fc.constant([])),
      some(1, fc.array(signedThinking(), { minLength: 1, maxLength: 2 })),
    ),
    confirm: fc.nat(3).map((n) => n === 0),
    searches: fc.nat(4).map((n) => n === 0),
    meanwhile: meanwhile(),
  })
  const result = shape<Do<'result'>>({
    do: fc.constant('result'),
    n: fc.nat(2),
    form: form(),
    content: fc.oneof(some(6, plainContent()), some(1, fc.constant([]))),
  })
  const settle = shape<Do<'settle'>>({ do: fc.constant('settle'), form: form(), content: plainContent() })
  const condense = shape<Do<'condense'>>({
    do: fc.constant('condense'),
    from: fc.nat(20),
    to: fc.nat(20),
    summary: fc.option(words()),
    requested: fc.boolean(),
  })
  const simple = fc.constantFrom(
    'finish' as const,
    'finish' as const,
    'approve' as const,
    'approve' as const,
    'approve' as const,
    'pause' as const,
    'interrupt' as const,
    'resume' as const,
    'error' as const,
  )
  const asides = [
    BODIES.TokenEvent(),
    BODIES.LLMCompletionLogEvent(),
    BODIES.ACPToolCallEvent(),
    BODIES.ServerErrorEvent(),
    BODIES.HookExecutionEvent(),
  ]
  return fc.oneof(
    some(8, say),
    some(10, respond),
    some(12, result),
    some(6, settle),
    some(
      3,
      shape<Do<'reply'>>({
        do: fc.constant('reply'),
        content: plainContent(),
        meanwhile: meanwhile(),
        pauses: fc.constantFrom('no', 'no', 'yes', 'and_goes_on', 'and_goes_on'),
      }),
    ),
    some(
      8,
      simple.map((name) => ({ do: name })),
    ),
    some(2, shape<Do<'report'>>({ do: fc.constant('report'), n: fc.nat(3) })),
    some(4, shape<Do<'complete'>>({ do: fc.constant('complete'), n: fc.nat(3), content: plainContent() })),
    some(3, condense),
    some(3, shape<Do<'go'>>({ do: fc.constant('go'), back: fc.option(fc.nat(30), { freq: 6 }) })),
    some(
      1,
      fc.oneof(...asides).map((event): Command => ({ do: 'aside', event })),
    ),
  )
}

/** Minimum and maximum number of commands that write a legal log. Each command appends a few events. */
export interface LegalLength {
  readonly minCommands?: number
  readonly maxCommands?: number
}

/** Mostly up to 45 commands, sometimes up to 90, by default. */
export function legalPlan({ minCommands = 0, maxCommands }: LegalLength = {}): fc.Arbitrary<LegalPlan> {
  const commands = (maxLength: number) =>
    fc.array(command(), { minLength: minCommands, maxLength, size: 'max' })
  return shape<LegalPlan>({
    stamped: fc.boolean(),
    reusedCallIds: fc.boolean(),
    recorded: fc.nat(2).map((n) => n > 0),
    commands:
      maxCommands === undefined
        ? fc.oneof(some(9, commands(45)), some(1, commands(90)))
        : commands(maxCommands),
  })
}
