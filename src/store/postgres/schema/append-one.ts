/**
 * The function that appends the usual event, one that goes on from HEAD in HEAD's lane: two statements in one round
 * trip.
 */

import { tellAppend } from './feed.ts'
import { BE_DURABLE, BY_INDEX, NOW, WRITER } from './phrases.ts'

/**
 * `append_one` gives the position, the time and the parent, with spaces between; for whatever is not as usual it gives
 * what `append_many` makes of it. The update takes the row's lock, and is made only when nothing speaks against the
 * append; an id that is taken fails it by the unique index, and then nothing is appended.
 */
export const appendOne = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.append_one(
  p_conversation text, ${WRITER},
  p_id text, p_time bigint, p_kind text, p_source text, p_message text, p_body text
) RETURNS text LANGUAGE plpgsql ${BY_INDEX} AS $body$
DECLARE
  v_seq integer;
  v_lane integer;
  v_time bigint;
  v_max_time bigint;
  v_parent text;
  v_updated_at bigint;
  v_kind text := p_kind || ' ' || p_source;
BEGIN
  UPDATE ${schema}.conversations SET
    version = version + 1,
    last_time = coalesce(p_time, last_time),
    max_time = greatest(max_time, coalesce(p_time, last_time)),
    in_order = in_order AND coalesce(p_time, last_time) >= max_time,
    tip_end = version,
    head_seq = version,
    head_max_time = greatest(max_time, coalesce(p_time, last_time)),
    head_parent_id = head_id,
    head_id = p_id,
    kinds = CASE WHEN v_kind = ANY (kinds) THEN kinds ELSE kinds || v_kind END,
    updated_at = greatest(updated_at, coalesce(p_now, ${NOW}))
  WHERE conversation_id = p_conversation
    AND tip_end = head_seq
    AND (p_expected IS NULL OR version = p_expected)
    AND (p_owner IS NULL OR (lease_owner = p_owner AND lease_generation = p_generation))
    AND NOT (p_zoneless AND time_zone IS NOT NULL)
  RETURNING head_seq, head_lane, last_time, head_max_time, head_parent_id, updated_at
    INTO v_seq, v_lane, v_time, v_max_time, v_parent, v_updated_at;
  IF NOT FOUND THEN
    RETURN ${schema}.append_many(
      p_conversation, p_expected, p_owner, p_generation, p_zoneless, p_now,
      ARRAY[p_id], ARRAY[p_time], ARRAY[p_kind], ARRAY[p_source], ARRAY[p_message], p_body,
      ARRAY[true], ARRAY[NULL::text], ARRAY[NULL::text], '{}'
    );
  END IF;
  ${BE_DURABLE}
  INSERT INTO ${schema}.events
    (conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, parent_id, kind, source, message, body)
  VALUES
    (p_conversation, v_seq, v_lane, v_time, v_max_time, true, true, p_id, v_parent, p_kind, p_source, p_message, p_body);
  ${tellAppend(schema, 'v_seq', 'v_seq + 1', 'v_updated_at')}
  RETURN v_seq || ' ' || v_time || ' ' || v_parent;
END
$body$;
`
