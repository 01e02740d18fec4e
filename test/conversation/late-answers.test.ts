/** Late answers on hostile states reach the branch of their call and leave HEAD, status and approvals unchanged. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeBranch } from '../../properties/checks/describe.ts'
import { RUNS } from '../../properties/run.ts'
import { Tally } from '../../properties/tally.ts'
import { attachLateResults } from '../../src/conversation/late-results.ts'
import type { ActionEvent, ToolResultEvent, Event } from '../../src/event/types.ts'
import { isOnPathIn } from '../../src/log/entry.ts'
import { findEventIn } from '../../src/log/log.ts'
import { openCallOf, pendingCallCount } from '../../src/log/open-calls.ts'
import { listLeavesIn } from '../../src/state/at.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { branchOf, type State } from '../../src/state/state.ts'
import { STATUSES } from '../../src/state/status.ts'
import { action, fail, moveHead, observe, reject, status, trouble, update, user } from '../build.ts'
import { carryOut, counter, folded, hostileState } from './states.ts'

/** Answers by action id, by an unknown action, and by call id alone. */
const answersTo = (call: ActionEvent): ToolResultEvent[] => [
  observe('answer', call),
  reject('answer', call),
  { ...observe('answer', call), action_id: 'unknown' },
  fail('answer', call),
  { ...observe('answer', call), parent_id: null },
]

/** Fields that must not change when another branch does. */
const standing = ({ header, log, branch }: State) => ({
  head: log.head?.seq,
  status: header.status,
  error: header.error === null ? null : [header.error.code, header.error.detail],
  inFlight: header.inFlight,
  policy: header.confirmationPolicy,
  callStatuses: header.callStatuses,
  branch: describeBranch(branch),
})

describe('late results on hostile states', () => {
  it('a result for a call on another branch ends it there, and HEAD, status and grants stay', () => {
    const tally = new Tally<'late' | 'here' | 'answered' | 'several leaves' | 'restores'>()
    fc.assert(
      fc.property(hostileState(), ({ state }) => {
        const messages: ('late' | 'here' | 'answered' | 'several leaves' | 'restores')[] = []
        const tips = listLeavesIn(state.log)
        for (const entry of state.log.entries) {
          if (entry.event?.kind !== 'ActionEvent' || !entry.inTree || entry.id === null) continue
          const call = { ...entry.event, id: entry.id }
          const open = tips.filter(
            (tip) => openCallOf(branchOf(tip).pendingCalls, call.tool_call_id, entry.seq) !== undefined,
          )
          for (const [form, answer] of answersTo(call).entries()) {
            const placed = attachLateResults(state, [answer])
            const byAction = form !== 2 && form !== 3
            if (byAction && isOnPathIn(entry, state.log.head)) {
              expect(placed).toEqual([answer])
              messages.push('here')
              continue
            }
            const after = carryOut(state, placed)
            if (placed.length === 1) continue
            messages.push('late')
            if (placed.length > 2) messages.push('restores')
            expect(standing(after)).toEqual(standing(state))
            const inTree = findEventIn(after.log, 'answer')
            expect(inTree?.parent?.id).toBe(placed[0]?.parent_id)
            const there = branchOf(inTree ?? null)
            const before = branchOf(findEventIn(state.log, placed[0]?.parent_id ?? '') ?? null)
            const reason = listDroppedResultsIn(there).find(({ id }) => id === 'answer')?.reason
            const answers = !byAction || open.length > 0
            if (!answers) messages.push('answered')
            if (byAction) expect(openCallOf(there.pendingCalls, call.tool_call_id, entry.seq)).toBeUndefined()
            expect(pendingCallCount(there.pendingCalls)).toBe(
              pendingCallCount(before.pendingCalls) - (answers ? 1 : 0),
            )
            // The answer to a forgotten call stays out of the view.
            expect(answers ? [undefined, 'orphan_result'] : ['duplicate_result']).toContain(reason)
            if (open.length > 1) messages.push('several leaves')
            expect(attachLateResults(after, [answer])).toEqual([answer])
          }
        }
        tally.count(messages)
      }),
      { numRuns: RUNS },
    )
    tally.require(['late', 'here', 'answered', 'several leaves', 'restores'])
  })

  it('a batch keeps its events in order, whichever branches its results go to', () => {
    const tally = new Tally<'late'>()
    fc.assert(
      fc.property(hostileState(), ({ state }) => {
        const calls = [...state.log.entries].flatMap(({ event, id, inTree }) =>
          event?.kind === 'ActionEvent' && inTree && id !== null ? [{ ...event, id }] : [],
        )
        const newId = counter('batch')
        // No event has an id, so HEAD may have to return to an event without one.
        const batch = calls.slice(-4).flatMap((call): Event[] => {
          const { id: _a, ...answer } = observe('x', call)
          const { id: _b, ...message } = user('y')
          return [message, answer]
        })
        const placed = attachLateResults(state, batch)
        const late = placed.length > batch.length
        tally.count(late ? ['late'] : [])
        if (!late) expect(placed).toEqual(batch)
        carryOut(state, placed, newId)
        const stored = placed.filter(
          ({ kind }) => kind !== 'ConversationStateUpdateEvent' && kind !== 'ConversationErrorEvent',
        )
        expect(stored.map(({ id: _a, parent_id: _b, ...rest }) => rest)).toEqual(
          batch.map(({ parent_id: _b, ...rest }) => rest),
        )
      }),
      { numRuns: RUNS },
    )
    tally.require(['late'])
  })
})

