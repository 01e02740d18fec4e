/** How snapshots are kept since the seventh step. */

/**
 * The parts of a snapshot are columns of numbers and short texts, which the server packs to about half. Who saves or
 * deletes parts holds a lock on the conversation's name, so that no table is needed to lock in.
 */
export const packedSnapshots = (schema: string): string => `
ALTER TABLE ${schema}.snapshot_parts ALTER COLUMN bytes SET STORAGE EXTENDED;
DROP TABLE ${schema}.snapshots;
`
