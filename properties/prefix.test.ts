/** M12, M13, M15, M18: signed parts that depend on earlier messages, with calls that outlive their reply. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { type Command, type Occurrence, PLAIN, playWire, type WorkOccurrence } from './checks/prefix.ts'
import { GRAMMARS } from '../src/messages/grammars.ts'
import { always, COSTLY_RUNS } from './run.ts'
import { Tally } from './tally.ts'
import { type Part, type WireGrammar, WIRES } from './wire/reply.ts'

const part = fc.constantFrom<Part>('think', 'think', 'redacted', 'say', 'blank', 'search', 'call', 'call')

const request: fc.Arbitrary<Command> = fc.record({
  do: fc.constant('request' as const),
  parts: fc.array(part, { minLength: 1, maxLength: 5 }),
  meanwhile: fc.constantFrom(0, 0, 1, 2),
  late: fc.constantFrom(0, 0, 1),
})

const harmless: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: request },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Command>(
      { do: 'user' },
      { do: 'blank' },
      { do: 'environment' },
      { do: 'snapshot' },
      { do: 'reopen' },
      { do: 'model' },
    ),
  },
  { weight: 1, arbitrary: fc.constant<Command>({ do: 'append' }) },
  { weight: 2, arbitrary: fc.nat(4).map((by): Command => ({ do: 'back', by })) },
  { weight: 2, arbitrary: fc.nat(4).map((by): Command => ({ do: 'into', by })) },
)

const onPurpose: fc.Arbitrary<Command> = fc.oneof(
  fc.constantFrom<Command>(
    { do: 'system' },
    { do: 'redact' },
    { do: 'alter' },
    { do: 'clip' },
    { do: 'tools' },
  ),
  fc.nat(6).map((events): Command => ({ do: 'condense', events: events + 1 })),
)

const mask = fc.nat(9).map((stride): Command => ({ do: 'mask', stride }))

const commands = fc.array(
  fc.oneof(
    { weight: 16, arbitrary: harmless },
    { weight: 2, arbitrary: onPurpose },
    { weight: 3, arbitrary: mask },
  ),
  { minLength: 3, maxLength: 14 },
)

const called = (): Command => ({ do: 'request', parts: ['think', 'call'], meanwhile: 0, late: 0 })

/** Half of the conversations have a signed reply after masked results. */
const lead = fc
  .constantFrom(3, 4)
  .map((stride): Command[] => [{ do: 'mask', stride }, called(), called(), called(), called()])

/** In half of them, HEAD ends at a call before the last of its reply. */
const cut = fc
  .record({
    parts: fc.array(part, { maxLength: 3 }),
    calls: fc.integer({ min: 2, max: 3 }),
    by: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ parts, calls, by }): Command[] => [
    {
      do: 'request',
      parts: [...parts, ...Array.from({ length: calls }, () => 'call' as const)],
      meanwhile: 0,
      late: 0,
    },
    { do: 'into', by },
    called(),
  ])

const plans = fc
  .tuple(fc.option(lead, { freq: 2 }), commands, fc.option(cut, { freq: 2 }))
  .map(([first, rest, last]) => [...(first ?? []), ...rest, ...(last ?? [])])

const working: fc.Arbitrary<Command> = fc.record(
  {
    do: fc.constant('request' as const),
    parts: fc.array(part, { maxLength: 2 }).map((parts) => [...parts, 'call', 'call'] as Part[]),
    meanwhile: fc.constantFrom(0, 0, 1),
    late: fc.constantFrom(0, 0, 1),
    works: fc.nat(3),
    isEarly: fc.boolean(),
    completes: fc.nat(8),
  },
  { requiredKeys: ['do', 'parts', 'meanwhile', 'late', 'works'] },
)

const completing: fc.Arbitrary<Command> = fc.record({
  do: fc.constant('complete' as const),
  call: fc.nat(8),
  isDecided: fc.boolean(),
})

/** Parts that a provider accepts in any request: the thoughts first. */
const plain = ({ parts }: Extract<Command, { do: 'request' }>): readonly Part[] => [
  ...parts.filter((part) => part === 'think'),
  ...parts.filter((part) => part !== 'think' && PLAIN.has(part)),
]

/** Many calls work at once, and complete in any order. */
const workPlans = fc
  .tuple(
    fc.array(working, { minLength: 1, maxLength: 3 }),
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: working },
        { weight: 9, arbitrary: completing },
        { weight: 6, arbitrary: harmless },
        { weight: 2, arbitrary: onPurpose },
      ),
      { minLength: 3, maxLength: 14 },
    ),
  )
  .map((commands) =>
    commands
      .flat()
      .map((command) => (command.do === 'request' ? { ...command, parts: plain(command) } : command)),
  )

const WORK = [
  'sent_while_many_work',
  'completed',
  'completed_early',
  'completed_again',
  'completed_while_the_model_replies',
  'completed_on_another_branch',
  'completed_after_a_condensation',
] as const satisfies readonly WorkOccurrence[]

describe('M12, M13, M15 and M18, replies with working calls', () => {
  it.each(GRAMMARS.map(({ name }) => name as WireGrammar))(
    '%s: working calls change no earlier request',
    (grammar) => {
      const tally = new Tally<Occurrence>()
      always(workPlans, (plan) => tally.count(playWire(grammar, plan)), COSTLY_RUNS)
      tally.require(WORK)
    },
  )
})

describe('M12, M13 and M15, replies in later requests', () => {
  it.each(Object.keys(WIRES) as WireGrammar[])(
    '%s: a reply is sent after the messages that it saw, or without its signed parts',
    (grammar) => {
      const tally = new Tally<Occurrence>()
      always(plans, (plan) => tally.count(playWire(grammar, plan)), COSTLY_RUNS)
      const signs: readonly Occurrence[] =
        grammar === 'openai-chat'
          ? []
          : [
              'signed_parts_sent',
              'signed_parts_omitted',
              'signed_again_after_a_change',
              'signed_after_masks',
              'another_model',
              'cut_between_calls',
            ]
      tally.require([...signs, 'steered', 'another_branch', 'mask_moved', 'shared'])
    },
  )
})
