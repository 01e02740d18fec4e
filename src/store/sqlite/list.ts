/** Pages of conversations from one index, without sorting. */

import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  conversationCursor,
} from '../kit/query/conversation-query.ts'
import { pageOf } from '../kit/query/page.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import type { Page } from '../contract/query.ts'
import type { Connection } from './connection.ts'
import { RECORD_COLUMNS, type SqliteRecordRow, toRecord } from './conversations.ts'
import type { SqliteValue } from './database.ts'
import { V } from './range-sql.ts'
import { EVER } from './ranges.ts'

interface Condition {
  readonly sql: string
  readonly values: readonly SqliteValue[]
}

/** The tables as a list walks them, in the order of the index that is named. */
const WALKS = {
  createdAt: {
    key: 'conversation.created_at, conversation.conversation_id',
    from: `colloquy_conversation AS conversation INDEXED BY colloquy_conversation_created
      CROSS JOIN colloquy_log AS log ON log.conversation_id = conversation.conversation_id`,
  },
  updatedAt: {
    key: 'log.updated_at, log.conversation_id',
    from: `colloquy_log AS log INDEXED BY colloquy_log_updated
      CROSS JOIN colloquy_conversation AS conversation ON conversation.conversation_id = log.conversation_id`,
  },
} as const

const HAS_TAGS = `NOT EXISTS (SELECT 1 FROM json_each(${V}) AS wanted WHERE NOT EXISTS (
  SELECT 1 FROM json_each(conversation.tags) AS tag WHERE tag.key = wanted.key AND tag.value = wanted.value))`

/** One page. O(log conversations + records looked at): those that the filter does not let through cost as well. */
export function listConversations(
  connection: Connection,
  query: CheckedConversationQuery,
): Page<ConversationRecord> {
  const { limit } = query
  const conditions = [placeOf(query), ...conditionsOf(query)]
  const sql = listSql(query.by, query.descending, conditions)
  const rows = connection.all<SqliteRecordRow>(sql, ...valuesOf(conditions), limit + 1)
  return pageOf(rows.map(toRecord), limit, (last) => conversationCursor(query, last))
}

/** How many conversations a filter lets through. O(conversations). */
export function countConversations(connection: Connection, filter: CheckedConversationFilter): number {
  const conditions = conditionsOf(filter)
  const sql = `SELECT count(*) AS count FROM colloquy_conversation AS conversation
    JOIN colloquy_log AS log USING (conversation_id) WHERE ${['1', ...conditions.map(({ sql }) => sql)].join(' AND ')}`
  return connection.get<{ readonly count: number }>(sql, ...valuesOf(conditions))?.count ?? 0
}

/** The SQL of a page; takes the values of the conditions, then the limit. */
export function listSql(
  by: CheckedConversationQuery['by'],
  descending: boolean,
  conditions: readonly Pick<Condition, 'sql'>[],
): string {
  const { key, from } = WALKS[by]
  return `SELECT ${RECORD_COLUMNS} FROM ${from} WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}
    ORDER BY ${descending ? key.replaceAll(/(?=,|$)/g, ' DESC') : key} LIMIT ${V}`
}

/** Where a page begins: beyond the place of the one before, and within the filter's times of the same kind. */
export function placeOf(query: CheckedConversationQuery): Condition {
  const { by, descending, after } = query
  const from = (by === 'createdAt' ? query.createdFrom : query.updatedFrom) ?? EVER.from
  const until = (by === 'createdAt' ? query.createdUntil : query.updatedUntil) ?? EVER.until
  const edge = descending ? until : from
  const within = after !== null && (descending ? after.time < edge : after.time >= edge)
  const start = within ? after : { time: edge, id: '' } // no id is empty, so this comes before all of that time
  const sign = descending ? '<' : '>'
  return { sql: `(${WALKS[by].key}) ${sign} (${V}, ${V})`, values: [start.time, start.id] }
}

function conditionsOf(filter: CheckedConversationFilter): Condition[] {
  const { titleContains, parentConversationId, tags } = filter
  const open = filter.public === null ? null : Number(filter.public)
  return [
    condition(`instr(conversation.title_folded, ${V}) > 0`, titleContains),
    condition(`conversation.public = ${V}`, open),
    condition(`conversation.parent_conversation_id = ${V}`, parentConversationId),
    condition(`conversation.created_at >= ${V}`, filter.createdFrom),
    condition(`conversation.created_at < ${V}`, filter.createdUntil),
    condition(`log.updated_at >= ${V}`, filter.updatedFrom),
    condition(`log.updated_at < ${V}`, filter.updatedUntil),
    tagCondition(tags),
  ].filter((one) => one !== null)
}

function tagCondition(tags: CheckedConversationFilter['tags']): Condition | null {
  if (tags.length === 0) return null
  // What no record can carry is not bound: a driver might make something else of it.
  const possible = tags.every(([key, value]) => /^[a-z0-9]+$/.test(key) && isKeepable(value))
  return possible ? condition(HAS_TAGS, JSON.stringify(Object.fromEntries(tags))) : { sql: '0', values: [] }
}

// oxlint-disable-next-line no-control-regex -- NUL is what it is there to find
const isKeepable = (text: string): boolean => !/[\u0000\ud800-\udfff]/u.test(text)

const condition = (sql: string, value: SqliteValue): Condition | null =>
  value === null ? null : { sql, values: [value] }

const valuesOf = (conditions: readonly Condition[]): SqliteValue[] =>
  conditions.flatMap(({ values }) => values)
