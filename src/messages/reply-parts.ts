/**
 * The order of a reply's parts, where its record says it: references to the standard fields, so that thinking, words
 * and calls go back in the order in which they came and nothing is stored twice, and whole what no field holds.
 */

import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { isObject } from '../event/json.ts'

/** A part that stands in a standard field of the reply's events, all of them taken together. */
export type PartKind = 'thinking' | 'text' | 'call' | 'reasoning'

/**
 * A reference to the part of a kind at an index: `thinking` into the thinking blocks, `text` into the content, `call`
 * into the calls, `reasoning` into the reasoning items (that of the message first, then those of the calls). Stored as
 * an object of one such field, `{ "text": 0 }`, and beside it as `more` what the standard field lacks.
 */
export interface FieldRef {
  readonly kind: PartKind
  readonly at: number
  readonly more: JsonObject | null
}

/** A part that no standard field holds, by its index among the record's parts. Stored as `{ "other": … }`. */
export interface OtherRef {
  readonly kind: 'other'
  readonly at: number
  readonly value: JsonObject
  /** What is written in its place; null where it is written itself. */
  readonly placeholder: string | null
}

export type PartRef = FieldRef | OtherRef

/** How many parts of each kind the standard fields hold; a kind that is not named has no place in the grammar. */
export type PartCounts = Readonly<Partial<Record<PartKind, number>>>

const KINDS: readonly PartKind[] = ['thinking', 'text', 'call', 'reasoning']

/**
 * The references of a record's `parts`; null when there are none or they do not name each part of the standard fields
 * exactly once: parts that are garbled are ignored whole. O(parts).
 */
export function refsOf(parts: unknown, counts: PartCounts): readonly (FieldRef | OtherRef)[] | null {
  if (!Array.isArray(parts)) return null
  const refs = parts.map(refOf)
  const named = new Set<string>()
  let fields = 0
  for (const ref of refs) {
    if (ref === null) return null
    if (ref.kind === 'other') continue
    if (ref.at >= (counts[ref.kind] ?? 0)) return null
    named.add(`${ref.kind} ${ref.at}`)
    fields += 1
  }
  const total = KINDS.reduce((sum, kind) => sum + (counts[kind] ?? 0), 0)
  return fields === total && named.size === total ? refs.filter((ref) => ref !== null) : null
}

/** References to all parts of the kinds given, in their order. */
export function allOf(counts: PartCounts, ...kinds: readonly PartKind[]): FieldRef[] {
  const refs: FieldRef[] = []
  for (const kind of kinds)
    for (let at = 0; at < (counts[kind] ?? 0); at += 1) refs.push({ kind, at, more: null })
  return refs
}

/** Whether a record holds a part that no standard field holds. O(parts). */
export const hasOthers = (parts: unknown): boolean =>
  Array.isArray(parts) &&
  parts.some((part: unknown) => isObject(part as JsonValue) && Object.hasOwn(part as object, 'other'))

/** Whether a value is a part as records hold it: a reference to a standard field, or a part of another kind. O(1). */
export const isPart = (part: JsonValue): boolean => refOf(part, 0) !== null

function refOf(part: JsonValue, index: number): FieldRef | OtherRef | null {
  if (!isObject(part)) return null
  const { other, more } = part
  if (other !== undefined)
    return isObject(other) ? { kind: 'other', at: index, value: other, placeholder: null } : null
  const named = KINDS.filter((kind) => Object.hasOwn(part, kind))
  const [kind] = named
  if (kind === undefined || named.length > 1) return null
  const at = part[kind]
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0) return null
  return { kind, at, more: isObject(more) ? more : null }
}
