/** Pages of conversations from one index, without sorting and with a bound on what is looked at. */

import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  type ConversationPlace,
  countWalkOf,
  lookedCount,
  lookedPage,
  type Walk,
  walkOf,
} from '../kit/query/conversation-query.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import { type Count, MOST_COUNTED, MOST_LOOKED_AT, type Page } from '../contract/query.ts'
import type { Connection } from './connection.ts'
import { RECORD_COLUMNS, type SqliteRecordRow, toRecord } from './conversations.ts'
import type { SqliteValue } from './database.ts'
import { V } from './range-sql.ts'
import { EVER } from './ranges.ts'
import { micros, type Micros } from './rows.ts'

/** A piece of SQL with the values of its parameters. */
interface Sql {
  readonly sql: string
  readonly values: readonly SqliteValue[]
}

/** What a page walks: the rows of a table that a condition names, in the order of an index. */
interface Source {
  readonly table: string
  readonly index: string
  /** The column of its time. */
  readonly time: string
  readonly condition: Sql | null
}

/** What a conversation holds that is listed by a key, as the partial indexes say it; tags have rows of their own. */
const HELD: Readonly<Record<string, (value: string) => Sql>> = {
  parent: (value) => ({ sql: `parent_conversation_id IS ${V}`, values: [value === '' ? null : value] }),
  status: (value) => ({ sql: `status IS ${V}`, values: [value === '' ? null : value] }),
  sandbox: (value) => ({ sql: `sandbox_id = ${V}`, values: [value] }),
  public: () => ({ sql: 'public = 1', values: [] }),
}

const CONVERSATION = { table: 'colloquy_conversation', time: 'created_at' }

function sourceOf({ by, key }: Walk): Source {
  if (key === null)
    return by === 'createdAt'
      ? { ...CONVERSATION, index: 'colloquy_conversation_created', condition: null }
      : { table: 'colloquy_log', index: 'colloquy_log_updated', time: 'updated_at', condition: null }
  const [name, value] = key
  const held = HELD[name]?.(value)
  return held === undefined
    ? {
        table: 'colloquy_conversation_tag',
        index: 'colloquy_conversation_tagged',
        time: 'created_at',
        condition: { sql: `name = ${V} AND value = ${V}`, values: key },
      }
    : { ...CONVERSATION, index: `colloquy_conversation_${name}`, condition: held }
}

/** One page. O(log conversations + records looked at). */
export function listConversations(
  connection: Connection,
  query: CheckedConversationQuery,
): Page<ConversationRecord> {
  if (!query.isPossible) return lookedPage(query, [], null)
  const walk = walkOf(query, query.by)
  return connection.snapshot(() => {
    const { sql, values } = listSql(walk, query)
    const found = connection.all<SqliteRecordRow>(sql, ...values).map(toRecord)
    const looked = found.length > query.limit ? null : lastLooked(connection, walk, query)
    return lookedPage(query, found, looked)
  })
}

/** How many conversations a filter lets through. O(records looked at). */
export function countConversations(
  connection: Connection,
  filter: CheckedConversationFilter,
  exact: boolean,
): Count {
  if (!filter.isPossible) return lookedCount(0, 0, exact)
  const { sql, values } = countListSql(countWalkOf(filter), exact)
  const row = connection.get<{ readonly looked: number; readonly fit: number | null }>(sql, ...values)
  return lookedCount(row?.fit ?? 0, row?.looked ?? 0, exact)
}

type Where = Pick<CheckedConversationQuery, 'descending' | 'after'>

/** The statement of a page, one record further than it goes. */
export function listSql(walk: Walk, query: Where & { readonly limit: number }): Sql {
  const walked = walkSql(walk, query)
  const fits = fitsOf(walk)
  return {
    sql: `SELECT ${RECORD_COLUMNS} FROM (${walked.sql} LIMIT ${MOST_LOOKED_AT}) AS walked ${conversationsOf(walk)} ${LOGS}
      WHERE ${fits.sql} LIMIT ${V}`,
    values: [...walked.values, ...fits.values, query.limit + 1],
  }
}

/** The statement of the place at which a walk has looked at as many as it may; no row when it ends before. */
export function lastLookedSql(walk: Walk, query: Where): Sql {
  const { sql, values } = walkSql(walk, query)
  return {
    sql: `SELECT conversation_id, ${micros('time', 'at')} FROM (${sql} LIMIT 1 OFFSET ${MOST_LOOKED_AT - 1})`,
    values,
  }
}

