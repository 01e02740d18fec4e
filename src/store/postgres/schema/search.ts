/**
 * The functions that search a log: pages of it in time order, with every filter, in one round trip and with plans that
 * are made once.
 */

import { MAX_PAGE_SIZE } from '../../contract/query.ts'
import { eachStanding, standing, STEADY } from './phrases.ts'

/**
 * `path_to` gives the path to a leaf in segments, as `pathSegments` does, and `events_with` the events of some ids.
 * `search_up` and `search_down` give a page: at most `p_most` of the events that lie after one (time, seq) and before
 * another, are of one of the kinds and sources, hold a text, and stand on the path to a leaf; each of these only where
 * it is not null. They walk
 *
 * - the time index, when there is nothing to filter;
 * - a stretch of it, when most events are likely to fit (`p_dense`), and from its end on what follows;
 * - the range of each kind and source in its index, on a path those of each of its lanes; each no further than a page.
 *   When that could be many ranges they take those of the kinds and sources that the log has. On a path of several
 *   lanes, of which most lie one after the other in time, they first find a place that a page does not go beyond, so
 *   that no more is read of each.
 *
 * `count_path` counts what a page of the path would have in all, range by range, each no further than the path goes.
 *
 * A subquery's own limit is a number, for the planner, which does not see how few rows a parameter asks for.
 */
export const search = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.path_to(p_conversation text, p_leaf text)
RETURNS TABLE (lane integer, up_to integer, until bigint) LANGUAGE sql STABLE AS $body$
  WITH RECURSIVE path (lane, up_to, until) AS (
    SELECT e.lane, e.seq, e.max_time FROM ${standing(schema, 'p_conversation', 'p_leaf')} e
    UNION ALL
    SELECT l.parent_lane, l.parent_seq, l.parent_max_time FROM path
    CROSS JOIN LATERAL (
      SELECT * FROM ${schema}.lanes l
      WHERE l.conversation_id = p_conversation AND l.lane BETWEEN path.lane AND path.lane ORDER BY l.lane LIMIT 1
    ) l
    WHERE l.parent_lane IS NOT NULL
  )
  SELECT * FROM path
$body$;
CREATE OR REPLACE FUNCTION ${schema}.events_with(p_conversation text, p_ids text[]) RETURNS SETOF ${schema}.events
LANGUAGE plpgsql ROWS 1 ${STEADY} AS $body$
BEGIN
  RETURN QUERY SELECT e.* FROM ${eachStanding(schema, 'p_conversation', 'p_ids')};
END
$body$;
${way(schema, 'search_up', 'ASC')}
${way(schema, 'search_down', 'DESC')}
${countPath(schema)}
`

/** The most that a page asks for: one beyond it shows whether there are more. */
export const PAGE = MAX_PAGE_SIZE + 1

/** How many events are looked at where most are likely to fit. */
export const STRETCH = 2 * PAGE

/** Up to as many ranges are walked without a look at which there are. */
export const FEW = 8

/** How every function that gives a page begins: what it is given and gives, and its first variables. */
export const beginSearch = (schema: string, name: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.${name}(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer, p_most integer,
  p_dense boolean, p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS TABLE (seq integer, id text, parent_id text, stamped boolean, "time" bigint, body text)
LANGUAGE plpgsql ${STEADY} AS $body$
#variable_conflict use_column
DECLARE
  v_low_time bigint := p_low_time;
  v_low_seq integer := p_low_seq;
  v_high_time bigint := p_high_time;
  v_high_seq integer := p_high_seq;
  v_most integer := p_most;`

