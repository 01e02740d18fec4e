/** Quotes names for SQL. */

import { ColloquyError } from '../../event/errors.ts'

/**
 * A name in quotes, for a schema. O(length).
 * @throws `invalid_id` for one that PostgreSQL would cut (it keeps 63 bytes), that is empty, or holds a NUL, `$body$`
 * or `$migration$`: these enclose the functions that the name stands in.
 *
 * @example
 * quoteName('my "own"') // '"my ""own"""'
 */
export function quoteName(name: string): string {
  const bytes = new TextEncoder().encode(name).length
  if (bytes === 0 || bytes > 63 || name.includes('\u0000') || /\$(body|migration)\$/.test(name)) {
    throw new ColloquyError(
      'invalid_id',
      'The name of a schema must have 1 to 63 bytes, without NUL, $body$ and $migration$.',
      { name },
    )
  }
  return `"${name.replaceAll('"', '""')}"`
}

/**
 * A text as a literal. O(length).
 *
 * @example
 * quoteText("it's") // "'it''s'"
 */
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
