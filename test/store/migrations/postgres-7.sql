-- A schema as version 7 left it, its functions without their bodies: later versions make them anew. Never changed.
CREATE SCHEMA "colloquy";
CREATE TABLE "colloquy".schema_version (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  functions integer NOT NULL DEFAULT 0
);
INSERT INTO "colloquy".schema_version (version, functions) VALUES (7, 0);

CREATE TABLE "colloquy".conversations (
  conversation_id text COLLATE "C" PRIMARY KEY,
  title text COLLATE "C",
  title_folded text COLLATE "C",
  public boolean NOT NULL,
  tags text[] COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  time_zone text COLLATE "C",
  parent_conversation_id text COLLATE "C",
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  lease_owner text COLLATE "C",
  lease_generation integer NOT NULL DEFAULT 0,
  lease_expires_at bigint,
  version integer NOT NULL DEFAULT 0,
  last_time bigint NOT NULL DEFAULT 0,
  max_time bigint NOT NULL DEFAULT 0,
  in_order boolean NOT NULL DEFAULT true,
  kinds text[] COLLATE "C" NOT NULL DEFAULT '{}',
  tip_lane integer,
  tip_end integer,
  head_seq integer,
  head_lane integer,
  head_max_time bigint,
  head_id text COLLATE "C",
  head_parent_id text COLLATE "C"
) WITH (fillfactor = 70);
CREATE INDEX conversations_by_creation ON "colloquy".conversations (created_at, conversation_id);
CREATE INDEX conversations_by_lease ON "colloquy".conversations (conversation_id) WHERE lease_owner IS NOT NULL;

CREATE TABLE "colloquy".events (
  conversation_id text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  lane integer,
  time bigint NOT NULL,
  max_time bigint,
  can_be_head boolean NOT NULL,
  stamped boolean NOT NULL,
  id text COLLATE "C",
  parent_id text COLLATE "C",
  kind text COLLATE "C",
  source text COLLATE "C",
  message text COLLATE "C",
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, seq)
);
CREATE UNIQUE INDEX events_by_id ON "colloquy".events (conversation_id, id) WHERE lane IS NOT NULL;
CREATE INDEX events_by_time ON "colloquy".events (conversation_id, time, seq) WHERE kind IS NOT NULL;
CREATE INDEX events_by_kind ON "colloquy".events (conversation_id, kind, source, time, seq)
  WHERE kind IS NOT NULL;
CREATE INDEX events_by_lane ON "colloquy".events (conversation_id, lane, kind, source, time, seq)
  WHERE kind IS NOT NULL;

CREATE TABLE "colloquy".lanes (
  conversation_id text COLLATE "C" NOT NULL,
  lane integer NOT NULL,
  parent_lane integer,
  parent_seq integer,
  parent_max_time bigint,
  last_seq integer NOT NULL,
  PRIMARY KEY (conversation_id, lane)
);

CREATE TABLE "colloquy".snapshot_parts (
  conversation_id text COLLATE "C" NOT NULL,
  part integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (conversation_id, part)
);

CREATE TABLE "colloquy".items (
  collection text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  due_at bigint,
  keys text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (collection, id)
);
CREATE INDEX items_by_due ON "colloquy".items (collection, due_at, id) WHERE due_at IS NOT NULL;

CREATE TABLE "colloquy".item_keys (
  collection text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  PRIMARY KEY (collection, name, value, id)
);

