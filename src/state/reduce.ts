import { completionOf, progressOf } from '../event/completion.ts'
import type { Fact } from '../event/quarantine.ts'
import { headAfter, placeFact, warn } from '../log/place.ts'
import { appendEntry } from '../log/log.ts'
import type { WorkingCall } from '../log/open-calls.ts'
import { MAX_PASSED, replyPlace } from '../view/view.ts'
import { EMPTY_BRANCH, foldBranch, workingCallOf } from './branch.ts'
import { quote } from '../event/text.ts'
import { foldHeader, type ReportedCall } from './header.ts'
import { branchOf, initialState, type Checkpoint, type State, type StateOptions } from './state.ts'

/**
 * Returns the state after one more fact. Never changes its input, and never throws because of what the fact
 * contains (laws R2, R3).
 *
 * O(log n) for n entries; O((k + r) · log n) for a Condensation that lists k ids and removes r units.
 * @throws ColloquyError `evicted` when the fact continues a branch that a snapshot or `evict` left out;
 *   `canReduce` predicts this.
 * @example
 * const state = reduce(initialState(), { kind: "PauseEvent", source: "user" });
 * console.assert(state.header.status === "paused");
 */
export function reduce(state: State, fact: Fact): State {
  const { conversationId, log } = state
  // Created first, because the branch will contain this object.
  const checkpoint: Unfolded = {
    ...placeFact(log, fact, conversationId),
    header: state.header,
    branch: EMPTY_BRANCH,
  }
  const { event, id, inTree } = checkpoint
  let completed: WorkingCall | null = null
  let reported: ReportedCall | null = null
  if (inTree) {
    const branch = branchOf(checkpoint.parent)
    const index = replyPlace(branch.view, checkpoint, log)
    if (index === null)
      warn(
        checkpoint,
        'reply_not_placed',
        `placed last: more than ${MAX_PASSED} messages followed its request`,
      )
    if (event?.kind === 'MessageEvent') {
      const completes = completionOf(event)
      if (completes !== null) {
        completed = workingCallOf(branch, completes.action_id, log) ?? null
        if (completed === null)
          warn(checkpoint, 'nothing_completed', `completes no working call: ${quote(completes.action_id)}`)
      }
    } else if (event?.kind === 'ConversationStateUpdateEvent') {
      const report = progressOf(event)
      const call = report === null ? undefined : workingCallOf(branch, report.action_id, log)
      if (report !== null && call !== undefined) reported = { entry: call.entry, report }
    }
    checkpoint.branch = foldBranch(branch, checkpoint, log, index, completed)
  }
  const { head, move } = headAfter(log, checkpoint)
  if (move === 'unknown') warn(checkpoint, 'head_ignored', 'HEAD stays: the target is not earlier in the log')
  const branch = branchOf(head)
  if (inTree && event !== null && id !== null)
    checkpoint.header = foldHeader(state.header, {
      event,
      id,
      log,
      branch,
      moved: move === 'made',
      completed,
      reported,
    })
  return {
    conversationId,
    header: checkpoint.header,
    log: appendEntry(log, checkpoint as Checkpoint, head as Checkpoint | null),
    branch,
  }
}

/**
 * Returns the state after all facts. Calls `reduce` for each fact, in order (law R4). O(n log n).
 * @example
 * const state = replay([{ kind: "PauseEvent" }, { kind: "InterruptEvent" }]);
 * console.assert(state.log.entries.length === 2);
 */
export function replay(facts: Iterable<Fact>, options: StateOptions = {}): State {
  let state = initialState(options)
  for (const fact of facts) state = reduce(state, fact)
  return state
}

type Unfolded = { -readonly [K in keyof Checkpoint]: Checkpoint[K] }
