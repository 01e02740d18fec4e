import { checkOptionNames } from '../event/check-value.ts'
import { completionOf, isWorkingResult, progressOf } from '../event/completion.ts'
import type { CallProgress, CompletionOutcome } from '../event/completion.ts'
import { type EventKind, isToolResult } from '../event/kinds.ts'
import { maskSecrets } from '../event/mask.ts'
import { requestHeadOf, type EarlyEnd, earlyEndOf, replyOf, type ReplyRecord } from '../event/reply.ts'
import type { Content, JsonObject, JsonValue, Message, Source, TextContent } from '../event/shapes.ts'
import type { ActionEvent, Condensation, Event, MessageEvent, ToolResultEvent } from '../event/types.ts'
import { type Entry, type EventEntry, eventKindOf, loadedEvent } from '../log/entry.ts'
import type { Log } from '../log/log.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import { entryOf } from '../state/at.ts'
import { workingCallOf } from '../state/branch.ts'
import type { CallStatus } from '../state/call-status.ts'
import { progressIn } from '../state/header.ts'
import { callsEnded } from '../state/read.ts'
import { branchOf, type State, type StateTree } from '../state/state.ts'
import { removedUnits, summaryId } from '../view/condense.ts'
import { unitEvents } from '../view/units.ts'
import { argumentObject } from './text.ts'
import { type ReplyTokens, tokensIn } from './reply-usage.ts'
import { resultMessage, resultStatus } from './results.ts'

interface ItemBase {
  readonly id: string
  /** Position of the item's event in the log; items are in this order. */
  readonly seq: number
  /** Time of the item's event, or else of the latest earlier event with a valid time (ISO 8601); or null. */
  readonly timestamp: string | null
  /** Id of the condensation that removed the item from the model's view; null if it was not removed. */
  readonly forgottenBy: string | null
}

/** The reply that contains a message or a call. */
export interface TimelineReply {
  /** Id of the reply, equal for all its items; null if unknown. */
  readonly id: string | null
  /** Id of HEAD when the model was called; null if the branch was empty, undefined if unknown. */
  readonly after: string | null | undefined
  readonly model: string | null
  readonly interrupted: boolean
  /** How the reply ended early; null if it ended normally, or if this is unknown. */
  readonly outcome: EarlyEnd | null
  readonly tokens: ReplyTokens | null
}

/** A system prompt. */
export interface SystemItem extends ItemBase {
  readonly type: 'system'
  readonly content: readonly TextContent[]
}

/** A message of the user, the agent or the environment. */
export interface MessageItem extends ItemBase {
  readonly type: 'message'
  readonly role: Message['role']
  readonly source: Source
  readonly sender: string | null
  readonly content: readonly Content[]
  /** The model's readable reasoning, or an empty text. */
  readonly reasoning: string
  readonly reply: TimelineReply | null
  /** Id of the background call that the message completed. */
  readonly completes?: string
}

/**
 * Status of a call. Without a result: `pending`, `waiting` for confirmation, `approved`, `held` by a pause,
 * or `started`. With a result: `working` (until the background call ends), `completed`, `failed`, or
 * `rejected` by a user or hook.
 */
export type TimelineCallStatus =
  | 'pending'
  | 'waiting'
  | CallStatus
  | 'working'
  | 'completed'
  | 'failed'
  | 'rejected'

/** The result of a call: its output, or the text of its error or rejection. */
export interface TimelineResult {
  readonly id: string
  readonly timestamp: string | null
  readonly content: readonly Content[]
  /** Output of a call that a web page executed; absent for other calls. */
  readonly output?: JsonValue
}

/** The message that completed a background call. The message is also an item of its own. */
export interface TimelineCompletion extends Omit<TimelineResult, 'output'> {
  readonly seq: number
  readonly outcome: CompletionOutcome
}

export const PAGE_OUTPUT = 'PageOutput'

