/** The function that writes an append that the caller decided, if the log is still as the decision found it. */

import { tellAppend } from './feed.ts'
import { BE_DURABLE, BY_INDEX, kindsWith, NOW, WRITER } from './phrases.ts'

/**
 * `write_decision` gives whether it wrote: true, or false and then nothing, when the version, the lease, the zone or
 * the conversation itself (known by when it was made) is another one by now. `p_zoneless` says that times depend on
 * `p_zone`.
 */
export const writeDecision = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.write_decision(
  p_conversation text, ${WRITER}, p_created bigint, p_zone text,
  p_time bigint, p_max_time bigint, p_in_order boolean, p_tip_lane integer, p_tip_end integer, p_head_seq integer, p_head_lane integer,
  p_head_max_time bigint, p_head_id text, p_head_parent_id text,
  p_lanes integer[], p_times bigint[], p_max_times bigint[], p_can_be_head boolean[], p_ids text[],
  p_parent_ids text[], p_kinds text[], p_sources text[], p_messages text[], p_bodies text,
  p_opened integer[], p_opened_parent_lanes integer[], p_opened_parent_seqs integer[],
  p_opened_parent_max_times bigint[], p_opened_ends integer[], p_left integer[], p_left_ends integer[]
) RETURNS boolean LANGUAGE plpgsql ${BY_INDEX} AS $body$
DECLARE
  v_updated_at bigint;
BEGIN
  UPDATE ${schema}.conversations SET
    version = p_expected + cardinality(p_can_be_head),
    last_time = p_time,
    max_time = p_max_time,
    in_order = in_order AND p_in_order,
    tip_lane = p_tip_lane,
    tip_end = p_tip_end,
    head_seq = p_head_seq,
    head_lane = p_head_lane,
    head_max_time = p_head_max_time,
    head_id = p_head_id,
    head_parent_id = p_head_parent_id,
    kinds = ${kindsWith('p_kinds', 'p_sources')},
    updated_at = greatest(updated_at, coalesce(p_now, ${NOW}))
  WHERE conversation_id = p_conversation
    AND version = p_expected
    AND created_at = p_created
    AND (p_owner IS NULL OR (lease_owner = p_owner AND lease_generation = p_generation))
    AND (NOT p_zoneless OR time_zone IS NOT DISTINCT FROM p_zone)
  RETURNING updated_at INTO v_updated_at;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  ${BE_DURABLE}
  INSERT INTO ${schema}.events
    (conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, parent_id, kind, source, message, body)
  SELECT p_conversation, p_expected + (n - 1)::integer, f.lane, f.time, f.max_time, f.can_be_head, false, f.id, f.parent_id,
    f.kind, f.source, f.message, f.body
  FROM unnest(
    p_lanes, p_times, p_max_times, p_can_be_head, p_ids, p_parent_ids, p_kinds, p_sources, p_messages,
    string_to_array(p_bodies, E'\\n')
  ) WITH ORDINALITY AS f (lane, time, max_time, can_be_head, id, parent_id, kind, source, message, body, n);
  INSERT INTO ${schema}.lanes (conversation_id, lane, parent_lane, parent_seq, parent_max_time, last_seq)
  SELECT p_conversation, o.* FROM unnest(
    p_opened, p_opened_parent_lanes, p_opened_parent_seqs, p_opened_parent_max_times, p_opened_ends
  ) AS o;
  UPDATE ${schema}.lanes l SET last_seq = o.last_seq
  FROM unnest(p_left, p_left_ends) AS o (lane, last_seq)
  WHERE l.conversation_id = p_conversation AND l.lane = o.lane;
  ${tellAppend(schema, 'p_expected', 'p_expected + cardinality(p_can_be_head)', 'v_updated_at')}
  RETURN true;
END
$body$;
`
