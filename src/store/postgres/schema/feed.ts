/** The feed: what appends and its trigger write, and what a database needs that was restored from a dump. */

/**
 * The moment of a row of the feed, for who has the conversation's row.
 *
 * Readers take rows below the oldest transaction that runs (`pg_snapshot_xmin`), so a row's moment must be no lower
 * than its own transaction's number: then none comes to stand before what was read. That number alone is not in the
 * order of a conversation: an update takes it before it waits for the row. Who has the row sees all that held it before
 * as ended, and `pg_snapshot_xmax` is beyond whatever has ended.
 */
const MOMENT = `greatest(
      pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1
    )`

/** The statement that writes a row of the feed; it comes behind the one that locked the conversation's row. */
const feedRow = (schema: string, told: FeedRowValues): string => `
  INSERT INTO ${schema}.feed (shard, moment, witness, conversation_id, told, from_seq, until_seq)
  VALUES (
    ${schema}.feed_shard(${told.id}),
    ${told.moment ?? MOMENT},
    floor(random() * 4294967296), ${told.id}, ${told.told}, ${told.from}, ${told.until}
  );`

/** What a row of the feed says, as expressions in SQL; the moment is the latest (`MOMENT`) where none is given. */
interface FeedRowValues {
  readonly id: string
  readonly told: string
  readonly from: string
  readonly until: string
  readonly moment?: string
}

/**
 * The statements with which a function that appends tells of it, behind the update of the conversation: to the feed,
 * and to the list by change.
 */
export const tellAppend = (
  schema: string,
  from: string,
  until: string,
  updatedAt: string,
): string => `${feedRow(schema, { id: 'p_conversation', told: '0', from, until })}
  UPDATE ${schema}.conversation_changes SET updated_at = ${updatedAt} WHERE conversation_id = p_conversation;`

/** `tell_feed` tells of whatever else happens to a conversation. */
const tell = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.tell_feed() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  v_id text;
  v_told smallint := 1;
  v_moment bigint := ${MOMENT};
BEGIN
  IF TG_OP = 'DELETE' THEN
    v_id := OLD.conversation_id;
    v_told := 2;
  ELSE
    v_id := NEW.conversation_id;
  END IF;
  IF TG_OP = 'INSERT' THEN
    -- The number that the column got was drawn before the row waited for an earlier one of this id to go.
    UPDATE ${schema}.conversations SET feed_start = v_moment WHERE conversation_id = v_id AND feed_start < v_moment;
  END IF;
  ${feedRow(schema, { id: 'v_id', told: 'v_told', from: '0', until: '1', moment: 'v_moment' })}
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