const way = (schema: string, name: string, order: 'ASC' | 'DESC'): string => {
  const [from, end] = order === 'ASC' ? ['v_low', 'v_high'] : ['v_high', 'v_low']
  return `${beginSearch(schema, name)}
  v_count integer;
  v_time bigint;
  v_seq integer;
  v_lanes integer[];
  v_up_to integer[];
  v_until bigint[];
  v_kinds text[];
  v_sources text[];
  v_range record;
  v_times bigint[];
  v_seqs integer[];
  v_end_time bigint;
  v_end_seq integer;
BEGIN
  IF p_kinds IS NULL AND p_sources IS NULL AND p_leaf IS NULL THEN
    RETURN QUERY SELECT ${COLUMNS} FROM ${stretch(schema, order, PAGE)} e ORDER BY ${by('e', order)} LIMIT v_most;
    RETURN;
  END IF;
  IF p_leaf IS NOT NULL THEN
    SELECT array_agg(p.lane), array_agg(p.up_to), array_agg(p.until) INTO v_lanes, v_up_to, v_until
    FROM ${schema}.path_to(p_conversation, p_leaf) p;
    IF v_lanes IS NULL THEN
      RETURN;
    END IF;
  END IF;

  IF p_dense THEN
    IF p_leaf IS NULL THEN
      RETURN QUERY SELECT ${COLUMNS} FROM ${stretch(schema, order, STRETCH)} e
      WHERE ${asked('e.kind', 'e.source')}
      ORDER BY ${by('e', order)} LIMIT v_most;
    ELSE
      RETURN QUERY SELECT ${COLUMNS} FROM ${stretch(schema, order, STRETCH)} e
      JOIN unnest(v_lanes, v_up_to) AS p (lane, up_to) ON e.lane = p.lane AND e.seq <= p.up_to
      WHERE ${asked('e.kind', 'e.source')}
      ORDER BY ${by('e', order)} LIMIT v_most;
    END IF;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count = v_most THEN
      RETURN;
    END IF;
    -- What comes after the stretch, if anything does.
    SELECT e.time, e.seq INTO v_time, v_seq FROM ${stretch(schema, order, STRETCH)} e
    ORDER BY ${by('e', order)} OFFSET ${STRETCH - 1};
    IF NOT FOUND THEN
      RETURN;
    END IF;
    v_most := v_most - v_count;
    ${from}_time := v_time;
    ${from}_seq := v_seq;
  END IF;

  ${groups(schema, `cardinality(p_kinds) * cardinality(p_sources) * coalesce(cardinality(v_lanes), 1) <= ${FEW}`)}

  IF p_leaf IS NULL AND cardinality(v_kinds) <= ${FEW} THEN
    ${mergedPage(schema, order)}
    RETURN;
  END IF;
  IF p_leaf IS NULL THEN
    RETURN QUERY SELECT ${COLUMNS} FROM unnest(v_kinds, v_sources) AS g (kind, source)
    CROSS JOIN LATERAL (SELECT * FROM ${range(schema, order)} o LIMIT v_most) e
    ORDER BY ${by('e', order)} LIMIT v_most;
    RETURN;
  END IF;
  IF cardinality(v_lanes) > 1 THEN
    v_count := 0;
    FOR v_range IN
      SELECT p.lane, p.up_to, p.until, g.kind, g.source FROM ${RANGES}
      CROSS JOIN LATERAL (SELECT * FROM ${laneRange(schema, order)} o LIMIT 1) e
      WHERE p.until >= v_low_time
      ORDER BY ${by('e', order)}
    LOOP
      SELECT array_agg(e.time), array_agg(e.seq) INTO v_times, v_seqs
      FROM (SELECT v_range.lane, v_range.up_to, v_range.until) AS p (lane, up_to, until)
      CROSS JOIN (SELECT v_range.kind, v_range.source) AS g (kind, source)
      CROSS JOIN LATERAL (SELECT o.time, o.seq FROM ${laneRange(schema, order)} o LIMIT v_most - v_count) e;
      v_count := v_count + coalesce(cardinality(v_seqs), 0);
      v_time := v_times[cardinality(v_times)];
      v_seq := v_seqs[cardinality(v_seqs)];
      IF v_end_time IS NULL OR (v_time, v_seq) ${order === 'ASC' ? '>' : '<'} (v_end_time, v_end_seq) THEN
        v_end_time := v_time;
        v_end_seq := v_seq;
      END IF;
      IF v_count >= v_most THEN
        -- So many lie up to here, in whatever ranges: nothing beyond is on the page.
        ${end}_time := v_end_time;
        ${end}_seq := v_end_seq ${order === 'ASC' ? '+' : '-'} 1;
        EXIT;
      END IF;
    END LOOP;
  END IF;
  RETURN QUERY SELECT ${COLUMNS} FROM ${RANGES}
  CROSS JOIN LATERAL (SELECT * FROM ${laneRange(schema, order)} o LIMIT v_most) e
  WHERE p.until >= v_low_time
  ORDER BY ${by('e', order)} LIMIT v_most;
END
$body$;
`
}

