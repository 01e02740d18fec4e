/** Marks the places where a provider should cache, at the end of the stable prefix. */

import type { Content } from '../event/shapes.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { saysSomething } from '../messages/neutral.ts'
import { checkNumber } from './check-number.ts'

/**
 * The messages with `cache_prompt` at the places that pay, and nowhere else: behind the first part of the system
 * prompt, which other conversations share, behind the whole of it, at the end of the stable prefix, where the request
 * before put its last mark, and at the end. At most four, as Anthropic takes no more, and only on parts that say
 * something; thinking and calls get none. Give the result to `toAnthropic`; the marks change nothing that the model
 * reads. O(parts).
 *
 * @param stable how many leading messages the request before had too: `stablePrefix(previous, messages)`.
 * @throws ColloquyError `invalid_argument` when `stable` is no count.
 * @example
 * const hi = { role: 'user', content: [{ text: 'hi' }], name: null }
 * cacheBreakpoints([hi], 0)[0].content // [{ text: 'hi', cache_prompt: true }]
 */
export function cacheBreakpoints(messages: readonly NeutralMessage[], stable: number): NeutralMessage[] {
  checkNumber('stable', stable, { least: 0 })
  const system = messages[0]?.role === 'system' ? messages[0].content : []
  const places = [
    placeIn(0, system, system.findIndex(saysSomething)),
    placeIn(0, system, system.findLastIndex(saysSomething)),
    lastPlace(messages, Math.min(stable, messages.length)),
    lastPlace(messages, messages.length),
  ]
  const marked = new Set(places)
  return messages.map((message, at) => withMarks(message, (part) => marked.has(`${at} ${part}`)))
}

const placeIn = (at: number, content: readonly Content[], part: number): string | null =>
  content[part] === undefined ? null : `${at} ${part}`

/** The last part before an index that can be marked. */
function lastPlace(messages: readonly NeutralMessage[], end: number): string | null {
  for (let at = end - 1; at >= 0; at -= 1) {
    const content = messages[at]?.content ?? []
    const part = content.findLastIndex(saysSomething)
    if (part >= 0) return placeIn(at, content, part)
  }
  return null
}

/** The message with exactly these parts marked; the same object if nothing changes. */
function withMarks<M extends NeutralMessage>(message: M, isMarked: (part: number) => boolean): M {
  const wrong = message.content.some((part, at) => (part.cache_prompt === true) !== isMarked(at))
  if (!wrong) return message
  const content = message.content.map((part, at) => {
    const { cache_prompt: _, ...rest } = part
    return isMarked(at) ? { ...rest, cache_prompt: true } : rest
  })
  return { ...message, content }
}
