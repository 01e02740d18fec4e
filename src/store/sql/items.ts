/** Items: reads of them, and the changes that each dialect carries out in its own way. */

import type { Item } from '../contract/items.ts'
import { type Count, MOST_COUNTED, type Page } from '../contract/query.ts'
import { type CheckedItemQuery, itemCursor, itemOf, mayBeItem } from '../kit/items.ts'
import { lookedCount } from '../kit/query/conversation-query.ts'
import { pageOf } from '../kit/query/page.ts'
import { type Bigint, readNamed } from '../kit/row.ts'
import { all, type Dialect, first, type SqlValue, type Statement, type Work } from './dialect.ts'

export interface ItemRow {
  readonly collection: string
  readonly id: string
  readonly version: Bigint
  readonly due: Bigint | null
  readonly keys: string
  readonly body: string
}

export const ITEM_COLUMNS = 'i.collection, i.id, i.version, i.due_at AS due, i.keys, i.body'

/** The item of a row. @throws `store_unavailable` for one that was damaged. */
export function itemOfRow(row: ItemRow): Item {
  const { collection, id } = row
  const name = () => ({
    what: `The item ${JSON.stringify(id)} of ${collection}`,
    data: { collection, id },
  })
  const keys = readNamed(row.keys, name) as Item['keys']
  const due = row.due === null ? null : Number(row.due)
  return itemOf(row, { body: readNamed(row.body, name), keys }, Number(row.version), due)
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
    const column = by === null ? 'w.id' : 'w.value'
    const order = by === null ? 'w.id' : 'w.value, w.id'
    const values: SqlValue[] = [collection]
    const conditions = ['w.collection = ?']
    const where = (sql: string, ...inputs: readonly (string | null)[]): void => {
      if (inputs.includes(null)) return
      conditions.push(sql)
      values.push(...inputs)
    }
    where('w.name = ?', by)
    where(`${column} = ?`, value)
    where(`${column} >= ?`, from)
    where(`${column} < ?`, below)
    const sign = descending ? '<' : '>'
    if (after !== null && by === null) where(`w.id ${sign} ?`, after.id)
    else if (after !== null) where(`(${order}) ${sign} (?, ?)`, after.key, after.id)
    return {
      sql: `FROM ${by === null ? item : key} AS w WHERE ${conditions.join(' AND ')}`,
      values,
      order: descending ? order.replaceAll(/(?=,|$)/g, ' DESC') : order,
    }
  }

  /** One page. O(limit + log n). */
  function* list(collection: string, query: CheckedItemQuery): Work<Page<Item>> {
    const { sql, values, order } = walk(collection, query)
    const columns = query.by === null ? 'w.id' : 'w.value, w.id'
    const rows = yield* all<ItemRow>(
      `SELECT ${ITEM_COLUMNS} FROM (SELECT ${columns} ${sql} ORDER BY ${order} LIMIT ?) AS w
      ${d.lookUp('item', 'i', 'i.collection = ? AND i.id = w.id')} ORDER BY ${order}`,
      ...values,
      query.limit + 1,
      collection,
    )
    return pageOf(rows.map(itemOfRow), query.limit, (last) => itemCursor(query, last))
  }

  /** Counts the items of a list. O(visited items). */
  function* count(collection: string, query: CheckedItemQuery, exact: boolean): Work<Count> {
    const { sql, values, order } = walk(collection, query)
    // In order, so that the index is walked, and not the table that other collections are in as well.
    const limit = exact ? '' : `ORDER BY ${order} LIMIT ${MOST_COUNTED + 1}`
    const row = yield* first<{ readonly looked: Bigint }>(
      `SELECT count(*) AS looked FROM (SELECT 1 AS one ${sql} ${limit}) AS w`,
      ...values,
    )
    return lookedCount(Number(row?.looked ?? 0), Number(row?.looked ?? 0), exact)
  }

  return { find, list, count }
}