/** A tool call with its result. */
export interface CallItem extends ItemBase {
  readonly type: 'call'
  readonly tool: string
  /** The provider's id of the call. It need not be unique in the log, unlike `id`. */
  readonly toolCallId: string
  readonly arguments: JsonObject
  readonly content: readonly TextContent[]
  readonly reasoning: string
  readonly reply: TimelineReply
  readonly status: TimelineCallStatus
  readonly result: TimelineResult | null
  /** Latest progress report, while the call is working. */
  readonly progress?: CallProgress
  readonly completion?: TimelineCompletion
}

/** A progress report of a background call. */
export interface ProgressItem extends ItemBase {
  readonly type: 'progress'
  readonly report: CallProgress
}

/** A condensation, or the summary of one. */
export interface CondensationItem extends ItemBase {
  readonly type: 'condensation'
  readonly summary: string
  /** Ids of the events removed from the view, and of condensations whose summaries were removed. */
  readonly forgot: readonly string[]
}

/** A failure of the run or the server. */
export interface ErrorItem extends ItemBase {
  readonly type: 'error'
  readonly code: string
  readonly detail: string
}

/** A pause between two steps, or an interrupt of a step. */
export interface StopItem extends ItemBase {
  readonly type: 'pause' | 'interrupt'
}

/** An item of a timeline, distinguished by `type`. */
export type TimelineItem =
  | SystemItem
  | MessageItem
  | CallItem
  | ProgressItem
  | CondensationItem
  | ErrorItem
  | StopItem

/** Options of `toTimeline`. */
export interface TimelineOptions {
  /** Id of an event; only items after it in the log are returned. Default: the whole branch. */
  readonly after?: string
  /**
   * Whether each progress report is also an item. Default: false. A working call's item always has the latest
   * report.
   */
  readonly progress?: boolean
}

const READ_KINDS: readonly EventKind[] = [
  'SystemPromptEvent',
  'MessageEvent',
  'ActionEvent',
  'ObservationEvent',
  'UserRejectObservation',
  'AgentErrorEvent',
  'Condensation',
  'CondensationSummaryEvent',
  'ConversationErrorEvent',
  'ServerErrorEvent',
]

/**
 * Returns HEAD's branch as a list of items for a user interface, in log order: prompts, messages,
 * condensations, errors, pauses, and calls with their status and result. Pending calls and forgotten items
 * are included. Results that end no call are left out; see `listDroppedResults`. Items contain no
 * `encrypted_content` and no signatures. For another branch, pass `switchTo(state, leafId)`. O(path + view +
 * content), and O(view) per condensation; with `progress`, also O(log) if there were working calls.
 * @throws ColloquyError `unknown_event` for an unknown id in `after`; `evicted` if the state is from a
 *   snapshot or from `evict`, and lacks the body of an event.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * toTimeline(state).map(({ type, id }) => [type, id]) // [['message', 'm']]
 */
export function toTimeline(state: State, options: TimelineOptions = {}): TimelineItem[] {
  checkOptionNames(options, 'after progress')
  const from = options.after === undefined ? -1 : entryOf(state.log, options.after).seq
  const entries: Entry[] = []
  let ancestor: Entry | null = state.log.head
  for (; ancestor !== null && ancestor.seq > from; ancestor = ancestor.parent) entries.push(ancestor)
  entries.reverse()
  const path = entries.map((entry) => ({ entry, event: maskSecrets(loadedEvent(entry, READ_KINDS)) }))
  const results = resultsOf(state, path)
  const completions = completionsOf(path)
  const forgottenBy = new Map<string, string>()
  const forgot = entries.map((entry) =>
    eventKindOf(entry) === 'Condensation' ? forget(state.log, entry, forgottenBy) : [],
  )
  const statuses = pendingStatuses(state)
  const requestedAfter = requestPositions(path, replyAt(ancestor))
  const items = path.flatMap(({ entry, event }, index): TimelineItem[] => {
    const { id, seq, timestamp } = entry
    if (id === null) return []
    const base = { id, seq, timestamp, forgottenBy: forgottenBy.get(id) ?? null }
    if (event === null) return stopItem(base, eventKindOf(entry))
    if (event.kind === 'ActionEvent') {
      const result = results.get(seq)
      const completion = completions.get(id)
      const status =
        result === undefined ? (statuses.get(id) ?? 'pending') : statusOf(result.event, completion?.outcome)
      const progress =
        status === 'working' ? progressIn(state.header.callProgress, { entry: { seq, event } }) : null
      return [
        {
          ...callItem(base, event, status, requestedAfter[index], result),
          ...(progress !== null && { progress: maskSecrets(progress) }),
          ...(completion !== undefined && { completion }),
        },
      ]
    }
    if (event.kind !== 'MessageEvent') return itemOf(base, event, forgot[index] ?? [])
    const completes = completionOf(event)?.action_id ?? ''
    const isCompletion = completions.get(completes)?.seq === seq
    return [{ ...messageItem(base, event, requestedAfter[index]), ...(isCompletion && { completes }) }]
  })
  const hasWorked = state.branch.workingCalls !== null || completions.size > 0
  // Without working calls, the bodies of state updates are not needed.
  const reports = options.progress === true && hasWorked ? reportsIn(state, entries, ancestor) : []
  return reports.length === 0 ? items : [...items, ...reports].toSorted((a, b) => a.seq - b.seq)
}

