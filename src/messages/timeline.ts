/** What a user interface shows of a branch: each message and call with what became of it, as plain data. */

import { completionOf, type CompletionOutcome, isWorkingResult } from '../event/completion.ts'
import { type EventKind, isToolResult } from '../event/kinds.ts'
import { maskSecrets } from '../event/mask.ts'
import { requestHeadOf, type EarlyEnd, earlyEndOf, replyOf, type ReplyRecord } from '../event/reply.ts'
import type { Content, JsonObject, JsonValue, Message, Source, TextContent } from '../event/shapes.ts'
import type { ActionEvent, Event, MessageEvent, ToolResultEvent } from '../event/types.ts'
import { type Entry, type EventEntry, eventKindOf, loadedEvent } from '../log/entry.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import { entryOf } from '../state/at.ts'
import type { CallStatus } from '../state/call-status.ts'
import { callsEnded } from '../state/read.ts'
import { branchOf, type State } from '../state/state.ts'
import { summaryId } from '../view/condense.ts'
import { unitEvents } from '../view/unit.ts'
import { argumentObject } from './text.ts'
import { type ReplyTokens, tokensIn } from './reply-usage.ts'
import { resultMessage } from './results.ts'

/** Where an item stands. */
interface ItemBase {
  /** Id of its event. */
  readonly id: string
  /** Position of its event in the log; items stand in this order. */
  readonly seq: number
  /** ISO 8601 text, or null where the log has none. */
  readonly timestamp: string | null
  /** Id of the condensation that took it out of what the model sees; null where none did. */
  readonly forgottenBy: string | null
}

/** What is known of the reply that a message or a call came in. */
export interface TimelineReply {
  /** Equal for all items of one reply; null where the log does not say. */
  readonly id: string | null
  /** Id of the event under HEAD when the model was asked, null for none; undefined where that is not known. */
  readonly after: string | null | undefined
  readonly model: string | null
  /** Whether its user cut it off. */
  readonly interrupted: boolean
  /** What ended it early; null where nothing is known to have. */
  readonly outcome: EarlyEnd | null
  /** What it took; on its first item only. */
  readonly tokens: ReplyTokens | null
}

/** The instructions and the names of the tools that the model is given. */
export interface SystemItem extends ItemBase {
  readonly type: 'system'
  readonly content: readonly TextContent[]
}

/** A message of the user, the agent or the environment. */
export interface MessageItem extends ItemBase {
  readonly type: 'message'
  readonly role: Message['role']
  readonly source: Source
  /** Who says it, where several do. */
  readonly sender: string | null
  readonly content: readonly Content[]
  /** The model's reasoning, as far as it can be read; the empty text for none. */
  readonly reasoning: string
  /** Null for what no model said. */
  readonly reply: TimelineReply | null
}

/**
 * What became of a call. While it works on behind its reply: `working`. Without a result: `pending`; `waiting` for the user's consent; or `approved`, `held` by a
 * pause before it was begun, `started`. With one: `completed`, `failed`, or `rejected` by a user or a hook.
 */
export type TimelineCallStatus =
  | 'pending'
  | 'waiting'
  | CallStatus
  | 'working'
  | 'completed'
  | 'failed'
  | 'rejected'

/** What a tool gave back, or why there is nothing. */
export interface TimelineResult {
  /** Id of its event. */
  readonly id: string
  readonly timestamp: string | null
  /** What the model reads. */
  readonly content: readonly Content[]
  /** What a page that executed the call returned; missing for all other calls. */
  readonly output?: JsonValue
}

/** The kind of the observation that holds the output of a page. */
export const PAGE_OUTPUT = 'PageOutput'

/** A tool call with its result. */
export interface CallItem extends ItemBase {
  readonly type: 'call'
  readonly tool: string
  /** Not unique in a log; `id` is. */
  readonly toolCallId: string
  /** Those that are no JSON object stand as `{ _raw: text }`. */
  readonly arguments: JsonObject
  /** What the model said before the call. */
  readonly content: readonly TextContent[]
  readonly reasoning: string
  readonly reply: TimelineReply
  readonly status: TimelineCallStatus
  readonly result: TimelineResult | null
  /** The id of the message that completed the call, where it has worked on; the message is an item of its own. */
  readonly completedBy?: string
}

/** A condensation, or a summary that a condenser wrote. */
export interface CondensationItem extends ItemBase {
  readonly type: 'condensation'
  readonly summary: string
  /** Ids of the events that it took out of what the model sees, and of condensations whose summaries it did. */
  readonly forgot: readonly string[]
}

