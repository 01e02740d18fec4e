import { describe, expect, it } from 'vitest'
import type { Event } from '../src/event/types.ts'
import { listPendingCallsIn } from '../src/log/open-calls.ts'
import { pathToEntry } from '../src/log/entry.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { toTimeline } from '../src/messages/timeline.ts'
import { encodeState } from '../src/state/read.ts'
import { listDroppedResultsIn } from '../src/state/dropped.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { writeLegalLog } from '../src/testing/legal-log.ts'
import { cutPointsIn } from '../src/view/view.ts'
import { viewEventsIn } from '../src/view/view.ts'
import { LOG_CHECKS } from './checks/all.ts'
import { checkExplained } from './checks/explain.ts'
import {
  call,
  callAskedAt,
  condensation,
  error,
  pause,
  type Pinned,
  result,
  thought,
  update,
  user,
} from './pinned.ts'
import { checkTimeline } from './checks/timeline.ts'
import { checkUIChunks } from './checks/ui-chunks.ts'
import { checkUIMessages } from './checks/ui-messages.ts'
import { CASES } from './pinned-logs.ts'

const loop = (count: number) =>
  Array.from({ length: count }, (_, n) => [
    n === 0 ? thought('a0', 'c0', 'r0') : call(`a${n}`, `c${n}`, `r${n}`),
    result(`o${n}`, `c${n}`, `a${n}`),
  ]).flat()

const loops = (count: number) =>
  Array.from({ length: count }, (_, n) => [
    thought(`a${n}`, `c${n}`, `r${n}`),
    result(`o${n}`, `c${n}`, `a${n}`),
  ]).flat()

const rejected = (id: string): Event => ({
  kind: 'UserRejectObservation',
  id,
  tool_name: 'ls',
  tool_call_id: 'c',
  action_id: 'a',
  rejection_reason: id,
  parent_id: 'a',
})

