import { checkNumber } from '../event/check-value.ts'
import type { Content } from '../event/shapes.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { isVisible } from '../event/reply.ts'

/**
 * Marks at most four parts (Anthropic's maximum) with `cache_prompt`: the first part of the system prompt,
 * which conversations share; the last part of the system prompt; the end of the stable prefix, which was the
 * end of the previous request; and the end of this request. Other marks are removed. Pass the result to
 * `toAnthropic`. Empty parts, thinking and calls are not marked. O(parts).
 * @param stable number of leading messages that the previous request had too:
 *   `stablePrefix(previous, messages)`
 * @throws ColloquyError `invalid_argument` for an invalid number.
 * @example
 * const hi = { role: 'user', content: [{ text: 'hi' }], name: null }
 * cacheBreakpoints([hi], 0)[0].content // [{ text: 'hi', cache_prompt: true }]
 */
export function cacheBreakpoints(messages: readonly NeutralMessage[], stable: number): NeutralMessage[] {
  checkNumber('stable', stable, { least: 0 })
  const system = messages[0]?.role === 'system' ? messages[0].content : []
  const marks = [
    markOf(0, system, system.findIndex(isVisible)),
    markOf(0, system, system.findLastIndex(isVisible)),
    lastMark(messages, Math.min(stable, messages.length)),
    lastMark(messages, messages.length),
  ]
  const marked = new Set(marks)
  return messages.map((message, index) => withMarks(message, (part) => marked.has(`${index} ${part}`)))
}

const markOf = (index: number, content: readonly Content[], part: number): string | null =>
  content[part] === undefined ? null : `${index} ${part}`

function lastMark(messages: readonly NeutralMessage[], end: number): string | null {
  for (let index = end - 1; index >= 0; index -= 1) {
    const content = messages[index]?.content ?? []
    const part = content.findLastIndex(isVisible)
    if (part >= 0) return markOf(index, content, part)
  }
  return null
}

function withMarks<M extends NeutralMessage>(message: M, isMarked: (part: number) => boolean): M {
  const wrong = message.content.some((part, index) => (part.cache_prompt === true) !== isMarked(index))
  if (!wrong) return message
  const content = message.content.map((part, index) => {
    const { cache_prompt: _, ...rest } = part
    return isMarked(index) ? { ...rest, cache_prompt: true } : rest
  })
  return { ...message, content }
}
