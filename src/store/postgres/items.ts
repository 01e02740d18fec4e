/** Items in PostgreSQL, one statement a call. */

import type { Item, ItemClaim } from '../contract/items.ts'
import { type Count, MOST_COUNTED, type Page } from '../contract/query.ts'
import { type CheckedChange, type CheckedItemQuery, itemConflict, itemCursor, itemOf } from '../kit/items.ts'
import { lookedCount } from '../kit/query/conversation-query.ts'
import { pageOf } from '../kit/query/page.ts'
import { compareIds } from '../kit/record.ts'
import { type Bigint, readObject } from '../kit/row.ts'
import type { Connection } from './connection.ts'
import { DURABLE, NOW } from './schema/phrases.ts'

interface ItemRow {
  readonly collection: string
  readonly id: string
  readonly version: Bigint
  readonly due_at: Bigint | null
  readonly keys: string
  readonly body: string
}

const COLUMNS = 'i.collection, i.id, i.version, i.due_at, i.keys, i.body'

/** An item, or null. */
export async function findItem(connection: Connection, collection: string, id: string): Promise<Item | null> {
  const [row] = await connection.query<ItemRow>(
    `SELECT ${COLUMNS} FROM ${connection.schema}.items i WHERE i.collection = $1 AND i.id = $2`,
    [collection, id],
  )
  return row === undefined ? null : toItem(row)
}

/** Changes items, all or none. @throws `version_conflict`. */
export async function changeItems(
  connection: Connection,
  changes: readonly CheckedChange[],
  now: bigint | null,
): Promise<(Item | null)[]> {
  if (changes.length === 0) return []
  const rows = await connection.query<{
    readonly nth: number
    readonly put_version: Bigint | null
    readonly put_due_at: Bigint | null
    readonly fits: boolean
  }>(`SELECT * FROM ${connection.schema}.change_items($1, $2, $3, $4, $5, $6, $7, $8)`, [
    changes.map(({ collection }) => collection),
    changes.map(({ id }) => id),
    changes.map(({ expected }) => (expected === undefined ? null : String(expected ?? 0))),
    changes.map(({ put }) => (put === undefined ? null : put !== null)),
    changes.map(({ put }) => (put?.dueIn === undefined || put.dueIn === null ? null : String(put.dueIn))),
    changes.map(({ put }) => JSON.stringify(put?.keys ?? {})).join('\n'),
    changes.map(({ put }) => JSON.stringify(put?.body ?? null)).join('\n'),
    now === null ? null : String(now),
  ])
  const byNumber = new Map(rows.map((row) => [row.nth - 1, row]))
  return changes.map((change, at) => {
    const row = byNumber.get(at)
    const version = numberOf(row?.put_version)
    if (row?.fits === false) throw itemConflict(change, version)
    if (version === null || change.put === undefined || change.put === null) return null
    return itemOf(change, change.put, version, numberOf(row?.put_due_at))
  })
}

/** One page. O(limit + log n). */
export async function listItems(
  connection: Connection,
  collection: string,
  query: CheckedItemQuery,
): Promise<Page<Item>> {
  const { sql, values } = itemListSql(connection.schema, collection, query)
  const rows = await connection.query<ItemRow>(sql, values)
  return pageOf(rows.map(toItem), query.limit, (last) => itemCursor(query, last))
}

/** How many items a list would have. O(items looked at). */
export async function countItems(
  connection: Connection,
  collection: string,
  query: CheckedItemQuery,
  exact: boolean,
): Promise<Count> {
  const { walked, conditions, order, values } = itemWalk(connection.schema, collection, query)
  // In order, so that the index is walked, and not the table that other collections are in as well.
  const limit = exact ? '' : `ORDER BY ${order} LIMIT ${MOST_COUNTED + 1}`
  const [row] = await connection.query<{ readonly looked: number }>(
    `SELECT count(*)::integer AS looked FROM (SELECT FROM ${walked} WHERE ${conditions} ${limit}) w`,
    values,
  )
  return lookedCount(row?.looked ?? 0, row?.looked ?? 0, exact)
}

