/**
 * Runs the upcasters: raw JSON of a known producer becomes an event of the interface, with the applied steps
 * listed.
 */

import { COMPLETION } from './upcasters/chat-completions.ts'
import { EARLY, TAB } from './upcasters/editor-extension.ts'
import { NULLS, SURPLUS } from './upcasters/unknown-fields.ts'
import { RESULTS } from './upcasters/result-fields.ts'
import type { Upcaster } from './upcasters/upcaster.ts'
import { isObject } from './json.ts'
import { EVENT_KINDS } from './kinds.ts'
import type { JsonObject, JsonValue } from './shapes.ts'

export type { Upcaster }

/**
 * Every upcaster, in the order in which they run: kinds first, since later steps depend on them, nulls last.
 */
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

/** A value after the known steps, and the applied steps in order. */
export interface Upcast {
  readonly value: JsonValue
  readonly applied: readonly string[]
}

/**
 * Converts a raw event (plain JSON) of an older or foreign dialect. Unknown content is unchanged; decoding
 * reports it.
 *
 * Pure, total; a current event is the same object after a few lookups. O(size of what changes).
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
