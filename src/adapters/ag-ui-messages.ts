import type { ContentPart, Message } from '@ag-ui/core'
import { invalid } from '../event/check-value.ts'
import { isObject } from '../event/json.ts'
import type { Content, JsonObject, JsonValue, OpenPart } from '../event/shapes.ts'
import { isImagePart, isTextPart } from '../event/shapes.ts'
import type { ActionEvent, Event } from '../event/types.ts'
import { type FileRef, readPart } from '../messages/files.ts'
import { placeholderOf } from '../messages/pieces.ts'
import { isTextFile } from '../messages/text-files.ts'
import { type CallItem, type MessageItem, type TimelineItem, toTimeline } from '../messages/timeline.ts'
import { findEvent } from '../state/read.ts'
import type { State } from '../state/state.ts'

/**
 * Returns HEAD's branch as AG-UI messages. Timeline items that are not messages become activities. O(branch).
 * @throws ColloquyError `evicted`, see `toTimeline`.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * agUiMessages(state).map(({ id, role }) => [id, role]) // [['m', 'user']]
 */
export const agUiMessages = (state: State): Message[] => toTimeline(state).flatMap(itemMessages)

function itemMessages(item: TimelineItem): Message[] {
  const { id } = item
  const activity = (content: object): Message => ({ id, role: 'activity', activityType: item.type, content })
  switch (item.type) {
    case 'system':
      return [{ id, role: 'system', content: item.content.map(({ text }) => text).join('\n') }]
    case 'message': {
      if (item.source === 'user') return [{ id, role: 'user', content: item.content.flatMap(partsOf) }]
      if (item.source !== 'agent') return [activity({ source: item.source, text: joinedText(item.content) })]
      return [...reasoningMessages(item), { id, role: 'assistant', content: joinedText(item.content) }]
    }
    case 'call': {
      const called = { name: item.tool, arguments: JSON.stringify(item.arguments) }
      const text = joinedText(item.content)
      const message: Message = {
        id: `${id}-call`,
        role: 'assistant',
        toolCalls: [{ id, type: 'function', function: called }],
        ...(text !== '' && { content: text }),
      }
      const messages = [...reasoningMessages(item), message]
      const { result, status, completion } = item
      if (result === null) return messages
      const isFailed = completion === undefined && (status === 'failed' || status === 'rejected')
      const error = isFailed && { error: joinedText(result.content) }
      const content = result.content.flatMap(partsOf)
      return [...messages, { id: result.id, role: 'tool', toolCallId: id, content, ...error }]
    }
    case 'condensation':
      return [activity({ summary: item.summary, forgot: item.forgot })]
    case 'error':
      return [activity({ code: item.code, detail: item.detail })]
    default:
      return [activity({})]
  }
}

const reasoningMessages = ({ id, reasoning }: MessageItem | CallItem): Message[] =>
  reasoning === '' ? [] : [{ id: `${id}-reasoning`, role: 'reasoning', content: reasoning }]

const joinedText = (content: readonly Content[]): string =>
  content.map((part) => (isTextPart(part) ? part.text : '')).join('')

function partsOf(part: Content): ContentPart[] {
  if (isTextPart(part)) return [{ type: 'text', text: part.text }]
  if (isImagePart(part)) return part.image_urls.map(imagePart)
  const reading = readPart(part)
  if (reading?.as === 'file') return [filePart(reading.file)]
  if (reading?.as === 'image') return [imagePart(reading.url)]
  return [{ type: 'text', text: reading?.text ?? placeholderOf(part) }]
}

const imagePart = (value: string): ContentPart => ({ type: 'image', source: { type: 'url', value } })

function filePart({ mediaType, from }: FileRef): ContentPart {
  const kind = /^(?:audio|video)(?=\/)/.exec(mediaType ?? '')?.[0] ?? 'document'
  const type = kind as 'audio' | 'document' | 'video'
  const mimeType = mediaType ?? 'application/octet-stream'
  if ('data' in from) return { type, source: { type: 'data', value: from.data, mimeType } }
  if ('url' in from) return { type, source: { type: 'url', value: from.url, mimeType } }
  return { type, source: { type: 'file', value: from.id, provider: from.provider } }
}

/**
 * Returns the event for a new user message or for the result of a pending call; null for other messages.
 * @throws `invalid_argument` for a user message without id.
 */
export function messageEventOf(
  message: JsonObject,
  state: State,
  pending: ReadonlyMap<string, ActionEvent>,
): Event | null {
  const { id, role, content, toolCallId } = message
  if (role === 'user' && typeof id !== 'string')
    throw invalid('Each user message must have a string `id`. Keep the id when the message is sent again.')
  if (role === 'user' && typeof id === 'string' && findEvent(state, id) === undefined)
    return {
      kind: 'MessageEvent',
      id,
      source: 'user',
      llm_message: { role: 'user', content: postedContent(content) },
    }
  const call = role === 'tool' ? pending.get(String(toolCallId)) : undefined
  if (call === undefined) return null
  const { tool_name, tool_call_id } = call
  const is_error = typeof message['error'] === 'string'
  const observation = { kind: 'ClientToolObservation', content: postedContent(content), is_error }
  return { kind: 'ObservationEvent', action_id: String(toolCallId), tool_name, tool_call_id, observation }
}

function postedContent(content: JsonValue | undefined): Content[] {
  if (typeof content === 'string') return [{ text: content }]
  return (Array.isArray(content) ? content : []).filter(isObject).map(postedPart)
}

/** Converts a message part. A part in a grammar's form is unchanged; any other file becomes an AI SDK file part. */
function postedPart(part: JsonObject): Content {
  const { text } = part
  if (typeof text === 'string') return { text }
  const { type, source } = part.type === 'binary' ? currentPart(part) : part
  const { type: from, value, mimeType, provider } = isObject(source) ? source : {}
  if (typeof value !== 'string')
    return readPart(part as OpenPart) === null ? { text: JSON.stringify(part) } : (part as OpenPart)
  const isBase64 = from === 'data' && !value.startsWith('data:')
  const url = isBase64 ? `data:${String(mimeType)};base64,${value}` : value
  if (type === 'image' && from !== 'file' && !isTextFile(String(mimeType))) return { type, image_urls: [url] }
  const data = from === 'file' ? { type: 'reference', reference: { [String(provider)]: value } } : url
  return { type: 'file', ...(typeof mimeType === 'string' && { mediaType: mimeType }), data }
}

/** Converts a `binary` part, which clients before AG-UI 1.0 post. */
function currentPart({ mimeType = null, data = null, url = null }: JsonObject): JsonObject {
  const source =
    data === null ? { type: 'url', value: url, mimeType } : { type: 'data', value: data, mimeType }
  return { type: String(mimeType).startsWith('image/') ? 'image' : 'document', source }
}
