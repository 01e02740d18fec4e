/** Puts the parts of a reply into the standard fields, and keeps the order in which they came. */

import type { JsonObject, ReasoningItemModel, RedactedThinkingBlock, ThinkingBlock } from '../event/shapes.ts'
import type { ReplyCall, ReplyPart, ReplyReasoning } from './reply-events.ts'
import type { FieldRef } from './reply-parts.ts'

/** A part in its place: in a standard field, with what that lacks, or whole. */
export type OrderedPart = FieldRef | { readonly other: JsonObject }

/** The parts by the field that they stand in. */
export interface OrderedParts {
  readonly texts: readonly string[]
  readonly thinking: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  readonly calls: readonly ReplyCall[]
  /** One for each call, or one for a reply without calls; null where there is none. */
  readonly reasoning: readonly (ReasoningItemModel | null)[]
  readonly order: readonly OrderedPart[]
}

/**
 * The parts in their fields. A reasoning item stands with the next call that has none; one that finds no room is kept
 * whole. O(parts).
 */
export function orderParts(parts: readonly ReplyPart[]): OrderedParts {
  const texts: string[] = []
  const thinking: (ThinkingBlock | RedactedThinkingBlock)[] = []
  const calls: ReplyCall[] = []
  const order: OrderedPart[] = []
  const { reasoning, places } = placeReasoning(parts)
  for (const part of parts) {
    switch (part.is) {
      case 'text':
        order.push({ kind: 'text', at: texts.length, more: part.more })
        texts.push(part.text)
        break
      case 'thinking':
        order.push({ kind: 'thinking', at: thinking.length, more: part.more })
        thinking.push(part.block)
        break
      case 'call':
        order.push({ kind: 'call', at: calls.length, more: part.more })
        calls.push(part)
        break
      case 'reasoning': {
        const at = places.get(part)
        order.push(at === undefined ? { other: part.value } : { kind: 'reasoning', at, more: part.more })
        break
      }
      case 'other':
        order.push({ other: part.value })
        break
    }
  }
  return { texts, thinking, calls, reasoning, order }
}

/** The reasoning items by the call that each stands with, and the index of each among those that have a place. */
function placeReasoning(parts: readonly ReplyPart[]): {
  readonly reasoning: readonly (ReasoningItemModel | null)[]
  readonly places: ReadonlyMap<ReplyPart, number>
} {
  if (!parts.some(({ is }) => is === 'reasoning')) return NO_REASONING
  const slots = Math.max(1, parts.filter(({ is }) => is === 'call').length)
  const room = Array.from({ length: slots }, (): ReplyReasoning | null => null)
  let call = 0
  let free = 0
  for (const part of parts) {
    if (part.is === 'call') call += 1
    if (part.is !== 'reasoning') continue
    free = Math.max(free, call)
    if (free >= slots) continue
    room[free] = part
    free += 1
  }
  const placed = room.filter((part) => part !== null)
  return {
    reasoning: room.map((part) => part?.item ?? null),
    places: new Map(placed.map((part, at) => [part, at])),
  }
}

const NO_REASONING = { reasoning: [], places: new Map<ReplyPart, number>() }

/**
 * The parts as a record stores them: references to the standard fields, with what these lack as `more`, and whole as
 * `other` what no standard field holds.
 */
export const storeParts = (order: readonly OrderedPart[]): JsonObject[] =>
  order.map((part) => {
    if ('other' in part) return { other: part.other }
    return { [part.kind]: part.at, ...(part.more === null ? {} : { more: part.more }) }
  })