/** A failure of the run or the server. */
export interface ErrorItem extends ItemBase {
  readonly type: 'error'
  readonly code: string
  readonly detail: string
}

/** The run was paused between two steps, or interrupted in one. */
export interface StopItem extends ItemBase {
  readonly type: 'pause' | 'interrupt'
}

export type TimelineItem = SystemItem | MessageItem | CallItem | CondensationItem | ErrorItem | StopItem

/** What of a branch is shown. */
export interface TimelineOptions {
  /** Id of an event: only what came behind it in the log. Default: all of the branch. */
  readonly after?: string
}

/** The kinds of which the body is read. */
const SHOWN: readonly EventKind[] = [
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
 * Everything on HEAD's branch that people want to see, in log order: every message and call, with what became of it,
 * pending and forgotten ones included; prompts, condensations, errors and pauses. A call's result stands in its item;
 * results that end no call are listed by `listDroppedResults`. No item holds `encrypted_content` or a signature. For
 * another branch give `switchTo(state, leafId)`. Pure; O(path + view + content), and O(view) for each condensation.
 *
 * @throws ColloquyError `unknown_event` for an id in `after` that no event of the tree has; `evicted` when the state
 * comes from a snapshot or `evict`, which dropped something of it.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * toTimeline(state).map(({ type, id }) => [type, id]) // [['message', 'm']]
 */
export function toTimeline(state: State, options: TimelineOptions = {}): TimelineItem[] {
  const from = options.after === undefined ? -1 : entryOf(state.log, options.after).seq
  const path: Entry[] = []
  let above: Entry | null = state.log.head
  for (; above !== null && above.seq > from; above = above.parent) path.push(above)
  path.reverse()
  const events = path.map((entry) => maskSecrets(loadedEvent(entry, SHOWN)))
  const results = resultsOf(state, path, events)
  const completions = completionsOf(path, events)
  const forgottenBy = new Map<string, string>()
  const forgot = path.map((entry) =>
    eventKindOf(entry) === 'Condensation' ? forget(entry, forgottenBy) : [],
  )
  const statuses = pendingStatuses(state)
  const asked = askedAt(path, events, replyAt(above))
  return path.flatMap((entry, at): TimelineItem[] => {
    const { id, seq, timestamp } = entry
    if (id === null) return []
    const event = events[at] ?? null
    const base = { id, seq, timestamp, forgottenBy: forgottenBy.get(id) ?? null }
    if (event === null) return stopItem(base, eventKindOf(entry))
    if (event.kind === 'ActionEvent') {
      const result = results.get(seq)
      const completion = completions.get(id)
      const status =
        result === undefined ? (statuses.get(id) ?? 'pending') : statusOf(result.event, completion?.outcome)
      const item = callItem(base, event, status, asked[at], result)
      return [completion === undefined ? item : { ...item, completedBy: completion.id }]
    }
    if (event.kind === 'MessageEvent') return [messageItem(base, event, asked[at])]
    return itemOf(base, event, forgot[at] ?? [])
  })
}

type Base = Omit<ItemBase, 'type'>

type Result = Pick<EventEntry<ToolResultEvent>, 'id' | 'timestamp' | 'event'>

/** The results of calls, by the position of the call. */
function resultsOf(
  state: State,
  path: readonly Entry[],
  events: readonly (Event | null)[],
): Map<number, Result> {
  const callOf = callsEnded(state)
  const results = new Map<number, Result>()
  for (const [at, entry] of path.entries()) {
    const event = events[at] ?? null
    if (event === null || !isToolResult(event)) continue
    const call = callOf(entry as EventEntry<ToolResultEvent>)
    if (call !== null) results.set(call, { id: entry.id ?? '', timestamp: entry.timestamp, event })
  }
  return results
}

/** What completed the calls that worked, by the ids of their actions. */
function completionsOf(
  path: readonly Entry[],
  events: readonly (Event | null)[],
): Map<string, { readonly id: string; readonly outcome: CompletionOutcome }> {
  const completions = new Map<string, { readonly id: string; readonly outcome: CompletionOutcome }>()
  for (const [at, { id, warnings }] of path.entries()) {
    const event = events[at] ?? null
    const completes = event === null ? null : completionOf(event)
    if (completes === null || id === null || warnings.some(({ code }) => code === 'nothing_completed'))
      continue
    completions.set(completes.action_id, { id, outcome: completes.outcome })
  }
  return completions
}

/** Notes which items a condensation took out of the view; lists them. @throws ColloquyError `evicted`. */
function forget(entry: Entry, forgottenBy: Map<string, string>): string[] {
  const id = entry.id ?? ''
  const kept = new Set(branchOf(entry).view.units)
  const gone = [...branchOf(entry.parent).view.units].filter((unit) => !kept.has(unit))
  // A summary that is in no log stands for its condensation.
  const ids = gone.flatMap((unit) =>
    [...unitEvents(unit)].map((item) => ('seq' in item ? item.id : sourceOf(item.id))),
  )
  for (const each of ids) forgottenBy.set(each, id)
  return ids
}

const sourceOf = (derived: string): string => derived.slice(0, derived.length - summaryId('').length)

/** What is settled of calls without a result, by id. While a user is waited for, all that can be run need consent. */
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
  if (result.kind === 'UserRejectObservation') return 'rejected'
  return result.kind === 'AgentErrorEvent' || result.observation.is_error === true ? 'failed' : 'completed'
}

