/**
 * The function that appends a live batch: the row's lock, every check, the places of the facts, the rows, all in one
 * round trip.
 */

import { tellAppend } from './feed.ts'
import { BE_DURABLE, eachStanding, IN_ORDER, kindsWith, NOW, standing, WRITER } from './phrases.ts'

/**
 * `append_many` gives `[version, head_id, times, parent_ids]` as JSON, or null when anything speaks against the append,
 * and then it has changed nothing; what spoke against it the caller finds out by `decideAppend`, whose rules
 * (`placeNext`) these are.
 *
 * For each fact: its id, all of them new in the batch; its time in microseconds, null for the time before it; what a
 * search finds it by; its body, in lines; whether it can be HEAD, and so becomes it; its parent, null for HEAD; and
 * where it moves HEAD, an empty text for the empty HEAD. `p_refs` are the parents and moves that stand in the log, not
 * in the batch; the caller has seen to it that those in the batch stand before what names them.
 */
export const appendMany = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.append_many(
  p_conversation text, ${WRITER},
  p_ids text[], p_times bigint[], p_kinds text[], p_sources text[], p_messages text[], p_bodies text,
  p_can_be_head boolean[], p_parents text[], p_moves text[], p_refs text[]
) RETURNS text LANGUAGE plpgsql ${IN_ORDER} AS $body$
DECLARE
  v ${schema}.conversations%ROWTYPE;
  v_count integer := cardinality(p_ids);
  v_places jsonb;
  v_seq integer;
  v_time bigint;
  v_max_time bigint;
  v_lane integer;
  v_end integer;
  v_at integer;
  v_id text;
  v_can_be_head boolean;
  v_parent_id text;
  v_parent_seq integer;
  v_parent_lane integer;
  v_parent_max_time bigint;
  v_times bigint[];
  v_max_times bigint[];
  v_lanes integer[];
  v_parent_ids text[];
