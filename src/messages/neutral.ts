import type { Content, TextContent } from '../event/shapes.ts'
import { ColloquyError } from '../event/errors.ts'
import type { EventWith } from '../event/kinds.ts'
import { earlyEndOf, isVisible, replyOf } from '../event/reply.ts'
import { hasText, quote } from '../event/text.ts'
import type { ActionEvent, Event, MessageEvent, SystemPromptEvent } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { isPending, type Unit, type ViewItem } from '../view/units.ts'
import type { View } from '../view/view.ts'
import {
  type AssistantMessage,
  type MessageOptions,
  type NeutralMessage,
  type RequestCache,
  type SystemMessage,
  type UserMessage,
  withReply,
} from './message.ts'
import { completionFrame } from './phrases.ts'
import { hasOthers } from './reply-parts.ts'
import { batchMessages } from './results.ts'
import { completionOf } from '../event/completion.ts'

interface RenderedMessage {
  readonly message: UserMessage | AssistantMessage
  readonly plain: boolean
}

export function renderMessage(event: EventWith<'unit', 'message'>): RenderedMessage | null {
  if (event.kind === 'CondensationSummaryEvent')
    return renderUser([{ type: 'text', text: event.summary }], null, true)
  if (event.kind === 'SystemPromptEvent' || event.llm_message.role === 'tool') return null
  // A message with the role `system` becomes a user message: only system prompts become system messages.
  if (event.llm_message.role === 'assistant') return assistantMessage(event)
  const { name, tool_calls, tool_call_id } = event.llm_message
  const isPlain = (name ?? tool_calls ?? tool_call_id ?? null) === null
  return renderUser(messageContent(event), name ?? null, isPlain)
}

/** Whether a message has no content, only the record (such as token counts) of a failed or broken-off reply. */
export function isOnlyRecord(event: Event): boolean {
  const end = earlyEndOf(event)
  return (end === 'failed' || end === 'broken_off') && event.kind === 'MessageEvent' && !renderMessage(event)
}

/** Whether a request contains a unit of the view. */
export const isSent = (unit: Unit): boolean =>
  unit.type === 'batch'
    ? !isPending(unit)
    : unit.completes !== undefined || renderMessage(unit.item.event) !== null

/** Returns the last unit that requests contain, or a later pending batch. Reads at most `max` units. */
export function lastSent({ units }: View, max = Infinity): Unit | undefined {
  for (let index = units.length - 1; index >= Math.max(0, units.length - max); index -= 1) {
    const unit = units.get(index)
    if (unit !== undefined && (unit.type === 'batch' || isSent(unit))) return unit
  }
  return undefined
}

export const hasContent = (content: readonly Content[]): boolean => content.some(isVisible)

const messageContent = ({ llm_message, extended_content }: MessageEvent): Content[] => [
  ...(llm_message.content ?? []),
  ...(extended_content ?? []),
]

function completionMessage(event: MessageEvent, { tool_call_id, tool_name }: ActionEvent): UserMessage {
  const outcome = completionOf(event)?.outcome ?? 'done'
  const frame: Content = { type: 'text', text: completionFrame(tool_name, tool_call_id, outcome) }
  return {
    role: 'user',
    content: [frame, ...messageContent(event)],
    name: null,
    completes: { tool_call_id, name: tool_name, outcome },
  }
}

function renderUser(content: readonly Content[], name: string | null, plain: boolean) {
  return hasContent(content) ? { message: { role: 'user' as const, content, name }, plain } : null
}

/**
 * Returns an assistant message without its own `tool_calls`, because only the calls of ActionEvents have
 * results.
 */
function assistantMessage(event: MessageEvent): RenderedMessage | null {
  const {
    reasoning_content = null,
    thinking_blocks = [],
    responses_reasoning_item = null,
  } = event.llm_message
  const content = messageContent(event)
  const silent =
    !hasContent(content) &&
    !hasText(reasoning_content) &&
    thinking_blocks.length === 0 &&
    responses_reasoning_item === null &&
    !hasOthers(replyOf(event)?.parts)
  if (silent) return null
  const message: AssistantMessage = {
    role: 'assistant',
    content,
    tool_calls: [],
    reasoning_content,
    thinking_blocks,
    responses_reasoning_item,
    ...withReply(event),
  }
  return { message, plain: false }
}

/**
 * Returns the messages for the model: the latest system prompt of the branch, then the units of the view in
 * order. A batch (all calls of a reply) becomes one assistant message and a tool message for each call.
 * Adjacent plain user messages are merged. Texts are shortened only by `maxResultLength`.
 *
 * Between two condensations, an append changes no earlier message, but it can add content to the last one
 * (law V). There are three exceptions: a batch that gets another call or result, a new system prompt, and a
 * reply that is placed before the messages that arrived while the model worked. O(view + content).
 * @throws ColloquyError `pending_calls` if a batch has a call without a result and `pending` is `refuse`.
 *   `data.calls` lists all these calls.
 * @example
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * toMessages(state) // [{ role: 'user', content: [{ text: 'hi' }], name: null }]
 */
