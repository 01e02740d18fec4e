/** How a PostgreSQL store is made. */

import type { Clock } from '../kit/record.ts'
import type { PostgresClient } from './driver.ts'

/**
 * Options of `postgresStore`: a URL, or a client that is there already, and never both. No transaction may be open on
 * the client: what the store has acknowledged would be rolled back with it.
 */
export type PostgresStoreOptions = Common &
  (
    | { readonly url: string; readonly client?: undefined }
    | { readonly client: PostgresClient; readonly url?: undefined }
  )

interface Common {
  /** The schema that holds the tables; it is made if need be. Default: colloquy. */
  readonly schema?: string
  /**
   * Whether to wake other processes by NOTIFY, and to be woken by LISTEN over one connection, held from the first watch
   * on. Default: true. Where no connection can be held, or a pooler lets no notification through, polling does it
   * alone.
   */
  readonly listen?: boolean
  /**
   * Milliseconds between looks at the conversations that are watched. Default: 1,000; ten times that while
   * notifications arrive.
   */
  readonly pollInterval?: number
  /** Gives the time of records and leases. Default: the server's, which all processes share. */
  readonly clock?: Clock
  /**
   * Whether statements are prepared by name, which saves planning; the client must then take `{ name, text, values }`,
   * as `pg` does. A pooler that loses prepared statements is noticed, and they are given up. Default: true for a URL,
   * false for a client.
   */
  readonly prepare?: boolean
}
