/** Runs the upcasters: raw JSON of any known producer becomes today's shape, with the steps named for the caller. */

import { COMPLETION } from './upcasters/chat-completions.ts'
import { EARLY, TAB } from './upcasters/editor-extension.ts'
import { NULLS, SURPLUS } from './upcasters/unknown-fields.ts'
import { RESULTS } from './upcasters/result-fields.ts'
import type { Upcaster } from './upcasters/upcaster.ts'
import { isObject } from './json.ts'
import { EVENT_KINDS } from './kinds.ts'
import type { JsonObject, JsonValue } from './shapes.ts'

export type { Upcaster }

/** Every upcaster, in the order in which they run: kinds before what hangs on a kind, nulls last. */
export const UPCASTERS: readonly Upcaster[] = Object.freeze([
  ...TAB,
  ...EARLY,
  ...RESULTS,
  ...COMPLETION,
  ...SURPLUS,
  ...NULLS,
])

const BY_KIND: ReadonlyMap<JsonValue | undefined, readonly Upcaster[]> = new Map(
  EVENT_KINDS.map((kind) => [kind, UPCASTERS.filter(({ kinds }) => kinds.includes(kind))]),
)

/** A value in today's shape, as far as it is known how to get there, and the steps taken, in order. */
export interface Upcast {
  readonly value: JsonValue
  readonly applied: readonly string[]
}

/**
 * Brings a raw event of an older or foreign dialect to today's shape. What no upcaster knows stays as it is, for
 * decoding to warn of.
 *
 * Takes plain JSON. Pure, total, never changes its input; an event of today comes back as the very same object for
 * the price of a few look-ups. O(size of what changes).
 *
 * @example
 * upcast({ kind: 'Condensation' }).value // { kind: 'Condensation', llm_response_id: '' }
 * upcast({ kind: 'Condensation' }).applied // ['early.condensation_llm_response_id']
 */
export function upcast(value: JsonValue): Upcast {
  const upcasters = isObject(value) ? BY_KIND.get(value['kind']) : undefined
  if (upcasters === undefined) return { value, applied: [] }
  const applied: string[] = []
  let result = value as JsonObject
  for (const upcaster of upcasters) {
    const next = upcaster.upcast(result)
    if (next === result) continue
    applied.push(upcaster.name)
    result = next
  }
  return { value: result, applied }
}