export function toMessages(state: State, { cache, ...options }: CachedOptions = {}): NeutralMessage[] {
  const { view } = state.branch
  const { pending = 'omit' } = options
  if (pending === 'refuse') refusePending(view.units)
  if (pending === 'omit' ? view.length === 0 : view.units.length === 0) return []
  if (cache !== undefined) return cache.messages(state, options)
  const prompt = promptOf(state, options)
  return writeUnits(view.units, prompt, options, promptMessages(prompt))
}

type CachedOptions = MessageOptions & {
  /**
   * A cache from `requestCache()`. With a cache, a call for a later state writes only the new messages.
   * Default: none.
   */
  readonly cache?: RequestCache
}

/** Returns the system prompt that begins the request: the latest; with `system: 'append'`, the view's first. */
export function promptOf({ branch }: State, { system }: MessageOptions): ViewItem | null {
  if (system !== 'append' || branch.systemPrompt === null) return branch.systemPrompt
  for (const unit of branch.view.units)
    if (unit.type === 'message' && unit.item.event.kind === 'SystemPromptEvent') return unit.item
  return branch.systemPrompt
}

/**
 * Writes units as messages. Calls `onUnit` after each unit, and passes as `isOpen` whether the next plain user message
 * would be merged into the last message.
 */
export function writeUnits(
  units: Iterable<Unit>,
  prompt: ViewItem | null,
  { pending = 'omit', maxResultLength = Infinity, system }: MessageOptions,
  messages: NeutralMessage[],
  onUnit?: (unit: Unit, isOpen: boolean) => void,
): NeutralMessage[] {
  const batchOptions = { reason: typeof pending === 'object' ? pending.close : '', maxResultLength }
  // Content of the last message if it is a plain user message, so that the next one can be merged.
  let open: Content[] | null = null
  const add = (message: NeutralMessage): void => {
    open = null
    messages.push(message)
  }
  for (const unit of units) {
    if (unit.type === 'batch') {
      if (pending !== 'omit' || !isPending(unit))
        for (const message of batchMessages(unit, batchOptions)) add(message)
    } else {
      const { event, id } = unit.item
      const rendered = renderMessage(event)
      if (system === 'append' && event.kind === 'SystemPromptEvent') {
        open = null
        if (id !== prompt?.id) systemMessage(event).forEach(add)
      } else if (unit.completes !== undefined && event.kind === 'MessageEvent')
        add(completionMessage(event, unit.completes.event))
      else if (rendered !== null && !rendered.plain) add(rendered.message)
      else if (rendered !== null && open === null) {
        const content = [...rendered.message.content]
        add({ role: 'user', content, name: null })
        open = content
      } else for (const part of rendered?.message.content ?? []) (open as Content[] | null)?.push(part)
    }
    onUnit?.(unit, open !== null)
  }
  return messages
}

export const promptMessages = (prompt: ViewItem | null): NeutralMessage[] =>
  prompt?.event.kind === 'SystemPromptEvent' ? systemMessage(prompt.event) : []

function systemMessage({ system_prompt, dynamic_context }: SystemPromptEvent): SystemMessage[] {
  const content: TextContent[] = [system_prompt, ...(dynamic_context ? [dynamic_context] : [])]
  return hasContent(content) ? [{ role: 'system', content }] : []
}

const MAX_NAMED_CALLS = 5

function refusePending(units: Iterable<Unit>): void {
  const calls = [...units].flatMap(pendingCallsIn)
  if (calls.length === 0) return
  const named = calls
    .slice(0, MAX_NAMED_CALLS)
    .map((call) => `${quote(call.tool_name)} (${quote(call.tool_call_id)})`)
  const more = calls.length > MAX_NAMED_CALLS ? ` and ${calls.length - MAX_NAMED_CALLS} more` : ''
  throw new ColloquyError(
    'pending_calls',
    `Calls without a result: ${named.join(', ')}${more}. Run or recover the conversation.`,
    { calls },
  )
}

function pendingCallsIn(unit: Unit) {
  if (unit.type !== 'batch') return []
  const results = new Set([...unit.results].map(({ call }) => call.seq))
  return [...unit.calls]
    .filter((call) => !results.has(call.seq))
    .map(({ id, event }) => ({ event_id: id, tool_call_id: event.tool_call_id, tool_name: event.tool_name }))
}
