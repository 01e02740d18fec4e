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
} from '../index.ts'
import type { FileRequest } from './args.ts'
import type { FileCommand } from './commands.ts'
import { messagesIn } from './grammar.ts'
import { toJson } from './json.ts'
import type { Recording } from './recording.ts'

type Answer = Readonly<Record<string, unknown>>

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

  messages: (recording, request) => messagesIn(request.format, stateFor(recording.state, request)),

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
}

/** The answer to a request about one file, with every secret masked. */
export function answer(recording: Recording, request: FileRequest): Answer {
  return maskSecrets({ file: recording.file, ...ANSWERS[request.command](recording, request) })
}

/** The state that a request looks at: at an event for `replay --at`, on another branch for `--leaf`, else at HEAD. */
export function stateFor(state: State, { command, event }: Pick<FileRequest, 'command' | 'event'>): State {
  if (event === null) return state
  return command === 'replay' ? stateAt(state, event) : switchTo(state, event)
}

/** The ids of the branch's open calls, in log order. */
export const pendingIds = (state: State): string[] =>
  listOpenCalls(state.branch.openCalls).map((call) => call.entry.id)

/** How many lines of the log could not be read as events. */
export function quarantinedCount({ log }: State): number {
  let count = 0
  for (const entry of log.entries) if (entry.quarantined !== null) count += 1
  return count
}

/** An answer as JSON without line ends, piece by piece: an answer can be longer than the longest string. */
export function* jsonPieces(value: unknown): IterableIterator<string> {
  if (Array.isArray(value)) {
    let before = '['
    for (const item of value) {
      yield before + toJson(item)
      before = ','
    }
    yield before === '[' ? '[]' : ']'
  } else if (isPlain(value)) {
    let before = '{'
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      yield `${before}${toJson(key)}:`
      yield* jsonPieces(item)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  } else yield toJson(value)
}

const isPlain = (value: unknown): value is Answer => typeof value === 'object' && value !== null
