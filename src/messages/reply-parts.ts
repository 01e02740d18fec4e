/**
 * The order of a reply's parts, where its record says it: references to the standard fields, so that thinking, words
 * and calls go back in the order in which they came and nothing is stored twice.
 */

/** A part that stands in a standard field of the reply's events, all of them taken together. */
export type PartKind = 'thinking' | 'text' | 'call' | 'reasoning'

/**
 * A reference to the part of a kind at an index: `thinking` into the thinking blocks, `text` into the content, `call`
 * into the calls, `reasoning` into the reasoning items (that of the message first, then those of the calls). Stored as
 * an object of one such field, `{ "text": 0 }`.
 */
export interface PartRef {
  readonly kind: PartKind
  readonly at: number
}

/** How many parts of each kind the standard fields hold; a kind that is not named has no place in the grammar. */
export type PartCounts = Readonly<Partial<Record<PartKind, number>>>

const KINDS: readonly PartKind[] = ['thinking', 'text', 'call', 'reasoning']

/**
 * The references of a record's `parts`; null when there are none or they do not name each part of the standard fields
 * exactly once: parts that are garbled are ignored whole. O(parts).
 */
export function refsOf(parts: unknown, counts: PartCounts): readonly PartRef[] | null {
  if (!Array.isArray(parts)) return null
  const refs = parts.map(refOf)
  const total = KINDS.reduce((sum, kind) => sum + (counts[kind] ?? 0), 0)
  const named = new Set(refs.map((ref) => (ref === null ? '' : `${ref.kind} ${ref.at}`)))
  const isWhole = refs.length === total && named.size === total
  const isSound = refs.every((ref) => ref !== null && ref.at < (counts[ref.kind] ?? 0))
  return isWhole && isSound ? refs.filter((ref) => ref !== null) : null
}

/** The parts of a record as they are stored. */
export const storedParts = (refs: readonly PartRef[]): Readonly<Partial<Record<PartKind, number>>>[] =>
  refs.map(({ kind, at }) => ({ [kind]: at }))

/** References to all parts of the kinds given, in their order. */
export const allOf = (counts: PartCounts, ...kinds: readonly PartKind[]): PartRef[] =>
  kinds.flatMap((kind) => Array.from({ length: counts[kind] ?? 0 }, (_, at) => ({ kind, at })))

function refOf(part: unknown): PartRef | null {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return null
  const named = KINDS.filter((kind) => Object.hasOwn(part, kind))
  const [kind] = named
  if (kind === undefined || named.length > 1) return null
  const at: unknown = (part as Readonly<Record<string, unknown>>)[kind]
  return typeof at === 'number' && Number.isInteger(at) && at >= 0 ? { kind, at } : null
}