BEGIN
  SELECT * INTO v FROM ${schema}.conversations WHERE conversation_id = p_conversation FOR NO KEY UPDATE;
  IF NOT FOUND
    OR v.version <> p_expected
    OR (p_owner IS NOT NULL AND (v.lease_owner IS DISTINCT FROM p_owner OR v.lease_generation <> p_generation))
    OR (p_zoneless AND v.time_zone IS NOT NULL)
    OR EXISTS (SELECT FROM ${eachStanding(schema, 'p_conversation', 'p_ids')})
    OR cardinality(p_refs) <> (SELECT count(*) FROM ${eachStanding(schema, 'p_conversation', 'p_refs')})
  THEN
    RETURN NULL;
  END IF;
  ${BE_DURABLE}
  -- Where each stands in the batch, for what names one: to look through all ids for each would take the square of them.
  IF v_count > 1 AND (num_nonnulls(VARIADIC p_parents) > 0 OR num_nonnulls(VARIADIC p_moves) > 0) THEN
    SELECT jsonb_object_agg(f.id, f.n) INTO v_places FROM unnest(p_ids) WITH ORDINALITY AS f (id, n);
  END IF;
  v_time := v.last_time;
  v_max_time := v.max_time;
  FOR i IN 1..v_count LOOP
    v_seq := v.version + i - 1;
    v_time := coalesce(p_times[i], v_time);
    v.in_order := v.in_order AND (v_seq = 0 OR v_time >= v_max_time);
    v_max_time := CASE WHEN v_seq = 0 THEN v_time ELSE greatest(v_max_time, v_time) END;
    v_lane := v_seq;

    v_parent_id := coalesce(p_parents[i], v.head_id);
    IF p_parents[i] IS NULL THEN
      v_parent_seq := v.head_seq;
      v_parent_lane := v.head_lane;
      v_parent_max_time := v.head_max_time;
    ELSIF v_parent_id = '__root__' THEN
      v_parent_id := NULL;
      v_parent_seq := NULL;
      v_parent_lane := NULL;
      v_parent_max_time := NULL;
    ELSE
      v_at := (v_places ->> v_parent_id)::integer;
      IF v_at IS NULL THEN
        SELECT seq, lane, max_time INTO v_parent_seq, v_parent_lane, v_parent_max_time
        FROM ${standing(schema, 'p_conversation', 'v_parent_id')} e;
      ELSE
        v_parent_seq := v.version + v_at - 1;
        v_parent_lane := v_lanes[v_at];
        v_parent_max_time := v_max_times[v_at];
      END IF;
    END IF;

    IF p_can_be_head[i] AND v_parent_seq IS NOT NULL THEN
      IF v_parent_lane = v.tip_lane THEN
        v_end := v.tip_end;
      ELSE
        SELECT last_seq INTO v_end FROM ${schema}.lanes
        WHERE conversation_id = p_conversation AND lane = v_parent_lane;
      END IF;
      IF v_end = v_parent_seq THEN
        v_lane := v_parent_lane;
      END IF;
    END IF;
    IF v_lane = v_seq THEN
      INSERT INTO ${schema}.lanes (conversation_id, lane, parent_lane, parent_seq, parent_max_time, last_seq)
      VALUES (p_conversation, v_lane, v_parent_lane, v_parent_seq, v_parent_max_time, v_seq);
    END IF;

    IF p_can_be_head[i] THEN
      IF v_lane <> v.tip_lane THEN
        UPDATE ${schema}.lanes SET last_seq = v.tip_end
        WHERE conversation_id = p_conversation AND lane = v.tip_lane;
      END IF;
      v.tip_lane := v_lane;
      v.tip_end := v_seq;
      v.head_id := p_ids[i];
      v.head_seq := v_seq;
      v.head_lane := v_lane;
      v.head_max_time := v_max_time;
      v.head_parent_id := v_parent_id;
    ELSIF p_moves[i] = '' THEN
      v.head_id := NULL;
      v.head_seq := NULL;
      v.head_lane := NULL;
      v.head_max_time := NULL;
      v.head_parent_id := NULL;
    ELSIF p_moves[i] IS NOT NULL THEN
      -- HEAD means the nearest entry that can be it, from there upwards.
      v_id := p_moves[i];
      LOOP
        v_at := (v_places ->> v_id)::integer;
        IF v_at IS NULL THEN
          SELECT id, seq, lane, max_time, parent_id, can_be_head
          INTO v.head_id, v.head_seq, v.head_lane, v.head_max_time, v.head_parent_id, v_can_be_head
          FROM ${standing(schema, 'p_conversation', 'v_id')} e;
        ELSE
          v_can_be_head := p_can_be_head[v_at];
          v.head_id := v_id;
          v.head_seq := v.version + v_at - 1;
          v.head_lane := v_lanes[v_at];
          v.head_max_time := v_max_times[v_at];
          v.head_parent_id := v_parent_ids[v_at];
        END IF;
        EXIT WHEN v_can_be_head IS NOT FALSE;
        v_id := v.head_parent_id;
      END LOOP;
    END IF;

    v_times[i] := v_time;
    v_max_times[i] := v_max_time;
    v_lanes[i] := v_lane;
    v_parent_ids[i] := v_parent_id;
  END LOOP;

  INSERT INTO ${schema}.events
    (conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, parent_id, kind, source, message, body)
  SELECT p_conversation, v.version + (n - 1)::integer, f.lane, f.time, f.max_time, f.can_be_head,
    f.asked IS NULL AND (f.parent_id IS NOT NULL OR v.version + n > 1),
    f.id, f.parent_id, f.kind, f.source, f.message, f.body
  FROM unnest(
    v_lanes, v_times, v_max_times, p_can_be_head, p_parents, p_ids, v_parent_ids, p_kinds, p_sources, p_messages,
    string_to_array(p_bodies, E'\\n')
  ) WITH ORDINALITY AS f (lane, time, max_time, can_be_head, asked, id, parent_id, kind, source, message, body, n);
  UPDATE ${schema}.conversations SET
    version = v.version + v_count,
    last_time = v_time,
    max_time = v_max_time,
    in_order = v.in_order,
    tip_lane = v.tip_lane,
    tip_end = v.tip_end,
    head_seq = v.head_seq,
    head_lane = v.head_lane,
    head_max_time = v.head_max_time,
    head_id = v.head_id,
    head_parent_id = v.head_parent_id,
    kinds = ${kindsWith('p_kinds', 'p_sources')},
    updated_at = greatest(updated_at, coalesce(p_now, ${NOW}))
  WHERE conversation_id = p_conversation RETURNING updated_at INTO v.updated_at;
  ${tellAppend(schema, 'v.version', 'v.version + v_count', 'v.updated_at')}
  RETURN json_build_array(v.version + v_count, v.head_id, v_times::text[], v_parent_ids);
END
$body$;
`
