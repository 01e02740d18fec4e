/** The schema as numbered steps: a database at any of them goes on to the last (design D12, D19). */

/** One step. Steps are never changed once released; a new one is added at the end. */
export interface Migration {
  readonly version: number
  readonly sql: string
}

/**
 * Conversations are kept in two tables: what people write about them, and the end of the log, small because every
 * append rewrites it.
 *
 * An event is a row with its body as JSON text, the parent stamped in where it was stamped: so a body is read as it is,
 * exported as it is, and never put together again. Beside it stands what the log worked out. `lane`, `can_be_head` and
 * `max_time` are null for what is not in the tree; `kind` and `source` for a quarantined line; `message` for all but
 * messages. Times are microseconds.
 *
 * Every index that a search walks ends in (time, seq) and holds only what a search may find. The key of the table and
 * the index by id are what appends need.
 */
const FIRST = `
CREATE TABLE colloquy_conversation (
  conversation_id TEXT NOT NULL PRIMARY KEY,
  title TEXT,
  title_folded TEXT,
  public INTEGER NOT NULL,
  tags TEXT NOT NULL,
  metadata TEXT NOT NULL,
  time_zone TEXT,
  parent_conversation_id TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX colloquy_conversation_created ON colloquy_conversation (created_at, conversation_id);

CREATE TABLE colloquy_log (
  conversation_id TEXT NOT NULL PRIMARY KEY REFERENCES colloquy_conversation ON DELETE CASCADE,
  version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_time INTEGER NOT NULL,
  max_time INTEGER NOT NULL,
  in_order INTEGER NOT NULL,
  head_seq INTEGER,
  head_id TEXT,
  head_parent_id TEXT,
  head_lane INTEGER,
  head_max_time INTEGER,
  tip_lane INTEGER,
  tip_end INTEGER,
  kinds TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX colloquy_log_updated ON colloquy_log (updated_at, conversation_id);

CREATE TABLE colloquy_event (
  conversation_id TEXT NOT NULL REFERENCES colloquy_log ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  id TEXT,
  parent_id TEXT,
  time INTEGER NOT NULL,
  lane INTEGER,
  can_be_head INTEGER,
  max_time INTEGER,
  kind TEXT,
  source TEXT,
  message TEXT,
  body TEXT NOT NULL,
  PRIMARY KEY (conversation_id, seq)
) STRICT;
CREATE UNIQUE INDEX colloquy_event_id ON colloquy_event (conversation_id, id) WHERE lane IS NOT NULL;
CREATE INDEX colloquy_event_time ON colloquy_event (conversation_id, time, seq)
  WHERE lane IS NOT NULL AND kind IS NOT NULL;
CREATE INDEX colloquy_event_kind ON colloquy_event (conversation_id, kind, source, time, seq)
  WHERE lane IS NOT NULL AND kind IS NOT NULL;
CREATE INDEX colloquy_event_path ON colloquy_event (conversation_id, lane, time, seq)
  WHERE lane IS NOT NULL AND kind IS NOT NULL;
CREATE INDEX colloquy_event_lane ON colloquy_event (conversation_id, lane, kind, source, time, seq)
  WHERE lane IS NOT NULL AND kind IS NOT NULL;

CREATE TABLE colloquy_lane (
  conversation_id TEXT NOT NULL REFERENCES colloquy_log ON DELETE CASCADE,
  lane INTEGER NOT NULL,
  parent_lane INTEGER,
  parent_seq INTEGER,
  parent_max_time INTEGER,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE colloquy_lease (
  conversation_id TEXT NOT NULL PRIMARY KEY REFERENCES colloquy_log ON DELETE CASCADE,
  owner TEXT,
  generation INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX colloquy_lease_taken ON colloquy_lease (conversation_id) WHERE owner IS NOT NULL;
`

/**
 * Snapshots, a row for each part. With a rowid, since its parts are big: in a table without one they would stand among
 * the keys.
 */
const SECOND = `
CREATE TABLE colloquy_snapshot (
  conversation_id TEXT NOT NULL REFERENCES colloquy_conversation ON DELETE CASCADE,
  part INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (conversation_id, part)
) STRICT;
`

/**
 * Items, and a row for each of their keys. An item is written as a new row each time: its number is the version, and
 * none is given twice.
 */
const THIRD = `
CREATE TABLE colloquy_item (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  collection TEXT NOT NULL,
  id TEXT NOT NULL,
  keys TEXT NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL,
  UNIQUE (collection, id)
) STRICT;
CREATE INDEX colloquy_item_due ON colloquy_item (collection, due_at, id) WHERE due_at IS NOT NULL;

CREATE TABLE colloquy_item_key (
  collection TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (collection, name, value, id)
) STRICT, WITHOUT ROWID;
`

