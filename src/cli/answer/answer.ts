/** The JSON of `--json`: one object for each request about a recorded conversation. */

import {
  listPendingCalls,
  maskSecrets,
  pathTo,
  type State,
  stateAt,
  switchTo,
  viewEvents,
} from '../../index.ts'
import { toAtif, toSpans } from '../../sessions/index.ts'
import { cutPoints, kindOf, listLeaves, listDroppedResults } from '../../state/index.ts'
import { stuckDetector } from '../../context/index.ts'
import type { FileCommand } from '../args/commands.ts'
import { condensed } from './condense.ts'
import { messagesIn, messagesOf } from './grammar.ts'
import { namedId } from '../input/named.ts'
import { whyAsJson } from '../why/look.ts'
import { issueAsJson, nameOf, type Recording } from '../input/recording.ts'
import type { FileRequest } from '../args/request.ts'

type Answer = Readonly<Record<string, unknown>>

/** By the published thresholds. */
export const LOOPS = stuckDetector()

/** The result of each command, as the table of the `--json` contract has it. */
const ANSWERS: Readonly<Record<FileCommand, (recording: Recording, request: FileRequest) => Answer>> = {
  check: ({ lines, quarantined, issues, warnings }) => ({
    events: lines.length,
    valid: lines.length - quarantined,
    issues: issues.map(issueAsJson),
    warnings: warnings.map(issueAsJson),
  }),

  replay: (recording, request) => {
    const state = stateFor(recording, request)
    return {
      events: state.log.entries.length,
      status: state.header.status,
      head: state.log.head?.id ?? null,
      error: state.header.error,
      pending: pendingIds(state),
      branches: listLeaves(state).length,
      quarantined: quarantinedCount(state),
    }
  },

  view: (recording, request) => {
    const state = stateFor(recording, request)
    const { view } = state.branch
    return {
      view: Array.from(viewEvents(state), (item) => item.id),
      pending: pendingIds(state),
      dropped: listDroppedResults(state),
      unhandled_condensation_request: view.unhandledCondensationRequest,
      cut_points: cutPoints(state),
    }
  },

  messages: (recording, { format, budget, ...request }) => {
    const state = stateFor(recording, request)
    return messagesIn(format, messagesOf(state, budget), state)
  },

  condense: (recording, request) => {
    const state = stateFor(recording, request)
    const { event, reason, after } = condensed(state, request)
    return {
      condensation: event,
      reason,
      view_before: state.branch.view.length,
      view: Array.from(viewEvents(after), (item) => item.id),
    }
  },

  tree: ({ state }) => {
    const { log } = state
    const onHeadPath = new Set(pathTo(state))
    const standing = [...log.entries].filter((entry) => entry.inTree)
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

  convert: (recording, request) => ({ [request.to ?? 'atif']: converted(recording, request) }),

  why: (recording, request) => whyAsJson(recording, stateFor(recording, request), request),

  stuck: (recording, request) => {
    const state = stateFor(recording, request)
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

/** The document that `convert` writes, with every secret masked. */
export function converted(recording: Recording, request: FileRequest): unknown {
  const state = stateFor(recording, request)
  const id = recording.conversation ?? recording.session?.id ?? undefined
  if (request.to !== 'otel') return maskSecrets(toAtif(state, id === undefined ? {} : { sessionId: id }))
  const content = request.content === true
  return maskSecrets(toSpans(state, id === undefined ? { content } : { conversationId: id, content }))
}

/** The result of a request about one conversation, with every secret masked. */
export function answer(recording: Recording, request: FileRequest): Answer {
  return maskSecrets({
    ...nameOf(recording),
    ...sessionOf(recording),
    ...ANSWERS[request.command](recording, request),
  })
}

/** What a session was read from, where the file holds one. */
const sessionOf = ({ session }: Recording): Answer =>
  session === null ? {} : { session: { format: session.format, id: session.id, notes: session.notes } }

/** The state that a request looks at: at an event for `replay --at`, on another branch for `--leaf`, else at HEAD. */
export function stateFor(
  recording: Pick<Recording, 'state' | 'lines'>,
  { command, event }: Pick<FileRequest, 'command' | 'event'>,
): State {
  const { state } = recording
  if (event === null) return state
  const id = namedId(recording, event)
  return command === 'replay' ? stateAt(state, id) : switchTo(state, id)
}

/** The ids of the branch's pending calls, in log order. */
const pendingIds = (state: State): string[] => listPendingCalls(state).map((call) => call.entry.id)

/** How many lines of the log could not be read as events. */
function quarantinedCount({ log }: State): number {
  let count = 0
  for (const entry of log.entries) if (entry.quarantined !== null) count += 1
  return count
}