describe('pinned logs', () => {
  it.each(CASES)('$title', ({ facts, view, cuts, open, dropped, head, status }) => {
    const state = replay(facts)
    const { branch } = state
    expect([...viewEventsIn(branch.view)].map((item) => item.id)).toEqual(view)
    if (cuts !== undefined) expect(cutPointsIn(branch.view)).toEqual(cuts)
    if (open !== undefined)
      expect(listPendingCallsIn(branch.pendingCalls).map((each) => each.entry.id)).toEqual(open)
    expect(listDroppedResultsIn(branch).map(({ id, reason }) => `${id} ${reason}`)).toEqual(dropped ?? [])
    if (head !== undefined) expect(state.log.head?.id ?? null).toBe(head)
    if (status !== undefined) expect(state.header.status).toBe(status)
    for (const check of LOG_CHECKS) check(facts)
  })

  it('W9 two calls of one response with text are sent as one reply with both texts and calls', () => {
    const { facts } = CASES.find(({ title }) => title.startsWith('W9')) as Pinned
    const [reply, ...results] = toMessages(replay(facts))
    expect(reply).toMatchObject({
      content: [{ text: 'x' }, { text: 'x' }],
      tool_calls: [{ id: 'c1' }, { id: 'c2' }],
    })
    expect(results).toMatchObject([{ tool_call_id: 'c2' }, { tool_call_id: 'c1' }])
  })

  it('W21 a summary event is deterministic and has the time of its condensation', () => {
    const facts = [user('u', { timestamp: '2026-01-01T00:00:00Z' }), condensation('k', [], 0)]
    const [one, two] = [replay(facts), replay(facts)].map(
      (state) => [...viewEventsIn(state.branch.view)][0]?.event,
    )
    expect(one).toEqual(two)
    expect(one).toMatchObject({ id: 'k-summary', timestamp: '2026-01-01T00:00:00Z', source: 'environment' })
  })

  it('W23 condensing an event removes its whole loop of 400 steps, or one of 400 loops', () => {
    const whole = replay([...loop(400), condensation('k', ['a0'], 0)])
    expect([...viewEventsIn(whole.branch.view)].map((item) => item.id)).toEqual(['k-summary'])
    const first = replay([...loops(400), condensation('k', ['a0'], 0)])
    expect(first.branch.view.length).toBe(799)
  })

  it('W47 the path to an empty HEAD is empty', () => {
    expect(pathToEntry(replay([user('u'), update('h', 'leaf_event_id', null)]).log.head)).toEqual([])
  })

  it('P4 a legal log condenses no paused reply that a pending reply continues', () => {
    const content = [{ type: 'text' as const, text: 'x' }]
    const [calls, record] = [
      [{ tool: 'terminal', action: null, arguments: '{}' }],
      { meanwhile: null, text: null, thinking: [] },
    ]
    const facts = writeLegalLog({
      stamped: true,
      reusedCallIds: false,
      recorded: true,
      commands: [
        { do: 'say', content, skills: [], late: false },
        { do: 'reply', content, meanwhile: null, pauses: 'yes' },
        { do: 'respond', calls, ...record, confirm: false, searches: false },
        { do: 'condense', from: 1, to: 2, summary: null, requested: false },
        { do: 'settle', form: 'result', content },
      ],
    })
    const { branch } = replay(facts)
    expect(branch.pendingCalls).toEqual(replay([]).branch.pendingCalls)
    expect(listDroppedResultsIn(branch)).toEqual([])
  })

  it('O1 and O2 later calls of a reply get `after` from its first call, in any part of a timeline', () => {
    const facts = [
      user('u'),
      pause('p'),
      user('u2'),
      callAskedAt('p', 'a1', 'c1', 'r'),
      call('a2', 'c2', 'r'),
      call('a3', 'c3', 'r'),
    ]
    checkTimeline(facts)
    checkUIMessages(facts)
    const [last] = toTimeline(replay(facts), { after: 'a2' })
    expect(last).toMatchObject({ id: 'a3', reply: { after: 'p' } })
  })

  it('O3 a result on the branch that HEAD moved to replaces the result shown before', async () => {
    const others = [error('e2', 'c'), result('o2', 'c', 'a'), rejected('r2')]
    for (const [index, first] of [error('e1', 'c'), result('o1', 'c', 'a'), rejected('r1')].entries())
      await checkUIChunks(
        [user('u'), call('a', 'c', 'r'), first, { ...others[index], parent_id: 'a' } as Event],
        [],
      )
  })

  it('R6 a continuation with a duplicate action equals the same log folded alone', () => {
    const paused = replay([user('u'), pause('p')])
    reduce(paused, call('a1', 'c1', 'r1'))
    const rest = [call('u', 'c1', 'r1'), call('a1', 'c1', 'r1'), call('a2', 'c2', 'r2')]
    const fresh = replay([user('u'), pause('p'), ...rest])
    expect(encodeState(rest.reduce(reduce, paused))).toBe(encodeState(fresh))
    expect(fresh.header.status).toBe('running')
  })

  it.each([
    {
      title: 'a call joins a pending batch and is condensed later',
      facts: [
        call('a1', 'c', 'r'),
        call('a2', 'c', 'r'),
        result('first', 'c', 'none'),
        call('a3', 'd', 'r'),
        result('second', 'd', 'a2'),
        condensation('k', ['a3']),
      ],
    },
    {
      title: 'a call joins a batch of the view and is condensed later',
      facts: [
        call('a1', 'b', 'r'),
        condensation('k1', ['a1']),
        callAskedAt('a1', 'a2', 'c', 'r'),
        condensation('k2', ['a2']),
        error('e', 'b'),
      ],
    },
    {
      title: 'a result that names no call ends a call that is condensed later',
      facts: [
        call('a1', 'c', 'r'),
        call('a2', 'c', 'r'),
        error('first', 'c'),
        result('other', 'c', 'none'),
        condensation('k', ['a1']),
        error('second', 'c'),
      ],
    },
    {
      title: 'the parent of an event is the update that moved HEAD',
      facts: [
        user('u'),
        user('left'),
        { ...update('h', 'leaf_event_id', 'u'), parent_id: 'u' },
        user('u2', { parent_id: 'h' }),
      ],
    },
  ])('O4 removing the named cause changes the verdict: $title', ({ facts }) => {
    checkExplained(facts)
  })
})
