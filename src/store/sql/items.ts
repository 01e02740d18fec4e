import type { JsonObject } from '../../event/shapes.ts'
import type { Item } from '../contract/items.ts'
import { type Count, MAX_COUNTED, type Page } from '../contract/query.ts'
import { type CheckedItemQuery, itemCursor, itemOf, mayBeItem } from '../kit/items.ts'
import { lookedCount } from '../kit/query/conversation-query.ts'
import { pageOf } from '../kit/query/page.ts'
import { type Bigint, readObject } from '../kit/row.ts'
import { all, allOf, type Dialect, first, sql, type Statement, statement, type Work } from './dialect.ts'

export interface ItemRow {
  readonly collection: string
  readonly id: string
  readonly version: Bigint
  readonly due: Bigint | null
  readonly keys: string
  readonly body: string
}

export const ITEM_COLUMNS = 'i.collection, i.id, i.version, i.due_at AS due, i.keys, i.body'

export function itemOfRow(row: ItemRow): Item {
  const { collection, id } = row
  const read = (text: string): JsonObject =>
    readObject(text, `The item ${JSON.stringify(id)} of ${collection}`, { collection, id })
  const value = { body: read(row.body), keys: read(row.keys) as Item['keys'] }
  return itemOf(row, value, Number(row.version), row.due === null ? null : Number(row.due))
}

export function itemReads(d: Dialect) {
  const item = d.table('item')
  const key = d.table('item_key')
  const select = `SELECT ${ITEM_COLUMNS} FROM ${item} AS i WHERE i.collection = ? AND i.id = ?`

  function* find(collection: string, id: string): Work<Item | null> {
    const row = mayBeItem(collection, id) ? yield* first<ItemRow>(select, collection, id) : undefined
    return row === undefined ? null : itemOfRow(row)
  }

  function walk(collection: string, query: CheckedItemQuery): Statement & { readonly order: string } {
    const { by, value, from, below, after, descending } = query
    const columns = by === null ? 'w.id' : 'w.value, w.id'
    const column = statement(by === null ? 'w.id' : 'w.value')
    const isAfter = statement(`(${columns}) ${descending ? '<' : '>'}`)
    const where = allOf([
      sql`w.collection = ${collection}`,
      by !== null && sql`w.name = ${by}`,
      value !== null && sql`${column} = ${value}`,
      from !== null && sql`${column} >= ${from}`,
      below !== null && sql`${column} < ${below}`,
      after !== null &&
        (by === null ? sql`${isAfter} (${after.id})` : sql`${isAfter} (${after.key}, ${after.id})`),
    ])
    const order = descending ? columns.replaceAll(/(?=,|$)/g, ' DESC') : columns
    return { ...sql`FROM ${statement(by === null ? item : key)} AS w WHERE ${where}`, order }
  }

  function* list(collection: string, query: CheckedItemQuery): Work<Page<Item>> {
    const walked = walk(collection, query)
    const order = statement(walked.order)
    const columns = statement(query.by === null ? 'w.id' : 'w.value, w.id')
    const rows = yield* all<ItemRow>(
      sql`SELECT ${statement(ITEM_COLUMNS)} FROM (SELECT ${columns} ${walked} ORDER BY ${order} LIMIT ${query.limit + 1}) AS w
      ${statement(d.lookUp('item', 'i', 'i.collection = ? AND i.id = w.id'), collection)} ORDER BY ${order}`,
    )
    return pageOf(rows.map(itemOfRow), query.limit, (last) => itemCursor(query, last))
  }

  function* count(collection: string, query: CheckedItemQuery, exact: boolean): Work<Count> {
    const walked = walk(collection, query)
    // The order makes the database read the index, not the table with all collections.
    const limit = statement(exact ? '' : `ORDER BY ${walked.order} LIMIT ${MAX_COUNTED + 1}`)
    const row = yield* first<{ readonly looked: Bigint }>(
      sql`SELECT count(*) AS looked FROM (SELECT 1 AS one ${walked} ${limit}) AS w`,
    )
    return lookedCount(Number(row?.looked ?? 0), Number(row?.looked ?? 0), exact)
  }

  return { find, list, count }
}
