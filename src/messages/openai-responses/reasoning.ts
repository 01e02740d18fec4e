/** Reads a reasoning item of OpenAI Responses as the log keeps it. */

import type { ReasoningItemModel } from '../../event/shapes.ts'
import { keptBeside } from '../kept-beside.ts'
import { type Found, objectsOf, stringOf } from '../found.ts'

/** A reasoning item in the fields of the log. O(length). */
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

/** The same of an item that was kept whole, so that what is known of it stays beside it. O(length) the first time. */
export const reasoningOf = /* @__PURE__ */ keptBeside(readReasoning)
