/** Reads what a user says in `useChat` of the AI SDK as an event. */

import { ColloquyError } from '../../event/errors.ts'
import type { Content } from '../../event/shapes.ts'
import type { MessageEvent } from '../../event/types.ts'

/** A message as a client sends it: none of it is believed. */
interface Given {
  readonly id?: unknown
  readonly role?: unknown
  readonly parts?: unknown
}

/**
 * The event of a user's `UIMessage`, under its own id, so that sending it again appends nothing. Texts and files are
 * read: images become images, other files are kept as the AI SDK has them. What else stands in it is for the client.
 * O(length).
 *
 * @throws ColloquyError `invalid_argument` for what is no message of a user, or says nothing.
 * @example
 * const event = fromUIMessage({ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] })
 * event.llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export function fromUIMessage(message: Given): MessageEvent {
  const { id, role, parts } = object(message)
  if (role !== 'user') throw invalid('its role must be user')
  if (!Array.isArray(parts)) throw invalid('parts must be a list')
  const content = parts.flatMap((part) => contentOf(object(part)))
  if (content.length === 0) throw invalid('it has neither text nor files')
  const llm_message = { role: 'user' as const, content }
  return { kind: 'MessageEvent', source: 'user', ...(typeof id === 'string' ? { id } : {}), llm_message }
}

function contentOf({ type, text, url, mediaType, filename }: Readonly<Record<string, unknown>>): Content[] {
  if (type === 'text' && typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }]
  if (type !== 'file') return []
  if (typeof url !== 'string' || typeof mediaType !== 'string')
    throw invalid('a file must have a url and a mediaType')
  if (/^image(?:\/|$)/.test(mediaType)) return [{ type: 'image', image_urls: [url] }]
  return [{ type: 'file', mediaType, data: url, ...(typeof filename === 'string' ? { filename } : {}) }]
}

const object = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

const invalid = (why: string): ColloquyError =>
  new ColloquyError('invalid_argument', `The message cannot be read: ${why}.`, { field: 'message' })
