/** A recorded conversation and a request go in, the JSON object that answers it comes out. */

import {
  cutPoints,
  kindOf,
  leaves,
  listOpenCalls,
  maskSecrets,
  pathTo,
  type State,
  stateAt,
  switchTo,
  viewEvents,
  droppedAnswers,
  stuckDetector,
} from '../index.ts'
import type { FileCommand } from './commands.ts'
import { condensed } from './condense.ts'
import { messagesIn, messagesOf } from './grammar.ts'
import { nameOf, type Recording } from './recording.ts'
import type { FileRequest } from './request.ts'

type Answer = Readonly<Record<string, unknown>>

/** By the published thresholds. */
export const LOOPS = stuckDetector()

/** The answer to each command, as the table of the `--json` contract has it. */
const ANSWERS: Readonly<Record<FileCommand, (recording: Recording, request: FileRequest) => Answer>> = {
  check: ({ lines, quarantined, issues }) => ({
    events: lines.length,
    valid: lines.length - quarantined,
    issues: issues.map(({ line, kind, issue: { loc, msg, type } }) => ({ line, kind, loc, msg, type })),
  }),

  replay: (recording, request) => {
    const state = stateFor(recording.state, request)
    return {
      events: state.log.entries.length,
      status: state.header.status,
      head: state.log.head?.id ?? null,
      error: state.header.error,
      pending: pendingIds(state),
      branches: leaves(state.log).length,
      quarantined: quarantinedCount(state),
    }
  },

  view: (recording, request) => {
    const state = stateFor(recording.state, request)
    const { view } = state.branch
    return {
      view: Array.from(viewEvents(view), (item) => item.id),
      pending: pendingIds(state),
      dropped: droppedAnswers(state.branch),
      unhandled_condensation_request: view.unhandledCondensationRequest,
      cut_points: cutPoints(view),
    }
  },

  messages: (recording, { format, budget, ...request }) =>
    messagesIn(format, messagesOf(stateFor(recording.state, request), budget)),

  condense: (recording, request) => {
    const state = stateFor(recording.state, request)
    const { event, reason, after } = condensed(state, request)
    return {
      condensation: event,
      reason,
      view_before: state.branch.view.length,
      view: Array.from(viewEvents(after.branch.view), (item) => item.id),
    }
  },

  tree: ({ state: { log } }) => {
    const onHeadPath = new Set(pathTo(log.head))
    const standing = [...log.entries].filter((entry) => entry.stands)
    return {
      roots: standing.filter((entry) => entry.parent === null).map((entry) => entry.id),
      events: standing.map((entry) => ({
        id: entry.id,
        kind: kindOf(entry),
        parent: entry.parent?.id ?? null,
        on_head_path: onHeadPath.has(entry),
      })),
    }
  },

  stuck: (recording, request) => {
    const state = stateFor(recording.state, request)
    const verdict = LOOPS.verdict(state)
    return {
      stuck: verdict !== null,
      pattern: verdict?.pattern ?? null,
      event_ids: verdict?.eventIds ?? [],
      reason: verdict?.reason ?? null,
      nudge: LOOPS.nudge(state),
    }
  },
}

/** The answer to a request about one conversation, with every secret masked. */
export function answer(recording: Recording, request: FileRequest): Answer {
  return maskSecrets({ ...nameOf(recording), ...ANSWERS[request.command](recording, request) })
}

/** The state that a request looks at: at an event for `replay --at`, on another branch for `--leaf`, else at HEAD. */
export function stateFor(state: State, { command, event }: Pick<FileRequest, 'command' | 'event'>): State {
  if (event === null) return state
  return command === 'replay' ? stateAt(state, event) : switchTo(state, event)
}

/** The ids of the branch's open calls, in log order. */
const pendingIds = (state: State): string[] =>
  listOpenCalls(state.branch.openCalls).map((call) => call.entry.id)

/** How many lines of the log could not be read as events. */
function quarantinedCount({ log }: State): number {
  let count = 0
  for (const entry of log.entries) if (entry.quarantined !== null) count += 1
  return count
}
