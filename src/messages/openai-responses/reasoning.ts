/** Reads a reasoning item of OpenAI Responses as the log keeps it. */

import type { ReasoningItemModel } from '../../event/shapes.ts'
import { type Found, objectsOf, stringOf } from '../found.ts'

/** Items that were kept whole, read before, so that what is known of them stays beside them. */
const READ = new WeakMap<object, ReasoningItemModel>()

/** A reasoning item in the fields of the log. O(length) the first time. */
export function reasoningOf(item: Found): ReasoningItemModel {
  const known = READ.get(item)
  if (known !== undefined) return known
  const read = readReasoning(item)
  READ.set(item, read)
  return read
}

/** The same, for who asks but once. O(length). */
export function readReasoning(item: Found): ReasoningItemModel {
  const { id, encrypted_content } = item
  const content = objectsOf(item['content']).map(({ text }) => stringOf(text))
  return {
    ...(typeof id === 'string' ? { id } : {}),
    summary: objectsOf(item['summary']).map(({ text }) => stringOf(text)),
    ...(content.length === 0 ? {} : { content }),
    ...(typeof encrypted_content === 'string' ? { encrypted_content } : {}),
  }
}
