import * as fc from 'fast-check'
import type { Action, Content, ThinkingBlock } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { BODIES, signedThinking } from './event.ts'
import { plainContent } from './content.ts'
import { always, shape, weighed } from './shape.ts'
import { words } from './text.ts'

/** `action` is null if the arguments are invalid. */
interface PlannedCall {
  readonly tool: string
  readonly action: Action | null
  readonly arguments: string
}

const plannedCall = (): fc.Arbitrary<PlannedCall> =>
  fc.constantFrom<PlannedCall>(
    { tool: 'terminal', action: { kind: 'TerminalAction', command: 'ls' }, arguments: '{"command":"ls"}' },
    { tool: 'think', action: { kind: 'ThinkAction', thought: 'hm' }, arguments: '{"thought":"hm"}' },
    { tool: 'mine', action: { kind: 'ClientAction_mine', depth: 2 }, arguments: '{"depth":2}' },
    { tool: 'nope', action: null, arguments: '{"depth":' },
  )

export type AnswerForm = 'result' | 'working' | 'failure' | 'rejected' | 'blocked' | 'error'

const form = (): fc.Arbitrary<AnswerForm> =>
  fc.constantFrom('result', 'result', 'result', 'working', 'failure', 'rejected', 'blocked', 'error')

const oneIn = (count: number): fc.Arbitrary<boolean> => fc.nat(count - 1).map((n) => n === 0)

const meanwhile = () =>
  weighed([4, always(null)], [1, shape({ content: plainContent(), position: fc.nat(1) })])

const of = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })

/** Fields and weight of each command. A command that does not fit the state is skipped. */
const COMMANDS = {
  say: of(
    72,
    shape({
      content: plainContent(),
      skills: weighed<readonly string[]>([4, always([])], [1, always(['git'])]),
      late: oneIn(5),
    }),
  ),
  respond: of(
    90,
    shape({
      calls: fc.array(plannedCall(), { minLength: 1, maxLength: 3 }),
      text: fc.option(words()),
      thinking: weighed<readonly ThinkingBlock[]>(
        [2, always([])],
        [1, fc.array(signedThinking, { minLength: 1, maxLength: 2 })],
      ),
      confirm: oneIn(4),
      searches: oneIn(5),
      meanwhile: meanwhile(),
    }),
  ),
  result: of(
    108,
    shape({
      n: fc.nat(2),
      form: form(),
      content: weighed<readonly Content[]>([6, plainContent()], [1, always([])]),
    }),
  ),
  settle: of(54, shape({ form: form(), content: plainContent() })),
  reply: of(
    27,
    shape({
      content: plainContent(),
      meanwhile: meanwhile(),
      /** Whether a search pauses the reply, and whether the reply then continues. */
      pauses: fc.constantFrom('no', 'no', 'yes', 'and_goes_on', 'and_goes_on'),
    }),
  ),
  finish: of(16, always({})),
  approve: of(24, always({})),
  pause: of(8, always({})),
  interrupt: of(8, always({})),
  resume: of(8, always({})),
  error: of(8, always({})),
  report: of(18, shape({ n: fc.nat(3) })),
  complete: of(36, shape({ n: fc.nat(3), content: plainContent() })),
  condense: of(
    27,
    shape({ from: fc.nat(20), to: fc.nat(20), summary: fc.option(words()), requested: fc.boolean() }),
  ),
  go: of(27, shape({ back: fc.option(fc.nat(30), { freq: 6 }) })),
  aside: of(
    9,
    shape<{ readonly event: Event }>({
      event: fc.oneof(
        BODIES.TokenEvent,
        BODIES.LLMCompletionLogEvent,
        BODIES.ACPToolCallEvent,
        BODIES.ServerErrorEvent,
        BODIES.HookExecutionEvent,
      ),
    }),
  ),
}

type FieldsOf<A> = A extends { readonly arbitrary: fc.Arbitrary<infer Fields> } ? Fields : never

type CommandOf<K extends keyof typeof COMMANDS> = { readonly do: K } & FieldsOf<(typeof COMMANDS)[K]>

export type Command = { [K in keyof typeof COMMANDS]: CommandOf<K> }[keyof typeof COMMANDS]

const command = (): fc.Arbitrary<Command> =>
  fc.oneof(
    ...Object.entries(COMMANDS).map(([name, { weight, arbitrary }]) => ({
      weight,
      arbitrary: (arbitrary as fc.Arbitrary<object>).map((fields) => ({ do: name, ...fields }) as Command),
    })),
  )

export interface LegalPlan {
  /** Whether every event names its parent, as in logs of live servers. If not, no event names a parent. */
  readonly stamped: boolean
  readonly reusedCallIds: boolean
  readonly recorded: boolean
  readonly commands: readonly Command[]
}

/** Minimum and maximum number of commands that write a legal log. Each command appends a few events. */
export interface LegalLength {
  readonly minCommands?: number
  readonly maxCommands?: number
}

export function legalPlan({ minCommands = 0, maxCommands }: LegalLength = {}): fc.Arbitrary<LegalPlan> {
  const commands = (maxLength: number) =>
    fc.array(command(), { minLength: minCommands, maxLength, size: 'max' })
  return shape<LegalPlan>({
    stamped: fc.boolean(),
    reusedCallIds: fc.boolean(),
    recorded: fc.nat(2).map((n) => n > 0),
    commands:
      maxCommands === undefined ? weighed([9, commands(45)], [1, commands(90)]) : commands(maxCommands),
  })
}
