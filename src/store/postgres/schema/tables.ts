/** The tables and indexes of the first version. */

/**
 * Three tables, each keyed by the conversation first, so that they distribute by it unchanged (design D12). The one
 * index that begins otherwise serves the list of conversations, and is on a column that never changes. The one of
 * leases holds those that were not given back, few at any time, and changes when one is taken or given back, not when
 * it is renewed.
 *
 * `conversations` holds the record, the lease, and the end of the log (`LogTip`), which every append locks and reads:
 * no index names what an append changes, so that its update touches no index (HOT). `in_order` says that no event has a
 * time before that of an earlier one, `kinds` which kinds and sources a search may find, `<kind> <source>` each.
 *
 * `events` holds one row for each position. `lane` is null for what is not in the tree, `kind` and `source` also for
 * what no search finds. `stamped` says that the body's `parent_id` is to be filled in on reading. `max_time` is the
 * latest time of any entry up to this one.
 *
 * `lanes` holds where each lane branches off and its last entry, but for the lane that was appended to last.
 */
export const tables = (schema: string): string => `
CREATE TABLE ${schema}.conversations (
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
CREATE INDEX conversations_by_creation ON ${schema}.conversations (created_at, conversation_id);
CREATE INDEX conversations_by_lease ON ${schema}.conversations (conversation_id) WHERE lease_owner IS NOT NULL;

CREATE TABLE ${schema}.events (
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
CREATE UNIQUE INDEX events_by_id ON ${schema}.events (conversation_id, id) WHERE lane IS NOT NULL;
CREATE INDEX events_by_time ON ${schema}.events (conversation_id, time, seq) WHERE kind IS NOT NULL;
CREATE INDEX events_by_kind ON ${schema}.events (conversation_id, kind, source, time, seq)
  WHERE kind IS NOT NULL;
CREATE INDEX events_by_lane ON ${schema}.events (conversation_id, lane, kind, source, time, seq)
  WHERE kind IS NOT NULL;

CREATE TABLE ${schema}.lanes (
  conversation_id text COLLATE "C" NOT NULL,
  lane integer NOT NULL,
  parent_lane integer,
  parent_seq integer,
  parent_max_time bigint,
  last_seq integer NOT NULL,
  PRIMARY KEY (conversation_id, lane)
);
`