const countPath = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.count_path(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer,
  p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS integer LANGUAGE plpgsql ${STEADY} AS $body$
DECLARE
  v_low_time bigint := p_low_time;
  v_low_seq integer := p_low_seq;
  v_high_time bigint := p_high_time;
  v_high_seq integer := p_high_seq;
  v_lanes integer[];
  v_up_to integer[];
  v_until bigint[];
  v_kinds text[];
  v_sources text[];
BEGIN
  SELECT array_agg(p.lane), array_agg(p.up_to), array_agg(p.until) INTO v_lanes, v_up_to, v_until
  FROM ${schema}.path_to(p_conversation, p_leaf) p;
  ${groups(schema, `cardinality(p_kinds) * cardinality(p_sources) * cardinality(v_lanes) <= ${FEW}`)}
  RETURN (
    SELECT coalesce(sum(e.count), 0)::integer FROM ${RANGES}
    CROSS JOIN LATERAL (SELECT count(*) FROM ${laneRange(schema, 'ASC', null)} o) e
    WHERE p.until >= v_low_time
  );
END
$body$;
`

/**
 * Finds the kinds and sources to look for: all that are asked for where these are few, else those of them that the log
 * has.
 */
export const groups = (schema: string, areFew: string): string => `IF ${areFew} THEN
    SELECT array_agg(k.kind), array_agg(s.source) INTO v_kinds, v_sources
    FROM unnest(p_kinds) AS k (kind) CROSS JOIN unnest(p_sources) AS s (source);
  ELSE
    SELECT array_agg(k.kind), array_agg(k.source) INTO v_kinds, v_sources
    FROM ${schema}.conversations c CROSS JOIN unnest(c.kinds) AS pair
    CROSS JOIN LATERAL (SELECT split_part(pair, ' ', 1), substr(pair, strpos(pair, ' ') + 1)) AS k (kind, source)
    WHERE c.conversation_id = p_conversation AND ${asked('k.kind', 'k.source')};
  END IF;`

export const COLUMNS = 'e.seq, e.id, e.parent_id, e.stamped, e.time, e.body'

export const by = (table: string, order: string): string => `${table}.time ${order}, ${table}.seq ${order}`

export const asked = (kind: string, source: string): string =>
  `(p_kinds IS NULL OR ${kind} = ANY (p_kinds)) AND (p_sources IS NULL OR ${source} = ANY (p_sources))`

/** The ranges of a path: its segments, each with every kind and source. */
const RANGES = `unnest(v_lanes, v_up_to, v_until) AS p (lane, up_to, until)
      CROSS JOIN unnest(v_kinds, v_sources) AS g (kind, source)`

const WITHIN = `o.conversation_id = p_conversation AND o.kind IS NOT NULL
        AND (o.time, o.seq) > (v_low_time, v_low_seq) AND (o.time, o.seq) < (v_high_time, v_high_seq)`

/** The next so many events. */
const stretch = (schema: string, order: string, count: number): string => `(
        SELECT * FROM ${schema}.events o WHERE ${WITHIN} ORDER BY ${by('o', order)} LIMIT ${count}
      )`

/**
 * The next events of a kind and source, on a lane where one is given. The bounds are rows that begin with a column of
 * one value, and so is the order: then one index alone gives it, whatever the planner takes for the length of the
 * conversation. To a column that equals a value the index of times would seem as good, and be read from end to end; it
 * is compared outside, which tells the planner that what comes is in the order of times.
 */
export const range = (schema: string, order: string, options: RangeOptions = {}): string => {
  const { kind = 'g.kind', source = 'g.source', lane, upTo, until, most = PAGE } = options
  const bounded = lane === undefined ? { source } : { lane, kind, source }
  const equal = lane === undefined ? `AND o.kind = ${kind}` : `AND o.seq <= ${upTo}`
  const columns = Object.keys(bounded).map((name) => `o.${name}`)
  const key = [...columns, 'o.time', 'o.seq']
  const values = Object.values(bounded).join(', ')
  const high =
    lane === undefined
      ? 'v_high_time, v_high_seq'
      : `least(${until}, v_high_time),
              CASE WHEN (${until}, ${upTo}) < (v_high_time, v_high_seq) THEN ${upTo} + 1 ELSE v_high_seq END`
  const inOrder = `ORDER BY ${key.map((column) => `${column} ${order}`).join(', ')}`
  return `(
        SELECT * FROM (
          SELECT * FROM ${schema}.events o
          WHERE o.conversation_id = p_conversation AND o.kind IS NOT NULL ${equal}
            AND (${key.join(', ')}) > (${values}, v_low_time, v_low_seq)
            AND (${key.join(', ')}) < (${values}, ${high})
            AND (p_text IS NULL OR position(p_text IN o.message) > 0)
          ${inOrder} OFFSET 0
        ) o WHERE ${Object.entries(bounded)
          .map(([name, value]) => `o.${name} = ${value}`)
          .join(' AND ')}
        ${inOrder}${most === null ? '' : ` LIMIT ${most}`}
      )`
}

/**
 * What a range is of, as expressions in SQL: of a lane up to a position and the latest time of any event up to there,
 * which is as far as it is read. `most` is null for all of it.
 */
export type RangeOptions = {
  readonly kind?: string
  readonly source?: string
  readonly most?: number | null
} & (
  | { readonly lane?: undefined; readonly upTo?: undefined; readonly until?: undefined }
  | { readonly lane: string; readonly upTo: string; readonly until: string }
)

/**
 * The next events of up to so many kinds and sources, merged as they come: unlike ranges that are read one by one and
 * then sorted, none is read further than the page goes.
 */
const merged = (schema: string, order: string, count: number, path: RangeOptions): string => {
  const ranges = Array.from({ length: count }, (_, i) =>
    range(schema, order, { ...path, kind: `v_kinds[${i + 1}]`, source: `v_sources[${i + 1}]` }),
  )
  return `(${ranges.join(' UNION ALL ')})`
}

/**
 * As many ranges as are merged at once: each has a plan of its own, and one that is empty costs almost as much as
 * another.
 */
const SIZES = [1, 2, 4, 5, 6, FEW]

/** Returns the page of up to `FEW` kinds and sources. */
export const mergedPage = (schema: string, order: string, path: RangeOptions = {}): string => {
  const cases = SIZES.map(
    (size, at) => `${at === 0 ? 'IF' : 'ELSIF'} cardinality(v_kinds) <= ${size} THEN
      RETURN QUERY SELECT ${COLUMNS} FROM ${merged(schema, order, size, path)} e ORDER BY ${by('e', order)} LIMIT v_most;`,
  )
  return `${cases.join('\n    ')}
    END IF;`
}

/** Those of a segment of the path: what came on its lane before the path left it. */
const laneRange = (schema: string, order: string, most: number | null = PAGE): string =>
  range(schema, order, { lane: 'p.lane', upTo: 'p.up_to', until: 'p.until', most })