/** What `shardOf` counts, in SQL. */
const shard = (id: string): string => {
  const char = (back: number): string => `coalesce(unicode(substr(${id}, ${-1 - back}, 1)), 0)`
  return `(${char(0)} + 11 * ${char(1)} + 37 * ${char(2)} + 53 * ${char(3)}) % 64`
}

const tell = (id: string, told: number, from: string, until: string): string =>
  `INSERT INTO colloquy_feed (shard, witness, conversation_id, told, from_seq, until_seq)
    SELECT ${shard(id)}, random() & 4294967295, ${id}, ${told}, ${from}, ${until}`

/**
 * What happened in all conversations, a row for each append and each change, which triggers write, so that none can be
 * forgotten. No row is ever changed or removed. `feed_start` is where the row stands that tells of a conversation's
 * creation: rows before it tell of one that was deleted. What a database held before is told as if it had just
 * been appended.
 */
const FOURTH = `
CREATE TABLE colloquy_feed (
  place INTEGER PRIMARY KEY,
  shard INTEGER NOT NULL,
  witness INTEGER NOT NULL,
  conversation_id TEXT NOT NULL,
  told INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  until_seq INTEGER NOT NULL
) STRICT;
CREATE INDEX colloquy_feed_shard ON colloquy_feed (shard, place);
ALTER TABLE colloquy_log ADD COLUMN feed_start INTEGER NOT NULL DEFAULT 0;
${tell('conversation_id', 1, '0', '1')} FROM colloquy_log;
${tell('conversation_id', 0, '0', 'version')} FROM colloquy_log WHERE version > 0;
CREATE TRIGGER colloquy_feed_created AFTER INSERT ON colloquy_log BEGIN
  ${tell('NEW.conversation_id', 1, '0', '1')};
  UPDATE colloquy_log SET feed_start = last_insert_rowid() WHERE conversation_id = NEW.conversation_id;
END;
CREATE TRIGGER colloquy_feed_appended AFTER UPDATE OF version ON colloquy_log WHEN NEW.version > OLD.version BEGIN
  ${tell('NEW.conversation_id', 0, 'OLD.version', 'NEW.version')};
END;
CREATE TRIGGER colloquy_feed_changed AFTER UPDATE ON colloquy_conversation BEGIN
  ${tell('NEW.conversation_id', 1, '0', '1')};
END;
CREATE TRIGGER colloquy_feed_deleted AFTER DELETE ON colloquy_conversation BEGIN
  ${tell('OLD.conversation_id', 2, '0', '1')};
END;
`

/** The keys that a row of conversations is listed by, as `keysOf` gives them. */
const keysOf = (row: string): string => `
  SELECT ${row}.conversation_id, 'parent' AS name, coalesce(${row}.parent_conversation_id, '') AS value, ${row}.created_at
  UNION ALL SELECT ${row}.conversation_id, 'status', coalesce(${row}.status, ''), ${row}.created_at
  UNION ALL SELECT ${row}.conversation_id, 'sandbox', ${row}.sandbox_id, ${row}.created_at WHERE ${row}.sandbox_id IS NOT NULL
  UNION ALL SELECT ${row}.conversation_id, 'public', 'true', ${row}.created_at WHERE ${row}.public = 1
  UNION ALL SELECT ${row}.conversation_id, 'tag.' || key, value, ${row}.created_at FROM json_each(${row}.tags)`

/**
 * What conversations are listed by: a row for each key, beside the times of all, which triggers write. The sandbox
 * stood in the metadata; of the status nothing is known where there are events.
 */
