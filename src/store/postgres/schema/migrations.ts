/** The numbered steps from nothing to the tables that this version works with. */

import { appendTriggers } from './append-triggers.ts'
import { feedTables } from './feed-tables.ts'
import { itemTables } from './item-tables.ts'
import { listTables } from './list-tables.ts'
import { packedSnapshots } from './packed-snapshots.ts'
import { snapshotTables } from './snapshot-tables.ts'
import { tables } from './tables.ts'

/** A step: statements for a schema, whose name it is given quoted. */
export type Migration = (schema: string) => string

/**
 * What each step does, the first at index 0. A step that was published never changes, and is made of nothing that does:
 * what must change is done by the next one. Functions are no part of them (`FUNCTIONS`).
 */
export const MIGRATIONS: readonly Migration[] = [
  tables,
  snapshotTables,
  itemTables,
  feedTables,
  listTables,
  appendTriggers,
  packedSnapshots,
]
