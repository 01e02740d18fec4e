import { ownField } from '../event/json.ts'
import type { GrammarName } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import { jsonOf } from './digest.ts'
import { type Fields, hasFields, type Shape } from './shape.ts'

export interface Kind {
  /**
   * Where a part of a reply is stored, and how it is sent back. `standard`: in standard fields of events.
   * `call`: as a tool call, sent in the form of its type. `part`: whole in the reply's record, sent
   * unchanged. `words`: whole in the record, but sent as text, because the provider refuses the part.
   * `about`: in `metadata`, never sent.
   */
  readonly in: 'standard' | 'call' | 'part' | 'words' | 'about'
  readonly side: 'assistant' | 'user' | 'both'
  readonly needs?: Fields
  /** Field that only the provider can write. A part with this field is signed. */
  readonly signed?: string
  /**
   * Fields that are sent back in addition to the standard fields. If `GrammarKinds.namedBy` is `field`, they
   * are sent back in addition to the field that names the part.
   */
  readonly more?: Readonly<Record<string, Shape<unknown>>>
}

export type Kinds = Readonly<Record<string, Kind>>

export const wholePart = <const N extends Fields>(needs: N) =>
  ({ in: 'part', side: 'assistant', needs }) as const

export interface GrammarKinds {
  readonly grammar: GrammarName
  /** `field`: the name of a part's first field is the part's kind. Default: the kind is in `type`. */
  readonly namedBy?: 'field'
  readonly table: Kinds
}

export function kindName(value: JsonObject): string {
  const { type } = value
  return typeof type === 'string' ? type : (Object.keys(value)[0] ?? '')
}

export const isTyped = ({ type }: JsonObject): boolean => typeof type === 'string'

/**
 * Whether a stored part can be sent back: its kind is accepted, its fields are valid, and it is encodable
 * JSON. O(size) the first time.
 */
export function isReturnable(kinds: GrammarKinds, value: JsonObject): boolean {
  const kind = ownField(kinds.table, kindName(value))
  if (kind === undefined || !isKeptWhole(kind) || kind.side === 'user') return false
  const { needs = {}, more = {} } = kind
  const isFormed =
    kinds.namedBy === 'field'
      ? Object.entries(value).every(
          ([field, item]) => field === kindName(value) || isAccepted(more, field, item),
        )
      : isTyped(value) && Object.keys(value).length > 1
  return isFormed && isSound(value) && hasFields(value, needs)
}

/**
 * Whether parts of this kind can be stored whole. If the kind has a standard field, only parts that the field
 * cannot represent are stored whole. `Kind.needs` lists the fields that a part stored whole must have.
 */
const isKeptWhole = (kind: Kind): boolean =>
  kind.in === 'part' || (kind.in !== 'words' && kind.needs !== undefined)

export function sentMore(more: JsonObject | null, accepted: Kind['more'] = {}): JsonObject | null {
  if (more === null) return null
  const entries = Object.entries(more).filter(
    ([field, value]) => isAccepted(accepted, field, value) && isSound({ field: value }),
  )
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

const isAccepted = (accepted: NonNullable<Kind['more']>, field: string, value: unknown): boolean =>
  ownField(accepted, field)?.(value) === true

/** Whether a block is encodable and has no cache marks. Only the writer adds these marks, and counts them. */
const isSound = (value: JsonObject): boolean => jsonOf(value)?.includes('"cache_control"') === false

export function isSealed(kinds: GrammarKinds, value: JsonObject): boolean {
  const field = ownField(kinds.table, kindName(value))?.signed
  const seal = field === undefined ? undefined : value[field]
  return seal !== undefined && seal !== null && seal !== '' && isReturnable(kinds, value)
}
