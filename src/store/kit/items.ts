import { ColloquyError, type ErrorCode, hasCode } from '../../event/errors.ts'
import { ID_RULE, isLegalId } from '../../event/ids.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Item, ItemChange, ItemClaim, ItemFilter, ItemQuery, NewItem } from '../contract/items.ts'
import { MAX_PAGE_SIZE, type Page } from '../contract/query.ts'
import {
  checkBoolean,
  checkInteger,
  checkOptionNames,
  checkText,
  type Given,
  invalidArgument,
  invalidQuery,
} from '../../event/check-value.ts'
import { type CheckedPage, encodeCursor, inOrder, pageOf, placeAfter, scopeOf } from './query/page.ts'
import { checkJsonObject, compareIds, isKeepable } from './record.ts'

/** A checked change, with defaults and frozen copies of its values. */
export interface CheckedChange {
  readonly collection: string
  readonly id: string
  /** Version to require; null if the item must not exist, undefined if the version does not matter. */
  readonly expected: number | null | undefined
  /** New value; null to delete the item, undefined to leave it unchanged. */
  readonly put: CheckedItem | null | undefined
}

/** A checked value of an item. */
export interface CheckedItem {
  readonly body: JsonObject
  readonly keys: Readonly<Record<string, string>>
  readonly dueIn: number | null
}

/** A checked query: at most `limit` items after `after`, ordered by (key, id), or by id if `by` is null. */
export interface CheckedItemQuery extends CheckedPage<ItemPlace> {
  readonly by: string | null
  readonly value: string | null
  readonly from: string | null
  readonly below: string | null
}

export interface ItemPlace {
  readonly key: string
  readonly id: string
}

const KEY_NAME = /^[a-z][a-z0-9_]{0,39}$/
const MAX_KEYS = 8
const MAX_VALUE_LENGTH = 200
/** Maximum delay in milliseconds: about 30,000 years, which every database can add to its clock. */
const MAX_DELAY = 1e15

export const mayBeItem = (collection: string, id: string): boolean => isLegalId(collection) && isLegalId(id)

/** Checks changes of items. O(size). @throws `invalid_argument`. */
export function checkChanges(changes: readonly ItemChange[]): CheckedChange[] {
  if (changes.length > MAX_PAGE_SIZE)
    invalidArgument('changes', `must have at most ${MAX_PAGE_SIZE} entries, not ${changes.length}`)
  const named = new Set<string>()
  return changes.map((change) => {
    checkOptionNames(change, 'collection id expected put')
    const { collection, id, expected, put } = change
    checkName('collection', collection)
    checkName('id', id)
    const name = `${collection}\n${id}`
    if (named.has(name))
      invalidArgument('changes', `must not contain item ${id} of collection ${collection} twice`)
    named.add(name)
    if (expected !== null)
      checkInteger('expected', expected, 1, Number.MAX_SAFE_INTEGER, null, invalidArgument)
    return { collection, id, expected, put: put === undefined || put === null ? put : checkNewItem(put) }
  })
}

/** Returns the error `version_conflict`. `version`: the item's version; null if the item does not exist. */
export const itemConflict = (
  { collection, id }: Pick<ItemChange, 'collection' | 'id'>,
  version: number | null,
): ColloquyError =>
  new ColloquyError(
    'version_conflict',
    `The item ${JSON.stringify(id)} of the collection ${collection} ${
      version === null ? 'does not exist' : `has version ${version}`
    }, which was not expected. Read it again and retry.`,
    { collection, id, version },
  )

/** Returns an item, frozen. O(1). */
export const itemOf = (
  { collection, id }: Pick<ItemChange, 'collection' | 'id'>,
  { body, keys }: Pick<Item, 'body' | 'keys'>,
  version: number,
  dueAt: number | null,
): Item => Object.freeze({ collection, id, version, body, keys, dueAt })

/** Checks a claim. O(1). @throws `invalid_argument`. */
export function checkClaim(collection: string, claim: ItemClaim): Required<ItemClaim> {
  checkName('collection', collection)
  checkOptionNames(claim, 'ttl limit')
  const { ttl, limit } = claim
  if (!(Number.isSafeInteger(ttl) && ttl > 0 && ttl <= MAX_DELAY))
    invalidArgument('ttl', `must be an integer of milliseconds from 1 to ${MAX_DELAY}`)
  return { ttl, limit: checkInteger('limit', limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE, invalidArgument) }
}

/**
 * Checks a query of items, and adds defaults. O(length). @throws `invalid_query`, `invalid_cursor`;
 * `invalid_argument` for an unknown option.
 * @example
 * const item = itemOf({ collection: 'jobs', id: 'j' }, { body: {}, keys: {} }, 1, null)
 * const cursor = itemCursor(checkItemQuery('jobs'), item)
 * checkItemQuery('jobs', { cursor }).after.id // 'j'
 * mayBeItem('jobs', '') // false
 */
