/**
 * Makes the events of a reply from its parts, the same way for all readers: one batch, in which each thing is said
 * once.
 */

import { quote } from '../event/text.ts'
import type {
  Action,
  JsonObject,
  ReasoningItemModel,
  RedactedThinkingBlock,
  TextContent,
  ThinkingBlock,
} from '../event/shapes.ts'
import type { ActionEvent, AgentErrorEvent, MessageEvent, ObservationEvent } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { readArguments } from './arguments.ts'
import { callIds } from './call-ids.ts'
import type { AssistantMessage, NeutralToolCall } from './message.ts'
import { orderParts, type OrderedParts } from './reply-order.ts'
import { recordOf } from './reply-record.ts'
import type { RecordedUsage } from './reply-usage.ts'
import { actionKind } from './tool-names.ts'
import type { Limits } from './turns.ts'

/** What a reader is told beside the reply; all of it is optional, and what no reply can tell. */
export interface ReadOptions {
  /** The request that was sent, as `toX` wrote it or spread from that: its digests go into the record of the reply. */
  readonly request?: object
  /** The state whose messages were sent: the event under its HEAD goes into the record. A run stamps it by itself. */
  readonly state?: State
  /** The tools that can be executed; a call of any other one is not. Default: all are taken to be known. */
  readonly tools?: readonly ReplyTool[]
}

/** A tool that can be executed. */
export interface ReplyTool {
  readonly name: string
  /** The kind of its actions. Default: from its name, `file_editor` gives `FileEditorAction`. */
  readonly action_type?: string
}

/**
 * What ended a reply. `done`: its own words did. `tool_calls`: it waits for results, of calls that were not executed
 * too. `truncated`: a limit on tokens. `paused`: it goes on when it is sent back. `refused`: the model would not.
 * `filtered`: the provider held it back. `broken_off`: its stream ended too early. `failed`: the provider says that it
 * failed.
 */
export type ReplyOutcome =
  | { readonly type: 'done' | 'tool_calls' | 'paused' }
  /** `reason`: the provider's word for it. */
  | { readonly type: 'truncated' | 'filtered'; readonly reason: string }
  /** `explanation`: in words, where the provider gives one. */
  | { readonly type: 'refused' | 'failed'; readonly explanation: string | null }
  /** `text`: what had come of it. */
  | { readonly type: 'broken_off'; readonly text: string }

/** A reply as events. A step yields it as it is. */
export interface Reply {
  /** To be appended as one batch; empty when the reply broke off or failed. They have no ids yet. */
  readonly events: readonly (ActionEvent | AgentErrorEvent | MessageEvent | ObservationEvent)[]
  readonly outcome: ReplyOutcome
}

/** A part of a reply, as the reader of a grammar finds it; `more` is what the standard fields have no place for. */
export type ReplyPart =
  | { readonly is: 'text'; readonly text: string; readonly more: JsonObject | null }
  | {
      readonly is: 'thinking'
      readonly block: ThinkingBlock | RedactedThinkingBlock
      readonly more: JsonObject | null
    }
  | ReplyReasoning
  | ReplyCall
  | { readonly is: 'other'; readonly value: JsonObject }

/** A reasoning item, and as the provider wrote it. */
export interface ReplyReasoning {
  readonly is: 'reasoning'
  readonly item: ReasoningItemModel
  readonly value: JsonObject
  readonly more: JsonObject | null
}

/** A call as the provider wrote it. */
export interface ReplyCall {
  readonly is: 'call'
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** What the arguments were written from, where it is frozen. */
  readonly input?: JsonObject | null
  /** Its id in the list of items, where the grammar has one. */
  readonly item: string | null
  /** Why it can not be executed, for a reason that the reader knows. */
  readonly unfit: string | null
  /** Its result, where it has been executed already. */
  readonly result?: { readonly text: string; readonly isError: boolean } | null
  readonly more: JsonObject | null
}

/** A reply as the reader of a grammar finds it. */
export interface FoundReply {
  readonly id: string
  readonly model: string
  readonly stopReason: string
  readonly usage: RecordedUsage
  /** Reasoning in plain text, that no provider takes back. */
  readonly reasoning: string
  /** What is said of the reply and not in it. */
  readonly metadata?: JsonObject | null
  readonly parts: readonly ReplyPart[]
  /** The id of the container that the provider's own tools ran in; empty where there is none. */
  readonly container?: string
  /** Null when nothing but its own end ended it. */
  readonly ending: ReplyOutcome | null
}

/** What the model is told of a call that was not executed. */
export const CUT_OFF = 'the reply was cut off in the middle of it'

/**
 * The events of a reply, and what ended it. Thinking, words and the record stand on the first event only. A call that
 * cannot be executed has `action: null` and its AgentErrorEvent behind the calls. An id that is empty or given twice
 * gets another. O(length).
 */
