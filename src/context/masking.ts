/** Masks old tool results: options go in, a function from messages to shorter messages comes out. The log is not touched. */

import type { Content } from '../event/shapes.ts'
import { isImage, type NeutralMessage, type ToolMessage } from '../messages/message.ts'
import { checkNumber } from './check.ts'

export interface MaskingOptions {
  /** How many of the latest tool results stay as they are, at least. Default: 10. */
  readonly keepLast?: number
  /**
   * After how many further results the next ones are masked, all at once: between two such times the messages before stay the
   * same, and so does what a provider has cached. Default: 10.
   */
  readonly stride?: number
  /** What stands in place of a masked result. */
  readonly placeholder?: string
}

/** Stands in place of an old result. Changing it changes every cached prefix. */
const PLACEHOLDER = '[An old result was left out here to save room.]'

/**
 * A function that replaces the content of old tool results with a short text, in the messages only. Each call keeps its answer and
 * whether that failed; results that are no longer than the placeholder stay. Masking twice is masking once. O(messages).
 * @throws ColloquyError `invalid_query` for numbers that are none.
 * @example
 * const mask = observationMasking({ keepLast: 0, stride: 1, placeholder: '[old]' })
 * const result = { role: 'tool', content: [{ text: 'a long result' }], tool_call_id: 'c', name: 'ls', is_error: false }
 * mask([result])[0].content // [{ type: 'text', text: '[old]' }]
 */
export function observationMasking(
  options: MaskingOptions = {},
): (messages: readonly NeutralMessage[]) => NeutralMessage[] {
  const { placeholder = PLACEHOLDER } = options
  const keepLast = checkNumber('keepLast', options.keepLast ?? 10, { least: 0 })
  const stride = checkNumber('stride', options.stride ?? 10, { least: 1 })
  return (messages) => {
    const results = messages.filter((message) => message.role === 'tool').length
    let left = Math.floor(Math.max(0, results - keepLast) / stride) * stride
    return messages.map((message) => {
      if (message.role !== 'tool') return message
      left -= 1
      return left < 0 ? message : masked(message, placeholder)
    })
  }
}

function masked(message: ToolMessage, placeholder: string): ToolMessage {
  const { content } = message
  const length = content.reduce((sum, part) => sum + (isImage(part) ? 0 : part.text.length), 0)
  const images = content.some((part) => isImage(part) && part.image_urls.length > 0)
  if (!images && length <= placeholder.length) return message
  const isMarked = content.some((part) => part.cache_prompt === true)
  const text: Content = { type: 'text', text: placeholder, ...(isMarked ? { cache_prompt: true } : {}) }
  return { ...message, content: [text] }
}