const FIFTH = `
ALTER TABLE colloquy_conversation ADD COLUMN sandbox_id TEXT;
ALTER TABLE colloquy_conversation ADD COLUMN status TEXT;
CREATE TABLE colloquy_conversation_key (
  conversation_id TEXT NOT NULL REFERENCES colloquy_conversation ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, name)
) STRICT, WITHOUT ROWID;
DROP TRIGGER colloquy_feed_changed;
UPDATE colloquy_conversation SET
  sandbox_id = CASE WHEN json_type(metadata, '$.app.sandbox_id') = 'text' THEN json_extract(metadata, '$.app.sandbox_id') END,
  status = CASE WHEN (SELECT version FROM colloquy_log AS log WHERE log.conversation_id = colloquy_conversation.conversation_id) = 0
    THEN 'idle' END;
UPDATE colloquy_conversation SET sandbox_id = NULL
WHERE length(sandbox_id) NOT BETWEEN 1 AND 200 OR instr(sandbox_id, char(0)) > 0;
CREATE TRIGGER colloquy_feed_changed AFTER UPDATE OF title, public, tags, metadata, time_zone ON colloquy_conversation BEGIN
  ${tell('NEW.conversation_id', 1, '0', '1')};
END;
CREATE TRIGGER colloquy_list_created AFTER INSERT ON colloquy_conversation BEGIN
  INSERT INTO colloquy_conversation_key (conversation_id, name, value, created_at) ${keysOf('NEW')};
END;
CREATE TRIGGER colloquy_list_status AFTER UPDATE OF status ON colloquy_conversation BEGIN
  UPDATE colloquy_conversation_key SET value = coalesce(NEW.status, '')
  WHERE conversation_id = NEW.conversation_id AND name = 'status';
END;
CREATE TRIGGER colloquy_list_changed AFTER UPDATE OF public, tags ON colloquy_conversation
WHEN NEW.public <> OLD.public OR NEW.tags <> OLD.tags BEGIN
  DELETE FROM colloquy_conversation_key WHERE conversation_id = NEW.conversation_id;
  INSERT INTO colloquy_conversation_key (conversation_id, name, value, created_at) ${keysOf('NEW')};
END;
INSERT INTO colloquy_conversation_key (conversation_id, name, value, created_at)
SELECT conversation_id, 'parent', coalesce(parent_conversation_id, ''), created_at FROM colloquy_conversation
UNION ALL SELECT conversation_id, 'status', coalesce(status, ''), created_at FROM colloquy_conversation
UNION ALL SELECT conversation_id, 'sandbox', sandbox_id, created_at FROM colloquy_conversation WHERE sandbox_id IS NOT NULL
UNION ALL SELECT conversation_id, 'public', 'true', created_at FROM colloquy_conversation WHERE public = 1
UNION ALL SELECT conversation_id, 'tag.' || tag.key, tag.value, created_at
FROM colloquy_conversation CROSS JOIN json_each(colloquy_conversation.tags) AS tag;
CREATE INDEX colloquy_conversation_listed ON colloquy_conversation_key (name, value, created_at, conversation_id);
`

const tagsOf = (row: string): string => `
  INSERT INTO colloquy_conversation_tag (conversation_id, name, value, created_at)
  SELECT ${row}.conversation_id, 'tag.' || key, value, ${row}.created_at FROM json_each(${row}.tags)`

/**
 * Indexes of what a conversation has one of, so that a list finds conversations by their places in the table, not each
 * by its id; the rows for each key are those of the tags alone.
 */
const SIXTH = `
DROP TRIGGER colloquy_list_created;
DROP TRIGGER colloquy_list_status;
DROP TRIGGER colloquy_list_changed;
DROP TABLE colloquy_conversation_key;
CREATE TABLE colloquy_conversation_tag (
  conversation_id TEXT NOT NULL REFERENCES colloquy_conversation ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, name)
) STRICT, WITHOUT ROWID;
INSERT INTO colloquy_conversation_tag (conversation_id, name, value, created_at)
SELECT conversation_id, 'tag.' || tag.key, tag.value, created_at
FROM colloquy_conversation CROSS JOIN json_each(colloquy_conversation.tags) AS tag;
CREATE INDEX colloquy_conversation_tagged ON colloquy_conversation_tag (name, value, created_at, conversation_id);
CREATE INDEX colloquy_conversation_parent ON colloquy_conversation (parent_conversation_id, created_at, conversation_id);
CREATE INDEX colloquy_conversation_status ON colloquy_conversation (status, created_at, conversation_id);
CREATE INDEX colloquy_conversation_sandbox ON colloquy_conversation (sandbox_id, created_at, conversation_id)
  WHERE sandbox_id IS NOT NULL;
CREATE INDEX colloquy_conversation_public ON colloquy_conversation (public, created_at, conversation_id) WHERE public = 1;
CREATE TRIGGER colloquy_tags_created AFTER INSERT ON colloquy_conversation BEGIN ${tagsOf('NEW')};
END;
CREATE TRIGGER colloquy_tags_changed AFTER UPDATE OF tags ON colloquy_conversation WHEN NEW.tags <> OLD.tags BEGIN
  DELETE FROM colloquy_conversation_tag WHERE conversation_id = NEW.conversation_id; ${tagsOf('NEW')};
END;
`

/** All steps, in order. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, sql: FIRST },
  { version: 2, sql: SECOND },
  { version: 3, sql: THIRD },
  { version: 4, sql: FOURTH },
  { version: 5, sql: FIFTH },
  { version: 6, sql: SIXTH },
]
