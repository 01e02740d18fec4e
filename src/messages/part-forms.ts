/**
 * How a grammar says a part that is neither text nor images: as it stands where the grammar has it, in its own words
 * where it can say the same, and else by its name.
 */

import type { JsonObject, OpenPart } from '../event/shapes.ts'
import { type FileRef, readPart } from './files.ts'
import type { Shape } from './shape.ts'

/** Where a part may stand. */
export interface Places {
  readonly user: boolean
  readonly result: boolean
  /** Whether it stands beside messages or results, and not in them: what a model has asked for. */
  readonly item?: boolean
}

/** A kind of part that a grammar has. */
export interface OwnKind extends Places {
  /** What a part must be to be sent; without `cache_prompt`, which is ours, and the grammar's own mark. */
  readonly fits: Shape<object>
}

/** The kinds of parts that a grammar has, and how it says a file. */
export interface PartTable extends Places {
  readonly kinds: Readonly<Record<string, OwnKind>>
  /** A file in the grammar's words, for the places that the table names; null where it has none. */
  readonly write: (file: FileRef) => JsonObject | null
}

/** How a part is said. */
export type PartForm =
  | ({ readonly as: 'block'; readonly block: JsonObject } & Places)
  | { readonly as: 'text'; readonly text: string }
  | { readonly as: 'image'; readonly url: string }
  | { readonly as: 'name' }

/** For content in which nothing but words can stand. */
export const WORDS_ONLY: PartTable = { kinds: {}, write: () => null, user: false, result: false }

const BY_NAME: PartForm = { as: 'name' }

/** Forms seen before, beside the parts of the log, by table. */
const KNOWN = new WeakMap<OpenPart, Map<PartTable, PartForm>>()

/** The form of a part in a grammar. O(size) the first time; what is not frozen may change, and is read anew. */
export function formOf(part: OpenPart, table: PartTable): PartForm {
  if (!Object.isFrozen(part)) return read(part, table)
  const forms = KNOWN.get(part) ?? new Map<PartTable, PartForm>()
  const known = forms.get(table)
  if (known !== undefined) return known
  const form = read(part, table)
  KNOWN.set(part, forms.set(table, form))
  return form
}

function read(part: OpenPart, table: PartTable): PartForm {
  const own = Object.hasOwn(table.kinds, part.type) ? table.kinds[part.type] : undefined
  if (own !== undefined) {
    const { cache_prompt: _, cache_control: __, ...block } = part as JsonObject
    const { user, result, item = false } = own
    if (own.fits(block)) return { as: 'block', block, user, result, item }
  }
  const said = readPart(part)
  if (said === null) return BY_NAME
  if (said.as !== 'file') return said
  const block = table.write(said.file)
  return block === null ? BY_NAME : { as: 'block', block, user: table.user, result: table.result }
}
