/** Writes a state as neutral messages: what a model is sent of the view of the branch under HEAD (design section 5). */

import { ColloquyError } from '../event/errors.ts'
import type { Content, TextContent } from '../event/shapes.ts'
import type { SystemPromptEvent } from '../event/types.ts'
import { quote } from '../event/text.ts'
import type { State } from '../state/state.ts'
import { type BatchUnit, isPending, type MessageUnit, type Unit } from '../view/unit.ts'
import { batchMessages } from './batch.ts'
import type { MessageOptions, NeutralMessage, SystemMessage } from './message.ts'
import { completionMessage, hasContent, renderMessage } from './render-message.ts'

/** How many calls an error names in words; its data name them all. */
const NAMED = 5

/**
 * What the model is sent: the branch's latest system prompt, then the view's units in order. A batch is one assistant
 * message and one tool message per call; adjacent plain user messages are one. An empty view gives no messages. The
 * texts are the log's own, at their full length unless `maxResultLength` says otherwise.
 *
 * Between condensations, appending events changes the messages before only by adding content at the end of the last one
 * (law V), but for an open or pending batch, a replaced system prompt, and a reply that says what it was asked at: it
 * stands before the messages that came while the model was replying. O(view), O(content).
 *
 * @throws ColloquyError `pending_calls` when a call in the view is pending and `pending` is `refuse`; `data.calls`
 * names them.
 * @example
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * toMessages(state) // [{ role: 'user', content: [{ text: 'hi' }], name: null }]
 */
export function toMessages(state: State, options: MessageOptions = {}): NeutralMessage[] {
  const { view, systemPrompt } = state.branch
  const { pending = 'omit', maxResultLength = Infinity } = options
  const units = pending === 'omit' ? [...view.units].filter((unit) => !isPending(unit)) : [...view.units]
  if (pending === 'refuse') refusePending(units)
  if (units.length === 0) return []

  const batchOptions = { reason: typeof pending === 'object' ? pending.close : '', maxResultLength }
  // With `append` the first prompt of the view stays in front, and each later one stands where it came.
  const first = options.system === 'append' ? (units.find(isPrompt)?.item ?? systemPrompt) : systemPrompt
  const messages: NeutralMessage[] =
    first?.event.kind === 'SystemPromptEvent' ? systemMessage(first.event) : []
  // The content of the last message while it is a plain user message, which the next one joins.
  let open: Content[] | null = null
  for (const unit of units) {
    if (unit.type === 'batch') {
      for (const message of batchMessages(unit, batchOptions)) messages.push(message)
      open = null
      continue
    }
    const { event } = unit.item
    if (options.system === 'append' && event.kind === 'SystemPromptEvent') {
      if (unit.item.id !== first?.id) messages.push(...systemMessage(event))
      open = null
      continue
    }
    if (unit.completes !== undefined && event.kind === 'MessageEvent') {
      messages.push(completionMessage(event, unit.completes.event))
      open = null
      continue
    }
    const said = renderMessage(event)
    if (said === null) continue
    if (!said.plain) {
      messages.push(said.message)
      open = null
    } else if (open === null) {
      open = [...said.message.content]
      messages.push({ role: 'user', content: open, name: null })
    } else for (const part of said.message.content) open.push(part)
  }
  return messages
}

/** The prompt, then what this conversation adds to it. */
function systemMessage({ system_prompt, dynamic_context }: SystemPromptEvent): SystemMessage[] {
  const content: TextContent[] = [system_prompt, ...(dynamic_context ? [dynamic_context] : [])]
  return hasContent(content) ? [{ role: 'system', content }] : []
}

const isPrompt = (unit: Unit): unit is MessageUnit =>
  unit.type === 'message' && unit.item.event.kind === 'SystemPromptEvent'

/** @throws ColloquyError `pending_calls` when a unit is pending. */
function refusePending(units: readonly Unit[]): void {
  const calls = units.filter(isPendingBatch).flatMap(unanswered)
  if (calls.length === 0) return
  const named = calls.slice(0, NAMED).map((call) => `${quote(call.tool_name)} (${quote(call.tool_call_id)})`)
  const more = calls.length > NAMED ? ` and ${calls.length - NAMED} more` : ''
  throw new ColloquyError('pending_calls', `calls without a result: ${named.join(', ')}${more}`, { calls })
}

const isPendingBatch = (unit: Unit): unit is BatchUnit => unit.type === 'batch' && isPending(unit)

function unanswered(batch: BatchUnit) {
  const results = new Set([...batch.results].map(({ call }) => call.seq))
  return [...batch.calls]
    .filter((call) => !results.has(call.seq))
    .map(({ id, event }) => ({ event_id: id, tool_call_id: event.tool_call_id, tool_name: event.tool_name }))
}
