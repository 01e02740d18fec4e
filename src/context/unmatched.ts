/** What is still to be done: a state goes in, the calls of its branch that nothing has answered and that can be run come out. */

import type { ActionEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { listOpenCalls } from '../log/open-calls.ts'
import type { State } from '../state/state.ts'

/**
 * The open calls of HEAD's branch that can be executed, in log order, forgotten ones too. A call whose action is null never could be: it
 * waits for an answer (`listOpenCalls` names it), but there is nothing to run. O(k log k) for k open calls.
 *
 * @example
 * const tool_call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const call = { kind: 'ActionEvent', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call, llm_response_id: 'r' }
 * const state = replay([{ ...call, id: 'a', action: { kind: 'LsAction' } }, { ...call, id: 'b', tool_call_id: 'd', action: null }])
 * unmatchedActions(state).map(({ id }) => id) // ['a']
 */
export const unmatchedActions = ({ branch }: State): EventEntry<ActionEvent>[] =>
  listOpenCalls(branch.openCalls).flatMap(({ entry }) =>
    (entry.event.action ?? null) === null ? [] : [entry],
  )
