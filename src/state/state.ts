/** The state: a frozen header beside the log and the branch under HEAD (design D5). */

import type { Entry } from '../log/entry.ts'
import { emptyLog, type Log } from '../log/log.ts'
import { type Branch, emptyBranch } from './branch.ts'
import { type Header, initialHeader } from './header.ts'

/** An entry with what the fold knew right after it: enough to have every earlier state at once. */
export interface Checkpoint extends Entry {
  readonly header: Header
  /** The branch part of the path to the entry. */
  readonly branch: Branch
}

/**
 * What a conversation's log means. Plain to read, never changed: the header is frozen, the rest is read-only by type;
 * every earlier state stays valid.
 */
export interface State {
  /** Part of derived event ids (design D15); empty when the caller named no conversation. */
  readonly conversationId: string
  /** Status and error. */
  readonly header: Header
  /** The facts in order, and HEAD. */
  readonly log: Log<Checkpoint>
  /** View, pending calls and the like, for the path to HEAD. */
  readonly branch: Branch
}

/** How a fold begins. */
export interface StateOptions {
  /** Id of the conversation, part of the ids derived for events without one. Default: the empty string. */
  readonly conversationId?: string
}

/**
 * The state of a conversation without events.
 * @example
 * console.assert(initialState().header.status === "idle");
 */
export function initialState(options: StateOptions = {}): State {
  return {
    conversationId: options.conversationId ?? '',
    header: initialHeader(),
    log: emptyLog<Checkpoint>(),
    branch: emptyBranch(),
  }
}

/** The branch part of the path to an entry of a state's log; that of the empty HEAD for null. O(1). */
export function branchOf(entry: Entry | null): Branch {
  // Every entry of a state's log is a checkpoint; the log itself does not know what is kept with its entries.
  return entry === null ? emptyBranch() : (entry as Checkpoint).branch
}
