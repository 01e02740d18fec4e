/** Items in SQLite, each call in one transaction. */

import type { Item, ItemClaim } from '../contract/items.ts'
import { type Count, MOST_COUNTED, type Page } from '../contract/query.ts'
import {
  type CheckedChange,
  type CheckedItem,
  type CheckedItemQuery,
  itemConflict,
  itemCursor,
  itemOf,
  mayBeItem,
} from '../kit/items.ts'
import { lookedCount } from '../kit/query/conversation-query.ts'
import { pageOf } from '../kit/query/page.ts'
import { type Named, readNamed, readObject } from '../kit/row.ts'
import type { Connection } from './connection.ts'
import type { SqliteValue } from './database.ts'

interface ItemRow {
  readonly collection: string
  readonly id: string
  readonly version: number
  readonly keys: string
  readonly due: number | null
  readonly body: string
}

const COLUMNS = `item.collection, item.id, item.version, item.keys, item.due_at AS due, item.body`

export const FIND_ITEM = `SELECT ${COLUMNS} FROM colloquy_item AS item WHERE item.collection = ? AND item.id = ?`

/** What a change goes by: what is damaged can be put anew, or taken out. */
type HeldRow = Pick<ItemRow, 'version' | 'keys'>

const HELD = 'SELECT version, keys FROM colloquy_item WHERE collection = ? AND id = ?'

/** The row's number is the version: those that were given are never given again. */
const PUT = `REPLACE INTO colloquy_item (collection, id, keys, due_at, body) VALUES (?, ?, ?, ?, ?) RETURNING version`

const PUT_KEY = 'INSERT INTO colloquy_item_key (collection, name, value, id) VALUES (?, ?, ?, ?)'

const DELETE = 'DELETE FROM colloquy_item WHERE collection = ? AND id = ?'

const DELETE_KEY = 'DELETE FROM colloquy_item_key WHERE collection = ? AND name = ? AND value = ? AND id = ?'

const DELETE_KEYS = 'DELETE FROM colloquy_item_key WHERE collection = ? AND id = ?'

export const DUE_ITEMS = `SELECT ${COLUMNS} FROM colloquy_item AS item INDEXED BY colloquy_item_due
  WHERE item.collection = ? AND item.due_at <= ? ORDER BY item.due_at, item.id LIMIT ?`

/** An item, or null. O(log n). */
export function findItem(connection: Connection, collection: string, id: string): Item | null {
  const row = mayBeItem(collection, id) ? connection.get<ItemRow>(FIND_ITEM, collection, id) : undefined
  return row === undefined ? null : toItem(row)
}

/** Changes items, all or none; `now` in milliseconds. @throws `version_conflict`. */
export function changeItems(
  connection: Connection,
  changes: readonly CheckedChange[],
  now: number,
): (Item | null)[] {
  return connection.write(() => {
    const before = changes.map(({ collection, id }) => connection.get<HeldRow>(HELD, collection, id) ?? null)
    for (const [at, change] of changes.entries()) {
      const version = before[at]?.version ?? null
      if (change.expected !== undefined && change.expected !== version) throw itemConflict(change, version)
    }
    return changes.map((change, at) => {
      const kept = before[at] ?? null
      if (change.put !== undefined && change.put !== null)
        return put(connection, kept, change, change.put, now)
      if (change.put === null && kept !== null) {
        connection.run(DELETE, change.collection, change.id)
        changeKeys(connection, change, kept.keys, {})
      }
      return null
    })
  })
}

/** Claims those that are due; `now` in milliseconds. O(limit · log n). */
export function claimItems(
  connection: Connection,
  collection: string,
  { ttl, limit }: Required<ItemClaim>,
  now: number,
): Item[] {
  return connection.write(() =>
    connection.all<ItemRow>(DUE_ITEMS, collection, now, limit).map((row) => {
      const item = toItem(row)
      return put(connection, row, item, { body: item.body, keys: item.keys, dueIn: ttl }, now)
    }),
  )
}

/** One page. O(limit + log n). */
export function listItems(connection: Connection, collection: string, query: CheckedItemQuery): Page<Item> {
  const { sql, values } = itemListSql(collection, query)
  const found = connection.all<ItemRow>(sql, ...values).map(toItem)
  return pageOf(found, query.limit, (last) => itemCursor(query, last))
}

