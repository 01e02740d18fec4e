/**
 * SQLite's text index (FTS5), which contains the terms of each event's text. Each text is stored as one line.
 * Small appends only store lines, which are indexed later, in groups. Until then, searches compare every such line.
 */

import { firstPlace, placeBehind, textPlace } from '../kit/query/text-query.ts'
import type { SqlValue, Statement, Work } from '../sql/dialect.ts'
import { all, allOf, first, joined, sql, statement } from '../sql/dialect.ts'
import { BEHIND, LEAST, queryTerms, type TextMatch, type TextRow, type TextWork } from '../sql/texts.ts'
import { isTaken } from './errors.ts'

/** Tables `text_pending` (texts not yet indexed) and `text_gone` (deleted logs whose texts remain). */
export const TEXT_SCHEMA: readonly string[] = [
  `CREATE TABLE colloquy_text_pending (
  number INTEGER PRIMARY KEY,
  log INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  time INTEGER NOT NULL,
  role INTEGER NOT NULL,
  size INTEGER NOT NULL,
  line TEXT NOT NULL
) STRICT`,
  'CREATE TABLE colloquy_text_gone (log INTEGER PRIMARY KEY) STRICT',
]

/**
 * Creates the full-text index. Spaces separate terms. Deleted terms are overwritten. Positions are not
 * stored, because phrases are compared with the column `line`. Pages of the index are small, because a search
 * decodes whole pages, and most searches return few hits.
 */
export const TEXT_INDEX: readonly string[] = [
  `CREATE VIRTUAL TABLE colloquy_text_index USING fts5 (line, content = 'colloquy_text', content_rowid = 'number',
    columnsize = 0, detail = none, tokenize = 'ascii')`,
  `INSERT INTO colloquy_text_index (colloquy_text_index, rank) VALUES ('secure-delete', 1)`,
  `INSERT INTO colloquy_text_index (colloquy_text_index, rank) VALUES ('pgsz', 1000)`,
]

const COLUMNS = 'number, log, seq, time, role, size, line'

/** Returns SQL that inserts a text. If `other` already has the text's number, `log` becomes null: the insert fails. */
const insertInto = (table: string, other: string): string =>
  `INSERT INTO ${table} (${COLUMNS}) VALUES (?, CASE WHEN ? NOT IN (SELECT number FROM ${other}) THEN ? END, ?, ?, ?, ?, ?)`
const INSERT_PENDING = insertInto('colloquy_text_pending', 'colloquy_text')
const INSERT_TEXT = insertInto('colloquy_text', 'colloquy_text_pending')

const MANY = 64

export function* writeTexts(log: number, rows: readonly TextRow[]): Work<void> {
  const isMany = rows.length >= MANY
  for (const { seq, time, role, size, line } of rows)
    for (let attempt = 0; ; attempt += 1) {
      const number = textPlace(time, seq, attempt)
      try {
        const insert = isMany ? INSERT_TEXT : INSERT_PENDING
        yield statement(insert, number, number, log, seq, time, role, size, line)
      } catch (error) {
        if (!isTaken(error)) throw error
        continue
      }
      if (isMany) yield statement('INSERT INTO colloquy_text_index (rowid, line) VALUES (?, ?)', number, line)
      break
    }
}

/** Maximum number of texts that one transaction adds to the index, or removes from it, which is slower. */
const [MERGED, PURGED] = [512, 32]

function* maintain(): Work<boolean> {
  if (yield* purge()) return true
  const last = yield* first<{ readonly last: string | null }>(
    `SELECT CAST(max(p.number) AS text) AS last FROM (
      SELECT number FROM colloquy_text_pending ORDER BY number LIMIT ${MERGED}
    ) AS p`,
  )
  if (last?.last === null || last === undefined) return false
  const until = BigInt(last.last)
  yield statement(
    `INSERT INTO colloquy_text (${COLUMNS}) SELECT ${COLUMNS} FROM colloquy_text_pending WHERE number <= ? ORDER BY number`,
    until,
  )
  yield statement(
    `INSERT INTO colloquy_text_index (rowid, line)
    SELECT number, line FROM colloquy_text_pending WHERE number <= ? ORDER BY number`,
    until,
  )
  yield statement('DELETE FROM colloquy_text_pending WHERE number <= ?', until)
  return (yield* first('SELECT 1 FROM colloquy_text_pending LIMIT 1')) !== undefined
}

