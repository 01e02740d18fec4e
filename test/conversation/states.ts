import * as fc from 'fast-check'
import { decodeEvent } from '../../src/event/decode.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import {
  openCallsOf,
  grantUpdate,
  headUpdate,
  policyUpdate,
  statusUpdate,
} from '../../src/conversation/decide.ts'
import { findEventIn } from '../../src/log/log.ts'
import type { CallStatus } from '../../src/state/call-status.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { STATUSES } from '../../src/state/status.ts'
import { hostileLog } from '../../src/testing/index.ts'

export const ids = (events: readonly { readonly id: string }[]): string[] => events.map(({ id }) => id)
export const kinds = (events: readonly Event[]): string[] => events.map(({ kind }) => kind)

export const folded = (...events: readonly Event[]): State => replay(events, { conversationId: 'c' })

/** Ids that no test log uses. */
export function idCounter(prefix = 'new'): () => string {
  let count = 0
  return () => `${prefix}-${(count += 1)}`
}

/**
 * Applies decided events.
 * @throws Error if an event does not decode or refers to an unknown event.
 */
export function applyEvents(state: State, events: readonly Event[], newId = idCounter()): State {
  let current = state
  for (const event of events) {
    const stamped = {
      ...event,
      id: event.id ?? newId(),
      timestamp: event.timestamp ?? '2026-02-01T00:00:00Z',
    }
    const decoded = decodeEvent(stamped)
    if (!decoded.ok) throw new Error(`invalid event: ${JSON.stringify(decoded.issues)}`)
    const references = [event.parent_id ?? null]
    if (event.kind === 'ConversationStateUpdateEvent' && event.key === 'leaf_event_id')
      references.push(event.value as string | null)
    for (const id of references) {
      if (id !== null && id !== '__root__' && findEventIn(current.log, id) === undefined)
        throw new Error(`unknown event ${id}`)
    }
    current = reduce(current, decoded.event)
    if (current.log.entries.last()?.warnings.length !== 0) throw new Error('the fold repaired an event')
  }
  return current
}

const GRANTS: readonly CallStatus[] = ['approved', 'held', 'started']

/** A hostile log that may end with a status, grants for open calls, and a policy. */
export function hostileState(): fc.Arbitrary<{ readonly facts: readonly Fact[]; readonly state: State }> {
  // Statuses that matter to decisions are more frequent.
  const status = fc.option(
    fc.constantFrom(...STATUSES, 'running', 'paused', 'waiting_for_confirmation', 'waiting_for_confirmation'),
    { freq: 3 },
  )
  const isHeadEmpty = fc.nat(9).map((n) => n === 0)
  const callStatuses = fc.array(fc.constantFrom<CallStatus | null>(...GRANTS, null, null), { maxLength: 6 })
  const policy = fc.option(fc.constantFrom('AlwaysConfirm', 'NeverConfirm'), { freq: 2 })
  return fc
    .tuple(hostileLog(), status, callStatuses, policy, isHeadEmpty)
    .map(([log, status, callStatuses, policy, isHeadEmpty]) => {
      const facts: Fact[] = [...log]
      if (isHeadEmpty) facts.push({ ...headUpdate(null), id: 'left' })
      if (policy !== null) facts.push({ ...policyUpdate({ kind: policy }), id: 'policy' })
      if (status !== null) facts.push({ ...statusUpdate(status), id: 'status' })
      const open = openCallsOf(replay(facts, { conversationId: 'c' }))
      for (const grant of GRANTS) {
        const ids = open.flatMap(({ id }, i) => (callStatuses[i] === grant ? [id] : []))
        if (ids.length > 0) facts.push({ ...grantUpdate(grant, ids), id: `grant-${grant}` })
      }
      return { facts, state: replay(facts, { conversationId: 'c' }) }
    })
}
