/** The tables of lists, which came with the fifth step. */

/**
 * `conversation_keys` holds a row for each key that a conversation is listed by, by creation. `conversation_changes`
 * holds when each changed last: an index on what every append changes would cost the row of the conversation, which
 * is wide and in several indexes, its updates in place (HOT); so it is on a row of its own. Triggers write both, for
 * whatever writes conversations; their function is one of those that are made anew (`FUNCTIONS`).
 *
 * The sandbox stood in the metadata, some of which no parser of PostgreSQL reads. Of the status nothing is known
 * where there are events.
 */
export const listTables = (schema: string): string => `
ALTER TABLE ${schema}.conversations ADD COLUMN sandbox_id text COLLATE "C", ADD COLUMN status text COLLATE "C";
UPDATE ${schema}.conversations c SET sandbox_id = CASE
  WHEN position(E'\\\\u' IN c.metadata) > 0 THEN (regexp_match(c.metadata, '"app":[{]"sandbox_id":"([^"\\\\]{1,200})"'))[1]
  WHEN length(c.metadata::json #>> '{app,sandbox_id}') BETWEEN 1 AND 200 THEN c.metadata::json #>> '{app,sandbox_id}'
END WHERE c.metadata LIKE '%"sandbox_id"%';
UPDATE ${schema}.conversations SET status = 'idle' WHERE version = 0;
CREATE TABLE ${schema}.conversation_keys (
  conversation_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (conversation_id, name)
);
CREATE TABLE ${schema}.conversation_changes (
  conversation_id text COLLATE "C" PRIMARY KEY,
  updated_at bigint NOT NULL
);
INSERT INTO ${schema}.conversation_changes SELECT conversation_id, updated_at FROM ${schema}.conversations;
INSERT INTO ${schema}.conversation_keys
SELECT c.conversation_id, k.name, k.value, c.created_at FROM ${schema}.conversations c CROSS JOIN LATERAL (
  VALUES ('parent', coalesce(c.parent_conversation_id, '')), ('status', coalesce(c.status, '')), ('sandbox', c.sandbox_id),
    ('public', CASE WHEN c.public THEN 'true' END)
  UNION ALL SELECT 'tag.' || split_part(t.tag, '=', 1), substr(t.tag, position('=' IN t.tag) + 1) FROM unnest(c.tags) AS t (tag)
) AS k (name, value) WHERE k.value IS NOT NULL;
CREATE INDEX conversation_keys_by_value ON ${schema}.conversation_keys (name, value, created_at, conversation_id);
CREATE INDEX conversation_changes_by_time ON ${schema}.conversation_changes (updated_at, conversation_id);
CREATE FUNCTION ${schema}.list_conversation() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER listed AFTER INSERT OR DELETE OR UPDATE OF updated_at, status, public, tags
  ON ${schema}.conversations FOR EACH ROW EXECUTE FUNCTION ${schema}.list_conversation();
`
