/** The text index in PostgreSQL: a GIN index of the terms of each line, as a `tsvector` without positions. */

import { MAX_RANKED } from '../contract/text.ts'
import { firstPlace, placeBehind, textPlace } from '../kit/query/text-query.ts'
import { allOf, type SqlRow, type SqlValue, type Statement, statement } from '../sql/dialect.ts'
import type { ReplaceText } from '../sql/replace.ts'
import { queryTerms, type TextMatch, type TextRow, type TextWork } from '../sql/texts.ts'

const WORDS = `array_to_tsvector(string_to_array(btrim(line), ' '))`

/** The columns of a text in a list of rows, without its line. */
export const TEXT_COLUMNS = 'number bigint, seq integer, time bigint, role integer, size integer'

/** PostgreSQL reads one list of rows faster than a list for each column. */
export const cells = (list: string, row: string, columns: string): string =>
  columns
    .split(', ')
    .map((column, index) => `${list}[${row}][${index + 1}]::${column.split(' ')[1]}`)
    .join(', ')

/** Creates the index, and functions that write texts at unused positions (see `textPlace`). */
export const textStatements = (schema: string): string[] => [
  `CREATE INDEX text_words ON ${schema}.text USING gin (${WORDS})`,
  `CREATE FUNCTION ${schema}.write_text(
  p_log bigint, p_number bigint, p_seq integer, p_time bigint, p_role integer, p_size integer, p_line text
) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  v_number bigint := p_number;
  v_range bigint := 16384;
BEGIN
  LOOP
    INSERT INTO ${schema}.text (number, log, seq, time, role, size, line)
    VALUES (v_number, p_log, p_seq, p_time, p_role, p_size, p_line) ON CONFLICT (number) DO NOTHING;
    EXIT WHEN FOUND;
    v_range := least(v_range * 4, 67108864);
    v_number := (p_number & ~16383::bigint) + floor(random() * v_range)::bigint;
  END LOOP;
END
$body$`,
  `CREATE FUNCTION ${schema}.index_texts(
  p_log bigint, p_from integer, p_until integer, p_texts text[], p_lines text
) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $body$
DECLARE
  v_lines text[] := string_to_array(p_lines, E'\\n');
BEGIN
  UPDATE ${schema}.log SET text_version = p_until WHERE number = p_log AND text_version = p_from;
  IF FOUND THEN
    PERFORM ${schema}.write_text(p_log, ${cells('p_texts', 't', TEXT_COLUMNS)}, v_lines[t])
    FROM generate_series(1, array_length(p_texts, 1)) AS t;
  END IF;
END
$body$`,
]

/** The arguments of `write_text` after `p_log`. */
export const textValues = ({ seq, time, role, size, line }: TextRow): SqlRow => [
  String(textPlace(time, seq, 0)),
  String(seq),
  String(time),
  String(role),
  String(size),
  line,
]

/**
 * Returns rows as a list without their last column, and that column as one text, which PostgreSQL reads
 * faster. Line feeds separate the values of this text; JSON and indexed lines contain no line feeds.
 */
export const rowValues = (rows: readonly SqlRow[]): [SqlValue, SqlValue] => [
  rows.map((row) => row.slice(0, -1)),
  rows.map((row) => row.at(-1)).join('\n'),
]

/**
 * A sample of the newest texts shows whether a term is frequent. Frequent terms are searched in the newest
 * texts, rare terms in the index, where a match costs as much as reading `INDEX_COST` texts. A search by
 * `rank` needs more hits. It uses a smaller sample, and reads the newest texts only if the terms are very
 * frequent in this sample.
 */
const [SAMPLE, INDEX_COST, TEXT_BYTES] = [400, 4, 400]

export const replaceText = (schema: string): ReplaceText =>
  function* (log, seq, time, row) {
    yield statement(
      `DELETE FROM ${schema}.text WHERE (log, number) >= (?, ?) AND (log, number) < (?, ?) AND seq = ?`,
      log,
      firstPlace(time),
      log,
      placeBehind(time),
      seq,
    )
    if (row !== null)
      yield statement(`SELECT ${schema}.write_text(?, ?, ?, ?, ?, ?, ?)`, log, ...textValues(row))
  }

export function textWork(schema: string): TextWork {
  const text = `${schema}.text`

  function match({ query, log, columns, fits, fitsFound, below, least, limit }: TextMatch): Statement {
    if (log !== null)
      return statement(
        `SELECT t.number, t.log, t.seq${columns.sql} FROM ${text} AS t
        WHERE (t.log, t.number) < (?, ?) AND (t.log, t.number) >= (?, ?) AND ${fits.sql}
        ORDER BY t.log DESC, t.number DESC LIMIT ?`,
        ...columns.values,
        log,
        below,
        log,
        least,
        ...fits.values,
        limit,
      )
    const size = limit < MAX_RANKED ? SAMPLE : SAMPLE / 4
    const hits = (source: Statement, condition: Statement, count: string): Statement =>
      statement(
        `SELECT t.number, t.log, t.seq${columns.sql} FROM (
          SELECT * FROM (${source.sql}) AS t WHERE ${condition.sql} ORDER BY t.number DESC LIMIT ${count}
        ) AS t`,
        ...columns.values,
        ...source.values,
        ...condition.values,
      )
    const newest = (start: Statement, count: string): Statement =>
      statement(
        `SELECT * FROM ${text} AS t WHERE t.number < ${start.sql} AND t.number >= ? ORDER BY t.number DESC LIMIT ${count}`,
        ...start.values,
        least,
      )
    const missing = (relation: string): string => `(SELECT ${limit} - count(*) FROM ${relation})`
    const texts = `(SELECT pg_relation_size(tableoid) / ${TEXT_BYTES} FROM ${text} LIMIT 1)`
    // Three times as many texts as probably contain the hits; 0 if the index is faster.
    const count = `(SELECT CASE WHEN ${limit * size ** 2} <= ${INDEX_COST} * count(*) * count(*) * ${texts}
      THEN ${3 * limit * size} / count(*) ELSE 0 END FROM sample)`
    // Has no bound and no order: with them, the planner would read all texts in order.
    const indexed = statement(
      `SELECT * FROM ${text} WHERE ${WORDS} @@ CAST(? AS tsquery) OFFSET 0`,
      queryTerms(query, (term, isPrefix) => `'${term}'${isPrefix ? ':*' : ''}`).join(' & '),
    )
    const older = statement(
      't.number < (SELECT coalesce(min(number), ?) FROM newest) AND t.number >= ?',
      below,
      least,
    )
    const sample = hits(newest(statement('?', below), String(size)), fits, String(limit))
    const more = hits(newest(statement('(SELECT min(number) FROM sample)'), count), fits, missing('sample'))
    const rest = hits(indexed, allOf([older, fitsFound]), missing('newest'))
    return statement(
      `WITH sample AS MATERIALIZED (${sample.sql}),
        newest AS MATERIALIZED (SELECT * FROM sample UNION ALL SELECT * FROM (${more.sql}) AS more)
      SELECT * FROM newest UNION ALL SELECT * FROM (${rest.sql}) AS rest`,
      ...sample.values,
      ...more.values,
      ...rest.values,
    )
  }

  return {
    // Faster than `strpos`, which counts the characters before the first occurrence.
    contains: '(octet_length(split_part(t.line, ?, 1)) < octet_length(t.line))',
    match,
    *index(log, from, until, rows) {
      const values = [log, from, until, ...rowValues(rows.map(textValues))]
      yield statement(`SELECT ${schema}.index_texts(${values.map(() => '?').join(', ')})`, ...values)
    },
    maintain: null,
  }
}
