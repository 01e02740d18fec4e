/** The tables for snapshots, which came with the second step. */

/**
 * `snapshot_parts` holds the bytes, kept as they are: the code that makes a snapshot knows best whether it can be
 * packed.
 *
 * `snapshots` holds a row for each conversation that was given a snapshot. Who writes parts locks it first, so that
 * what a statement after that finds is all that others wrote. The conversation's own row would serve as well, but
 * appends would then wait for a big save.
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
