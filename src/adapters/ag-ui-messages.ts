import type { Message } from '@ag-ui/core'
import { isObject } from '../event/json.ts'
import { type Content, isImagePart, isTextPart, type JsonObject, type JsonValue } from '../event/shapes.ts'
import type { ActionEvent, Event } from '../event/types.ts'
import { type TimelineItem, toTimeline } from '../messages/timeline.ts'
import { findEvent } from '../state/read.ts'
import type { State } from '../state/state.ts'

/**
 * Returns HEAD's branch as AG-UI messages. Items that are not messages become activities. O(branch).
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
      if (item.source === 'user') return [{ id, role: 'user', content: item.content.map(userPart) }]
      if (item.source !== 'agent') return [activity({ source: item.source, text: joinedText(item.content) })]
      return [...reasoningMessages(item), { id, role: 'assistant', content: joinedText(item.content) }]
    }
    case 'call': {
      const call = {
        id,
        type: 'function' as const,
        function: { name: item.tool, arguments: JSON.stringify(item.arguments) },
      }
      const text = joinedText(item.content)
      const message: Message = {
        id: `${id}-call`,
        role: 'assistant',
        toolCalls: [call],
        ...(text !== '' && { content: text }),
      }
      const result = item.result
      if (result === null) return [...reasoningMessages(item), message]
      const failed =
        item.completion === undefined && (item.status === 'failed' || item.status === 'rejected')
          ? { error: joinedText(result.content) }
          : {}
      const content = result.content.map(userPart)
      return [
        ...reasoningMessages(item),
        message,
        { id: result.id, role: 'tool', toolCallId: id, content, ...failed },
      ]
    }
    case 'condensation':
      return [activity({ summary: item.summary, forgot: item.forgot })]
    case 'error':
      return [activity({ code: item.code, detail: item.detail })]
    default:
      return [activity({})]
  }
}

const reasoningMessages = ({
  id,
  reasoning,
}: {
  readonly id: string
  readonly reasoning: string
}): Message[] => (reasoning === '' ? [] : [{ id: `${id}-reasoning`, role: 'reasoning', content: reasoning }])

const joinedText = (content: readonly Content[]): string =>
  content.map((part) => (isTextPart(part) ? part.text : '')).join('')

function userPart(part: Content): Exclude<Extract<Message, { role: 'user' }>['content'], string>[number] {
  if (isImagePart(part)) return { type: 'image', source: { type: 'url', value: part.image_urls[0] ?? '' } }
  return { type: 'text', text: isTextPart(part) ? part.text : JSON.stringify(part) }
}

/** Returns a new user message, or the result of a pending call, as an event; otherwise null. */
export function messageEventOf(
  message: JsonObject,
  state: State,
  pending: ReadonlyMap<string, ActionEvent>,
): Event | null {
  const { id, role, content, toolCallId } = message
  if (role === 'user' && typeof id === 'string' && findEvent(state, id) === undefined)
    return {
      kind: 'MessageEvent',
      id,
      source: 'user',
      llm_message: { role: 'user', content: resultContent(content) },
    }
  const call = role === 'tool' ? pending.get(String(toolCallId)) : undefined
  if (call === undefined) return null
  const { tool_name, tool_call_id } = call
  const observation = {
    kind: 'ClientToolObservation',
    content: resultContent(content),
    is_error: typeof message['error'] === 'string',
  }
  return { kind: 'ObservationEvent', action_id: String(toolCallId), tool_name, tool_call_id, observation }
}

function resultContent(content: JsonValue | undefined): Content[] {
  if (typeof content === 'string') return [{ text: content }]
  return (Array.isArray(content) ? content : []).filter(isObject).map((part): Content => {
    const { text, source } = part
    if (typeof text === 'string') return { text }
    const { type, value, mimeType } = isObject(source) ? source : {}
    if (part['type'] !== 'image' || typeof value !== 'string') return { text: JSON.stringify(part) }
    return {
      type: 'image',
      image_urls: [type === 'data' ? `data:${String(mimeType)};base64,${value}` : value],
    }
  })
}
