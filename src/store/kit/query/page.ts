import { ColloquyError } from '../../../event/errors.ts'
import { blobText, hashText } from '../../../event/text.ts'
import type { ConversationQuery, ConversationRecord } from '../../contract/conversation-record.ts'
import type { Page, StoredEvent } from '../../contract/query.ts'
import type { Store } from '../../contract/store.ts'
import { checkText, type Given } from '../../../event/check-value.ts'

/** Version of cursors, increased whenever the meaning of a cursor's content changes. */
const VERSION = '1'

export type CursorFault = 'malformed' | 'truncated' | 'altered' | 'outdated' | 'foreign'

const FAULTS: Readonly<Record<CursorFault, string>> = {
  malformed: 'its format is invalid. Pass the cursor of the previous page unchanged',
  truncated: 'it was truncated. Pass the whole cursor of the previous page',
  altered: 'it was changed. Pass the cursor of the previous page unchanged',
  outdated: 'its version is unsupported. Start from the first page',
  foreign:
    'it belongs to another conversation, filter or order. Repeat its query, or start from the first page',
}

/**
 * Returns a cursor (letters, digits, `-` and `_`) with the last item's key, bound to a query. O(length).
 * @param scope a text that identifies the query (conversation, filter and order; not the limit)
 */
export function encodeCursor(scope: string, key: readonly string[]): string {
  // All versions of cursors use this form, so each version recognizes the others.
  const body = [VERSION, hashText(scope), ...key].map(encodeURIComponent).join(' ')
  const sealed = `${body} ${hashText(body)}`
  return toBase64Url(`${sealed.length} ${sealed}`)
}

/**
 * Returns the key in a cursor. O(length).
 * @throws `invalid_cursor` for a changed cursor, or a cursor of another query or version; `data.reason` has
 *   the reason.
 */
export function decodeCursor(scope: string, cursor: string): readonly string[] {
  const [version, owner, ...key] = unseal(cursor)
  if (version !== VERSION) refuseCursor('outdated')
  if (owner !== hashText(scope)) refuseCursor('foreign')
  return key
}

/** Returns a cursor's scope: list, order and checked filter. Equal filters have equal scopes. O(size). */
export function scopeOf(list: string, order: string, filter: object): string {
  const fields = Object.entries(filter).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const plain = fields.map(([key, value]: [string, unknown]) => {
    if (typeof value === 'bigint') return [key, String(value)]
    return [key, value instanceof Set ? [...value] : value]
  })
  return JSON.stringify([list, order, plain])
}

function unseal(cursor: string): readonly string[] {
  const text = fromBase64Url(cursor)
  const start = text ?? fromBase64Url(cursor.slice(0, cursor.length < 8 ? 4 : 8)) ?? ''
  const output = /^(\d{1,5}) /.exec(start)
  if (output === null) return refuseCursor('malformed')
  const sealed = (text ?? '').slice(output[0].length)
  // If the cursor was cut inside a character, the text is invalid, but begins with the expected length.
  if (Math.floor((cursor.length * 6) / 8) < output[0].length + Number(output[1]))
    return refuseCursor('truncated')
  const index = sealed.lastIndexOf(' ')
  if (text === undefined || index < 0 || sealed.length !== Number(output[1])) return refuseCursor('altered')
  if (hashText(sealed.slice(0, index)) !== sealed.slice(index + 1)) return refuseCursor('altered')
  try {
    return sealed.slice(0, index).split(' ').map(decodeURIComponent)
  } catch {
    // The checksum is not a signature: a client can compute it for invalid text.
    return refuseCursor('altered')
  }
}

export function refuseCursor(reason: CursorFault): never {
  throw new ColloquyError('invalid_cursor', `Invalid cursor: ${FAULTS[reason]}.`, { reason })
}

/** Returns ASCII text as base64url, without padding. O(length). */
export const toBase64Url = (text: string): string =>
  btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** Decodes a result of {@link toBase64Url}; undefined for any other text. O(length). */
export function fromBase64Url(encoded: string): string | undefined {
  if (/[^\w-]/.test(encoded) || encoded.length % 4 === 1) return undefined
  const text = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
  return toBase64Url(text) === encoded ? text : undefined
}

