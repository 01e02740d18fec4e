/** Decisions of a live conversation on hostile states: the events, the new state, and that a repeated decision does nothing. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeBranch } from '../../properties/checks/describe.ts'
import { RUNS } from '../../properties/run.ts'
import { Tally } from '../../properties/tally.ts'
import {
  decideApprove,
  decideEdit,
  decideInterrupt,
  decideNavigate,
  decidePause,
  decidePolicy,
  decideRecover,
  decideReject,
  decideRestart,
  decideResume,
  openCallsOf,
  userMessage,
} from '../../src/conversation/decide.ts'
import { replyOf } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { anchorOf } from '../../src/log/entry.ts'
import { findEventIn } from '../../src/log/log.ts'
import { listPendingCalls, listWorkingCalls, viewEvents } from '../../src/state/read.ts'
import { switchTo } from '../../src/state/at.ts'
import { evict } from '../../src/state/snapshot.ts'
import type { State } from '../../src/state/state.ts'
import { applyEvents, hostileState, idCounter, ids, kinds } from './states.ts'

const isExecutable = ({ event }: ReturnType<typeof openCallsOf>[number]): boolean =>
  (event.action ?? null) !== null
const codeOf = (run: () => unknown): string | null => {
  try {
    run()
    return null
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

/** The events of a decision, or its error code. */
const outcome = (decide: (state: State) => Event[], now: State): string =>
  codeOf(() => decide(now)) ?? JSON.stringify(decide(now))

/** Whether a run may wait for the working calls of a finished conversation. */
const isWaitedFor = (state: State): boolean =>
  state.header.status === 'finished' && listWorkingCalls(state).length > 0

const situation = () => fc.tuple(hostileState(), fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }))
const chosen = <T>(from: readonly T[], choice: readonly boolean[]): T[] =>
  from.filter((_, i) => choice[i % 8] === true)
const NUM_RUNS = Math.ceil(RUNS / 4)
/** Shared by all decisions, because generating a state takes longer than checking a decision on it. */
let samples: ReturnType<typeof sample> | null = null
const sample = () => fc.sample(situation(), NUM_RUNS)
/** Checks all samples. After a failure, searches for the smallest state that fails. */
const property = (check: (state: State, choice: readonly boolean[]) => void): void => {
  try {
    for (const [{ state }, choice] of (samples ??= sample())) check(state, choice)
  } catch (error) {
    fc.assert(
      fc.property(situation(), ([{ state }, choice]) => check(state, choice)),
      { numRuns: NUM_RUNS },
    )
    throw error
  }
}

