/**
 * The functions that search along a path in a log that is in time order: its segments lie one after another, and so are
 * they read.
 */

import { standing } from './phrases.ts'
import {
  asked,
  beginSearch,
  by,
  COLUMNS,
  FEW,
  groups,
  mergedPage,
  range,
  type RangeOptions,
  STRETCH,
} from './search.ts'

/**
 * `path_up` and `path_down` take what `search_up` and `search_down` take, with a leaf, and give the same. Where the log
 * is not in time order they leave it to those. Else positions are in the order of times, and no segment of the path
 * begins before the one above it ends: segments are read until the page is full, each
 *
 * - as a stretch of positions, when most events are likely to fit (`p_dense`), since a lane mostly has all positions
 *   between its first and its last, unless a look at where the page would end shows that this one does not;
 * - and beyond that stretch in the ranges of each kind and source in the index of its lane.
 */
export const searchPath = (schema: string): string => `
${way(schema, 'up')}
${way(schema, 'down')}
`

const ON_SEGMENT: RangeOptions = { lane: 'p.lane', upTo: 'p.up_to', until: 'p.end_time' }
const ON_LAST: RangeOptions = {
  lane: 'v_lanes[v_end]',
  upTo: 'v_up_to[v_end]',
  until: 'v_end_times[v_end]',
}

/** Times that stand for no bound, as the caller writes them. */
const [FIRST, LAST] = [-(2n ** 62n), 2n ** 62n]

/** The first of the events at some positions. */
const positions = (schema: string, order: string, from: string, until: string): string => `(
          SELECT * FROM ${schema}.events o
          WHERE o.conversation_id = p_conversation AND o.seq >= ${from} AND o.seq <= ${until}
          ORDER BY o.seq ${order} LIMIT ${STRETCH}
        )`

const fits = `e.kind IS NOT NULL AND ${asked('e.kind', 'e.source')}`

/**
 * A branch that was left and come back to goes on at the log's end, with other lanes in between: the lowest of its
 * events there hangs on the next one of the lane, since a lane is a chain, and reading goes on there; once, since where
 * lanes lie by turns their ranges are sooner read.
 */
const overGap = (schema: string): string => `
    IF NOT v_is_run AND NOT v_went_over THEN
      SELECT e.seq, e.parent_id INTO v_lowest, v_parent FROM ${positions(schema, 'DESC', 'v_from', 'v_until')} e
      WHERE e.lane = v_lanes[v_end] ORDER BY e.seq LIMIT 1;
      SELECT o.seq INTO v_below FROM ${standing(schema, 'p_conversation', 'v_parent')} o WHERE o.lane = v_lanes[v_end];
      IF v_below >= v_from THEN
        RETURN QUERY SELECT ${COLUMNS} FROM ${positions(schema, 'DESC', 'v_lowest', 'v_until')} e
        WHERE e.lane = v_lanes[v_end] AND ${fits} LIMIT v_most;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_most := v_most - v_count;
        EXIT WHEN v_most = 0;
        v_went_over := true;
        v_last := v_below;
        v_at := v_end;
        SELECT o.time, o.seq + 1 INTO v_high_time, v_high_seq FROM ${schema}.events o
        WHERE o.conversation_id = p_conversation AND o.seq = v_below;
        CONTINUE;
      END IF;
    END IF;`

