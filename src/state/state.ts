import type { Entry } from '../log/entry.ts'
import { emptyLog, type Log } from '../log/log.ts'
import { type Branch, EMPTY_BRANCH } from './branch.ts'
import { type Header, initialHeader } from './header.ts'

/** An entry with the header and the branch state after this entry. `stateAt` makes a state from them. */
export interface Checkpoint extends Entry {
  readonly header: Header
  readonly branch: Branch
}

/** State of a conversation after an event. Immutable: the header is frozen; types make the rest read-only. */
export interface State {
  /** Missing event ids are derived from this id (design D15). Empty if the caller passed no id. */
  readonly conversationId: string
  readonly header: Header
  readonly log: Log<Checkpoint>
  readonly branch: Branch
}

/** The state of a conversation and, recursively, of its subagents' conversations. */
export interface StateTree {
  readonly id: string
  readonly title: string | null
  /** Id of the parent's ActionEvent that started the subagent; null for the root, and if unknown. */
  readonly actionId: string | null
  readonly state: State
  /** The subagents in order of creation. */
  readonly children: readonly StateTree[]
}

/** Options of `initialState` and `replay`. */
export interface StateOptions {
  /** Conversation id, from which missing event ids are derived. Default: the empty string. */
  readonly conversationId?: string
}

/**
 * Returns the state of a conversation that has no events.
 * @example
 * console.assert(initialState().header.status === "idle");
 */
export function initialState(options: StateOptions = {}): State {
  return {
    conversationId: options.conversationId ?? '',
    header: initialHeader(),
    log: emptyLog<Checkpoint>(),
    branch: EMPTY_BRANCH,
  }
}

export function branchOf(entry: Entry | null): Branch {
  // Every entry of a state's log is a checkpoint, which the type of the log does not express.
  return entry === null ? EMPTY_BRANCH : (entry as Checkpoint).branch
}