CREATE TABLE "colloquy".feed (
  shard smallint NOT NULL,
  moment bigint NOT NULL,
  place bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  witness bigint NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  told smallint NOT NULL,
  from_seq integer NOT NULL,
  until_seq integer NOT NULL,
  PRIMARY KEY (shard, moment, place)
);
ALTER TABLE "colloquy".conversations ADD COLUMN feed_start bigint NOT NULL DEFAULT 0;
ALTER TABLE "colloquy".conversations ALTER COLUMN feed_start SET DEFAULT pg_current_xact_id()::text::bigint;
CREATE FUNCTION "colloquy".feed_shard(p_id text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $body$
  SELECT ((ascii(substr(p_id, length(p_id), 1)) + 11 * ascii(substr(p_id, length(p_id) - 1, 1))
    + 37 * ascii(substr(p_id, length(p_id) - 2, 1)) + 53 * ascii(substr(p_id, length(p_id) - 3, 1))) % 64)::smallint
$body$;
CREATE FUNCTION "colloquy".tell_feed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER feed_told AFTER INSERT OR DELETE ON "colloquy".conversations
  FOR EACH ROW EXECUTE FUNCTION "colloquy".tell_feed();
CREATE TRIGGER feed_told_change AFTER UPDATE OF updated_at, title, public, tags, metadata, time_zone
  ON "colloquy".conversations
  FOR EACH ROW WHEN (NEW.version = OLD.version) EXECUTE FUNCTION "colloquy".tell_feed();
INSERT INTO "colloquy".feed (shard, moment, witness, conversation_id, told, from_seq, until_seq)
SELECT "colloquy".feed_shard(c.conversation_id), 0, floor(random() * 4294967296), c.conversation_id, t.told, 0, t.until
FROM "colloquy".conversations c CROSS JOIN LATERAL (VALUES (1, 1), (0, c.version)) AS t (told, until)
WHERE t.until > 0 ORDER BY t.told DESC;

ALTER TABLE "colloquy".conversations ADD COLUMN sandbox_id text COLLATE "C", ADD COLUMN status text COLLATE "C";
UPDATE "colloquy".conversations c SET sandbox_id = CASE
  WHEN position(E'\\u' IN c.metadata) > 0 THEN (regexp_match(c.metadata, '"app":[{]"sandbox_id":"([^"\\]{1,200})"'))[1]
  WHEN length(c.metadata::json #>> '{app,sandbox_id}') BETWEEN 1 AND 200 THEN c.metadata::json #>> '{app,sandbox_id}'
END WHERE c.metadata LIKE '%"sandbox_id"%';
UPDATE "colloquy".conversations SET status = 'idle' WHERE version = 0;
CREATE TABLE "colloquy".conversation_keys (
  conversation_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (conversation_id, name)
);
CREATE TABLE "colloquy".conversation_changes (
  conversation_id text COLLATE "C" PRIMARY KEY,
  updated_at bigint NOT NULL
);
INSERT INTO "colloquy".conversation_changes SELECT conversation_id, updated_at FROM "colloquy".conversations;
INSERT INTO "colloquy".conversation_keys
SELECT c.conversation_id, k.name, k.value, c.created_at FROM "colloquy".conversations c CROSS JOIN LATERAL (
  VALUES ('parent', coalesce(c.parent_conversation_id, '')), ('status', coalesce(c.status, '')), ('sandbox', c.sandbox_id),
    ('public', CASE WHEN c.public THEN 'true' END)
  UNION ALL SELECT 'tag.' || split_part(t.tag, '=', 1), substr(t.tag, position('=' IN t.tag) + 1) FROM unnest(c.tags) AS t (tag)
) AS k (name, value) WHERE k.value IS NOT NULL;
CREATE INDEX conversation_keys_by_value ON "colloquy".conversation_keys (name, value, created_at, conversation_id);
CREATE INDEX conversation_changes_by_time ON "colloquy".conversation_changes (updated_at, conversation_id);
CREATE FUNCTION "colloquy".list_conversation() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER listed AFTER INSERT OR DELETE ON "colloquy".conversations
  FOR EACH ROW EXECUTE FUNCTION "colloquy".list_conversation();
CREATE TRIGGER listed_change AFTER UPDATE OF updated_at, status, public, tags ON "colloquy".conversations
  FOR EACH ROW WHEN (NEW.version = OLD.version) EXECUTE FUNCTION "colloquy".list_conversation();

CREATE OR REPLACE FUNCTION "colloquy".append_many(
  p_conversation text, p_expected integer, p_owner text, p_generation integer, p_zoneless boolean, p_now bigint,
  p_ids text[], p_times bigint[], p_kinds text[], p_sources text[], p_messages text[], p_bodies text,
  p_can_be_head boolean[], p_parents text[], p_moves text[], p_refs text[]
) RETURNS text LANGUAGE plpgsql AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".append_one(
  p_conversation text, p_expected integer, p_owner text, p_generation integer, p_zoneless boolean, p_now bigint,
  p_id text, p_time bigint, p_kind text, p_source text, p_message text, p_body text
) RETURNS text LANGUAGE plpgsql AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".write_decision(
  p_conversation text, p_expected integer, p_owner text, p_generation integer, p_zoneless boolean, p_now bigint, p_created bigint, p_zone text,
  p_time bigint, p_max_time bigint, p_in_order boolean, p_tip_lane integer, p_tip_end integer, p_head_seq integer, p_head_lane integer,
  p_head_max_time bigint, p_head_id text, p_head_parent_id text,
  p_lanes integer[], p_times bigint[], p_max_times bigint[], p_can_be_head boolean[], p_ids text[],
  p_parent_ids text[], p_kinds text[], p_sources text[], p_messages text[], p_bodies text,
  p_opened integer[], p_opened_parent_lanes integer[], p_opened_parent_seqs integer[],
  p_opened_parent_max_times bigint[], p_opened_ends integer[], p_left integer[], p_left_ends integer[]
) RETURNS boolean LANGUAGE plpgsql AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".save_snapshot(
  p_conversation text, p_complete boolean, p_parts integer[], p_starts integer[], p_lengths integer[], p_bytes bytea
) RETURNS boolean LANGUAGE plpgsql AS $body$ BEGIN END $body$;

