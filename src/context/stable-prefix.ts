/** How many messages two requests share at their start. */

import type { NeutralMessage } from '../messages/message.ts'

/** Marks where caches end; it changes nothing that the model reads. */
const MARK = 'cache_prompt'

/**
 * How many leading messages of `next` are those of `previous`, cache marks aside: what a provider's cache can serve
 * again. Between condensations it is all of `previous`, or all but its last message while that is the user's and grows
 * (law K6), so the stable part only grows; a reply that a user spoke into is put before what he said (`reply.after`),
 * and ends it there. O(parts) for messages of the same log, since their contents are the same objects.
 * @example
 * const hi = { role: 'user', content: [{ text: 'hi' }], name: null }
 * const more = { role: 'user', content: [{ text: 'hi' }, { text: 'there' }], name: null }
 * [stablePrefix([hi], [hi, hi]), stablePrefix([hi], [more])] // [1, 0]
 */
export function stablePrefix(previous: readonly NeutralMessage[], next: readonly NeutralMessage[]): number {
  const most = Math.min(previous.length, next.length)
  let count = 0
  while (count < most && isSame(previous[count], next[count])) count += 1
  return count
}

/** Whether two JSON values say the same. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    return one.every((value, index) => isSame(value, other[index]))
  }
  const [left, right] = [fieldsOf(one), fieldsOf(other)]
  return (
    left.size === right.size &&
    [...left].every(([key, value]) => right.has(key) && isSame(value, right.get(key)))
  )
}

const fieldsOf = (value: object): Map<string, unknown> =>
  new Map(Object.entries(value).filter(([key, field]) => key !== MARK && field !== undefined))
