/**
 * Condensation plans: the events that they forget at, below and above each limit, and the events that they
 * always keep. U… and W… are ids of the inventory.
 */

import { describe, expect, it } from 'vitest'
import { hasCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import {
  type CondensationLimits,
  condensationOf,
  type CondensationPlan,
  planCondensation,
} from '../../src/context/condenser/rolling.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { evict, decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { agent, agents, batch, condensation, pair, request, system, user } from '../build.ts'

const tens = (messages: readonly NeutralMessage[]): number => messages.length * 10

/** Returns the forgotten ids, `keep`, or the code of the refusal. */
function planned(events: readonly Event[], limits: CondensationLimits = {}): readonly string[] | string {
  const plan = planCondensation(replay(events), limits)
  return plan.type === 'plan' ? plan.forgottenIds : plan.type === 'keep' ? 'keep' : plan.reason.code
}

const count = (planned: readonly string[] | string): number | string =>
  typeof planned === 'string' ? planned : planned.length

function planFor(events: readonly Event[], limits: CondensationLimits = {}): CondensationPlan {
  const plan = planCondensation(replay(events), limits)
  if (plan.type !== 'plan') throw new Error(`no plan: ${JSON.stringify(plan)}`)
  return plan
}

describe('maxEvents', () => {
  it('U1 is 240 by default, and of 241 events about half are forgotten', () => {
    expect(count(planned(agents(239)))).toBe('keep')
    expect(count(planned(agents(240)))).toBe('keep')
    // The new view is keep_first 2, the summary, and 117 events.
    expect(count(planned(agents(241)))).toBe(241 - 2 - 117)
  })

  it.each([
    [79, 'keep'],
    [80, 'keep'],
    [81, 42],
    [100, 61],
  ])(
    'U2 with maxEvents 80 and keepFirst 4, the decision or forgotten count for %i events is %s',
    (length, forgotten) => {
      expect(count(planned(agents(length), { maxEvents: 80, keepFirst: 4 }))).toBe(forgotten)
    },
  )

  it('U4 keeps the first three of eleven events, and the summary follows them', () => {
    const { forgottenIds, summaryOffset, triggers, room } = planFor(agents(11), {
      maxEvents: 10,
      keepFirst: 3,
    })
    expect({ forgottenIds, summaryOffset, triggers, room }).toEqual({
      forgottenIds: ['m3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9'],
      summaryOffset: 3,
      triggers: ['events'],
      room: null,
    })
  })

  it('U6 rejects invalid limits, and limits that leave no event after the summary', () => {
    const wrong: CondensationLimits[] = [
      { maxEvents: 0 },
      { maxEvents: 7.5 },
      { maxEvents: NaN },
      { keepFirst: -1 },
      { maxEvents: 10, keepFirst: 8 },
      { maxEvents: 10, keepFirst: 4 },
      { maxTokens: 0 },
      { maxTokens: NaN },
    ]
    for (const limits of wrong) expect(() => planned([], limits)).toThrow(/must be/)
    expect(planned([], { maxEvents: 10, keepFirst: 3 })).toBe('keep')
    expect(planned([], { maxTokens: 1 })).toBe('keep')
    // keepFirst is 2 by default, so the minimum is 8.
    expect(planned([], { maxEvents: 8 })).toBe('keep')
    expect(() => planned([], { maxEvents: 7 })).toThrow(
      'With `keepFirst` 2, `maxEvents` must be 8 or more, not 7.',
    )
  })
})

describe('minimumProgress', () => {
  it.each([0, -0.1, 1, 1.5, NaN])('U13 cannot be %d', (minimumProgress) => {
    try {
      planned([], { minimumProgress })
      expect.unreachable()
    } catch (error) {
      expect(hasCode(error, 'invalid_argument')).toBe(true)
    }
  })

  it('U13 is the minimum share of the events that a plan forgets', () => {
    // 61 of 100 events would be forgotten.
    const limits = { maxEvents: 80, keepFirst: 4 }
    expect(count(planned(agents(100), { ...limits, minimumProgress: 0.6 }))).toBe(61)
    expect(count(planned(agents(100), { ...limits, minimumProgress: 0.61 }))).toBe(61)
    expect(count(planned(agents(100), { ...limits, minimumProgress: 0.62 }))).toBe('nothing_to_forget')
  })

  it('is 0.1 by default', () => {
    // A batch of 100 events stays with the first ones, and so do the last seven.
    const names = Array.from({ length: 50 }, (_, index) => `x${index}`)
    const forgotten = (between: number) =>
      count(planned([agent('a'), ...batch('r', names), ...agents(between + 7)], { maxEvents: 20 }))
    expect(forgotten(11)).toBe('nothing_to_forget')
    expect(forgotten(12)).toBe(12)
    expect(forgotten(13)).toBe(13)
  })

  it('refuses a plan that forgets too little, unless a condensation was requested', () => {
    // Thirty events, then one loop of 60 that extends past the tail.
    const loop = [
      ...batch('r', ['a'], true),
      ...Array.from({ length: 20 }, (_, index) => pair(`p${index}`)).flat(),
    ]
    const log = [...agents(3), ...loop]
    const limits = { maxEvents: 10, keepFirst: 4 }
    expect(() => planned(log, limits)).toThrow('`maxEvents` must be 12')
    expect(count(planned(log, { maxEvents: 12, keepFirst: 4 }))).toBe('nothing_to_forget')
    expect(count(planned([...log, request('q')], { maxEvents: 12, keepFirst: 4 }))).toBe(45)
  })
})

describe('a condensation request', () => {
  it.each([
    [25, 20, 16],
    [40, 30, 26],
  ])('U9 for %i events and maxEvents %i forgets %i', (length, maxEvents, forgotten) => {
    expect(count(planned([...agents(length), request('q')], { maxEvents }))).toBe(forgotten)
  })

  it('is the first trigger, and makes a refusal required', () => {
    expect(planFor([...agents(25), request('q')], { maxEvents: 20 }).triggers).toEqual(['request', 'events'])
    const refused = planCondensation(replay([user('u'), request('q')]))
    expect(refused).toMatchObject({
      type: 'refuse',
      reason: { code: 'nothing_to_forget', triggers: ['request'], required: true, again: 'never' },
    })
  })

  it('W24 on a short view keeps the system prompt and the last user message by default', () => {
    const log = [system('s'), user('u'), agent('a'), user('v'), agent('b'), request('q')]
    expect(planned(log)).toEqual(['a', 'b'])
    expect(planned(log, { keepFirst: 0 })).toEqual(['u', 'a'])
    const report = { keepFirst: 0, forgetLastUserMessage: true }
    expect(planned(log, report)).toEqual(['u', 'a', 'v'])
    expect(planned(log, { ...report, forgetSystemPrompt: true })).toEqual(['s', 'u', 'a', 'v'])
    // Replacing one event by a summary would not shorten the view; two can go.
    expect(planned([system('s'), user('u'), agent('a'), user('v'), request('q')])).toEqual(['u', 'a'])
    expect(planned([system('s'), user('u'), agent('a'), request('q')])).toBe('nothing_to_forget')
    expect(planned([system('s'), user('u'), request('q')])).toBe('nothing_to_forget')
  })

  it('W25 is refused on an empty view, and on a result without its call', () => {
    expect(planned([request('q')])).toBe('nothing_to_forget')
    expect(planned([pair('a')[1], request('q')])).toBe('nothing_to_forget')
  })
})

const limits = (maxTokens: number, more: CondensationLimits = {}): CondensationLimits => ({
  maxTokens,
  maxEvents: 1000,
  count: tens,
  ...more,
})

const required = (events: readonly Event[], inputs: CondensationLimits) => {
  const plan = planCondensation(replay(events), inputs)
  return plan.type === 'refuse' ? plan.reason.required : plan.type
}

const write = () => toMessages(replay([user('one')]))

describe('maxTokens', () => {
  it('U7 triggers a plan on its own, and only when it is exceeded', () => {
    expect(planned(agents(20), limits(201))).toBe('keep')
    expect(planned(agents(20), limits(200))).toBe('keep')
    const plan = planFor(agents(20), limits(199))
    expect(plan.triggers).toEqual(['tokens'])
    // Half of 199 has room for nine messages: the first two and seven more.
    expect(plan.forgottenIds).toHaveLength(11)
    expect(plan.room).toBe(199 - 90)
  })

  it('U8 is one number: the caller passes the smallest of its limits', () => {
    expect(planned(agents(20), limits(Math.min(500, 100)))).not.toBe('keep')
    expect(planned(agents(5), limits(Math.min(100, 500)))).toBe('keep')
  })

  it('U10 makes a refusal required, which maxEvents alone does not', () => {
    const tight = { forgetLastUserMessage: false, keepFirst: 0 }
    expect(required([user('u')], limits(9, tight))).toBe(true)
    const loop = [
      ...batch('r', ['a'], true),
      ...Array.from({ length: 20 }, (_, index) => pair(`p${index}`)).flat(),
    ]
    expect(required([...agents(3), ...loop], { maxEvents: 12, keepFirst: 4 })).toBe(false)
    expect(
      required([...agents(3), ...loop], { maxEvents: 12, keepFirst: 4, maxTokens: 100, count: tens }),
    ).toBe('plan')
  })

  it('refuses with over_budget if the kept events exceed it', () => {
    const log = [system('s'), user('u'), agent('a'), agent('b')]
    expect(planned(log, limits(21, { keepFirst: 0 }))).toEqual(['a', 'b'])
    expect(planned(log, limits(20, { keepFirst: 0 }))).toBe('over_budget')
  })

  it('forgets the first events too if the summary would get less than a quarter of it', () => {
    const log = [agent('a'), agent('b'), agent('c'), agent('d'), user('u')]
    // The first two are kept, so three messages stay.
    expect(planned(log, limits(40))).toEqual(['c', 'd'])
    expect(planFor(log, limits(40)).room).toBe(10)
    expect(planned(log, limits(39))).toEqual(['a', 'b', 'c', 'd'])
  })

  it('counts the messages that the write option returns', () => {
    expect(planned(agents(20), limits(199, { write }))).toBe('keep')
  })

  it('rejects a negative or NaN token count', () => {
    for (const wrong of [NaN, -1])
      expect(() => planned(agents(2), limits(10, { count: () => wrong }))).toThrow('count')
  })
})

const long = (size: number) =>
  batch(
    'r',
    Array.from({ length: size }, (_, index) => `x${index}`),
  )

const longAtEnd = (size: number): Event[] => [...agents(7), ...long(size)]

describe('planCondensation', () => {
  it('keeps the last user message, and puts the summary after the last forgotten event', () => {
    const log = [system('s'), user('u'), ...agents(3), user('v'), ...pair('1'), ...pair('2'), ...pair('3')]
    const plan = planFor(log, { maxEvents: 8 })
    expect(plan.forgottenIds).toEqual(['m0', 'm1', 'm2', 'a1', 'o1', 'a2', 'o2'])
    const after = reduce(replay(log), { ...condensationOf(plan, 'so far'), id: 'c' })
    expect([...viewEventsIn(after.branch.view)].map(({ id }) => id)).toEqual([
      's',
      'u',
      'v',
      'c-summary',
      'a3',
      'o3',
    ])
  })

  it('forgets a batch or a thinking loop only as a whole', () => {
    const log = [
      user('u'),
      ...batch('r', ['1', '2', '3']),
      ...batch('t', ['4'], true),
      ...pair('5'),
      ...agents(3),
    ]
    expect(planned(log, { maxEvents: 8, keepFirst: 1 })).toEqual(
      ['a1', 'a2', 'a3', 'o1', 'o2', 'o3'].concat(['a4', 'o4', 'a5', 'o5'], ['m0']),
    )
    // At least keepFirst events stay, up to the end of their unit.
    expect(planned(log, { maxEvents: 8, keepFirst: 2 })).toEqual(['a4', 'o4', 'a5', 'o5', 'm0', 'm1'])
  })

  it('keeps a pending batch, and its call stays pending after the condensation', () => {
    const [call, answer] = pair('w')
    const log = [user('u'), agent('a'), call, agent('b'), agent('c'), agent('d'), request('q')]
    const plan = planFor(log, { keepFirst: 0 })
    expect(plan.forgottenIds).toEqual(['a', 'b', 'c'])
    const state = replay(log)
    const after = reduce(state, { ...condensationOf(plan, 'so far'), id: 'c1' })
    expect(after.branch.pendingCalls).toEqual(state.branch.pendingCalls)
    const answered = reduce(after, answer)
    expect([...viewEventsIn(answered.branch.view)].map(({ id }) => id)).toEqual([
      'u',
      'c1-summary',
      'aw',
      'ow',
      'd',
    ])
  })

  it('keeps a long last unit if the new view does not exceed maxEvents', () => {
    // The first two, the summary, and eight, ten or twelve events of the batch: ten is the limit.
    expect(planned(longAtEnd(3), { maxEvents: 9 })).toHaveLength(5)
    expect(planned(longAtEnd(5), { maxEvents: 13 })).toHaveLength(5)
    expect(planned(longAtEnd(5), { maxEvents: 12 })).toHaveLength(15)
  })

  it('does not forget an id that two units share', () => {
    const log = [
      user('u'),
      ...agents(4),
      condensation('c', ['m0'], 'the first', 1),
      agent('c-summary'),
      ...agents(9).slice(5),
      request('q'),
    ]
    expect(planned(log, { keepFirst: 0, maxEvents: 8 })).not.toContain('c-summary')
  })

  it('returns the same plan for a decoded snapshot and for an evicted state', () => {
    const state = replay([system('s'), user('u'), ...agents(30), request('q')], { conversationId: 'c' })
    const opened = decodeSnapshot(encodeSnapshot(state), 'c')
    for (const other of [opened, evict(state)]) {
      const plan = other === null ? null : planCondensation(other)
      expect(plan).toMatchObject({
        type: 'plan',
        forgottenIds: planFor(logOf(state)).forgottenIds,
      })
    }
  })

  it('condensationOf returns the event, and rejects a blank summary', () => {
    const plan = planFor([...agents(9)], { maxEvents: 8 })
    expect(condensationOf(plan, 'x', 'reply')).toEqual({
      kind: 'Condensation',
      source: 'environment',
      forgotten_event_ids: plan.forgottenIds,
      summary: 'x',
      summary_offset: 2,
      llm_response_id: 'reply',
    })
    for (const blank of ['', ' \n', '\u0085'])
      expect(() => condensationOf(plan, blank)).toThrow('must not be blank')
  })

  it('returns keep after its condensation is applied', () => {
    const state = replay(agents(9))
    const once = reduce(state, { ...condensationOf(planFor(agents(9), { maxEvents: 8 }), 's'), id: 'c' })
    expect(planCondensation(once, { maxEvents: 8 })).toEqual({ type: 'keep' })
  })
})

const logOf = (state: ReturnType<typeof replay>): Event[] =>
  [...state.log.entries].flatMap(({ event }) => (event === null ? [] : [event]))