function callItem(
  base: Base,
  event: ActionEvent,
  status: TimelineCallStatus,
  asked: Asked,
  result?: Result,
): CallItem {
  return {
    ...base,
    type: 'call',
    tool: event.tool_name,
    toolCallId: event.tool_call_id,
    arguments: argumentObject(event.tool_call.arguments),
    content: event.thought,
    reasoning: reasoningOf(event),
    reply: replyItem(event, event.llm_response_id, asked),
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
  base: Base,
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

/** Nothing else is asked of these, so that they are shown without their bodies too. */
function stopItem(base: Base, kind: string | null): StopItem[] {
  if (kind === 'PauseEvent') return [{ ...base, type: 'pause' }]
  return kind === 'InterruptEvent' ? [{ ...base, type: 'interrupt' }] : []
}

const messageItem = (base: Base, event: MessageEvent, asked: Asked): MessageItem => ({
  ...base,
  type: 'message',
  role: event.llm_message.role,
  source: event.source,
  sender: event.sender ?? null,
  content: event.llm_message.content ?? [],
  reasoning: reasoningOf(event.llm_message),
  reply: event.source === 'agent' ? replyItem(event, event.llm_response_id ?? '', asked) : null,
})

function replyItem(event: ActionEvent | MessageEvent, response: string, after: Asked): TimelineReply {
  const record: ReplyRecord = { ...replyOf(event) }
  const { model, interrupted } = record
  return {
    id: response === '' ? null : response,
    after,
    model: typeof model === 'string' ? model : null,
    interrupted: interrupted === true,
    outcome: earlyEndOf(event),
    tokens: tokensIn(record),
  }
}

/** The fields that hold reasoning say the same in different grammars; the first that can be read counts. */
function reasoningOf(
  said: Pick<Message, 'reasoning_content' | 'thinking_blocks' | 'responses_reasoning_item'>,
): string {
  const blocks = (said.thinking_blocks ?? []).map((block) => ('thinking' in block ? block.thinking : ''))
  const { content, summary } = said.responses_reasoning_item ?? {}
  const ways = [said.reasoning_content ?? '', joined(blocks), joined(content ?? []), joined(summary ?? [])]
  return ways.find((text) => text !== '') ?? ''
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n')

/** Id of the event under HEAD when the model was asked, null for none; undefined where that is not known. */
type Asked = string | null | undefined

/** A reply of which a call stands on the path. */
interface ReplyOnPath {
  readonly id: string
  readonly after: Asked
}

/** The reply that the call at an entry is of; null where none is there, or not any more. O(its calls). */
function replyAt(call: Entry | null): ReplyOnPath | null {
  if (call?.event?.kind !== 'ActionEvent') return null
  const id = call.event.llm_response_id
  for (let at: Entry | null = call; at?.event?.kind === 'ActionEvent'; at = at.parent) {
    if (at.event.llm_response_id !== id) break
    const after = afterOf(at, at.event)
    if (after !== undefined) return { id, after }
  }
  return { id, after: undefined }
}

/** What the event of an entry says that its reply was asked at. */
function afterOf({ parent }: Entry, event: Event): Asked {
  const after = requestHeadOf(event)
  return after === true ? (parent?.id ?? null) : after
}

/**
 * What each event of a path was asked at: calls that say nothing of it are of the reply whose call is before them.
 * O(path).
 */
function askedAt(
  path: readonly Entry[],
  events: readonly (Event | null)[],
  above: ReplyOnPath | null,
): Asked[] {
  let reply = above
  return path.map((entry, at) => {
    const event = events[at] ?? null
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
