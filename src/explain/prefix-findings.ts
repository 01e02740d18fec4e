/** Findings about requests that do not extend the previous one: what changed the past, and its cost. */

import { explainPrefix, type PrefixChange } from '../context/explain-prefix.ts'
import { estimateTokens } from '../context/estimate.ts'
import { quote } from '../event/text.ts'
import { requestHeadOf, isOfReply } from '../event/reply.ts'
import type { Event, SystemPromptEvent } from '../event/types.ts'
import { responseOf } from '../laws/replies.ts'
import { findEventIn, type Log } from '../log/log.ts'
import type { AssistantMessage, NeutralMessage } from '../messages/message.ts'
import type { Branch } from '../state/branch.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import type { FindingKind, Severity } from './finding.ts'
import { pathBetween } from './path.ts'
import { holdsEntry } from './subject.ts'
import { eventsIn, removedUnits } from './removal.ts'
import { type FindingDraft, finding, requestOn, type Scene } from './scene.ts'
import { counted, reportsOf } from './explanation.ts'

/** Maximum number of changes to check, the latest ones. Each needs two requests. */
const MAX_CHANGES = 64

interface RequestPoint {
  readonly head: Checkpoint | null
  readonly before: Checkpoint | null
  readonly suspects: readonly Checkpoint[]
}

/**
 * The requests on HEAD's branch that do not extend the previous one. O(path + content of the view for each).
 */
export function* prefixFindings({
  state,
  grammars: [grammar],
  messages,
}: Scene): IterableIterator<FindingDraft> {
  if (grammar === undefined) return
  for (const point of changedRequests(state).slice(-MAX_CHANGES)) {
    const one = judge(point, (branch) => requestOn(state, branch, grammar, messages), state.log)
    if (one !== null) yield one
  }
}

/** Replies whose provider reports that their request did not extend the previous one. O(n). */
export function* reportedFindings({ state }: Scene): IterableIterator<FindingDraft> {
  for (const entry of state.log.entries)
    for (const { text, isBreak } of entry.event === null ? [] : reportsOf(entry.event))
      if (isBreak)
        yield finding('signed_behind_change', 'error', entry, `the provider of this reply reports: ${text}`, {
          rule: 'D23',
        })
}

/** The requests after a change of the past. O(path). */
function changedRequests(state: State): RequestPoint[] {
  const points: RequestPoint[] = []
  const known = new Set<string>()
  let before: Checkpoint | null = null
  let isFirst = true
  let suspects: Checkpoint[] = []
  const addRequest = (head: Checkpoint | null): void => {
    const reached = (one: Checkpoint): boolean => head !== null && one.depth <= head.depth
    const reachedSuspects = suspects.filter(reached)
    if (!isFirst && reachedSuspects.length > 0) points.push({ head, before, suspects: reachedSuspects })
    suspects = suspects.filter((one) => !reached(one))
    before = head
    isFirst = false
  }
  for (const entry of pathBetween(null, state.log.head)) {
    const { event } = entry
    const response = event === null ? null : replyIn(event)
    if (event !== null && response !== null && !known.has(response)) {
      if (response !== '') known.add(response)
      const after = requestHeadOf(event)
      const named = typeof after === 'string' ? findEventIn(state.log, after) : undefined
      addRequest(named ?? (entry.parent as Checkpoint | null))
    }
    if (mayChangeThePast(entry)) suspects.push(entry)
  }
  // The next request.
  addRequest(state.log.head)
  return points
}

const replyIn = (event: Event): string | null => (isOfReply(event) ? (responseOf(event) ?? '') : null)

/** Whether an event did more than extend the view. O(1). */
function mayChangeThePast(entry: Checkpoint): boolean {
  const { event, branch } = entry
  const above = branchOf(entry.parent)
  if (event === null || branch.view.units === above.view.units) return false
  if (event.kind === 'Condensation') return true
  if (event.kind === 'SystemPromptEvent' && above.systemPrompt !== null) return true
  const last = branch.view.units.last()
  return last === undefined || !holdsEntry(last, entry.seq)
}

