/** The functions that write snapshots, each part of one or none of it. */

import { BE_DURABLE } from './phrases.ts'

/** What a statement after it finds is all that others wrote. A lock on the conversation's row would hold up appends. */
const ALONE = `PERFORM pg_advisory_xact_lock(hashtextextended(E'snapshot\\n' || p_conversation, 0));`

/**
 * `save_snapshot` gives whether the conversation is there. Its lock on that row is one that appends pass and a deletion
 * waits for. All bytes come as one value, `p_starts` says where each part begins in it, from 1 on.
 *
 * `delete_snapshot` gives whether there was one.
 */
export const snapshots = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.save_snapshot(
  p_conversation text, p_complete boolean, p_parts integer[], p_starts integer[], p_lengths integer[], p_bytes bytea
) RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM 1 FROM ${schema}.conversations WHERE conversation_id = p_conversation FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  ${BE_DURABLE}
  ${ALONE}
  DELETE FROM ${schema}.snapshot_parts
  WHERE conversation_id = p_conversation AND (p_complete OR part = ANY (p_parts));
  INSERT INTO ${schema}.snapshot_parts (conversation_id, part, bytes)
  SELECT p_conversation, f.part, substring(p_bytes FROM f.start FOR f.length)
  FROM unnest(p_parts, p_starts, p_lengths) AS f (part, start, length);
  RETURN true;
END
$body$;

CREATE OR REPLACE FUNCTION ${schema}.delete_snapshot(p_conversation text) RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  ${BE_DURABLE}
  ${ALONE}
  DELETE FROM ${schema}.snapshot_parts WHERE conversation_id = p_conversation;
  RETURN FOUND;
END
$body$;
`