export interface CheckedPage<Place> {
  readonly descending: boolean
  readonly limit: number
  readonly after: Place | null
  /** The list's name, the order and the filter, as one text. A cursor is valid only in its scope. */
  readonly scope: string
}

/** Returns the position in a cursor; null without one. @throws `invalid_cursor`, also if `placeOf` returns null. */
export function placeAfter<Place>(
  scope: string,
  input: Given,
  placeOf: (key: readonly string[]) => Place | null,
): Place | null {
  const cursor = checkText('cursor', input)
  if (cursor === null) return null
  // The checksum is not a signature: a client can compute it for any key.
  return placeOf(decodeCursor(scope, cursor)) ?? refuseCursor('altered')
}

export const timeInKey = (text: string): bigint | null => (/^-?\d{1,18}$/.test(text) ? BigInt(text) : null)

/**
 * Returns a page of at most `limit` items. An additional item in `matches` shows that a page follows.
 * O(limit).
 * @example
 * pageOf(['a', 'b', 'c'], 2, (last) => `after ${last}`) // { items: ['a', 'b'], cursor: 'after b' }
 * pageOf(['a', 'b'], 2, (last) => `after ${last}`) // { items: ['a', 'b'], cursor: null }
 */
export function pageOf<T>(matches: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const items = matches.slice(0, limit)
  const last = matches.length > limit ? items.at(-1) : undefined
  return { items, cursor: last === undefined ? null : cursorOf(last) }
}

/** Returns the items after a query's position, in the query's order. O(n log n). */
export function inOrder<Place, T extends Place>(
  items: readonly T[],
  { after, descending }: Pick<CheckedPage<Place>, 'after' | 'descending'>,
  compare: (a: Place, b: Place) => number,
): T[] {
  const order = descending ? (a: Place, b: Place): number => compare(b, a) : compare
  return items.filter((item) => after === null || order(item, after) > 0).toSorted(order)
}

/**
 * Returns how many items are on a page: at most `limit`, up to and including the item that reaches
 * `maxBytes`, and at least one. Does not call `sizeOf` for later items. O(limit).
 * @example
 * countWithin([1, 5, 1], 3, 4, (size) => size) // 2
 */
export function countWithin<T>(
  matches: readonly T[],
  limit: number,
  maxBytes: number | null,
  sizeOf: (item: T) => number,
): number {
  if (maxBytes === null) return limit
  let sum = 0
  let count = 0
  for (const item of matches) {
    if (count === limit || sum >= maxBytes) break
    sum += sizeOf(item)
    count += 1
  }
  return Math.max(1, count)
}

const REFERENCE_LENGTH = blobText('').length + 64

/**
 * Returns the size of an event's body on a page, in UTF-8 bytes, as databases compute it. A long string adds
 * its length, or nothing if `refs` is true. A reference adds nothing. O(size).
 * @param event an event that was read with references
 */
export function bodyBytes({ fact, blobs = [] }: Pick<StoredEvent, 'fact' | 'blobs'>, refs: boolean): number {
  const bytes = new TextEncoder().encode(JSON.stringify(fact)).length - REFERENCE_LENGTH * blobs.length
  return refs ? bytes : blobs.reduce((sum, one) => sum + one.bytes, bytes)
}

type ReadPage<T> = (cursor: { readonly cursor?: string }) => Promise<Page<T>>

export async function* allPages<T>(read: ReadPage<T>): AsyncGenerator<readonly T[], void, undefined> {
  let page = await read({})
  yield page.items
  while (page.cursor !== null) {
    page = await read({ cursor: page.cursor })
    yield page.items
  }
}

export async function* allItems<T>(read: ReadPage<T>): AsyncGenerator<T, void, undefined> {
  for await (const items of allPages(read)) yield* items
}

export const allConversations = (
  store: Pick<Store, 'listConversations'>,
  query: ConversationQuery,
): AsyncGenerator<ConversationRecord, void, undefined> =>
  allItems((start) => store.listConversations({ ...query, ...start }))
