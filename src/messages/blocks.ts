/**
 * What becomes of each kind of content that a provider's grammar has: one table a grammar says it, and readers,
 * writers and tests read it there.
 */

import type { GrammarName } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import { jsonOf } from './digest.ts'
import { type Fields, hasFields, type Shape } from './shape.ts'

/** What becomes of a kind of content. */
export interface Kind {
  /**
   * `standard`: it is in the fields that all events have. `call`: it is read as a call, and goes back in its own form.
   * `part`: it is kept whole in the reply's record, and goes back as it came. `words`: kept whole too, but the provider
   * does not take it back, so its words go. `about`: it is said of the reply and not in it; it stands in the record's
   * `metadata`, and goes nowhere.
   */
  readonly in: 'standard' | 'call' | 'part' | 'words' | 'about'
  /** Who says it. */
  readonly side: 'assistant' | 'user' | 'both'
  /** What its fields must be for the provider to take it. */
  readonly needs?: Fields
  /** The field whose text only the provider can make: where it is there, the part is signed. */
  readonly signed?: string
  /** Fields beside the standard ones, or beside the one that names the kind, that go back too. */
  readonly more?: Readonly<Record<string, Shape<unknown>>>
}

export type Kinds = Readonly<Record<string, Kind>>

/** A grammar with the table of its kinds. */
export interface OwnKinds {
  readonly grammar: GrammarName
  /** What names the kind of a part: its `type`, or the field that it is in. */
  readonly namedBy: 'type' | 'field'
  readonly table: Kinds
}

/** The name of a part's kind: its `type`, or where the grammar gives it none the field that it stands in. */
export function kindName(value: JsonObject): string {
  const { type } = value
  return typeof type === 'string' ? type : (Object.keys(value)[0] ?? '')
}

export const isTyped = ({ type }: JsonObject): boolean => typeof type === 'string'

/** What a table says of a kind; undefined where it does not know it. O(1). */
export const kindOf = ({ table }: OwnKinds, name: string): Kind | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/**
 * Whether a part that was kept whole can go back to the provider that made it: its kind is known to be taken, it has
 * what the kind must have, and it is text that has bytes. O(size) the first time.
 */
export function isReturnable(own: OwnKinds, value: JsonObject): boolean {
  const kind = kindOf(own, kindName(value))
  if (kind === undefined || !isKeptWhole(kind) || kind.side === 'user') return false
  const { needs = {}, more = {} } = kind
  const isFormed =
    own.namedBy === 'field'
      ? Object.entries(value).every(
          ([field, item]) => field === kindName(value) || isTaken(more, field, item),
        )
      : isTyped(value) && Object.keys(value).length > 1
  return isFormed && isSound(value) && hasFields(value, needs)
}

/** One that has a standard field is kept whole only where that has no room for it, and then says what it needs. */
const isKeptWhole = (kind: Kind): boolean =>
  kind.in === 'part' || (kind.in !== 'words' && kind.needs !== undefined)

/** What goes back of the fields that a part has beside the standard ones; null where nothing does. O(size). */
export function sentMore(more: JsonObject | null, takes: Kind['more'] = {}): JsonObject | null {
  if (more === null) return null
  const entries = Object.entries(more).filter(
    ([field, value]) => isTaken(takes, field, value) && isSound({ field: value }),
  )
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

const isTaken = (takes: NonNullable<Kind['more']>, field: string, value: unknown): boolean =>
  Object.hasOwn(takes, field) && takes[field]?.(value) === true

/** A mark of the cache is the request's own, and counted there. */
const isSound = (value: JsonObject): boolean => jsonOf(value)?.includes('"cache_control"') === false

/** Whether a part is one that its provider has signed or sealed. O(1). */
export function isSealed(own: OwnKinds, value: JsonObject): boolean {
  const field = kindOf(own, kindName(value))?.signed
  const seal = field === undefined ? undefined : value[field]
  return seal !== undefined && seal !== null && seal !== '' && isReturnable(own, value)
}