/** An item of a timeline, with the conversation it is from. */
export interface TreeTimelineItem {
  readonly conversationId: string
  /** 0 for the root, 1 for its subagents. */
  readonly depth: number
  readonly item: TimelineItem
}

/**
 * Returns the timeline of a conversation and its subagents. A subagent's items follow the call that opened
 * the subagent. If this call is unknown or not on HEAD's branch, the subagent's items follow all items of the
 * parent conversation. O(sum of `toTimeline`).
 * @throws ColloquyError `evicted`, see `toTimeline`.
 * @example
 * const said = (id) => ({ kind: 'MessageEvent', id, source: 'user',
 *   llm_message: { role: 'user', content: [{ text: id }] } })
 * const child = { id: 'child', title: null, actionId: null, state: replay([said('b')]), children: [] }
 * const tree = { id: 'parent', title: null, actionId: null, state: replay([said('a')]), children: [child] }
 * toTreeTimeline(tree).map(({ depth, item }) => [depth, item.id]) // [[0, 'a'], [1, 'b']]
 */
export function toTreeTimeline(tree: StateTree): TreeTimelineItem[] {
  const all: TreeTimelineItem[] = []
  addTree(tree, 0, all)
  return all
}

function addTree(
  { id: conversationId, state, children }: StateTree,
  depth: number,
  all: TreeTimelineItem[],
): void {
  const byCall = Map.groupBy(children, ({ actionId }) => actionId)
  for (const item of toTimeline(state)) {
    all.push({ conversationId, depth, item })
    if (item.type !== 'call') continue
    for (const child of byCall.get(item.id) ?? []) addTree(child, depth + 1, all)
    byCall.delete(item.id)
  }
  for (const rest of byCall.values()) for (const child of rest) addTree(child, depth + 1, all)
}

type ResultEvent = Pick<EventEntry<ToolResultEvent>, 'id' | 'timestamp' | 'event'>

/** An entry of the path. `event` is null for a kind whose body is not needed. */
interface PathEntry {
  readonly entry: Entry
  readonly event: Event | null
}

function resultsOf(state: State, path: readonly PathEntry[]): Map<number, ResultEvent> {
  const callOf = callsEnded(state)
  const results = new Map<number, ResultEvent>()
  for (const { entry, event } of path) {
    if (event === null || !isToolResult(event)) continue
    const call = callOf(entry as EventEntry<ToolResultEvent>)
    if (call !== null) results.set(call, { id: entry.id ?? '', timestamp: entry.timestamp, event })
  }
  return results
}

