/** The tables for snapshots, which came with the second step. */

/**
 * `snapshot_parts` holds the bytes, which this step kept as they are. `snapshots` held a row for each conversation that
 * was given a snapshot, to lock. The seventh step changed both.
 */
export const snapshotTables = (schema: string): string => `
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
`