CREATE OR REPLACE FUNCTION "colloquy".delete_snapshot(p_conversation text) RETURNS boolean LANGUAGE plpgsql AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".change_items(
  p_collections text[], p_ids text[], p_expected bigint[], p_puts boolean[], p_due_in bigint[],
  p_keys text, p_bodies text, p_now bigint
) RETURNS TABLE (nth integer, put_version bigint, put_due_at bigint, fits boolean) LANGUAGE plpgsql AS $body$ BEGIN END $body$;

CREATE OR REPLACE FUNCTION "colloquy".delete_conversation(p_conversation text) RETURNS boolean LANGUAGE plpgsql AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".path_to(p_conversation text, p_leaf text)
RETURNS TABLE (lane integer, up_to integer, until bigint) LANGUAGE sql STABLE AS $body$ SELECT 0, 0, 0::bigint $body$;

CREATE OR REPLACE FUNCTION "colloquy".search_up(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer, p_most integer,
  p_dense boolean, p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS TABLE (seq integer, id text, parent_id text, stamped boolean, "time" bigint, body text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".search_down(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer, p_most integer,
  p_dense boolean, p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS TABLE (seq integer, id text, parent_id text, stamped boolean, "time" bigint, body text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off AS $body$ BEGIN END $body$;




CREATE OR REPLACE FUNCTION "colloquy".path_up(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer, p_most integer,
  p_dense boolean, p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS TABLE (seq integer, id text, parent_id text, stamped boolean, "time" bigint, body text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off AS $body$ BEGIN END $body$;


CREATE OR REPLACE FUNCTION "colloquy".path_down(
  p_conversation text, p_low_time bigint, p_low_seq integer, p_high_time bigint, p_high_seq integer, p_most integer,
  p_dense boolean, p_kinds text[], p_sources text[], p_text text, p_leaf text
) RETURNS TABLE (seq integer, id text, parent_id text, stamped boolean, "time" bigint, body text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off AS $body$ BEGIN END $body$;

CREATE OR REPLACE FUNCTION "colloquy".settle_feed() RETURNS void LANGUAGE plpgsql AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".list_created_up(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_most integer) RETURNS TABLE (looked_id text, looked_at bigint, "conversation_id" text, "title" text, "public" boolean, "tags" text[], "metadata" text, "time_zone" text, "parent_conversation_id" text, "sandbox_id" text, "status" text, "created_at" bigint, "updated_at" bigint, "version" integer, "head_id" text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".list_created_down(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_most integer) RETURNS TABLE (looked_id text, looked_at bigint, "conversation_id" text, "title" text, "public" boolean, "tags" text[], "metadata" text, "time_zone" text, "parent_conversation_id" text, "sandbox_id" text, "status" text, "created_at" bigint, "updated_at" bigint, "version" integer, "head_id" text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".count_created(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_all boolean, p_most integer) RETURNS TABLE (looked integer, fit integer) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".list_updated_up(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_most integer) RETURNS TABLE (looked_id text, looked_at bigint, "conversation_id" text, "title" text, "public" boolean, "tags" text[], "metadata" text, "time_zone" text, "parent_conversation_id" text, "sandbox_id" text, "status" text, "created_at" bigint, "updated_at" bigint, "version" integer, "head_id" text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".list_updated_down(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_most integer) RETURNS TABLE (looked_id text, looked_at bigint, "conversation_id" text, "title" text, "public" boolean, "tags" text[], "metadata" text, "time_zone" text, "parent_conversation_id" text, "sandbox_id" text, "status" text, "created_at" bigint, "updated_at" bigint, "version" integer, "head_id" text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".count_updated(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_all boolean, p_most integer) RETURNS TABLE (looked integer, fit integer) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".list_key_up(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_most integer) RETURNS TABLE (looked_id text, looked_at bigint, "conversation_id" text, "title" text, "public" boolean, "tags" text[], "metadata" text, "time_zone" text, "parent_conversation_id" text, "sandbox_id" text, "status" text, "created_at" bigint, "updated_at" bigint, "version" integer, "head_id" text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".list_key_down(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_most integer) RETURNS TABLE (looked_id text, looked_at bigint, "conversation_id" text, "title" text, "public" boolean, "tags" text[], "metadata" text, "time_zone" text, "parent_conversation_id" text, "sandbox_id" text, "status" text, "created_at" bigint, "updated_at" bigint, "version" integer, "head_id" text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
CREATE OR REPLACE FUNCTION "colloquy".count_key(p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text, p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint, p_all boolean, p_most integer) RETURNS TABLE (looked integer, fit integer) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $body$ BEGIN END $body$;
