/** Findings about calls: made twice, ended after they were forgotten, or waiting. */

import { isToolResult } from '../event/kinds.ts'
import { hasText, quote } from '../event/text.ts'
import type { ActionEvent, MessageEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import type { Entry, EventEntry } from '../log/entry.ts'
import { listPendingCallsIn, openCallOf, pendingCallCount } from '../log/open-calls.ts'
import { branchOf, type Checkpoint } from '../state/state.ts'
import { judgeResult } from './verdict.ts'
import { type Found, found, type Scene } from './scene.ts'
import { counted } from './explanation.ts'
import { textsOf } from '../context/text.ts'
import type { View } from '../view/view.ts'
import { hangsOn, pathBetween, whereHeadLeft } from './path.ts'
import { listLeavesIn } from '../state/at.ts'
import { stuckDetector } from '../context/stuck.ts'
import { type EarlyEnd, earlyEndOf, replyOf } from '../event/reply.ts'
import { isCutOff, responseOf } from '../laws/replies.ts'
import { findEventIn } from '../log/log.ts'

/** Repeated calls, and results that arrived too late for the view. O(n log n). */
export function* callFindings({ state }: Scene): IterableIterator<Found> {
  const last = new Map<string, Call>()
  for (const entry of state.log.entries) {
    if (!entry.inTree || entry.event === null) continue
    if (isCall(entry)) {
      const before = last.get(entry.event.tool_call_id)
      last.set(entry.event.tool_call_id, entry)
      if (before !== undefined && isRepeated(before, entry)) {
        const { tool_name } = entry.event
        const text = `the call of ${quote(tool_name)} is repeated: ${quote(entry.id)} equals ${quote(before.id)}, so its tool may have run twice`
        yield found('doubled_call', 'error', entry, text, { ids: [before.id], rule: 'U2', law: 'P6' })
      }
    } else if (isToolResult(entry.event) && isLate(entry)) {
      const judged = judgeResult(state, entry)
      if (judged === null) continue
      const text = `a result arrived too late, and the model never sees it: ${judged.verdict.text}`
      yield found('late_result', 'warning', entry, text, { ids: judged.verdict.ids, rule: 'U6' })
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

/** Ids alone do not identify a call, since many servers number them again in each reply. */
function isRepeated(before: Call, { event, parent }: Call): boolean {
  const one = before.event
  const isSame = one.tool_name === event.tool_name && one.tool_call.arguments === event.tool_call.arguments
  if (!isSame || !isOnPathIn(before, parent)) return false
  const isReply = one.llm_response_id === event.llm_response_id && event.llm_response_id !== ''
  return isReply || openCallOf(branchOf(parent).pendingCalls, one.tool_call_id, before.seq) !== undefined
}

/** The pending calls of HEAD's branch, as one finding. */
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

/** Shorter words identify no task. */
const LEAST_WORD = 4

/** The share of the task's words that a summary must have. */
const SHARE = 0.25

/**
 * Condensations of HEAD's branch that took out the first message of a user, or the latest, with a summary that has
 * hardly a word of it. That is a guess about words: a summary in another language is found too. O(path + view for each
 * condensation).
 */
export function* condensationFindings({ state }: Scene): IterableIterator<Found> {
  let task: EventEntry<MessageEvent> | null = null
  for (const entry of pathBetween(null, state.log.head)) {
    const { event, id } = entry
    if (event?.kind === 'MessageEvent' && event.source === 'user') task ??= entry as EventEntry<MessageEvent>
    if (event?.kind !== 'Condensation' || task === null) continue
    const above = branchOf(entry.parent)
    const asked = new Map([
      [task, 'the task'],
      ...(above.lastUserMessage === null || above.lastUserMessage.seq === task.seq
        ? []
        : [[above.lastUserMessage, 'the last message of the user'] as const]),
    ])
    const summary = event.summary ?? ''
    for (const [message, what] of asked) {
      if (!holds(above.view, message) || holds(entry.branch.view, message) || says(summary, message)) continue
      const how = hasText(summary) ? 'its summary has hardly a word of it' : 'it has no summary'
      const text = `the condensation ${quote(id)} removed ${what} from the view, ${quote(message.id)}, and ${how}`
      // Missing words are a guess; a missing summary is a fact.
      const severity = hasText(summary) ? 'warning' : 'error'
      yield found('forgotten_task', severity, entry, text, { ids: [message.id], rule: 'U6' })
    }
  }
}

function holds({ units }: View, { seq }: EventEntry): boolean {
  for (const unit of units)
    if (unit.type === 'message' && 'seq' in unit.item && unit.item.seq === seq) return true
  return false
}

/** True for a message without words that identify it. */
function says(summary: string, { event }: EventEntry<MessageEvent>): boolean {
  const asked = wordsOf(textsOf(event.llm_message.content ?? []).join(' '))
  if (asked.size === 0) return true
  const said = wordsOf(summary)
  return [...asked].filter((word) => said.has(word)).length >= asked.size * SHARE
}

const MOST_WORDS = 400

function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  return new Set(words.filter((word) => word.length >= LEAST_WORD).slice(0, MOST_WORDS))
}

/**
 * Branches that HEAD is not on and that hold results of tools or replies. One that HEAD was moved away from is worth
 * knowing; one that was left by an event that names an older parent may be lost. O(n · branches).
 */
export function* branchFindings({ state }: Scene): IterableIterator<Found> {
  const { head } = state.log
  const seen = new Set<Entry>()
  for (const leaf of listLeavesIn(state.log)) {
    if (head !== null && isOnPathIn(leaf, head)) continue
    const own: Entry[] = []
    for (let at: Entry | null = leaf; at !== null && !seen.has(at); at = at.parent) {
      if (head !== null && isOnPathIn(at, head)) break
      seen.add(at)
      own.push(at)
    }
    const results = own.filter(({ event }) => event !== null && isToolResult(event)).length
    const replies = own.filter(
      ({ event }) => event?.kind === 'MessageEvent' && event.source === 'agent',
    ).length
    const first = own.at(-1)
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
          : `${quote(by.id)} ${hangsOn(by)}${by.parent === null ? '' : ', before it'}`
    const text = `a branch with ${work} of the agent is out of the model's sight: ${how}`
    yield found('lost_branch', moved ? 'note' : 'warning', leaf, text, {
      ids: [by?.id, first.id],
      rule: 'D7',
    })
  }
}

const ENDS: Readonly<Record<EarlyEnd, string | null>> = {
  truncated: 'was cut off by its limit of tokens',
  filtered: 'was held back by the provider',
  refused: 'is a refusal',
  paused: null,
  broken_off: 'broke off',
  failed: 'failed at the provider',
}

/** Replies that ended early. O(n). */
export function* cutOffFindings({ state }: Scene): IterableIterator<Found> {
  const said = new Set<string>()
  for (const entry of state.log.entries) {
    const { event, inTree } = entry
    if (event === null || !inTree) continue
    const reply = responseOf(event)
    if (reply !== null && said.has(reply)) continue
    const end = earlyEndOf(event)
    const words = isCutOff(event) ? 'was cut off by its user' : end === null ? null : ENDS[end]
    if (words === null) continue
    if (reply !== null) said.add(reply)
    const reason: unknown = replyOf(event)?.stop_reason
    const why = typeof reason === 'string' && end !== null ? ` (${reason.slice(0, 40)})` : ''
    const text = `the reply ${words}${why}, so it is incomplete`
    yield found('cut_off', isCutOff(event) ? 'note' : 'warning', entry, text, { rule: 'D20' })
  }
}

/** Loops at the end of each branch, and before each message of a user. O(content of the latest steps) for each. */
export function* loopFindings({ state }: Scene): IterableIterator<Found> {
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
    yield found('loop', 'warning', first, text, { ids: stuck.eventIds })
  }
}
