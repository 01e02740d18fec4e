/** Findings about calls (repeated, late, pending), condensations, branches, replies and loops. */

import { isToolResult } from '../event/kinds.ts'
import { hasText, quote } from '../event/text.ts'
import type { ActionEvent, MessageEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import type { Entry, EventEntry } from '../log/entry.ts'
import { listPendingCallsIn, openCallOf, pendingCallCount } from '../log/open-calls.ts'
import { branchOf, type Checkpoint } from '../state/state.ts'
import { judgeResult } from './verdict.ts'
import { type FindingDraft, finding, type Scene } from './scene.ts'
import { counted } from './explanation.ts'
import { textsOf } from '../context/text.ts'
import { indexOfEvent } from '../view/condense.ts'
import type { View } from '../view/view.ts'
import { describeParent, pathBetween, whereHeadLeft } from './path.ts'
import { listLeavesIn } from '../state/at.ts'
import { stuckDetector } from '../context/stuck.ts'
import { type EarlyEnd, earlyEndOf, replyOf } from '../event/reply.ts'
import { isCutOff, responseOf } from '../laws/replies.ts'
import { findEventIn } from '../log/log.ts'

/** Repeated calls, and results that arrived too late for the view. O(n log n). */
export function* callFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const last = new Map<string, Call>()
  for (const entry of state.log.entries) {
    if (!entry.inTree || entry.event === null) continue
    if (isCall(entry)) {
      const before = last.get(entry.event.tool_call_id)
      last.set(entry.event.tool_call_id, entry)
      if (before !== undefined && isRepeated(before, entry)) {
        const { tool_name } = entry.event
        const text = `the call of ${quote(tool_name)} is repeated: ${quote(entry.id)} equals ${quote(before.id)}, so its tool may have run twice`
        yield finding('doubled_call', 'error', entry, text, { ids: [before.id], rule: 'U2', law: 'P6' })
      }
    } else if (isToolResult(entry.event) && isLate(entry)) {
      const judged = judgeResult(state, entry)
      if (judged === null) continue
      const text = `a result arrived too late, and the model never sees it: ${judged.verdict.text}`
      yield finding('late_result', 'warning', entry, text, { ids: judged.verdict.ids, rule: 'U6' })
    }
  }
}

function isLate({ branch, parent }: Checkpoint): boolean {
  const above = branchOf(parent)
  return (
    branch.dropped !== above.dropped &&
    pendingCallCount(branch.pendingCalls) < pendingCallCount(above.pendingCalls)
  )
}

type Call = Checkpoint & EventEntry<ActionEvent>

const isCall = (entry: Checkpoint): entry is Call => entry.event?.kind === 'ActionEvent'

/** Ids alone do not identify a call, because many servers number them again in each reply. */
function isRepeated(before: Call, { event, parent }: Call): boolean {
  const one = before.event
  const isSame = one.tool_name === event.tool_name && one.tool_call.arguments === event.tool_call.arguments
  if (!isSame || !isOnPathIn(before, parent)) return false
  const isReply = one.llm_response_id === event.llm_response_id && event.llm_response_id !== ''
  return isReply || openCallOf(branchOf(parent).pendingCalls, one.tool_call_id, before.seq) !== undefined
}

export function* pendingFindings({ state, ended }: Scene): IterableIterator<FindingDraft> {
  const calls = listPendingCallsIn(state.branch.pendingCalls)
  const [first] = calls
  if (first === undefined || ended) return
  const text = `${counted(calls.length, 'call has', 'calls have')} no result, so that ${calls.length === 1 ? 'its' : 'their'} reply is not sent: ${quote(first.entry.event.tool_name)} waits`
  yield finding('pending_call', 'note', first.entry, text, {
    ids: calls.map(({ entry }) => entry.id),
    rule: 'U4',
  })
}

/** Shorter words do not identify a task. */
const LEAST_WORD = 4

const SHARE = 0.25

/**
 * Condensations of HEAD's branch that removed the first or latest user message, with few of its words in the
 * summary. A guess: other languages are reported too. O(path · log view).
 */
export function* condensationFindings({ state }: Scene): IterableIterator<FindingDraft> {
  let task: EventEntry<MessageEvent> | null = null
  for (const entry of pathBetween(null, state.log.head)) {
    const { event, id } = entry
    if (event?.kind === 'MessageEvent' && event.source === 'user') task ??= entry as EventEntry<MessageEvent>
    if (event?.kind !== 'Condensation' || task === null) continue
    const above = branchOf(entry.parent)
    const required = new Map([
      [task, 'the task'],
      ...(above.lastUserMessage === null || above.lastUserMessage.seq === task.seq
        ? []
        : [[above.lastUserMessage, 'the last message of the user'] as const]),
    ])
    const summary = event.summary ?? ''
    for (const [message, what] of required) {
      if (!holds(above.view, message) || holds(entry.branch.view, message) || mentions(summary, message))
        continue
      const how = hasText(summary) ? 'its summary has hardly a word of it' : 'it has no summary'
      const text = `the condensation ${quote(id)} removed ${what} from the view, ${quote(message.id)}, and ${how}`
      // Missing words are a guess; a missing summary is a fact.
      const severity = hasText(summary) ? 'warning' : 'error'
      yield finding('forgotten_task', severity, entry, text, { ids: [message.id], rule: 'U6' })
    }
  }
}

