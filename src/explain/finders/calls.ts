/** Findings about calls: made twice, ended after they were forgotten, or waiting. */

import { isToolResult } from '../../event/kinds.ts'
import { quote } from '../../event/text.ts'
import type { ActionEvent } from '../../event/types.ts'
import { isOnPathIn } from '../../log/ancestry.ts'
import type { EventEntry } from '../../log/entry.ts'
import { listPendingCallsIn, openCallOf, pendingCallCount } from '../../log/open-calls.ts'
import { branchOf, type Checkpoint } from '../../state/state.ts'
import { judgeResult } from '../dropped.ts'
import { counted, type Found, found, type Scene } from './scene.ts'

/** Calls that stand twice, and results that came too late for the view. O(n log n). */
export function* callFindings({ state }: Scene): IterableIterator<Found> {
  const last = new Map<string, Call>()
  for (const entry of state.log.entries) {
    if (!entry.inTree || entry.event === null) continue
    if (isCall(entry)) {
      const before = last.get(entry.event.tool_call_id)
      last.set(entry.event.tool_call_id, entry)
      if (before !== undefined && isRepeated(before, entry)) {
        const { tool_name } = entry.event
        const text = `the call of ${quote(tool_name)} stands twice: ${quote(entry.id)} is ${quote(before.id)} once more, so that its tool may have been run twice`
        yield found('doubled_call', 'error', entry, text, { ids: [before.id], rule: 'U2', law: 'P6' })
      }
    } else if (isToolResult(entry.event) && isLate(entry)) {
      const judged = judgeResult(state, entry)
      if (judged === null) continue
      const text = `a result came too late, and the model never sees it: ${judged.verdict.text}`
      yield found('late_result', 'warning', entry, text, { ids: judged.verdict.ids, rule: 'U6' })
    }
  }
}

/** Whether a result ended a call that the view had no more. */
function isLate({ branch, parent }: Checkpoint): boolean {
  const above = branchOf(parent)
  return (
    branch.dropped !== above.dropped &&
    pendingCallCount(branch.pendingCalls) < pendingCallCount(above.pendingCalls)
  )
}

type Call = Checkpoint & EventEntry<ActionEvent>

const isCall = (entry: Checkpoint): entry is Call => entry.event?.kind === 'ActionEvent'

/** Whether a call is another one again: ids alone say little, since many servers count them anew in each reply. */
function isRepeated(before: Call, { event, parent }: Call): boolean {
  const one = before.event
  const isSame = one.tool_name === event.tool_name && one.tool_call.arguments === event.tool_call.arguments
  if (!isSame || !isOnPathIn(before, parent)) return false
  const isReply = one.llm_response_id === event.llm_response_id && event.llm_response_id !== ''
  return isReply || openCallOf(branchOf(parent).pendingCalls, one.tool_call_id, before.seq) !== undefined
}

/** The calls that wait on HEAD's branch, as one. */
export function* pendingFindings({ state, ended }: Scene): IterableIterator<Found> {
  const calls = listPendingCallsIn(state.branch.pendingCalls)
  const [first] = calls
  if (first === undefined || ended) return
  const text = `${counted(calls.length, 'call has', 'calls have')} no result, so that ${calls.length === 1 ? 'its' : 'their'} reply is not sent: ${quote(first.entry.event.tool_name)} waits`
  yield found('pending_call', 'note', first.entry, text, {
    ids: calls.map(({ entry }) => entry.id),
    rule: 'U4',
  })
}