export function checkItemQuery(collection: string, query: ItemQuery = {}): CheckedItemQuery {
  checkOptionNames(query, 'by value from below descending cursor limit')
  if (!isLegalId(collection)) invalidQuery('collection', `must be ${ID_RULE}`)
  const by = checkText('by', query.by)
  if (by !== null && !KEY_NAME.test(by)) invalidQuery('by', 'must match [a-z][a-z0-9_]{0,39}')
  const filter = {
    by,
    value: checkValue('value', query.value),
    from: checkValue('from', query.from),
    below: checkValue('below', query.below),
    descending: checkBoolean('descending', query.descending) ?? false,
  }
  const limit = checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE)
  const scope = scopeOf('items', collection, filter)
  const after = placeAfter(scope, query.cursor, ([key = '', id = '']) =>
    isLegalId(id) && isKeepable(key, MAX_VALUE_LENGTH) ? { key, id } : null,
  )
  return { ...filter, limit, scope, after }
}

/** Checks a filter of items, and returns it as a query. O(length). @throws `invalid_query`. */
export const checkItemFilter = (collection: string, filter: ItemFilter = {}): CheckedItemQuery => {
  checkOptionNames(filter, 'by value from below')
  return checkItemQuery(collection, filter)
}

/** Returns the cursor of the page after an item. O(length). */
export const itemCursor = ({ scope, by }: CheckedItemQuery, { keys, id }: Item): string =>
  encodeCursor(scope, [by === null ? id : (keys[by] ?? ''), id])

/** Returns the page of a query. `items` are all items of the collection, in any order. O(n log n). */
export function pageOfItems(items: Iterable<Item>, query: CheckedItemQuery): Page<Item> {
  const { by, value, from, below, limit } = query
  const places = [...items].flatMap((item) => {
    // A key may have the name of an inherited property, such as `constructor`.
    const key = by === null ? item.id : Object.hasOwn(item.keys, by) ? item.keys[by] : undefined
    const isIn =
      key !== undefined &&
      (value === null || key === value) &&
      (from === null || compareIds(key, from) >= 0) &&
      (below === null || compareIds(key, below) < 0)
    return isIn ? [{ key, id: item.id, item }] : []
  })
  const page = inOrder(places, query, compareItems).map(({ item }) => item)
  return pageOf(page, limit, (last) => itemCursor(query, last))
}

export const compareItems = (a: ItemPlace, b: ItemPlace): number =>
  compareIds(a.key, b.key) || compareIds(a.id, b.id)

/** Returns at most `limit` due items, in the order of their due times. O(n log n). */
export const dueItems = (items: Iterable<Item>, now: number, limit: number): Item[] =>
  [...items]
    .filter(({ dueAt }) => dueAt !== null && dueAt <= now)
    .toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || compareIds(a.id, b.id))
    .slice(0, limit)

function checkValue(field: string, input: Given): string | null {
  const text = checkText(field, input)
  if (text === null || isKeepable(text, MAX_VALUE_LENGTH)) return text
  return invalidQuery(
    field,
    `must be at most ${MAX_VALUE_LENGTH} characters of well-formed Unicode without NUL`,
  )
}

function checkName(field: string, name: Given): void {
  if (typeof name === 'string' && isLegalId(name)) return
  invalidArgument(field, `must be ${ID_RULE}`)
}

function checkNewItem(item: NewItem): CheckedItem {
  checkOptionNames(item, 'body keys dueIn')
  const { body, keys = {}, dueIn } = item
  return {
    body: checkJsonObject('body', body),
    keys: checkKeys(keys),
    dueIn: checkInteger('dueIn', dueIn, 0, MAX_DELAY, null, invalidArgument),
  }
}

function checkKeys(keys: Given): Readonly<Record<string, string>> {
  if (typeof keys !== 'object' || keys === null) return invalidArgument('keys', 'must be an object')
  const entries: readonly (readonly [string, unknown])[] = Object.entries(keys)
  if (entries.length > MAX_KEYS) invalidArgument('keys', `must have at most ${MAX_KEYS} entries`)
  for (const [name, value] of entries) {
    if (!KEY_NAME.test(name)) invalidArgument('keys', 'must have names that match [a-z][a-z0-9_]{0,39}')
    if (typeof value !== 'string' || !isKeepable(value, MAX_VALUE_LENGTH))
      invalidArgument(`keys.${name}`, `must be at most ${MAX_VALUE_LENGTH} characters without NUL`)
  }
  return Object.freeze(Object.fromEntries(entries) as Record<string, string>)
}

/** Repeats `change` after the error `version_conflict` or `code`. Each call of `change` must read the version again. */
export async function retryConflicts<T>(change: () => Promise<T>, code?: ErrorCode): Promise<T> {
  for (;;) {
    try {
      // oxlint-disable-next-line no-await-in-loop
      return await change()
    } catch (error) {
      if (!hasCode(error, 'version_conflict') && (code === undefined || !hasCode(error, code))) throw error
    }
  }
}