function judge(
  { head, before, suspects }: RequestPoint,
  request: (branch: Branch) => Sent,
  log: Log,
): FindingDraft | null {
  const [was, is] = [request(branchOf(before)), request(branchOf(head))]
  if (was.written === null || is.written === null) return null
  // A prompt without tools proves nothing: the server may have its own list.
  const tools = was.written.tools.length === 0 || is.written.tools.length === 0 ? { tools: [] } : {}
  const change = explainPrefix({ ...was.written, ...tools }, { ...is.written, ...tools })
  if (change === null) return null
  const by = causeOf(change, suspects)
  if (by === undefined) return null
  const firstChange = was.messages.findIndex(
    (one, index) => JSON.stringify(one) !== JSON.stringify(is.messages[index]),
  )
  const from = change.in === 'message' && firstChange >= 0 ? firstChange : 0
  const lost = new Set(was.leftOut.map(({ message }) => was.messages[message]))
  const newlyLost = is.leftOut.flatMap(({ message }) =>
    lost.has(is.messages[message]) ? [] : [is.messages[message]],
  )
  const signed = new Set([...newlyLost, ...is.messages.slice(from)].filter(isSigned))
  const cost = {
    cacheTokens: estimateTokens(was.messages.slice(from)),
    reasoningTokens: [...signed].reduce((sum, one) => sum + thinkingOf(one), 0),
  }
  const planned = by.event?.kind === 'Condensation'
  const kind: FindingKind = signed.size > 0 ? 'signed_behind_change' : 'cache_broken'
  const severity: Severity = planned ? 'note' : signed.size > 0 ? 'error' : 'warning'
  const price = `about ${counted(cost.cacheTokens, 'token')} must be read again`
  const reasoning =
    signed.size === 0
      ? ''
      : `, and the signed thinking of ${counted(signed.size, 'reply', 'replies')} is after the change, where it is refused or dropped`
  const others = suspects.map(({ id }) => id)
  return finding(kind, severity, by, `${whatChanged(by, log)}: ${price}${reasoning}`, {
    ids: others,
    rule: signed.size > 0 ? 'D23' : 'D24',
    law: planned ? null : 'M15',
    cost,
  })
}

type Sent = ReturnType<typeof requestOn>

function causeOf(change: PrefixChange, suspects: readonly Checkpoint[]): Checkpoint | undefined {
  const prompts = suspects.filter(({ event }) => event?.kind === 'SystemPromptEvent')
  const others = suspects.filter((one) => !prompts.includes(one))
  return change.in === 'message' ? (others[0] ?? prompts.at(-1)) : (prompts.at(-1) ?? others[0])
}

function whatChanged(entry: Checkpoint, log: Log): string {
  const { id, event, parent } = entry
  const above = branchOf(parent)
  switch (event?.kind) {
    case 'SystemPromptEvent': {
      const old = above.systemPrompt?.event
      const isDate = old !== undefined && differsByDate(old, event)
      const how = isDate ? 'differs from the previous one only by a date or a number' : 'replaces another one'
      return `the system prompt ${quote(id)} ${how}`
    }
    case 'Condensation': {
      const removed = eventsIn(removedUnits(entry, log))
      const what = removed > 0 ? `removed ${counted(removed, 'event')} from` : 'put its summary into'
      return `the condensation ${quote(id)} ${what} what had been sent`
    }
    case 'ActionEvent':
    case 'MessageEvent':
      return `the reply ${quote(id)} arrived late, and is placed before messages that were already sent`
    default:
      return `the result ${quote(id)} arrived after the next request, so its reply moved back to its position`
  }
}

function differsByDate(one: SystemPromptEvent, other: SystemPromptEvent): boolean {
  const [was, is] = [one, other].map(({ system_prompt, dynamic_context, tools }) =>
    JSON.stringify([system_prompt.text, dynamic_context?.text ?? null, tools]),
  ) as [string, string]
  return was !== is && withoutDates(was) === withoutDates(is)
}

const withoutDates = (text: string): string => text.replace(DATES, '#').replace(/#[#\s,]*#/g, '#')

const DATES =
  /\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|\b[ap]m\b|\d[\d:.,/TZ+-]*/gi

const isSigned = (message: NeutralMessage | undefined): message is AssistantMessage =>
  message?.role === 'assistant' &&
  (message.thinking_blocks.some((block) => !('thinking' in block) || (block.signature ?? '') !== '') ||
    [
      message.responses_reasoning_item,
      ...message.tool_calls.map((call) => call.responses_reasoning_item),
    ].some((item) => (item?.encrypted_content ?? '') !== ''))

function thinkingOf(message: AssistantMessage): number {
  const calls = message.tool_calls.map((call) => ({ ...call, responses_reasoning_item: null }))
  const without = { ...message, thinking_blocks: [], responses_reasoning_item: null, tool_calls: calls }
  return estimateTokens([message]) - estimateTokens([without])
}
