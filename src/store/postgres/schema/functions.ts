/** The functions of the schema: no part of any step, so that a fault in one is mended in every schema, old or new. */

import { appendMany } from './append-many.ts'
import { appendOne } from './append-one.ts'
import { deleteConversation } from './delete-conversation.ts'
import { feed } from './feed.ts'
import { items } from './items.ts'
import { lists } from './lists.ts'
import { search } from './search.ts'
import { searchPath } from './search-path.ts'
import { snapshots } from './snapshots.ts'
import { writeDecision } from './write-decision.ts'

/** Functions as a library makes them. */
export interface Functions {
  /** Counts up with every change of the text; a schema keeps that of the library that made its functions last. */
  readonly revision: number
  /** The statements that make them, or make them anew in place of older ones. */
  readonly make: (schema: string) => string
}

/**
 * Made at the end of every run of migrations, and in a schema whose functions are of an earlier revision; those of a
 * later one stay. So what an older library calls keeps its parameters and what it gives: a function that needs others
 * is a new one, or comes with a step, which drops the old one and shuts the older library out.
 */
export const FUNCTIONS: Functions = {
  revision: 11,
  make: (schema) =>
    [
      appendMany,
      appendOne,
      writeDecision,
      snapshots,
      items,
      feed,
      lists,
      deleteConversation,
      search,
      searchPath,
    ]
      .map((make) => make(schema))
      .join('\n'),
}