describe('late results on single states', () => {
  const call = action('a')
  const remaining = [user('u'), call, moveHead('m', 'u')]

  it('a result with parent_id null is attached to its call', () => {
    const answer = observe('o', call, 'done', { parent_id: null })
    expect(attachLateResults(folded(...remaining), [answer])[0]).toMatchObject({ id: 'o', parent_id: 'a' })
  })

  it('HEAD returns to a message of the same batch that had no id', () => {
    const { id: _, ...message } = user('said')
    const state = folded(...remaining)
    const after = carryOut(state, attachLateResults(state, [message, observe('o', call)]))
    expect(after.log.head?.event).toMatchObject({ llm_message: message.llm_message })
  })

  it('a conversation stays in error when a finish result arrives on another branch', () => {
    const finish = action('f', { tool: 'finish' })
    const state = folded(user('u'), finish, moveHead('m', 'u'), trouble('e', 'Broken'))
    const after = carryOut(state, attachLateResults(state, [observe('o', finish)]))
    expect(after.header).toMatchObject({
      status: 'error',
      error: { code: 'Broken', detail: 'detail of Broken' },
    })
    expect(after.log.head?.id).toBe('e')
  })

  it('approved and held calls keep their grants while the conversation waits', () => {
    const [b, d] = [action('b', { response: 'r' }), action('d', { response: 'r' })]
    const state = folded(
      ...remaining,
      b,
      d,
      status('w', 'waiting_for_confirmation'),
      update('g', 'approved_actions', ['b']),
      update('h', 'held_actions', ['d']),
    )
    const after = carryOut(state, attachLateResults(state, [observe('o', call)]))
    expect(after.header).toEqual(state.header)
    expect(after.header.callStatuses).toEqual([
      { action_id: 'b', grant: 'approved' },
      { action_id: 'd', grant: 'held' },
    ])
  })

  it('an approved call that has its result is not approved again', () => {
    const calls = ['b', 'd', 'e'].map((id) => action(id, { response: 'r' }))
    const state = folded(
      ...remaining,
      ...calls,
      status('w', 'waiting_for_confirmation'),
      update('g', 'approved_actions', ['b', 'd']),
      observe('p', calls[1] as ActionEvent),
    )
    expect(state.header.callStatuses).toHaveLength(2)
    const placed = attachLateResults(state, [observe('o', call)])
    expect(placed.at(-1)).toMatchObject({ key: 'approved_actions', value: ['b'] })
    expect(carryOut(state, placed).header.status).toBe('waiting_for_confirmation')
  })

  it.each(STATUSES)('the status stays %s', (name) => {
    const finish = action('f', { tool: 'finish' })
    const state = folded(
      user('u'),
      call,
      moveHead('m', 'u'),
      finish,
      moveHead('n', 'u'),
      action('open'),
      status('s', name),
    )
    for (const answer of [observe('o', call), reject('o', call), fail('o', call), observe('o', finish)]) {
      const after = carryOut(state, attachLateResults(state, [answer]))
      expect(after.header.status).toBe(name)
      expect(after.log.head?.id).toBe('open')
    }
  })

  it('a result goes to the latest of the branches on which its call is open', () => {
    const twice = [user('u'), call, user('v'), moveHead('m', 'a'), user('w'), moveHead('n', 'u')]
    const [placed] = attachLateResults(folded(...twice), [observe('o', call)])
    expect(placed?.parent_id).toBe('w')
    // An answer to the remaining call goes to that call.
    const state = folded(...twice)
    const after = carryOut(state, attachLateResults(state, [observe('o', call)]))
    expect(attachLateResults(after, [observe('p', call)])[0]?.parent_id).toBe('v')
  })

  it('a result by tool_call_id goes to the branch of HEAD first, then to the latest branch', () => {
    const again = action('b', { call: 'call-a' })
    const state = folded(...remaining, again)
    expect(attachLateResults(state, [fail('e', call)])).toEqual([fail('e', call)])
    expect(attachLateResults(state, [observe('o', call)])[0]?.parent_id).toBe('a')
    const answered = folded(...remaining, again, observe('o1', again))
    expect(attachLateResults(answered, [fail('e', call)])[0]?.parent_id).toBe('a')
  })

  it('a result for an unknown call is not changed', () => {
    const stray = { ...observe('o', call), action_id: 'nothing', tool_call_id: 'nothing' }
    expect(attachLateResults(folded(...remaining), [stray])).toEqual([stray])
  })
})
