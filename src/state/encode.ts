/** Writes a state as text: the same log gives the same text, wherever it was folded and in how many steps (law R). */

import { canonicalJson } from '../event/encode.ts'
import { eventKindOf } from '../log/entry.ts'
import { listWarningsIn } from '../log/log.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import { cutPointsIn } from '../view/cut-points.ts'
import { isPending, type Unit, unitEvents } from '../view/unit.ts'
import { activatedSkillsIn } from './branch.ts'
import { listDroppedResultsIn } from './dropped.ts'
import type { State } from './state.ts'

/**
 * Everything in a state, as canonical JSON: header, HEAD, the columns of the log (id, parent, kind, time; no
 * bodies but derived ones), warnings, and the branch under HEAD unit by unit. For comparing states, in tests and across
 * processes. O(n).
 * @example
 * const fact = { kind: 'PauseEvent', id: 'p' }
 * encodeState(reduce(initialState(), fact)) === encodeState(replay([fact])) // true
 */
export function encodeState(state: State): string {
  const { branch, header, log } = state
  return canonicalJson({
    conversation_id: state.conversationId,
    header,
    head: log.head?.seq ?? null,
    entries: [...log.entries].map((entry) => [
      entry.id,
      entry.inTree ? (entry.parent?.seq ?? null) : 'out',
      eventKindOf(entry),
      entry.timestamp,
    ]),
    warnings: listWarningsIn(log),
    units: [...branch.view.units].map(encodeUnit),
    view_length: branch.view.length,
    cut_points: cutPointsIn(branch.view),
    unhandled_condensation_request: branch.view.unhandledCondensationRequest,
    open_calls: listPendingCallsIn(branch.pendingCalls).map((call) => call.entry.seq),
    system_prompt: branch.systemPrompt?.seq ?? null,
    last_user_message: branch.lastUserMessage?.seq ?? null,
    activated_skills: activatedSkillsIn(branch),
    dropped: listDroppedResultsIn(branch),
  })
}

/** A unit by its ids; a derived summary with its whole body, which stands nowhere else. */
function encodeUnit(unit: Unit): unknown {
  if (unit.type === 'message') return 'seq' in unit.item ? unit.item.id : unit.item.event
  return { pending: isPending(unit), items: [...unitEvents(unit)].map((item) => item.id) }
}
