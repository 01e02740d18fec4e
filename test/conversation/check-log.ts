import { expect } from 'vitest'
import { openCallsOf } from '../../src/conversation/decide.ts'
import { isToolResult } from '../../src/event/kinds.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { findEventIn, listWarningsIn } from '../../src/log/log.ts'
import { reduce } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'

/**
 * Checks each event against the state before it: no pause, approval or policy is repeated, approvals and
 * rejections are for open calls, HEAD never moves to where it already is, and HEAD is restored after a result
 * on another branch. Returns the final state.
 */
export function checkLog(facts: readonly Fact[], conversationId = 'c'): State {
  let state = initialState({ conversationId })
  for (const [i, fact] of facts.entries()) {
    const before = state
    state = reduce(state, fact)
    checkEvent(before, fact as Event, facts[i + 1] as Event | undefined, facts[i + 2] as Event | undefined)
  }
  expect(listWarningsIn(state.log)).toEqual([])
  return state
}

function checkEvent(state: State, event: Event, next?: Event, afterNext?: Event): void {
  const { header, log } = state
  const open = openCallsOf(state).map(({ id }) => id)
  if (event.kind === 'PauseEvent') {
    // A message after a pause may have requested a run.
    const isRunRequested = header.status === 'paused' && log.head?.event?.kind === 'MessageEvent'
    if (!isRunRequested) expect(['idle', 'running']).toContain(header.status)
  }
  if (event.kind === 'InterruptEvent') {
    // A run can continue after its final reply.
    expect(['idle', 'running', 'paused', 'finished']).toContain(header.status)
    if (header.status === 'running') expect(open).toEqual([])
  }
  if (event.kind === 'UserRejectObservation') expect(open).toContain(event.action_id)
  if (isToolResult(event)) {
    const parent = findEventIn(log, event.parent_id ?? '') ?? null
    if (parent !== log.head && parent !== null) {
      const back = next?.kind === 'ConversationErrorEvent' ? afterNext : next
      expect(back).toMatchObject({ key: 'leaf_event_id', value: log.head?.id ?? null })
    }
  }
  if (event.kind !== 'ConversationStateUpdateEvent') return
  if (event.key === 'leaf_event_id') expect(event.value).not.toBe(log.head?.id ?? null)
  if (event.key === 'execution_status' && event.value === 'idle') expect(header.status).not.toBe('idle')
  if (event.key === 'approved_actions') {
    const granted = header.callStatuses
      .filter(({ grant }) => grant === 'approved')
      .map(({ action_id }) => action_id)
    for (const id of event.value as string[]) {
      expect(open).toContain(id)
      expect(granted).not.toContain(id)
    }
  }
  if (event.key === 'confirmation_policy') expect(event.value).not.toEqual(header.confirmationPolicy)
}
