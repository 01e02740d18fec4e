/** The feed: what appends and its trigger write, and what a database needs that was restored from a dump. */

/**
 * The statement that writes a row of the feed; it comes behind the one that locked the conversation's row.
 *
 * Readers take rows below the oldest transaction that runs (`pg_snapshot_xmin`), so a row's moment must be no lower
 * than its own transaction's number: then none comes to stand before what was read. That number alone is not in the
 * order of a conversation: an update takes it before it waits for the row. Who has the row sees all that held it before
 * as ended, and `pg_snapshot_xmax` is beyond whatever has ended.
 */
const feedRow = (schema: string, id: string, told: string, from: string, until: string): string => `
  INSERT INTO ${schema}.feed (shard, moment, witness, conversation_id, told, from_seq, until_seq)
  VALUES (
    ${schema}.feed_shard(${id}),
    greatest(
      pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1
    ),
    floor(random() * 4294967296), ${id}, ${told}, ${from}, ${until}
  );`

/**
 * The statements with which a function that appends tells of it, behind the update of the conversation: to the feed,
 * and to the list by change.
 */
export const tellAppend = (
  schema: string,
  from: string,
  until: string,
  updatedAt: string,
): string => `${feedRow(schema, 'p_conversation', '0', from, until)}
  UPDATE ${schema}.conversation_changes SET updated_at = ${updatedAt} WHERE conversation_id = p_conversation;`

/** `tell_feed` tells of whatever else happens to a conversation. */
const tell = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.tell_feed() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  v_id text;
  v_told smallint := 1;
BEGIN
  IF TG_OP = 'DELETE' THEN
    v_id := OLD.conversation_id;
    v_told := 2;
  ELSE
    v_id := NEW.conversation_id;
  END IF;
  ${feedRow(schema, 'v_id', 'v_told', '0', '1')}
  RETURN NULL;
END
$body$;
`

/**
 * `settle_feed` makes the rows of a dump readable where transactions are numbered from lower on than where it was made:
 * all that is there comes before all that is to come. Does nothing anywhere else. O(shards), and once O(rows).
 */
const settle = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.settle_feed() RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  v_next bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
BEGIN
  IF EXISTS (
    SELECT FROM generate_series(0, 63) AS s (shard)
    WHERE (SELECT max(f.moment) FROM ${schema}.feed f WHERE f.shard = s.shard) > v_next
  ) THEN
    UPDATE ${schema}.feed SET moment = 0 WHERE moment > 0;
    UPDATE ${schema}.conversations SET feed_start = 0 WHERE feed_start > 0;
  END IF;
END
$body$;
`

export const feed = (schema: string): string => `${tell(schema)}${settle(schema)}`