/** The statement of a count: how many were looked at, and how many of them fit. */
export function countListSql(walk: Walk, exact: boolean): Sql {
  const walked = walkSql(walk, { descending: false, after: null })
  const fits = fitsOf(walk)
  // A table costs a look-up for each conversation, and most filters compare with one of them, or none.
  const tables = [
    fits.sql.includes('conversation.') ? conversationsOf(walk) : '',
    fits.sql.includes('log.') ? LOGS : '',
  ]
  return {
    sql: `SELECT count(*) AS looked, sum(${fits.sql}) AS fit
      FROM (${walked.sql} LIMIT ${exact ? -1 : MOST_COUNTED + 1}) AS walked ${tables.join(' ')}`,
    values: [...fits.values, ...walked.values],
  }
}

/**
 * The two halves of the records of what was walked, in its order. Conversations stand in their table as they were
 * created, so a walk of one of its indexes finds ten thousand of them in few pages, however many there are.
 */
const conversationsOf = (walk: Walk): string =>
  `CROSS JOIN colloquy_conversation AS conversation ON ${
    sourceOf(walk).table === CONVERSATION.table
      ? 'conversation.rowid = walked.place'
      : 'conversation.conversation_id = walked.conversation_id'
  }`
const LOGS = 'CROSS JOIN colloquy_log AS log ON log.conversation_id = walked.conversation_id'

/** The walk of an index from where a page begins to the bounds of its times, without an end. */
function walkSql(walk: Walk, { descending, after }: Where): Sql {
  const { table, index, time, condition } = sourceOf(walk)
  const [low, high] = [walk.from ?? EVER.from, walk.until ?? EVER.until]
  const edge = descending ? high : low
  const within = after !== null && (descending ? after.time < edge : after.time >= edge)
  const start = within ? after : { time: edge, id: '' } // no id is empty, so this comes before all of that time
  const end = descending ? `${time} >= ${V}` : `${time} < ${V}`
  const order = `${time}, conversation_id`
  return {
    sql: `SELECT conversation_id, ${time} AS time${table === CONVERSATION.table ? ', rowid AS place' : ''}
      FROM ${table} INDEXED BY ${index}
      WHERE ${condition === null ? '' : `${condition.sql} AND `}(${order}) ${descending ? '<' : '>'} (${V}, ${V})
        AND ${end} ORDER BY ${descending ? order.replaceAll(/(?=,|$)/g, ' DESC') : order}`,
    values: [...(condition?.values ?? []), start.time, start.id, descending ? low : high],
  }
}

function lastLooked(connection: Connection, walk: Walk, query: Where): ConversationPlace | null {
  // Whatever is walked fits, so the walk has ended.
  if (fitsOf(walk).values.length === 0) return null
  const { sql, values } = lastLookedSql(walk, query)
  const row = connection.get<{ readonly conversation_id: string; readonly at: Micros }>(sql, ...values)
  return row === undefined ? null : { time: BigInt(row.at), id: row.conversation_id }
}

const HAS_TAG = `EXISTS (SELECT 1 FROM colloquy_conversation_tag AS own
  WHERE own.conversation_id = walked.conversation_id AND own.name = ${V} AND own.value = ${V})`

/** What is compared with each record. */
function fitsOf(walk: Walk): Sql {
  const { titleContains, otherFrom, otherUntil } = walk
  const other = walk.by === 'createdAt' ? 'log.updated_at' : 'conversation.created_at'
  const asked: readonly (Sql | false)[] = [
    titleContains !== null && {
      sql: `coalesce(instr(conversation.title_folded, ${V}) > 0, 0)`,
      values: [titleContains],
    },
    walk.public !== null && { sql: `conversation.public = ${V}`, values: [Number(walk.public)] },
    otherFrom !== null && { sql: `${other} >= ${V}`, values: [otherFrom] },
    otherUntil !== null && { sql: `${other} < ${V}`, values: [otherUntil] },
    ...walk.keys.map((key): Sql => {
      const held = HELD[key[0]]?.(key[1])
      return held === undefined
        ? { sql: HAS_TAG, values: key }
        : { sql: `conversation.${held.sql}`, values: held.values }
    }),
  ]
  const given = asked.filter((fit) => fit !== false)
  return {
    sql: ['1', ...given.map(({ sql }) => sql)].join(' AND '),
    values: given.flatMap(({ values }) => values),
  }
}
