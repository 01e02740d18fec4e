/** Writes a state as text: the same log gives the same text, whoever folded it and in how many steps (law R). */

import { canonicalJson } from '../event/encode.ts'
import { eventKindOf } from '../log/entry.ts'
import { listReports } from '../log/log.ts'
import { listOpenCalls } from '../log/open-calls.ts'
import { cutPoints } from '../view/cut-points.ts'
import { isPending, type Unit, unitItems } from '../view/unit.ts'
import { activatedSkills } from './branch.ts'
import { droppedAnswers } from './dropped.ts'
import type { State } from './state.ts'

/**
 * Everything a state says, as canonical JSON: header, HEAD, the skeleton of the log (id, parent, kind, time; no bodies
 * but derived ones), reports, and the branch under HEAD unit by unit. For comparing states, in tests and across
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
      entry.stands ? (entry.parent?.seq ?? null) : 'out',
      eventKindOf(entry),
      entry.timestamp,
    ]),
    reports: listReports(log),
    units: [...branch.view.units].map(encodeUnit),
    view_length: branch.view.length,
    cut_points: cutPoints(branch.view),
    unhandled_condensation_request: branch.view.unhandledCondensationRequest,
    open_calls: listOpenCalls(branch.openCalls).map((call) => call.entry.seq),
    system_prompt: branch.systemPrompt?.seq ?? null,
    last_user_message: branch.lastUserMessage?.seq ?? null,
    activated_skills: activatedSkills(branch),
    dropped: droppedAnswers(branch),
  })
}

/** A unit by its ids; a derived summary with its whole body, which stands nowhere else. */
function encodeUnit(unit: Unit): unknown {
  if (unit.type === 'message') return 'seq' in unit.item ? unit.item.id : unit.item.event
  return { pending: isPending(unit), items: [...unitItems(unit)].map((item) => item.id) }
}
