import type { Dialect, Table } from './dialect.ts'

interface ColumnTypes {
  readonly text: string
  readonly int: string
  readonly big: string
  readonly bytes: string
  /** Type of a primary key with generated numbers. A column of type `identity` need not be the primary key. */
  readonly identityKey: string
  readonly identity: string
  readonly tableOptions: string
  readonly eventPosition: string
  readonly eventKey: string
  readonly feedPosition: string
  readonly feedKey: string
}

/**
 * Returns the statements that create everything, in order. Times are microseconds since 1970.
 * - `conversation`: the record. `number` identifies it: a recreated conversation with the same id has another
 *   number.
 * - `log`: the lease, and the end of a conversation's log, which every append reads and rewrites.
 * - `event`: one row for each position. `lane` is null outside of the tree. `kind` is null for facts that no
 *   search finds. `message` is the searchable text.
 * - `blob`: a long string of bodies, by its SHA-256, in pieces; a piece with `base64` contains the decoded
 *   bytes. `event.blobs` lists the strings of a body and their paths. `blob_use` lists the events that use a
 *   string; a trigger deletes a string after its last use.
 * - `lane`: the time and the parent of each lane's first event.
 * - `conversations`, `events`: views for the caller's own queries. Their columns are stable; docs/stores.md
 *   lists them.
 * - `feed`: the changes of all conversations. In PostgreSQL, the events of one or more appends share a row.
 *   In SQLite, an event has no row in `feed` while its conversation exists: `event.number` is its position
 *   in the feed. The deletion of the conversation adds the row.
 * - `text`: the indexed line of each event that a text search finds; `number` orders the hits.
 *   `log.text_version` is the number of the log's indexed events.
 *
 * Each index serves an order of the contract: events by position, by id, and by time for each kind and
 * source; conversations by creation, by change, and by creation for each key. A search of all events reads
 * them by position if times never decrease.
 */
