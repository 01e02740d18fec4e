/** The numbered steps from nothing to the schema that this version works with. */

import { appendMany } from './append-many.ts'
import { appendOne } from './append-one.ts'
import { deleteConversation } from './delete-conversation.ts'
import { search } from './search.ts'
import { searchPath } from './search-path.ts'
import { snapshots } from './snapshots.ts'
import { tables } from './tables.ts'
import { writePlacement } from './write-placement.ts'

/**
 * What each step does, the first at index 0: a quoted schema goes in, statements come out. A step that was published never changes; what
 * must change is done by the next one.
 */
export const MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema) =>
    [tables, appendMany, appendOne, writePlacement, deleteConversation, search, searchPath]
      .map((make) => make(schema))
      .join('\n'),
  snapshots,
]

/** The version that this code works with. */
export const LATEST = MIGRATIONS.length