const holds = ({ units }: View, entry: EventEntry): boolean => indexOfEvent(units, entry) >= 0

/** True for a message without words that identify it. */
function mentions(summary: string, { event }: EventEntry<MessageEvent>): boolean {
  const taskWords = wordsOf(textsOf(event.llm_message.content ?? []).join(' '))
  if (taskWords.size === 0) return true
  const summaryWords = wordsOf(summary)
  return [...taskWords].filter((word) => summaryWords.has(word)).length >= taskWords.size * SHARE
}

const MAX_WORDS = 400

function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  return new Set(words.filter((word) => word.length >= LEAST_WORD).slice(0, MAX_WORDS))
}

/**
 * Branches without HEAD that contain tool results or replies. Where HEAD was moved away: a note; where an
 * event has an older parent: possibly lost. O(n · branches).
 */
export function* branchFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const { head } = state.log
  const seen = new Set<Entry>()
  for (const leaf of listLeavesIn(state.log)) {
    if (head !== null && isOnPathIn(leaf, head)) continue
    const path: Entry[] = []
    for (let entry: Entry | null = leaf; entry !== null && !seen.has(entry); entry = entry.parent) {
      if (head !== null && isOnPathIn(entry, head)) break
      seen.add(entry)
      path.push(entry)
    }
    const results = path.filter(({ event }) => event !== null && isToolResult(event)).length
    const replies = path.filter(
      ({ event }) => event?.kind === 'MessageEvent' && event.source === 'agent',
    ).length
    const first = path.at(-1)
    if (first === undefined || results + replies === 0) continue
    const by = whereHeadLeft(state, first)?.by ?? null
    const moved = by?.event?.kind === 'ConversationStateUpdateEvent'
    const work = [
      ...(results === 0 ? [] : [counted(results, 'result')]),
      ...(replies === 0 ? [] : [counted(replies, 'message')]),
    ].join(' and ')
    const isBefore = head === null || isOnPathIn(head, first)
    const how =
      by === null || (isBefore && !moved)
        ? `HEAD ${isBefore ? 'is before it' : 'is on another one'}`
        : moved
          ? `HEAD was moved off it by ${quote(by.id)}`
          : `${quote(by.id)} ${describeParent(by)}${by.parent === null ? '' : ', before it'}`
    const text = `a branch with ${work} of the agent is out of the model's sight: ${how}`
    yield finding('lost_branch', moved ? 'note' : 'warning', leaf, text, {
      ids: [by?.id, first.id],
      rule: 'D7',
    })
  }
}

const END_TEXTS: Readonly<Record<EarlyEnd, string | null>> = {
  truncated: 'was cut off by its limit of tokens',
  filtered: 'was held back by the provider',
  refused: 'is a refusal',
  paused: null,
  broken_off: 'broke off',
  failed: 'failed at the provider',
}

/** Replies that ended early. O(n). */
export function* cutOffFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const reported = new Set<string>()
  for (const entry of state.log.entries) {
    const { event, inTree } = entry
    if (event === null || !inTree) continue
    const reply = responseOf(event)
    if (reply !== null && reported.has(reply)) continue
    const end = earlyEndOf(event)
    const endText = isCutOff(event) ? 'was cut off by its user' : end === null ? null : END_TEXTS[end]
    if (endText === null) continue
    if (reply !== null) reported.add(reply)
    const reason: unknown = replyOf(event)?.stop_reason
    const why = typeof reason === 'string' && end !== null ? ` (${reason.slice(0, 40)})` : ''
    const text = `the reply ${endText}${why}, so it is incomplete`
    yield finding('cut_off', isCutOff(event) ? 'note' : 'warning', entry, text, { rule: 'D20' })
  }
}

/** Loops at the end of each branch, and before each user message. O(content of the latest steps) for each. */
export function* loopFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const { verdict } = stuckDetector()
  const shown = new Set<string>()
  const ends = new Set<Entry | null>([
    ...Array.from(state.log.entries, ({ event, parent }) =>
      event?.kind === 'MessageEvent' && event.source === 'user' ? parent : null,
    ),
    ...listLeavesIn(state.log),
    state.log.head,
  ])
  for (const end of ends) {
    const stuck = end === null ? null : verdict({ ...state, branch: branchOf(end) })
    const first = stuck === null ? undefined : findEventIn(state.log, stuck.eventIds[0] ?? '')
    if (stuck === null || first === undefined || shown.has(`${stuck.pattern} ${first.seq}`)) continue
    shown.add(`${stuck.pattern} ${first.seq}`)
    const text = `the agent goes round in circles: ${stuck.reason.replace(/\.$/, '')}`
    yield finding('loop', 'warning', first, text, { ids: stuck.eventIds })
  }
}