export function schemaOf(dialect: Pick<Dialect, 'table'>, types: ColumnTypes, indexPrefix: string): string[] {
  const { text, int, big, bytes } = types
  const t = (name: Table): string => dialect.table(name)
  const conversationKey = `${big} PRIMARY KEY REFERENCES ${t('conversation')} (number) ON DELETE CASCADE`
  const ofLog = `log ${big} NOT NULL REFERENCES ${t('log')} (number) ON DELETE CASCADE`
  const tables: Readonly<Record<string, string>> = {
    [t('conversation')]: `
  number ${types.identityKey},
  conversation_id ${text} NOT NULL UNIQUE,
  title ${text},
  title_folded ${text},
  public ${int} NOT NULL,
  tags ${text} NOT NULL,
  metadata ${text} NOT NULL,
  parent_conversation_id ${text},
  sandbox_id ${text},
  owner ${text},
  status ${text},
  created_at ${big} NOT NULL`,
    [t('tag')]: `
  number ${big} NOT NULL REFERENCES ${t('conversation')} (number) ON DELETE CASCADE,
  conversation_id ${text} NOT NULL,
  name ${text} NOT NULL,
  value ${text} NOT NULL,
  created_at ${big} NOT NULL,
  PRIMARY KEY (number, name)`,
    [t('log')]: `
  number ${conversationKey},
  conversation_id ${text} NOT NULL UNIQUE,
  created_at ${big} NOT NULL,
  updated_at ${big} NOT NULL,
  time_zone ${text},
  version ${int} NOT NULL DEFAULT 0,
  time ${big} NOT NULL DEFAULT 0,
  in_order ${int} NOT NULL DEFAULT 1,
  head_id ${text},
  head_parent_id ${text},
  head_seq ${int},
  head_lane ${int},
  head_time ${big},
  last_lane ${int},
  last_lane_end ${int},
  text_version ${int} NOT NULL DEFAULT 0,
  lease_owner ${text},
  lease_generation ${int} NOT NULL DEFAULT 0,
  lease_expires_at ${big}`,
    [t('event')]: `${types.eventPosition}
  id ${text},
  parent_id ${text},
  time ${big} NOT NULL,
  lane ${int},
  kind ${text},
  source ${text},
  message ${text},
  body ${text} NOT NULL,
  blobs ${text}${types.eventKey}`,
    [t('blob')]: `
  hash ${text} PRIMARY KEY,
  bytes ${big} NOT NULL`,
    [t('blob_piece')]: `
  hash ${text} NOT NULL REFERENCES ${t('blob')} (hash) ON DELETE CASCADE,
  start ${big} NOT NULL,
  base64 ${int} NOT NULL,
  bytes ${bytes} NOT NULL,
  PRIMARY KEY (hash, start)`,
    [t('blob_use')]: `
  ${ofLog},
  seq ${int} NOT NULL,
  hash ${text} NOT NULL REFERENCES ${t('blob')} (hash),
  PRIMARY KEY (log, seq, hash)`,
    [t('lane')]: `
  ${ofLog},
  lane ${int} NOT NULL,
  time ${big} NOT NULL,
  parent_lane ${int},
  parent_seq ${int},
  parent_time ${big},
  PRIMARY KEY (log, lane)`,
    [t('snapshot')]: `
  number ${conversationKey},
  generation ${int} NOT NULL`,
    [t('snapshot_part')]: `
  number ${big} NOT NULL REFERENCES ${t('snapshot')} (number) ON DELETE CASCADE,
  generation ${int} NOT NULL,
  part ${int} NOT NULL,
  bytes ${bytes} NOT NULL,
  PRIMARY KEY (number, generation, part)`,
    [t('item')]: `
  version ${types.identity},
  collection ${text} NOT NULL,
  id ${text} NOT NULL,
  keys ${text} NOT NULL,
  due_at ${big},
  body ${text} NOT NULL,
  UNIQUE (collection, id)`,
    [t('item_key')]: `
  collection ${text} NOT NULL,
  name ${text} NOT NULL,
  value ${text} NOT NULL,
  id ${text} NOT NULL,
  PRIMARY KEY (collection, name, value, id)`,
    [t('feed')]: `${types.feedPosition}
  shard ${int} NOT NULL,
  witness ${big} NOT NULL,
  number ${big} NOT NULL,
  conversation_id ${text} NOT NULL,
  change ${int} NOT NULL,
  from_seq ${int} NOT NULL,
  until_seq ${int} NOT NULL${types.feedKey}`,
    [t('text')]: `
  number ${big} PRIMARY KEY,
  log ${big} NOT NULL,
  seq ${int} NOT NULL,
  time ${big} NOT NULL,
  role ${int} NOT NULL,
  size ${int} NOT NULL,
  line ${text} NOT NULL`,
  }
  const keyColumns = ['parent_conversation_id', 'status', 'sandbox_id', 'owner', 'public']
  const indexes: readonly (readonly [name: string, table: Table, columns: string])[] = [
    ['conversation_created', 'conversation', '(created_at, conversation_id)'],
    ...keyColumns.map(
      (column) =>
        [
          `conversation_${column.split('_')[0]}`,
          'conversation',
          `(${column}, created_at, conversation_id)`,
        ] as const,
    ),
    ['conversation_tag', 'tag', '(name, value, created_at, conversation_id)'],
    ['log_updated', 'log', '(updated_at, conversation_id)'],
    ['log_lease', 'log', '(conversation_id) WHERE lease_owner IS NOT NULL'],
    ['blob_use_hash', 'blob_use', '(hash, log)'],
    ['item_due', 'item', '(collection, due_at, id) WHERE due_at IS NOT NULL'],
    ['text_log', 'text', '(log, number)'],
  ]
  return [
    ...Object.entries(tables).map(
      ([name, columns]) => `CREATE TABLE ${name} (${columns}\n)${types.tableOptions}`,
    ),
    ...indexes.map(
      ([name, table, columns]) => `CREATE INDEX ${indexPrefix}${name} ON ${t(table)} ${columns}`,
    ),
    `CREATE VIEW ${t('conversations')} AS
      SELECT c.conversation_id AS id, c.title, c.owner, c.public, c.tags, c.metadata, c.parent_conversation_id,
        c.status, c.created_at, l.updated_at, l.version AS event_count, l.head_id
      FROM ${t('conversation')} AS c JOIN ${t('log')} AS l ON l.number = c.number`,
    `CREATE VIEW ${t('events')} AS
      SELECT l.conversation_id, e.seq AS position, e.id, e.parent_id, e.kind, e.source, e.time AS created_at,
        e.lane IS NOT NULL AS in_tree, e.body
      FROM ${t('log')} AS l JOIN ${t('event')} AS e ON e.log = l.number`,
  ]
}
