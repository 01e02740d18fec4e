/** The second step: tables for snapshots, and the functions that write them; a quoted schema goes in, statements come out. */

import { deleteConversation } from './delete-conversation.ts'
import { BE_DURABLE } from './phrases.ts'

/**
 * `snapshot_parts` holds the bytes, kept as they are: whoever makes a snapshot knows best whether it can be packed.
 *
 * `snapshots` holds a row for each conversation that was given a snapshot. Who writes parts locks it first, so that what a statement
 * after that finds is all that others wrote. The conversation's own row would serve as well, but appends would then wait for a big save.
 *
 * `save_snapshot` gives whether the conversation is there. Its lock on that row is one that appends pass and a deletion waits for. All
 * bytes come as one value, `p_starts` says where each part begins in it, from 1 on.
 *
 * `delete_snapshot` gives whether there was one. `delete_conversation` is that of the first step, and removes the snapshot too.
 */
export const snapshots = (schema: string): string => `
CREATE TABLE ${schema}.snapshots (
  conversation_id text COLLATE "C" PRIMARY KEY,
  saves bigint NOT NULL
);

CREATE TABLE ${schema}.snapshot_parts (
  conversation_id text COLLATE "C" NOT NULL,
  part integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (conversation_id, part)
);
ALTER TABLE ${schema}.snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE FUNCTION ${schema}.save_snapshot(
  p_conversation text, p_complete boolean, p_parts integer[], p_starts integer[], p_lengths integer[], p_bytes bytea
) RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM 1 FROM ${schema}.conversations WHERE conversation_id = p_conversation FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  ${BE_DURABLE}
  INSERT INTO ${schema}.snapshots AS s (conversation_id, saves) VALUES (p_conversation, 1)
  ON CONFLICT (conversation_id) DO UPDATE SET saves = s.saves + 1;
  DELETE FROM ${schema}.snapshot_parts
  WHERE conversation_id = p_conversation AND (p_complete OR part = ANY (p_parts));
  INSERT INTO ${schema}.snapshot_parts (conversation_id, part, bytes)
  SELECT p_conversation, f.part, substring(p_bytes FROM f.start FOR f.length)
  FROM unnest(p_parts, p_starts, p_lengths) AS f (part, start, length);
  RETURN true;
END
$body$;

CREATE FUNCTION ${schema}.delete_snapshot(p_conversation text) RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  ${BE_DURABLE}
  DELETE FROM ${schema}.snapshots WHERE conversation_id = p_conversation;
  DELETE FROM ${schema}.snapshot_parts WHERE conversation_id = p_conversation;
  RETURN FOUND;
END
$body$;
${deleteConversation(schema, `PERFORM ${schema}.delete_snapshot(p_conversation);`)}`