/** How many items a list would have. O(items looked at). */
export function countItems(
  connection: Connection,
  collection: string,
  query: CheckedItemQuery,
  exact: boolean,
): Count {
  const { sql, values } = itemCountSql(collection, query, exact)
  const looked = connection.get<{ readonly looked: number }>(sql, ...values)?.looked ?? 0
  return lookedCount(looked, looked, exact)
}

/** The SQL of a page, one walk of an index. */
export function itemListSql(collection: string, query: CheckedItemQuery): ItemSql {
  const { tables, conditions, place, values } = itemWalk(collection, query)
  const order = query.descending ? place.replaceAll(/(?=,|$)/g, ' DESC') : place
  return {
    sql: `SELECT ${COLUMNS} FROM ${tables} WHERE ${conditions} ORDER BY ${order} LIMIT ?`,
    values: [...values, query.limit + 1],
  }
}

/** The SQL of a count, the same walk. */
export function itemCountSql(collection: string, query: CheckedItemQuery, exact: boolean): ItemSql {
  const { walked, conditions, values } = itemWalk(collection, query)
  const most = exact ? -1 : MOST_COUNTED + 1
  return {
    sql: `SELECT count(*) AS looked FROM (SELECT 1 FROM ${walked} WHERE ${conditions} LIMIT ${most})`,
    values,
  }
}

interface ItemSql {
  readonly sql: string
  readonly values: SqliteValue[]
}

function itemWalk(
  collection: string,
  { by, value, from, below, after, descending }: CheckedItemQuery,
): { walked: string; tables: string; conditions: string; place: string; values: SqliteValue[] } {
  const key = by === null ? 'item.id' : 'key.value'
  const place = by === null ? 'item.id' : 'key.value, key.id'
  const values: SqliteValue[] = [collection, ...(by === null ? [] : [by])]
  const conditions = by === null ? ['item.collection = ?'] : ['key.collection = ?', 'key.name = ?']
  const where = (sql: string, ...given: readonly (string | null)[]): void => {
    if (given.includes(null)) return
    conditions.push(sql)
    values.push(...given)
  }
  where(`${key} = ?`, value)
  where(`${key} >= ?`, from)
  where(`${key} < ?`, below)
  if (after !== null) {
    const sign = descending ? '<' : '>'
    if (by === null) where(`item.id ${sign} ?`, after.id)
    else where(`(${place}) ${sign} (?, ?)`, after.key, after.id)
  }
  const walked = by === null ? 'colloquy_item AS item' : 'colloquy_item_key AS key'
  const items = 'CROSS JOIN colloquy_item AS item ON item.collection = key.collection AND item.id = key.id'
  return {
    walked,
    tables: by === null ? walked : `${walked} ${items}`,
    conditions: conditions.join(' AND '),
    place,
    values,
  }
}

function put(
  connection: Connection,
  before: HeldRow | null,
  named: Pick<Item, 'collection' | 'id'>,
  { body, keys, dueIn }: CheckedItem,
  now: number,
): Item {
  const { collection, id } = named
  const dueAt = dueIn === null ? null : now + dueIn
  const values = [collection, id, JSON.stringify(keys), dueAt, JSON.stringify(body)] as const
  const row = connection.get<{ readonly version: number }>(PUT, ...values)
  changeKeys(connection, named, before?.keys ?? '{}', keys)
  return itemOf(named, { body, keys }, row?.version ?? 0, dueAt)
}

/** Writes the keys that are others than before. @param heldKeys as they stand in the row */
function changeKeys(
  connection: Connection,
  { collection, id }: Pick<Item, 'collection' | 'id'>,
  heldKeys: string,
  after: Item['keys'],
): void {
  let before: Readonly<Record<string, string>> = {}
  try {
    before = readObject(heldKeys) as Item['keys']
  } catch {
    // It is not known what they were: looks at all of the collection.
    connection.run(DELETE_KEYS, collection, id)
  }
  for (const [name, value] of Object.entries(before)) {
    if (after[name] !== value) connection.run(DELETE_KEY, collection, name, value, id)
  }
  for (const [name, value] of Object.entries(after)) {
    if (before[name] !== value) connection.run(PUT_KEY, collection, name, value, id)
  }
}

/** @throws `store_unavailable` for one that was damaged. */
function toItem(row: ItemRow): Item {
  const { collection, id } = row
  const name = (): Named => ({
    what: `The item ${JSON.stringify(id)} of ${collection}`,
    data: { collection, id },
  })
  const keys = readNamed(row.keys, name) as Item['keys']
  return itemOf(row, { body: readNamed(row.body, name), keys }, row.version, row.due)
}