const way = (schema: string, name: 'up' | 'down'): string => {
  const isUp = name === 'up'
  const order = isUp ? 'ASC' : 'DESC'
  const step = isUp ? '+ 1' : '- 1'
  const slice = isUp ? 'v_begin:v_end' : 'v_end:v_begin'
  const SEGMENTS = `unnest(v_lanes[${slice}], v_up_to[${slice}], v_end_times[${slice}]) AS p (lane, up_to, end_time)`
  const WITHIN = `o.conversation_id = p_conversation AND o.kind IS NOT NULL`
  return `${beginSearch(schema, `path_${name}`)}
  v_in_order boolean;
  v_lanes integer[];
  v_up_to integer[];
  v_end_times bigint[];
  v_kinds text[];
  v_sources text[];
  v_is_run boolean;
  v_went_over boolean := NOT p_dense;
  v_below integer;
  v_lowest integer;
  v_parent text;
  v_first integer := 0;
  v_last integer := ${2 ** 31 - 1};
  v_at integer;
  v_begin integer;
  v_end integer;
  v_estimated integer;
  v_want integer := CASE WHEN p_dense THEN p_most + p_most / 8 ELSE 2 * p_most END;
  v_from integer;
  v_until integer;
  v_count integer;
BEGIN
  SELECT array_agg(p.lane), array_agg(p.up_to), array_agg(p.until),
    (SELECT c.in_order FROM ${schema}.conversations c WHERE c.conversation_id = p_conversation)
  INTO v_lanes, v_up_to, v_end_times, v_in_order
  FROM (SELECT * FROM ${schema}.path_to(p_conversation, p_leaf) ORDER BY up_to) p;
  IF v_lanes IS NULL THEN
    RETURN;
  END IF;
  IF NOT v_in_order THEN
    RETURN QUERY SELECT * FROM ${schema}.search_${name}(
      p_conversation, p_low_time, p_low_seq, p_high_time, p_high_seq, p_most, p_dense, p_kinds, p_sources, p_text, p_leaf
    );
    RETURN;
  END IF;

  IF p_low_time > ${FIRST} THEN
    SELECT o.seq INTO v_first FROM ${schema}.events o
    WHERE ${WITHIN} AND (o.time, o.seq) > (p_low_time, p_low_seq) ORDER BY o.time, o.seq LIMIT 1;
  END IF;
  IF p_high_time < ${LAST} THEN
    SELECT o.seq INTO v_last FROM ${schema}.events o
    WHERE ${WITHIN} AND (o.time, o.seq) < (p_high_time, p_high_seq) ORDER BY o.time DESC, o.seq DESC LIMIT 1;
  END IF;
  -- Null where nothing lies beyond a bound.
  IF v_first IS NULL OR v_last IS NULL THEN
    RETURN;
  END IF;

  v_at := ${isUp ? '1' : 'cardinality(v_lanes)'};
  WHILE v_at BETWEEN 1 AND cardinality(v_lanes) LOOP
    -- So many segments as should hold the page; those beyond the bounds are none.
    v_estimated := 0;
    LOOP
      IF v_lanes[v_at] <= v_last AND v_up_to[v_at] >= v_first THEN
        -- A long segment is read by itself, in order and no further than the page goes.
        EXIT WHEN p_dense AND v_estimated > 0
          AND least(v_up_to[v_at], v_last) - greatest(v_lanes[v_at], v_first) >= p_most;
        IF v_estimated = 0 THEN
          v_begin := v_at;
        END IF;
        v_end := v_at;
        v_from := greatest(v_lanes[v_at], v_first);
        v_until := least(v_up_to[v_at], v_last);
        v_estimated := v_estimated + v_until - v_from + 1;
      END IF;
      v_at := v_at ${step};
      EXIT WHEN v_estimated >= v_want OR v_lanes[v_at] IS NULL;
    END LOOP;
    EXIT WHEN v_estimated = 0;
    v_want := 2 * v_want;
    v_is_run := p_dense;
    IF p_dense AND v_begin = v_end AND v_until - v_from >= v_most THEN
      -- Other lanes may lie in between: then hardly anything in a stretch of positions would fit.
      SELECT o.lane IS NOT DISTINCT FROM v_lanes[v_end] INTO v_is_run FROM ${schema}.events o
      WHERE o.conversation_id = p_conversation AND o.seq = ${isUp ? 'v_from + v_most' : 'v_until - v_most'};
    END IF;
${isUp ? '' : overGap(schema)}
    IF v_is_run THEN
      IF v_begin = v_end THEN
        -- Comes in order, and ends as soon as the page is full.
        RETURN QUERY SELECT ${COLUMNS} FROM ${positions(schema, order, 'v_from', 'v_until')} e
        WHERE e.lane = v_lanes[v_end] AND ${fits} LIMIT v_most;
      ELSE
        RETURN QUERY SELECT ${COLUMNS} FROM ${SEGMENTS}
        CROSS JOIN LATERAL ${positions(schema, order, 'greatest(p.lane, v_first)', 'least(p.up_to, v_last)')} e
        WHERE e.lane = p.lane AND ${fits} ORDER BY e.seq ${order} LIMIT v_most;
      END IF;
      GET DIAGNOSTICS v_count = ROW_COUNT;
      v_most := v_most - v_count;
      EXIT WHEN v_most = 0;
      -- Positions have no gaps: only the last of these segments may be longer than the stretch of it that was read.
      CONTINUE WHEN v_until - v_from < ${STRETCH};
      v_begin := v_end;
      ${isUp ? `v_from := v_from + ${STRETCH};` : `v_until := v_until - ${STRETCH};`}
      ${
        isUp
          ? `SELECT o.time, v_from - 1 INTO v_low_time, v_low_seq FROM ${schema}.events o
      WHERE o.conversation_id = p_conversation AND o.seq = v_from;`
          : `SELECT o.time, v_until + 1 INTO v_high_time, v_high_seq FROM ${schema}.events o
      WHERE o.conversation_id = p_conversation AND o.seq = v_until;`
      }
    END IF;
    IF v_kinds IS NULL THEN
      ${groups(schema, `cardinality(p_kinds) * cardinality(p_sources) <= ${FEW}`)}
      EXIT WHEN v_kinds IS NULL;
    END IF;
    IF v_begin = v_end AND cardinality(v_kinds) <= ${FEW} THEN
      ${mergedPage(schema, order, ON_LAST)}
    ELSE
      RETURN QUERY SELECT ${COLUMNS} FROM ${SEGMENTS} CROSS JOIN unnest(v_kinds, v_sources) AS g (kind, source)
      CROSS JOIN LATERAL (SELECT * FROM ${range(schema, order, ON_SEGMENT)} o LIMIT v_most) e
      ORDER BY ${by('e', order)} LIMIT v_most;
    END IF;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_most := v_most - v_count;
    EXIT WHEN v_most = 0;
  END LOOP;
END
$body$;
`
}
