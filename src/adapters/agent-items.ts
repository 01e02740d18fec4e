/** Converts items of the OpenAI Agents SDK to events that contain these items, and other events to items. */

import type { AgentInputItem } from '@openai/agents-core'
import { isObject, without } from '../event/json.ts'
import { type Content, isTextPart, type JsonObject } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { urlOf } from '../messages/files.ts'
import type { Piece } from '../messages/limits.ts'
import type { ToolMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import { PARTS } from '../messages/openai-responses/blocks.ts'
import { fromOpenAIResponses } from '../messages/openai-responses/read.ts'
import { itemAsText, piecesOf } from '../messages/pieces.ts'
import { objectOf } from '../messages/text.ts'
import { base64Of } from '../messages/text-files.ts'
import { replay } from '../state/reduce.ts'

/** Field with an event's items. The first event of a reply has the items of all the reply's events. */
const ITEMS = 'openai_agents'

const FIELDS: Readonly<Partial<Record<Event['kind'], string>>> = {
  ActionEvent: 'tool_call',
  MessageEvent: 'llm_message',
  ObservationEvent: 'observation',
}

const ACCEPTS = { acceptsImage: () => true, parts: PARTS }

/** Converts items to events. Adjacent items of the model form a reply. Adds new action ids to `actions`. */
export function eventsOfItems(items: readonly AgentInputItem[], actions: Map<string, string>): Event[] {
  const events: Event[] = []
  for (let index = 0; index < items.length;) {
    let end = index
    while (end < items.length && isOfReply(items[end])) end += 1
    events.push(
      ...(end > index ? replyEvents(items.slice(index, end), actions) : [inputEvent(items[index], actions)]),
    )
    index = Math.max(end, index + 1)
  }
  return events
}

const isOfReply = (item: AgentInputItem | undefined): boolean => {
  if (item === undefined) return false
  if (item.type === undefined || item.type === 'message') return 'role' in item && item.role === 'assistant'
  return !item.type.endsWith('_result') && !item.type.endsWith('_output')
}

function replyEvents(items: readonly AgentInputItem[], actions: Map<string, string>): Event[] {
  const output = items.flatMap((item) => toWire(item) ?? [])
  const { events } = fromOpenAIResponses(
    Object.assign({ output }, { id: crypto.randomUUID(), status: 'completed' }),
  )
  // Errors for unreadable calls are left out: result items of the session end the calls.
  const stored = events.filter(({ kind }) => kind === 'ActionEvent' || kind === 'MessageEvent')
  if (stored.length === 0) return [messageEvent('agent', 'assistant', [], items)]
  return stored.map((event, index) => {
    const marked = withItems(event, index === 0 ? items : [])
    if (marked.kind !== 'ActionEvent') return marked
    const id = crypto.randomUUID()
    actions.set(marked.tool_call_id, id)
    return { ...marked, id }
  })
}

/** Returns the event for an item that no model wrote. A result without a pending call becomes a message. */
function inputEvent(item: AgentInputItem | undefined, actions: Map<string, string>): Event {
  const items = item === undefined ? [] : [item]
  const fields = item as unknown as JsonObject
  const tool_call_id = String(fields['callId'] ?? fields['call_id'] ?? '')
  const action_id = actions.get(tool_call_id)
  if (fields['role'] === undefined && action_id !== undefined) {
    actions.delete(tool_call_id)
    const observation = { kind: 'ClientToolObservation', content: itemContent(fields['output']) }
    const tool_name = String(fields['name'] ?? fields['type'])
    return withItems({ kind: 'ObservationEvent', action_id, tool_name, tool_call_id, observation }, items)
  }
  const source = fields['role'] === 'user' ? 'user' : 'environment'
  return messageEvent(source, 'user', itemContent(fields['content'] ?? fields['output']), items)
}

const messageEvent = (
  source: 'agent' | 'environment' | 'user',
  role: 'assistant' | 'user',
  content: readonly Content[],
  items: readonly AgentInputItem[],
): Event => withItems({ kind: 'MessageEvent', source, llm_message: { role, content } }, items)

function withItems(event: Event, items: readonly AgentInputItem[]): Event {
  const field = FIELDS[event.kind]
  if (field === undefined) return event
  return { ...event, [field]: { ...openField(event), [ITEMS]: encode(items) } } as Event
}

/** Returns the event's field that can contain additional fields; null for a kind without such a field. */
function openField(event: Event): JsonObject | null {
  const value = (event as object as JsonObject)[FIELDS[event.kind] ?? '']
  return isObject(value) ? value : null
}

/** Returns the items from which an event was made; null if it was not made from items. */
export function itemsIn(event: Event): readonly AgentInputItem[] | null {
  const items = openField(event)?.[ITEMS]
  return Array.isArray(items) ? (decode(items) as readonly AgentInputItem[]) : null
}

/** Converts items to JSON, with bytes as lists of numbers, because a log is JSON. */
const encode = (items: unknown): unknown =>
  JSON.parse(
    JSON.stringify(items, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
      // A Buffer of Node has already been converted by its `toJSON`.
      const original = this[key]
      return original instanceof Uint8Array ? { $bytes: [...original] } : value
    }),
  )

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode)
  if (!isObject(value)) return value
  const bytes = value['$bytes']
  if (Array.isArray(bytes)) return Uint8Array.from(bytes as number[])
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, decode(entry)]))
}

