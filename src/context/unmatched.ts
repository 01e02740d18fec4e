/** The pending calls of a branch that can still be executed. */

import type { ActionEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import type { State } from '../state/state.ts'

/**
 * Pending executable calls of HEAD's branch, in log order, including forgotten ones. A call with a null
 * action is pending (see `listPendingCallsIn`), but not executable. O(k log k) for k pending calls.
 * @example
 * const tool_call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const call = { kind: 'ActionEvent', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call,
 *   llm_response_id: 'r' }
 * const state = replay([{ ...call, id: 'a', action: { kind: 'LsAction' } }, { ...call, id: 'b',
 *   tool_call_id: 'd', action: null }])
 * listRunnableCalls(state).map(({ id }) => id) // ['a']
 */
export const listRunnableCalls = ({ branch }: State): EventEntry<ActionEvent>[] =>
  listPendingCallsIn(branch.pendingCalls).flatMap(({ entry }) =>
    (entry.event.action ?? null) === null ? [] : [entry],
  )