export function replyEvents(found: FoundReply, limits: Limits, options: ReadOptions): Reply {
  const { id, reasoning, ending } = found
  if (ending?.type === 'failed') return { events: [], outcome: ending }
  const ordered = orderParts(found.parts)
  const message = messageOf(ordered, reasoning, limits)
  const record = recordOf(found, message, ordered.order, limits, options)
  const { after } = record
  const response = id === '' ? `reply-${after ?? 'first'}` : id
  const said = { ...(reasoning === '' ? {} : { reasoning_content: reasoning }), ...thinkingOf(message) }
  const { calls } = ordered
  if (calls.length === 0) {
    const item = message.responses_reasoning_item
    const llm_message = {
      role: 'assistant' as const,
      content: message.content,
      ...said,
      ...(item === null ? {} : { responses_reasoning_item: item }),
      reply: record,
    }
    const event = { kind: 'MessageEvent', source: 'agent', llm_message, llm_response_id: response } as const
    return { events: [event], outcome: ending ?? { type: 'done' } }
  }
  const actions: ActionEvent[] = []
  const results: (AgentErrorEvent | ObservationEvent)[] = []
  for (const [at, call] of message.tool_calls.entries()) {
    const { responses_reasoning_item: item, responses_item_id, ...tool_call } = call
    const input = readArguments(call.arguments, calls[at]?.input)
    const against = whyNot(calls[at]?.unfit ?? null, call.name, input, ending, options)
    actions.push({
      kind: 'ActionEvent',
      source: 'agent',
      thought: at === 0 ? (message.content as TextContent[]) : [],
      ...(at === 0 ? said : {}),
      ...(item === null ? {} : { responses_reasoning_item: item }),
      action: against === null ? actionOf(call.name, input, options) : null,
      tool_name: call.name,
      tool_call_id: call.id,
      tool_call: {
        ...tool_call,
        ...(responses_item_id === null ? {} : { responses_item_id }),
        ...(at === 0 ? { reply: record } : after === undefined ? {} : { reply: { after } }),
      },
      llm_response_id: response,
    })
    const result = calls[at]?.result ?? null
    const ends = { source: 'environment', tool_name: call.name, tool_call_id: call.id } as const
    if (against !== null)
      results.push({ kind: 'AgentErrorEvent', ...ends, error: `The call was not executed: ${against}.` })
    else if (result !== null) results.push(observation(ends, result))
  }
  return { events: [...actions, ...results], outcome: ending ?? { type: 'tool_calls' } }
}

/** The action has no id yet, so that its result is known by the call. */
const observation = (
  ends: Pick<ObservationEvent, 'source' | 'tool_name' | 'tool_call_id'>,
  { text, isError }: { readonly text: string; readonly isError: boolean },
): ObservationEvent => ({
  kind: 'ObservationEvent',
  ...ends,
  action_id: ends.tool_call_id,
  observation: { kind: 'ToolObservation', content: [{ type: 'text', text }], is_error: isError },
})

const thinkingOf = ({ thinking_blocks }: AssistantMessage) =>
  thinking_blocks.length === 0 ? {} : { thinking_blocks }

/** The reply as the writers will find it in the log. */
function messageOf(
  { texts, thinking, calls, reasoning }: OrderedParts,
  reasoningText: string,
  { grammar }: Limits,
): AssistantMessage {
  const giveId = calls.length > 1 ? callIds(ANY_ID) : (id: string): string => id || 'call'
  const tool_calls = calls.map((call, at): NeutralToolCall => ({
    id: giveId(call.id),
    name: call.name,
    arguments: call.arguments,
    origin: grammar === 'openai-responses' ? 'responses' : 'completion',
    responses_item_id: call.item,
    responses_reasoning_item: reasoning[at] ?? null,
  }))
  return {
    role: 'assistant',
    content: texts.map((text) => ({ type: 'text', text })),
    tool_calls,
    reasoning_content: reasoningText === '' ? null : reasoningText,
    thinking_blocks: thinking,
    responses_reasoning_item: calls.length === 0 ? (reasoning[0] ?? null) : null,
    // As its writer will find it: some grammars take nothing for signed that is not said to be theirs.
    reply: { grammar },
  }
}

/** Ids are made legal where they are written; here they only need to be there, and told apart. */
const ANY_ID = { illegal: /(?!)/gu, maxLength: Infinity }

/** Why a call is not executed, in words for the model; null where it may be. */
function whyNot(
  unfit: string | null,
  called: string,
  input: JsonObject | null,
  ending: ReplyOutcome | null,
  { tools }: ReadOptions,
): string | null {
  if (ending?.type === 'refused') return 'the reply was ended by a refusal'
  if (ending?.type === 'filtered') return 'the reply was held back by a content filter'
  if (unfit !== null) return unfit
  if (tools !== undefined && !tools.some(({ name }) => name === called))
    return `there is no tool ${quote(called)}`
  return input === null ? 'its arguments are no JSON object that can be read' : null
}

/** An argument that is called `kind` is in the text of the call only: the action has its own. */
function actionOf(name: string, input: JsonObject | null, { tools }: ReadOptions): Action {
  const kind = tools?.find((tool) => tool.name === name)?.action_type ?? actionKind(name)
  return { ...input, kind }
}