/** Converts events to items, if the events do not contain their items. Leaves out system prompts and reasoning. */
export function itemsOfEvents(events: readonly Event[]): readonly AgentInputItem[] {
  const state = replay(
    events.map((event) => without(event as object as JsonObject, 'parent_id') as object as Event),
  )
  return toMessages(state).flatMap((message): object[] => {
    const status = 'completed'
    switch (message.role) {
      case 'system':
        return []
      case 'user':
        return [{ role: 'user', content: message.content.flatMap(inputParts) }]
      case 'tool':
        return [resultItem(message)]
      default: {
        const content = message.content.filter(isTextPart).map(({ text }) => ({ type: 'output_text', text }))
        const calls = message.tool_calls.map(({ id: callId, name, arguments: text }) => ({
          type: 'function_call',
          callId,
          name,
          arguments: text,
          status,
        }))
        return [
          ...(content.length > 0 ? [{ type: 'message', role: 'assistant', status, content }] : []),
          ...calls,
        ]
      }
    }
  }) as AgentInputItem[]
}

export function resultItem({ tool_call_id: callId, name, content }: ToolMessage): AgentInputItem {
  const output = content.flatMap(inputParts)
  return { type: 'function_call_result', callId, name, status: 'completed', output } as AgentInputItem
}

const inputParts = (part: Content): object[] =>
  isTextPart(part)
    ? [{ type: 'input_text', text: part.text }]
    : piecesOf([part], ACCEPTS, 'user').map((piece) => inputPart(itemAsText(piece, ACCEPTS)))

function inputPart(piece: Piece): object {
  if (piece.type === 'text') return { type: 'input_text', text: piece.text }
  if (piece.type === 'image') return { type: 'input_image', image: urlOf(piece.image) }
  const { type, text, filename, file_id: id, file_url: url, file_data, image_url = file_data } = piece.block
  if (type === 'input_text') return { type, text }
  const source = id === undefined ? (url === undefined ? image_url : { url }) : { id }
  if (type === 'input_image') return { type, image: source }
  return { type, file: source, ...(filename !== undefined && { filename }) }
}

function toWire(item: AgentInputItem): object | null {
  const fields = item as unknown as JsonObject
  const { id, status, content, callId: call_id, name, arguments: text } = fields
  const data = isObject(fields['providerData']) ? fields['providerData'] : {}
  if (fields['role'] === 'assistant') return { type: 'message', role: 'assistant', id, status, content }
  switch (fields['type']) {
    case 'function_call':
      return { type: 'function_call', id, call_id, name, arguments: text }
    case 'reasoning': {
      const parts = Array.isArray(content) ? content.filter(isObject) : []
      const summary = parts.map((part) => ({ type: 'summary_text', text: part['text'] }))
      const encrypted_content = data['encryptedContent'] ?? data['encrypted_content']
      return { type: 'reasoning', id, summary, ...(encrypted_content !== undefined && { encrypted_content }) }
    }
    case 'compaction':
      return { type: 'compaction', id, encrypted_content: fields['encrypted_content'] }
    default:
      return null
  }
}

/** Returns the content of an item. A file gets a form that every grammar can express, if such a form exists. */
function itemContent(value: unknown): Content[] {
  if (typeof value === 'string') return [{ text: value }]
  const parts = Array.isArray(value) ? value : value === undefined ? [] : [value]
  return parts.map((part: JsonObject): Content => {
    const { type, text, format, image, audio, file = audio } = part
    if (typeof text === 'string') return { text }
    const source = image ?? file ?? (type === 'computer_screenshot' ? part['data'] : undefined)
    const { id, fileId = id, filename = part['filename'] } = objectOf(source)
    const isImage = file === undefined
    if (typeof fileId === 'string')
      return isImage
        ? { type: 'input_image', file_id: fileId, detail: 'auto' }
        : { type: 'input_file', file_id: fileId }
    const data = urlOrData(source)
    if (data === null) return { text: JSON.stringify(encode(part)) }
    if (isImage) return { type: 'image', image_urls: [data] }
    const mediaType = audio !== undefined && `audio/${format === 'mp3' ? 'mpeg' : 'wav'}`
    const name = typeof filename === 'string' && { filename }
    return { type: 'file', data, ...(mediaType && { mediaType }), ...name }
  })
}

function urlOrData(source: unknown): string | null {
  if (typeof source === 'string') return source
  const { url, data, mediaType = 'image/png' } = objectOf(source)
  if (typeof url === 'string') return url
  const base64 = data instanceof Uint8Array ? base64Of(data) : data
  return typeof base64 === 'string' ? `data:${String(mediaType)};base64,${base64}` : null
}