function completionsOf(path: readonly PathEntry[]): Map<string, TimelineCompletion> {
  const completions = new Map<string, TimelineCompletion>()
  for (const { entry, event } of path) {
    const { id, seq, timestamp, warnings } = entry
    const completes = event === null ? null : completionOf(event)
    if (completes === null || id === null || warnings.some(({ code }) => code === 'nothing_completed'))
      continue
    const { content = [] } = (event as MessageEvent).llm_message
    completions.set(completes.action_id, { id, seq, timestamp, content, outcome: completes.outcome })
  }
  return completions
}

/**
 * Returns the progress reports whose parent is on the path, if the report's call was working at that parent.
 * The reports themselves are usually not on the path. O(entries).
 */
function reportsIn({ log }: State, path: readonly Entry[], before: Entry | null): ProgressItem[] {
  const reports: ProgressItem[] = []
  let tip = before
  let next = 0
  for (let seq = (before?.seq ?? -1) + 1; seq < log.entries.length; seq += 1) {
    const entry = log.entries.get(seq) as Entry
    const { id, timestamp, parent } = entry
    const isNext = entry.inTree && parent?.seq === tip?.seq
    const event = isNext ? loadedEvent(entry, ['ConversationStateUpdateEvent']) : null
    const report = event === null ? null : progressOf(event)
    if (id !== null && report !== null && workingCallOf(branchOf(tip), report.action_id, log) !== undefined)
      reports.push({ id, seq, timestamp, forgottenBy: null, type: 'progress', report: maskSecrets(report) })
    if (path[next]?.seq !== seq) continue
    tip = entry
    next += 1
  }
  return reports
}

/** Returns the ids of the items that a condensation removed. In `forgottenBy`, maps each to the condensation's id. */
function forget(log: Log, entry: Entry, forgottenBy: Map<string, string>): string[] {
  const id = entry.id ?? ''
  loadedEvent(entry, ['Condensation'])
  const removed = removedUnits(branchOf(entry.parent).view, entry as EventEntry<Condensation>, log)
  // A summary without an event has the id of its condensation.
  const ids = removed.flatMap((unit) =>
    [...unitEvents(unit)].map((item) => ('seq' in item ? item.id : withoutSuffix(item.id))),
  )
  for (const each of ids) forgottenBy.set(each, id)
  return ids
}

const withoutSuffix = (derived: string): string => derived.slice(0, derived.length - summaryId('').length)

function pendingStatuses({ header, branch }: State): Map<string, TimelineCallStatus> {
  const statuses = new Map<string, TimelineCallStatus>(
    header.callStatuses.map(({ action_id, grant }) => [action_id, grant]),
  )
  if (header.status !== 'waiting_for_confirmation') return statuses
  for (const { entry } of listPendingCallsIn(branch.pendingCalls)) {
    const isAsked = (entry.event.action ?? null) !== null && statuses.get(entry.id) !== 'approved'
    if (isAsked) statuses.set(entry.id, 'waiting')
  }
  return statuses
}

function statusOf(result: ToolResultEvent, outcome?: CompletionOutcome): TimelineCallStatus {
  if (isWorkingResult(result))
    return outcome === undefined ? 'working' : outcome === 'done' ? 'completed' : 'failed'
  return resultStatus(result)
}

function callItem(
  base: ItemBase,
  event: ActionEvent,
  status: TimelineCallStatus,
  after: RequestPosition,
  result?: ResultEvent,
): CallItem {
  return {
    ...base,
    type: 'call',
    tool: event.tool_name,
    toolCallId: event.tool_call_id,
    arguments: argumentObject(event.tool_call.arguments),
    content: event.thought,
    reasoning: reasoningOf(event),
    reply: replyItem(event, after),
    status,
    result:
      result === undefined
        ? null
        : {
            id: result.id,
            timestamp: result.timestamp,
            content: resultMessage(result.event, event).content,
            ...pageOutput(result.event),
          },
  }
}

function pageOutput(result: ToolResultEvent): Pick<TimelineResult, 'output'> {
  if (result.kind !== 'ObservationEvent' || result.observation.kind !== PAGE_OUTPUT) return {}
  const { output } = result.observation as JsonObject
  return output === undefined ? {} : { output }
}

