/** The text index in PostgreSQL: a GIN index of the terms of each line, as a `tsvector` without positions. */

import { MAX_RANKED } from '../contract/text.ts'
import { firstPlace, placeBehind, textPlace } from '../kit/query/text-query.ts'
import { allOf, sql, type SqlRow, type SqlValue, type Statement, statement } from '../sql/dialect.ts'
import type { ReplaceText } from '../sql/replace.ts'
import { queryTerms, type TextMatch, type TextRow, type TextWork } from '../sql/texts.ts'

const WORDS = `array_to_tsvector(string_to_array(btrim(line), ' '))`

/** The columns of a text in a list of rows, without the text's line. */
export const TEXT_COLUMNS = 'number bigint, seq integer, time bigint, role integer, size integer'

/** Returns SQL for the columns of a row of `list`, an array of rows. An array for each column would be slower. */
export const cells = (list: string, row: string, columns: string): string =>
  columns
    .split(', ')
    .map((column, index) => `${list}[${row}][${index + 1}]::${column.split(' ')[1]}`)
    .join(', ')

/** Returns SQL for the index, and for a function that writes a text at an unused position (see `textPlace`). */
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
]

/** Returns the arguments of `write_text` that follow `p_log`. */
export const textValues = ({ seq, time, role, size, line }: TextRow): SqlRow => [
  String(textPlace(time, seq, 0)),
  String(seq),
  String(time),
  String(role),
  String(size),
  line,
]

/**
 * Returns the rows without their last column, and the values of the last column as one text, which PostgreSQL
 * reads faster than a list. Line feeds separate the values; JSON and indexed lines contain no line feeds.
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
    yield sql`DELETE FROM ${statement(schema)}.text
      WHERE (log, number) >= (${log}, ${firstPlace(time)}) AND (log, number) < (${log}, ${placeBehind(time)}) AND seq = ${seq}`
    if (row !== null)
      yield statement(`SELECT ${schema}.write_text(?, ?, ?, ?, ?, ?, ?)`, log, ...textValues(row))
  }

export function textWork(schema: string): TextWork {
  const text = statement(`${schema}.text`)

  function match({ query, log, columns, fits, fitsFound, below, least, limit }: TextMatch): Statement {
    if (log !== null)
      return sql`SELECT t.number, t.log, t.seq${columns} FROM ${text} AS t
        WHERE (t.log, t.number) < (${log}, ${below}) AND (t.log, t.number) >= (${log}, ${least}) AND ${fits}
        ORDER BY t.log DESC, t.number DESC LIMIT ${limit}`
    const size = limit < MAX_RANKED ? SAMPLE : SAMPLE / 4
    const hits = (source: Statement, condition: Statement, count: string): Statement =>
      sql`SELECT t.number, t.log, t.seq${columns} FROM (
          SELECT * FROM (${source}) AS t WHERE ${condition} ORDER BY t.number DESC LIMIT ${statement(count)}
        ) AS t`
    const newest = (start: Statement, count: string): Statement =>
      sql`SELECT * FROM ${text} AS t WHERE t.number < ${start} AND t.number >= ${least}
        ORDER BY t.number DESC LIMIT ${statement(count)}`
    const missing = (relation: string): string => `(SELECT ${limit} - count(*) FROM ${relation})`
    const texts = `(SELECT pg_relation_size(tableoid) / ${TEXT_BYTES} FROM ${text.sql} LIMIT 1)`
    // Three times as many texts as probably contain the hits; 0 if the index is faster.
    const count = `(SELECT CASE WHEN ${limit * size ** 2} <= ${INDEX_COST} * count(*) * count(*) * ${texts}
      THEN ${3 * limit * size} / count(*) ELSE 0 END FROM sample)`
    const terms = queryTerms(query, (term, isPrefix) => `'${term}'${isPrefix ? ':*' : ''}`)
    // Has no bound and no order: with them, the planner would read all texts in order.
    const indexed = sql`SELECT * FROM ${text} WHERE ${statement(WORDS)} @@ CAST(${terms.join(' & ')} AS tsquery) OFFSET 0`
    const older = sql`t.number < (SELECT coalesce(min(number), ${below}) FROM newest) AND t.number >= ${least}`
    const sample = hits(newest(sql`${below}`, String(size)), fits, String(limit))
    const more = hits(newest(statement('(SELECT min(number) FROM sample)'), count), fits, missing('sample'))
    const rest = hits(indexed, allOf([older, fitsFound]), missing('newest'))
    return sql`WITH sample AS MATERIALIZED (${sample}),
        newest AS MATERIALIZED (SELECT * FROM sample UNION ALL SELECT * FROM (${more}) AS more)
      SELECT * FROM newest UNION ALL SELECT * FROM (${rest}) AS rest`
  }

  return {
    // Faster than `strpos`, which counts the characters before the first occurrence.
    contains: ({ piece }) => sql`(octet_length(split_part(t.line, ${piece}, 1)) < octet_length(t.line))`,
    match,
    *index(log, from, until, rows) {
      const texts = rows.map((row) => ({
        ...row,
        number: String(textPlace(row.time, row.seq, 0)),
        time: String(row.time),
      }))
      yield sql`WITH marked AS (
        UPDATE ${statement(schema)}.log SET text_version = ${until} WHERE number = ${log} AND text_version = ${from} RETURNING number
      ) SELECT ${statement(schema)}.write_text(marked.number, t.number, t.seq, t.time, t.role, t.size, t.line)
      FROM marked, json_to_recordset(CAST(${JSON.stringify(texts)} AS json)) AS t (${statement(TEXT_COLUMNS)}, line text)`
    },
    maintain: null,
  }
}
