import { ColloquyError } from '../../event/errors.ts'
import type { Content } from '../../event/shapes.ts'
import type { MessageEvent } from '../../event/types.ts'
import { isTextFile } from '../text-files.ts'
import { objectOf, type RawObject } from '../text.ts'

interface ClientMessage {
  readonly id?: unknown
  readonly role?: unknown
  readonly parts?: unknown
}

/**
 * Returns the event of a user's `UIMessage`. The event has the message's id, so a repeated message appends
 * nothing. Image files except SVG become image parts, and other files keep the AI SDK's form; parts other
 * than text and files are ignored. O(length).
 * @throws ColloquyError `invalid_argument` for a message that is empty, is not a user's, or has a file
 *   without `url` or `mediaType`.
 * @example
 * const event = fromUIMessage({ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] })
 * event.llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export function fromUIMessage(message: ClientMessage): MessageEvent {
  const { id, role, parts } = objectOf(message)
  if (role !== 'user') throw invalid('its `role` must be `user`')
  if (!Array.isArray(parts)) throw invalid('`parts` must be a list')
  const content = parts.flatMap((part) => uiPartContent(objectOf(part)))
  if (content.length === 0) throw invalid('it has neither text nor files')
  const llm_message = { role: 'user' as const, content }
  return { kind: 'MessageEvent', source: 'user', ...(typeof id === 'string' ? { id } : {}), llm_message }
}

function uiPartContent({ type, text, url, mediaType, filename }: RawObject): Content[] {
  if (type === 'text' && typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }]
  if (type !== 'file') return []
  if (typeof url !== 'string' || typeof mediaType !== 'string')
    throw invalid('a file must have a `url` and a `mediaType`')
  if (/^image(?:\/|$)/.test(mediaType) && !isTextFile(mediaType))
    return [{ type: 'image', image_urls: [url] }]
  return [{ type: 'file', mediaType, data: url, ...(typeof filename === 'string' ? { filename } : {}) }]
}

const invalid = (problem: string): ColloquyError =>
  new ColloquyError('invalid_argument', `Invalid message: ${problem}.`, { field: 'message' })