function itemOf(
  base: ItemBase,
  event: Exclude<Event, ActionEvent | MessageEvent>,
  forgot: readonly string[],
): TimelineItem[] {
  switch (event.kind) {
    case 'SystemPromptEvent': {
      const more = event.dynamic_context ? [event.dynamic_context] : []
      return [{ ...base, type: 'system', content: [event.system_prompt, ...more] }]
    }
    case 'Condensation':
      return [{ ...base, type: 'condensation', summary: event.summary ?? '', forgot }]
    case 'CondensationSummaryEvent':
      return [{ ...base, type: 'condensation', summary: event.summary, forgot }]
    case 'ConversationErrorEvent':
    case 'ServerErrorEvent':
      return [{ ...base, type: 'error', code: event.code, detail: event.detail }]
    default:
      return stopItem(base, event.kind)
  }
}

function stopItem(base: ItemBase, kind: string | null): StopItem[] {
  if (kind === 'PauseEvent') return [{ ...base, type: 'pause' }]
  return kind === 'InterruptEvent' ? [{ ...base, type: 'interrupt' }] : []
}

const messageItem = (base: ItemBase, event: MessageEvent, after: RequestPosition): MessageItem => ({
  ...base,
  type: 'message',
  role: event.llm_message.role,
  source: event.source,
  sender: event.sender ?? null,
  content: event.llm_message.content ?? [],
  reasoning: reasoningOf(event.llm_message),
  reply: event.source === 'agent' ? replyItem(event, after) : null,
})

function replyItem(event: ActionEvent | MessageEvent, after: RequestPosition): TimelineReply {
  const record: ReplyRecord = { ...replyOf(event) }
  const { model, interrupted } = record
  return {
    id: event.llm_response_id || null,
    after,
    model: typeof model === 'string' ? model : null,
    interrupted: interrupted === true,
    outcome: earlyEndOf(event),
    tokens: tokensIn(record),
  }
}

/** Returns the text of reasoning once, although several fields can contain it. */
function reasoningOf(
  source: Pick<Message, 'reasoning_content' | 'thinking_blocks' | 'responses_reasoning_item'>,
): string {
  const blocks = (source.thinking_blocks ?? []).map((block) => ('thinking' in block ? block.thinking : ''))
  const { content, summary } = source.responses_reasoning_item ?? {}
  const ways = [
    source.reasoning_content ?? '',
    joinTexts(blocks),
    joinTexts(content ?? []),
    joinTexts(summary ?? []),
  ]
  return ways.find((text) => text !== '') ?? ''
}

const joinTexts = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n')

type RequestPosition = string | null | undefined

interface ReplyOnPath {
  readonly id: string
  readonly after: RequestPosition
}

/** Returns the reply of a call; null if the entry is not a call, or its body was evicted. */
function replyAt(entry: Entry | null): ReplyOnPath | null {
  if (entry?.event?.kind !== 'ActionEvent') return null
  const id = entry.event.llm_response_id
  for (let action: Entry | null = entry; action?.event?.kind === 'ActionEvent'; action = action.parent) {
    if (action.event.llm_response_id !== id) break
    const after = afterOf(action, action.event)
    if (after !== undefined) return { id, after }
  }
  return { id, after: undefined }
}

function afterOf({ parent }: Entry, event: Event): RequestPosition {
  const after = requestHeadOf(event)
  return after === true ? (parent?.id ?? null) : after
}

/**
 * Returns, for each event of the path, the id that HEAD had when the model was called for this event. A call
 * that does not record this id inherits it from the previous call of its reply.
 */
function requestPositions(path: readonly PathEntry[], parentReply: ReplyOnPath | null): RequestPosition[] {
  let reply = parentReply
  return path.map(({ entry, event }) => {
    const after = event === null ? undefined : afterOf(entry, event)
    if (event?.kind !== 'ActionEvent') {
      reply = null
      return after
    }
    if (after !== undefined || reply?.id !== event.llm_response_id)
      reply = { id: event.llm_response_id, after }
    return reply.after
  })
}