describe('decisions on hostile states', () => {
  it('pause appends a PauseEvent if a run can continue, and nothing otherwise', () => {
    const tally = new Tally<'pauses' | 'rests'>()
    property((state) => {
      const events = decidePause(state)
      const { header, log } = state
      const { status } = header
      const head = log.head?.event ?? null
      // A message after a pause may have requested a run.
      const isRunRequested =
        status === 'paused' && head?.kind === 'MessageEvent' && replyOf(head)?.interrupted !== true
      const runs = status === 'idle' || status === 'running' || isRunRequested
      const settles = isWaitedFor(state)
      tally.count([runs || settles ? 'pauses' : 'rests'])
      const paused = settles ? ['PauseEvent', 'ConversationStateUpdateEvent'] : ['PauseEvent']
      expect(kinds(events)).toEqual(runs || settles ? paused : [])
      const after = applyEvents(state, events)
      if (runs || settles) expect(after.header.status).toBe('paused')
      expect(ids(openCallsOf(after))).toEqual(ids(openCallsOf(state)))
      expect(decidePause(after)).toEqual([])
    })
    tally.require(['pauses', 'rests'])
  })

  it('resume ends a pause, and does nothing in any other status', () => {
    const tally = new Tally<'idle' | 'finished'>()
    property((state) => {
      const after = applyEvents(state, decideResume(state))
      if (state.header.status === 'paused') {
        tally.count([after.header.status as 'idle'])
        expect(['idle', 'finished']).toContain(after.header.status)
        if (openCallsOf(state).length > 0) expect(after.header.status).toBe('idle')
      } else {
        tally.count([])
        expect(after).toBe(state)
      }
      expect(decideResume(after)).toEqual([])
    })
    tally.require(['idle'])
  })

  it('interrupt ends every open call of a running branch in log order, and pauses it', () => {
    const tally = new Tally<'calls' | 'shared'>()
    property((state, [live = false]) => {
      const { status } = state.header
      const open = openCallsOf(state)
      const events = decideInterrupt(state, live)
      const after = applyEvents(state, events)
      const runs =
        status === 'running' || status === 'idle' || (live && ['paused', 'finished'].includes(status))
      const settles = isWaitedFor(state)
      if (!runs && !settles) expect(events).toEqual([])
      else {
        const remaining = status === 'idle' && !live ? open : []
        const shared = new Set(open.map(({ event }) => event.tool_call_id)).size < open.length
        tally.count([
          ...(open.length > remaining.length ? ['calls' as const] : []),
          ...(shared ? ['shared' as const] : []),
        ])
        expect(ids(openCallsOf(after))).toEqual(ids(remaining))
        expect(after.header.status).toBe(status === 'finished' && !settles ? 'finished' : 'paused')
        const end = settles ? -2 : -1
        if (events.length > 0) expect(kinds(events).at(end)).toBe('InterruptEvent')
        expect(
          events.slice(0, end).map((event) => (event.kind === 'AgentErrorEvent' ? event.tool_call_id : null)),
        ).toEqual(remaining.length > 0 ? [] : open.map(({ event }) => event.tool_call_id))
      }
      expect(decideInterrupt(after, live)).toEqual([])
      expect(decideInterrupt(after)).toEqual([])
    })
    tally.require(['calls'])
  })

  it('approve grants the requested calls once, and ends waiting when no call is left to approve', () => {
    const tally = new Tally<'some' | 'settles' | 'inert'>()
    property((state, choice) => {
      const open = openCallsOf(state)
      const able = open.filter(isExecutable)
      const requests = chosen(able, choice)
      const after = applyEvents(state, decideApprove(state, ids(requests)))
      const granted = new Map(after.header.callStatuses.map(({ action_id, grant }) => [action_id, grant]))
      for (const { id } of requests) expect(granted.get(id)).toBe('approved')
      for (const { action_id, grant } of state.header.callStatuses) {
        // The grant of a call that has its result may be dropped.
        if (!ids(requests).includes(action_id) && ids(open).includes(action_id))
          expect(granted.get(action_id)).toBe(grant)
      }
      const waits = state.header.status === 'waiting_for_confirmation'
      const settled = waits && requests.length > 0 && able.every(({ id }) => granted.get(id) === 'approved')
      expect(after.header.status).toBe(settled ? 'idle' : state.header.status)
      expect(ids(openCallsOf(after))).toEqual(ids(open))
      expect(decideApprove(after, ids(requests))).toEqual([])
      for (const { id } of open.filter((call) => !isExecutable(call)))
        expect(codeOf(() => decideApprove(state, [id]))).toBe('unknown_call')
      for (const entry of state.log.entries) {
        if (entry.id === null || ids(open).includes(entry.id)) continue
        expect(codeOf(() => decideApprove(state, [entry.id as string]))).toBe('unknown_call')
      }
      const names = [
        requests.length > 0 ? 'some' : null,
        settled ? 'settles' : null,
        open.length > able.length ? 'inert' : null,
      ] as const
      tally.count(names.filter((name) => name !== null))
    })
    tally.require(['some'])
  })

  it('reject appends a rejection for exactly the requested calls', () => {
    const tally = new Tally<'some' | 'all'>()
    property((state, choice) => {
      const open = openCallsOf(state)
      const requests = chosen(open, choice)
      const events = decideReject(state, ids(requests), 'no')
      const after = applyEvents(state, events)
      expect(
        events.flatMap((event) => (event.kind === 'UserRejectObservation' ? [event.action_id] : [])),
      ).toEqual(ids(requests))
      const remaining = open.filter((call) => !requests.includes(call))
      expect(ids(openCallsOf(after))).toEqual(ids(remaining))
      const approved = new Set(
        state.header.callStatuses
          .filter(({ grant }) => grant === 'approved')
          .map(({ action_id }) => action_id),
      )
      const settled =
        requests.length > 0 && remaining.every((call) => approved.has(call.id) || !isExecutable(call))
      const waits = state.header.status === 'waiting_for_confirmation'
      expect(after.header.status).toBe(waits && settled ? 'idle' : state.header.status)
      for (const { id } of requests) expect(codeOf(() => decideReject(after, [id]))).toBe('unknown_call')
      const none = applyEvents(state, decideReject(state))
      expect(openCallsOf(none)).toEqual([])
      expect(decideReject(none)).toEqual([])
      tally.count([
        ...(requests.length > 0 ? ['some' as const] : []),
        ...(open.length > 1 ? ['all' as const] : []),
      ])
    })
    tally.require(['some', 'all'])
  })

  it('recover ends every open call of a running state with an error, and only once', () => {
    const tally = new Tally<'calls' | 'none'>()
    property((state) => {
      const events = decideRecover(state)
      if (state.header.status !== 'running') {
        expect(events).toEqual([])
        tally.count([])
        return
      }
      const open = openCallsOf(state)
      tally.count([open.length > 0 ? 'calls' : 'none'])
      expect(kinds(events)).toEqual([...open.map(() => 'AgentErrorEvent'), 'ConversationErrorEvent'])
      const after = applyEvents(state, events)
      expect(openCallsOf(after)).toEqual([])
      expect(after.header).toMatchObject({ status: 'error', error: { code: 'RunLost' } })
      expect(decideRecover(after)).toEqual([])
    })
    tally.require(['calls', 'none'])
  })

  it('navigate moves HEAD to any event or to null, and the branch follows', () => {
    property((state) => {
      for (const entry of [...state.log.entries, null]) {
        if (entry !== null && (entry.id === null || !entry.inTree)) continue
        const id = entry?.id ?? null
        const after = applyEvents(state, decideNavigate(state, id))
        expect(after.log.head?.seq).toBe(anchorOf(entry)?.seq)
        expect(describeBranch(after.branch)).toBe(describeBranch(switchTo(state, id).branch))
        expect(decideNavigate(after, id)).toEqual([])
      }
      expect(codeOf(() => decideNavigate(state, 'no such id'))).toBe('unknown_event')
    })
  })

  it('restart moves HEAD to the system prompt of the branch, or to null, and copies a prompt after messages', () => {
    const tally = new Tally<'copy' | 'none'>()
    property((state) => {
      const prompt = state.branch.systemPrompt
      const decided = decideRestart(state)
      const isCopied = decided.some(({ kind }) => kind === 'SystemPromptEvent')
      tally.count(prompt === null ? ['none'] : isCopied ? ['copy'] : [])
      const after = applyEvents(state, decided)
      if (!isCopied) expect(after.log.head?.seq).toBe(prompt?.seq)
      expect(after.branch.systemPrompt?.seq).toBe(after.log.head?.seq)
      const {
        id: _id,
        parent_id: _parent,
        timestamp: _time,
        ...copy
      } = after.branch.systemPrompt?.event ?? {}
      expect({ ...prompt?.event, ...copy }).toEqual({ ...prompt?.event })
      expect([...viewEvents(after)].every(({ event }) => event.kind === 'SystemPromptEvent')).toBe(true)
      expect(listPendingCalls(after)).toEqual([])
      expect(decideRestart(after)).toEqual([])
      // Another restart finds the prompt before all messages.
      const later = applyEvents(after, [userMessage('more')], idCounter('later'))
      const again = applyEvents(later, decideRestart(later), idCounter('again'))
      expect(again.log.head?.seq).toBe(after.log.head?.seq)
    })
    tally.require(['copy', 'none'])
  })

  it('edit replaces any user message, and rejects other events with unknown_event', () => {
    const tally = new Tally<'root' | 'elsewhere' | 'head'>()
    property((state) => {
      const situations: ('root' | 'elsewhere' | 'head')[] = []
      for (const { id, event, parent, seq } of state.log.entries) {
        if (id === null || findEventIn(state.log, id)?.seq !== seq) continue
        if (event?.kind !== 'MessageEvent' || event.source !== 'user') {
          expect(codeOf(() => decideEdit(state, id, userMessage('other')))).toBe('unknown_event')
          continue
        }
        const after = applyEvents(state, decideEdit(state, id, userMessage('other')))
        const before = anchorOf(parent)
        const head = after.log.head
        expect(head?.seq).toBe(after.log.entries.length - 1)
        expect(head?.parent?.seq).toBe(before?.seq)
        expect(findEventIn(after.log, id)?.event).toBe(event)
        situations.push(before === null ? 'root' : before === state.log.head ? 'head' : 'elsewhere')
      }
      tally.count(situations)
    })
    tally.require(['root', 'elsewhere'])
  })

  it('setting a policy appends it once, whatever the order of its keys', () => {
    property((state) => {
      const policy = { kind: 'ConfirmRisky', threshold: 'HIGH' }
      const after = applyEvents(state, decidePolicy(state, policy))
      expect(after.header.confirmationPolicy).toEqual(policy)
      expect(decidePolicy(after, { threshold: 'HIGH', kind: 'ConfirmRisky' })).toEqual([])
      expect(after.header.status).toBe(state.header.status)
      expect(after.header.callStatuses).toBe(state.header.callStatuses)
      expect(after.header.inFlight).toBe(state.header.inFlight)
    })
  })

  it('a decision is the same on an evicted state, or fails with `evicted`', () => {
    const tally = new Tally<'decided' | 'evicted'>()
    property((state, choice) => {
      const small = evict(state)
      const requests = ids(chosen(openCallsOf(state), choice))
      const some = [...state.log.entries].flatMap(({ id, inTree }) => (inTree && id !== null ? [id] : []))
      const decisions: ((state: State) => Event[])[] = [
        decidePause,
        decideResume,
        (now) => decideInterrupt(now, choice[0]),
        (now) => decideReject(now, requests),
        (now) => decideApprove(now, requests),
        decideRecover,
        decideRestart,
        ...some.flatMap((id) => [
          (now: State) => decideNavigate(now, id),
          (now: State) => decideEdit(now, id, userMessage('other')),
        ]),
      ]
      const situations = decisions.map((decide) => {
        const result = outcome(decide, small)
        if (result === 'evicted') return 'evicted' as const
        expect(result).toBe(outcome(decide, state))
        return 'decided' as const
      })
      tally.count(situations)
    })
    tally.require(['decided', 'evicted'])
  })
})
