/** Late results reach the branch of their call and leave HEAD, status and approvals unchanged. */

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
import { costOf } from '../growth.ts'
import { applyEvents, idCounter, folded, hostileState } from './states.ts'

/** Results by action id, by an unknown action, and by call id alone. */
const resultsFor = (call: ActionEvent): ToolResultEvent[] => [
  observe('answer', call),
  reject('answer', call),
  { ...observe('answer', call), action_id: 'unknown' },
  fail('answer', call),
  { ...observe('answer', call), parent_id: null },
]

/** Fields that must not change when another branch does. */
const stableFields = ({ header, log, branch }: State) => ({
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
        const situations: ('late' | 'here' | 'answered' | 'several leaves' | 'restores')[] = []
        const tips = listLeavesIn(state.log)
        for (const entry of state.log.entries) {
          if (entry.event?.kind !== 'ActionEvent' || !entry.inTree || entry.id === null) continue
          const call = { ...entry.event, id: entry.id }
          const open = tips.filter(
            (tip) => openCallOf(branchOf(tip).pendingCalls, call.tool_call_id, entry.seq) !== undefined,
          )
          for (const [form, result] of resultsFor(call).entries()) {
            const attached = attachLateResults(state, [result])
            const byAction = form !== 2 && form !== 3
            if (byAction && isOnPathIn(entry, state.log.head)) {
              expect(attached).toEqual([result])
              situations.push('here')
              continue
            }
            const after = applyEvents(state, attached)
            if (attached.length === 1) continue
            situations.push('late')
            if (attached.length > 2) situations.push('restores')
            expect(stableFields(after)).toEqual(stableFields(state))
            const inTree = findEventIn(after.log, 'answer')
            expect(inTree?.parent?.id).toBe(attached[0]?.parent_id)
            const attachedBranch = branchOf(inTree ?? null)
            const before = branchOf(findEventIn(state.log, attached[0]?.parent_id ?? '') ?? null)
            const reason = listDroppedResultsIn(attachedBranch).find(({ id }) => id === 'answer')?.reason
            const endsCall = !byAction || open.length > 0
            if (!endsCall) situations.push('answered')
            if (byAction)
              expect(openCallOf(attachedBranch.pendingCalls, call.tool_call_id, entry.seq)).toBeUndefined()
            expect(pendingCallCount(attachedBranch.pendingCalls)).toBe(
              pendingCallCount(before.pendingCalls) - (endsCall ? 1 : 0),
            )
            // The result of a forgotten call is not in the view.
            expect(endsCall ? [undefined, 'orphan_result'] : ['duplicate_result']).toContain(reason)
            if (open.length > 1) situations.push('several leaves')
            expect(attachLateResults(after, [result])).toEqual([result])
          }
        }
        tally.count(situations)
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
        const newId = idCounter('batch')
        // No event has an id, so HEAD may have to return to an event without one.
        const batch = calls.slice(-4).flatMap((call): Event[] => {
          const { id: _a, ...result } = observe('x', call)
          const { id: _b, ...message } = user('y')
          return [message, result]
        })
        const attached = attachLateResults(state, batch)
        const late = attached.length > batch.length
        tally.count(late ? ['late'] : [])
        if (!late) expect(attached).toEqual(batch)
        applyEvents(state, attached, newId)
        const stored = attached.filter(
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
  const branchedLog = [user('u'), call, moveHead('m', 'u')]

  it('a result with parent_id null is attached to its call', () => {
    const result = observe('o', call, 'done', { parent_id: null })
    expect(attachLateResults(folded(...branchedLog), [result])[0]).toMatchObject({ id: 'o', parent_id: 'a' })
  })

  it('HEAD returns to a message of the same batch that had no id', () => {
    const { id: _, ...message } = user('said')
    const state = folded(...branchedLog)
    const after = applyEvents(state, attachLateResults(state, [message, observe('o', call)]))
    expect(after.log.head?.event).toMatchObject({ llm_message: message.llm_message })
  })

  it('a conversation stays in error when a finish result arrives on another branch', () => {
    const finish = action('f', { tool: 'finish' })
    const state = folded(user('u'), finish, moveHead('m', 'u'), trouble('e', 'Broken'))
    const after = applyEvents(state, attachLateResults(state, [observe('o', finish)]))
    expect(after.header).toMatchObject({
      status: 'error',
      error: { code: 'Broken', detail: 'detail of Broken' },
    })
    expect(after.log.head?.id).toBe('e')
  })

  it('approved and held calls keep their grants while the conversation waits', () => {
    const [b, d] = [action('b', { response: 'r' }), action('d', { response: 'r' })]
    const state = folded(
      ...branchedLog,
      b,
      d,
      status('w', 'waiting_for_confirmation'),
      update('g', 'approved_actions', ['b']),
      update('h', 'held_actions', ['d']),
    )
    const after = applyEvents(state, attachLateResults(state, [observe('o', call)]))
    expect(after.header).toEqual(state.header)
    expect(after.header.callStatuses).toEqual([
      { action_id: 'b', grant: 'approved' },
      { action_id: 'd', grant: 'held' },
    ])
  })

  it('an approved call that has its result is not approved again', () => {
    const calls = ['b', 'd', 'e'].map((id) => action(id, { response: 'r' }))
    const state = folded(
      ...branchedLog,
      ...calls,
      status('w', 'waiting_for_confirmation'),
      update('g', 'approved_actions', ['b', 'd']),
      observe('p', calls[1] as ActionEvent),
    )
    expect(state.header.callStatuses).toHaveLength(2)
    const attached = attachLateResults(state, [observe('o', call)])
    expect(attached.at(-1)).toMatchObject({ key: 'approved_actions', value: ['b'] })
    expect(applyEvents(state, attached).header.status).toBe('waiting_for_confirmation')
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
    for (const result of [observe('o', call), reject('o', call), fail('o', call), observe('o', finish)]) {
      const after = applyEvents(state, attachLateResults(state, [result]))
      expect(after.header.status).toBe(name)
      expect(after.log.head?.id).toBe('open')
    }
  })

  it('a result goes to the latest of the branches on which its call is open', () => {
    const twice = [user('u'), call, user('v'), moveHead('m', 'a'), user('w'), moveHead('n', 'u')]
    const [attached] = attachLateResults(folded(...twice), [observe('o', call)])
    expect(attached?.parent_id).toBe('w')
    // The next result goes to the other branch, where the call is still open.
    const state = folded(...twice)
    const after = applyEvents(state, attachLateResults(state, [observe('o', call)]))
    expect(attachLateResults(after, [observe('p', call)])[0]?.parent_id).toBe('v')
  })

  it('a result by tool_call_id goes to the branch of HEAD first, then to the latest branch', () => {
    const again = action('b', { call: 'call-a' })
    const state = folded(...branchedLog, again)
    expect(attachLateResults(state, [fail('e', call)])).toEqual([fail('e', call)])
    expect(attachLateResults(state, [observe('o', call)])[0]?.parent_id).toBe('a')
    const answered = folded(...branchedLog, again, observe('o1', again))
    expect(attachLateResults(answered, [fail('e', call)])[0]?.parent_id).toBe('a')
  })

  it('a result for an unknown call is not changed', () => {
    const stray = { ...observe('o', call), action_id: 'nothing', tool_call_id: 'nothing' }
    expect(attachLateResults(folded(...branchedLog), [stray])).toEqual([stray])
  })
})

/** A branch with calls that wait with an approval, and a call on another branch. */
function withApprovals(calls: number): State {
  const ids = Array.from({ length: calls }, (_, index) => `a${index}`)
  const waiting = ids.map((id) => action(id, { response: 'r' }))
  const away = [user('u'), action('late', { response: 's' }), moveHead('m', 'u')]
  return folded(...away, ...waiting, update('g', 'approved_actions', ids))
}

const costOfPlacing = (state: State): number =>
  costOf(() => attachLateResults(state, [fail('e', action('late', { response: 's' }))]))

it('a late result costs little, however many calls of HEAD wait with an approval', () => {
  const [few, many] = [withApprovals(500), withApprovals(4_000)]
  costOfPlacing(few)
  expect(costOfPlacing(many)).toBeLessThan(25 * Math.max(costOfPlacing(few), 5))
})
