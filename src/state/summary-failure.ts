/** Failures of a summariser. They are recorded, so that a failing summariser is not called at every step. */

import type { ConversationStateUpdateEvent } from '../event/types.ts'
import { isObject } from '../event/json.ts'
import { eventKindOf } from '../log/entry.ts'
import type { State } from './state.ts'

const FAILURE_KEY = 'condensation_failed'

/** Number of events from the first failure to the next attempt. Each further failure doubles it, up to MAX_WAIT. */
const FIRST_WAIT = 16
const MAX_WAIT = 512

/** Counts the failures since the last condensation, and the events but state updates since the last failure. */
function failuresIn({ log: { entries } }: State): { readonly count: number; readonly since: number } {
  let since = 0
  for (let seq = entries.length - 1; seq >= 0; seq -= 1) {
    const entry = entries.get(seq)
    const kind = entry === undefined ? null : eventKindOf(entry)
    if (kind === 'Condensation') break
    if (kind !== 'ConversationStateUpdateEvent') {
      since += 1
      continue
    }
    const event = entry?.event
    if (event?.kind !== 'ConversationStateUpdateEvent' || event.key !== FAILURE_KEY) continue
    const { failures } = isObject(event.value) ? event.value : {}
    return { count: typeof failures === 'number' && failures >= 1 ? failures : 1, since }
  }
  return { count: 0, since }
}

export function isWaitingForSummary(state: State): boolean {
  const { count, since } = failuresIn(state)
  return count > 0 && since < Math.min(MAX_WAIT, FIRST_WAIT * 2 ** (count - 1))
}

export const failureUpdate = (state: State, reason: string): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key: FAILURE_KEY,
  value: { failures: failuresIn(state).count + 1, reason },
})