/** The SQL of a page, one walk of an index. */
export function itemListSql(
  schema: string,
  collection: string,
  query: CheckedItemQuery,
): { readonly sql: string; readonly values: unknown[] } {
  const { tables, conditions, order, values } = itemWalk(schema, collection, query)
  return {
    sql: `SELECT ${COLUMNS} FROM ${tables} WHERE ${conditions}
    ORDER BY ${order} LIMIT $${values.push(query.limit + 1)}`,
    values,
  }
}

function itemWalk(
  schema: string,
  collection: string,
  { by, value, from, below, after, descending }: CheckedItemQuery,
): { walked: string; tables: string; conditions: string; order: string; values: unknown[] } {
  const values: unknown[] = [collection]
  const place = (given: unknown): string => `$${values.push(given)}`
  const conditions = by === null ? ['i.collection = $1'] : ['k.collection = $1', `k.name = ${place(by)}`]
  const key = by === null ? 'i.id' : 'k.value'
  if (value !== null) conditions.push(`${key} = ${place(value)}`)
  if (from !== null) conditions.push(`${key} >= ${place(from)}`)
  if (below !== null) conditions.push(`${key} < ${place(below)}`)
  if (after !== null) {
    const sign = descending ? '<' : '>'
    conditions.push(
      by === null
        ? `i.id ${sign} ${place(after.id)}`
        : `(k.value, k.id) ${sign} (${place(after.key)}, ${place(after.id)})`,
    )
  }
  const walked = by === null ? `${schema}.items i` : `${schema}.item_keys k`
  const way = descending ? 'DESC' : 'ASC'
  return {
    walked,
    tables:
      by === null
        ? walked
        : `${walked} JOIN ${schema}.items i ON i.collection = k.collection AND i.id = k.id`,
    conditions: conditions.join(' AND '),
    order: by === null ? `i.id ${way}` : `k.value ${way}, k.id ${way}`,
    values,
  }
}

/** Claims those that are due, but for those that others claim or change at the same time. */
export async function claimItems(
  connection: Connection,
  collection: string,
  { ttl, limit }: Required<ItemClaim>,
  now: bigint | null,
): Promise<Item[]> {
  const rows = await connection.query<ItemRow & { readonly was: Bigint }>(claimSql(connection.schema), [
    collection,
    String(ttl),
    limit,
    now === null ? null : String(now),
  ])
  return rows.toSorted((a, b) => Number(a.was) - Number(b.was) || compareIds(a.id, b.id)).map(toItem)
}

/**
 * The SQL of a claim: which are due is decided once, whatever the plan, and they are changed where they were found: a
 * look for each by its id costs more the more items there are. One that another changed meanwhile is not there any
 * more, and is left to the next claim. The planner does not see the limit: a plan for the one at hand would seem so
 * cheap, where many are due, that it planned each claim anew.
 */
export const claimSql = (schema: string): string => `WITH due AS MATERIALIZED (
    SELECT i.ctid AS place, i.id, i.due_at AS was FROM ${schema}.items i
    WHERE i.collection = $1 AND i.due_at <= (SELECT coalesce($4::bigint, ${NOW}) / 1000)
    ORDER BY i.due_at, i.id LIMIT (SELECT $3::bigint) FOR UPDATE SKIP LOCKED
  )
  UPDATE ${schema}.items i SET version = DEFAULT, due_at = coalesce($4::bigint, ${NOW}) / 1000 + $2::bigint
  FROM due, ${DURABLE} WHERE i.ctid = ANY (ARRAY(SELECT place FROM due)) AND i.collection = $1 AND i.id = due.id RETURNING ${COLUMNS}, due.was`

const toItem = (row: ItemRow): Item =>
  itemOf(
    row,
    { body: readObject(row.body), keys: readObject(row.keys) as Item['keys'] },
    Number(row.version),
    numberOf(row.due_at),
  )

const numberOf = (value: Bigint | null | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)
