/** The functions that search a log: pages of it in time order, with every filter, in one round trip and with plans that are made once. */

/**
 * `path_to` gives the path to a leaf in pieces, as `pathPieces` does. `search_up` and `search_down` give a page: at most `p_most` of the
 * events that lie after one (time, seq) and before another, are of one of the kinds and sources, hold a text when one is given, and stand
 * on the path when there is a leaf. They walk
 *
 * - the time index, when there is nothing to filter (`p_kinds` is null);
 * - a stretch of it, when most events are likely to fit (`p_dense`), and from its end on what follows;
 * - the range of each kind and source in its index, on a path those of each of its lanes; each no further than a page. When that could be
 *   many ranges they first skip through the index for the kinds and sources that there are.
 *
 * A subquery's own limit is a number, for the planner, which does not see how few rows a parameter asks for.
 */
export const search = (schema: string): string => `
CREATE FUNCTION ${schema}.path_to(p_conversation text, p_leaf text)
RETURNS TABLE (lane integer, up_to integer, until bigint) LANGUAGE sql STABLE AS $body$
  WITH RECURSIVE path (lane, up_to, until) AS (
    SELECT e.lane, e.seq, e.clock FROM ${schema}.events e
    WHERE e.conversation_id = p_conversation AND e.id = p_leaf AND e.lane IS NOT NULL
    UNION ALL
    SELECT l.parent_lane, l.parent_seq, l.parent_clock FROM path
    CROSS JOIN LATERAL (
      SELECT * FROM ${schema}.lanes l WHERE l.conversation_id = p_conversation AND l.lane = path.lane LIMIT 1
    ) l
    WHERE l.parent_lane IS NOT NULL
  )
  SELECT * FROM path
$body$;
${way(schema, 'search_up', 'ASC')}
${way(schema, 'search_down', 'DESC')}
`

/** The most that a page asks for: a hundred, and one to know whether there are more. */
const PAGE = 101

/** How many events are looked at where most are likely to fit. */
const STRETCH = 2 * PAGE

/** Up to as many ranges are walked without a look at which there are. */
const FEW = 8

const way = (schema: string, name: string, order: 'ASC' | 'DESC'): string => `
CREATE FUNCTION ${schema}.${name}(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer, p_most integer,
  p_dense boolean, p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS TABLE (seq integer, id text, parent_id text, stands boolean, stamped boolean, "time" bigint, body text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  v_low_time bigint := p_low_time;
  v_low_seq integer := p_low_seq;
  v_high_time bigint := p_high_time;
  v_high_seq integer := p_high_seq;
  v_most integer := p_most;
  v_count integer;
  v_time bigint;
  v_seq integer;
  v_lanes integer[];
  v_up_to integer[];
  v_until bigint[];
  v_kinds text[];
  v_sources text[];
BEGIN
  IF p_kinds IS NULL THEN
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
      WHERE e.kind = ANY (p_kinds) AND e.source = ANY (p_sources)
      ORDER BY ${by('e', order)} LIMIT v_most;
    ELSE
      RETURN QUERY SELECT ${COLUMNS} FROM ${stretch(schema, order, STRETCH)} e
      JOIN unnest(v_lanes, v_up_to) AS p (lane, up_to) ON e.lane = p.lane AND e.seq <= p.up_to
      WHERE e.kind = ANY (p_kinds) AND e.source = ANY (p_sources)
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
    ${order === 'ASC' ? 'v_low_time := v_time; v_low_seq := v_seq;' : 'v_high_time := v_time; v_high_seq := v_seq;'}
  END IF;

  IF cardinality(p_kinds) * cardinality(p_sources) * coalesce(cardinality(v_lanes), 1) > ${FEW} THEN
    WITH RECURSIVE known (kind, source) AS (
      (
        SELECT o.kind, o.source FROM ${schema}.events o
        WHERE o.conversation_id = p_conversation AND o.kind IS NOT NULL
        ORDER BY o.kind, o.source LIMIT 1
      )
      UNION ALL
      SELECT n.* FROM known CROSS JOIN LATERAL (
        SELECT o.kind, o.source FROM ${schema}.events o
        WHERE o.conversation_id = p_conversation AND o.kind IS NOT NULL
          AND (o.kind, o.source) > (known.kind, known.source)
        ORDER BY o.kind, o.source LIMIT 1
      ) n
    )
    SELECT array_agg(known.kind), array_agg(known.source) INTO v_kinds, v_sources FROM known
    WHERE known.kind = ANY (p_kinds) AND known.source = ANY (p_sources);
  ELSE
    SELECT array_agg(k.kind), array_agg(s.source) INTO v_kinds, v_sources
    FROM unnest(p_kinds) AS k (kind) CROSS JOIN unnest(p_sources) AS s (source);
  END IF;

  IF p_leaf IS NULL THEN
    RETURN QUERY SELECT ${COLUMNS} FROM unnest(v_kinds, v_sources) AS g (kind, source)
    CROSS JOIN LATERAL (SELECT * FROM ${range(schema, order)} o LIMIT v_most) e
    ORDER BY ${by('e', order)} LIMIT v_most;
  ELSE
    RETURN QUERY SELECT ${COLUMNS} FROM unnest(v_lanes, v_up_to, v_until) AS p (lane, up_to, until)
    CROSS JOIN unnest(v_kinds, v_sources) AS g (kind, source)
    CROSS JOIN LATERAL (SELECT * FROM ${range(schema, order, 'AND o.lane = p.lane AND o.seq <= p.up_to AND o.time <= p.until')} o LIMIT v_most) e
    WHERE p.until >= v_low_time
    ORDER BY ${by('e', order)} LIMIT v_most;
  END IF;
END
$body$;
`

const COLUMNS = 'e.seq, e.id, e.parent_id, true, e.stamped, e.time, e.body'

const by = (table: string, order: string): string => `${table}.time ${order}, ${table}.seq ${order}`

const WITHIN = `o.conversation_id = p_conversation AND o.kind IS NOT NULL
      AND (o.time, o.seq) > (v_low_time, v_low_seq) AND (o.time, o.seq) < (v_high_time, v_high_seq)`

/** The next so many events. */
const stretch = (schema: string, order: string, count: number): string => `(
      SELECT * FROM ${schema}.events o WHERE ${WITHIN} ORDER BY ${by('o', order)} LIMIT ${count}
    )`

/** The next events of a kind and source. */
const range = (schema: string, order: string, path = ''): string => `(
      SELECT * FROM ${schema}.events o
      WHERE ${WITHIN} AND o.kind = g.kind AND o.source = g.source ${path}
        AND (p_text IS NULL OR position(p_text IN o.message) > 0)
      ORDER BY ${by('o', order)} LIMIT ${PAGE}
    )`