export function* replaceText(log: number, seq: number, time: bigint, row: TextRow | null): Work<void> {
  const range = [firstPlace(time), placeBehind(time)] as const
  yield* removeTexts(log, 't.number >= ? AND t.number < ? AND t.seq = ?', ...range, seq)
  const pending = 'DELETE FROM colloquy_text_pending WHERE number >= ? AND number < ? AND log = ? AND seq = ?'
  yield statement(pending, ...range, log, seq)
  if (row !== null) yield* writeTexts(log, [row])
}

function* removeTexts(log: number, condition: string, ...values: SqlValue[]): Work<void> {
  const texts = `FROM colloquy_text AS t INDEXED BY colloquy_text_log WHERE t.log = ? AND ${condition}`
  const remove = `INSERT INTO colloquy_text_index (colloquy_text_index, rowid, line) SELECT 'delete', t.number, t.line ${texts}`
  const hasIndex = yield* first(`SELECT 1 FROM sqlite_master WHERE name = 'colloquy_text_index'`)
  if (hasIndex !== undefined) yield statement(remove, log, ...values)
  yield statement(`DELETE FROM colloquy_text WHERE number IN (SELECT t.number ${texts})`, log, ...values)
}

export function* purge(): Work<boolean> {
  const gone = yield* first<{ readonly log: number }>(
    'SELECT log FROM colloquy_text_gone WHERE log > 0 ORDER BY log LIMIT 1',
  )
  if (gone === undefined) return false
  yield statement('DELETE FROM colloquy_text_pending WHERE log = ?', gone.log)
  const rows = yield* all<{ readonly number: string }>(
    `SELECT CAST(t.number AS text) AS number FROM colloquy_text AS t INDEXED BY colloquy_text_log
    WHERE t.log = ? ORDER BY t.number LIMIT ${PURGED}`,
    gone.log,
  )
  yield* removeTexts(gone.log, 't.number <= ?', BigInt(rows.at(-1)?.number ?? 0))
  if (rows.length < PURGED) yield statement('DELETE FROM colloquy_text_gone WHERE log = ?', gone.log)
  return (yield* first('SELECT 1 FROM colloquy_text_gone WHERE log > 0 LIMIT 1')) !== undefined
}

function match({ query, log, columns, fits, fitsFound, below, least, limit }: TextMatch): Statement {
  const part = (from: string, key: string, start: Statement | false, rest: Statement): Statement => {
    const number = statement(key)
    const where = allOf([
      start,
      below < BEHIND && sql`${number} < ${below}`,
      least > LEAST && sql`${number} >= ${least}`,
      rest,
    ])
    return sql`SELECT ${number} AS number, t.log, t.seq${columns} FROM ${statement(from)} WHERE ${where}`
  }
  const terms = queryTerms(query, (term, isPrefix) => `"${term}"${isPrefix ? ' *' : ''}`)
  const isOfLog = log !== null && sql`t.log = ${log}`
  const parts = [
    log === null
      ? part(
          'colloquy_text_index AS f CROSS JOIN colloquy_text AS t ON t.number = f.rowid',
          'f.rowid',
          sql`f.colloquy_text_index MATCH ${terms.join(' AND ')}`,
          fitsFound,
        )
      : part('colloquy_text AS t INDEXED BY colloquy_text_log', 't.number', isOfLog, fits),
    part('colloquy_text_pending AS t', 't.number', isOfLog, fits),
  ]
  // Each part is read in this order, so SQLite merges the parts without sorting.
  return sql`${joined(parts, ' UNION ALL ')} ORDER BY number DESC LIMIT ${limit}`
}

export const TEXT_WORK: TextWork = {
  contains: ({ piece }) => sql`(instr(t.line, ${piece}) > 0)`,
  match,
  *index(log, from, until, rows) {
    const isNew = yield* first(
      'UPDATE colloquy_log SET text_version = ? WHERE number = ? AND text_version = ? RETURNING 1 AS is_new',
      until,
      log,
      from,
    )
    if (isNew !== undefined) yield* writeTexts(log, rows)
  },
  maintain,
}
