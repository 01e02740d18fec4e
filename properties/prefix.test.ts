/** M12, M13, M15, M18: signed parts that depend on earlier messages, with calls that outlive their reply. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { type Deed, type Occurrence, PLAIN, playWire, type WorkOccurrence } from './checks/prefix.ts'
import { GRAMMARS } from '../src/messages/grammars.ts'
import { always, RUNS } from './run.ts'
import { Tally } from './tally.ts'
import { type Part, type WireGrammar, WIRES } from './wire/reply.ts'

const part = fc.constantFrom<Part>('think', 'think', 'redacted', 'say', 'blank', 'search', 'call', 'call')

const ask: fc.Arbitrary<Deed> = fc.record({
  do: fc.constant('ask' as const),
  parts: fc.array(part, { minLength: 1, maxLength: 5 }),
  meanwhile: fc.constantFrom(0, 0, 1, 2),
  late: fc.constantFrom(0, 0, 1),
})

const harmless: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: ask },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Deed>(
      { do: 'user' },
      { do: 'blank' },
      { do: 'environment' },
      { do: 'snapshot' },
      { do: 'reopen' },
      { do: 'model' },
    ),
  },
  { weight: 1, arbitrary: fc.constant<Deed>({ do: 'append' }) },
  { weight: 2, arbitrary: fc.nat(4).map((by): Deed => ({ do: 'back', by })) },
  { weight: 2, arbitrary: fc.nat(4).map((by): Deed => ({ do: 'into', by })) },
)

const onPurpose: fc.Arbitrary<Deed> = fc.oneof(
  fc.constantFrom<Deed>({ do: 'system' }, { do: 'redact' }, { do: 'alter' }, { do: 'clip' }, { do: 'tools' }),
  fc.nat(6).map((events): Deed => ({ do: 'condense', events: events + 1 })),
)

const mask = fc.nat(9).map((stride): Deed => ({ do: 'mask', stride }))

const deeds = fc.array(
  fc.oneof(
    { weight: 16, arbitrary: harmless },
    { weight: 2, arbitrary: onPurpose },
    { weight: 3, arbitrary: mask },
  ),
  { minLength: 3, maxLength: 14 },
)

const called = (): Deed => ({ do: 'ask', parts: ['think', 'call'], meanwhile: 0, late: 0 })

/** Half of the conversations have a signed reply after masked results. */
const lead = fc
  .constantFrom(3, 4)
  .map((stride): Deed[] => [{ do: 'mask', stride }, called(), called(), called(), called()])

/** In half of them, HEAD ends at a call before the last of its reply. */
const cut = fc
  .record({
    parts: fc.array(part, { maxLength: 3 }),
    calls: fc.integer({ min: 2, max: 3 }),
    by: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ parts, calls, by }): Deed[] => [
    {
      do: 'ask',
      parts: [...parts, ...Array.from({ length: calls }, () => 'call' as const)],
      meanwhile: 0,
      late: 0,
    },
    { do: 'into', by },
    called(),
  ])

const plans = fc
  .tuple(fc.option(lead, { freq: 2 }), deeds, fc.option(cut, { freq: 2 }))
  .map(([first, rest, last]) => [...(first ?? []), ...rest, ...(last ?? [])])

const working: fc.Arbitrary<Deed> = fc.record(
  {
    do: fc.constant('ask' as const),
    parts: fc.array(part, { maxLength: 2 }).map((parts) => [...parts, 'call', 'call'] as Part[]),
    meanwhile: fc.constantFrom(0, 0, 1),
    late: fc.constantFrom(0, 0, 1),
    works: fc.nat(3),
    isEarly: fc.boolean(),
    completes: fc.nat(8),
  },
  { requiredKeys: ['do', 'parts', 'meanwhile', 'late', 'works'] },
)

const completing: fc.Arbitrary<Deed> = fc.record({
  do: fc.constant('complete' as const),
  call: fc.nat(8),
  isDecided: fc.boolean(),
})

/** Parts that a provider accepts in any request: the thoughts first. */
const plain = ({ parts }: Extract<Deed, { do: 'ask' }>): readonly Part[] => [
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
  .map((deeds) => deeds.flat().map((deed) => (deed.do === 'ask' ? { ...deed, parts: plain(deed) } : deed)))

const WORK = [
  'sent_while_many_work',
  'completed',
  'completed_early',
  'completed_again',
  'completed_while_the_model_replies',
  'completed_on_another_branch',
  'completed_after_a_condensation',
] as const satisfies readonly WorkOccurrence[]

describe('M12, M13, M15 and M18: calls that work change no request before them', () => {
  it.each(GRAMMARS.map(({ name }) => name as WireGrammar))('%s', (grammar) => {
    const tally = new Tally<Occurrence>()
    always(workPlans, (plan) => tally.count(playWire(grammar, plan)), RUNS / 2)
    tally.require(WORK)
  })
})

describe('M12, M13 and M15: a reply goes back behind what it saw, whole, or without what is bound to it', () => {
  it.each(Object.keys(WIRES) as WireGrammar[])('%s', (grammar) => {
    const tally = new Tally<Occurrence>()
    always(plans, (plan) => tally.count(playWire(grammar, plan)), RUNS / 2)
    const signs: readonly Occurrence[] =
      grammar === 'openai-chat'
        ? []
        : [
            'signed_parts_stood',
            'signed_parts_left_out',
            'stood_again_after_a_change',
            'stood_behind_masks',
            'another_model',
            'cut_between_calls',
          ]
    tally.require([...signs, 'steered', 'another_branch', 'mask_moved', 'shared'])
  })
})
