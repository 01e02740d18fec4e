import { ColloquyError } from '../../event/errors.ts'
import type { Clock } from '../kit/record.ts'

/** A client that runs a statement with `$1`, `$2`, … and returns rows: a pg Pool or Client, or PGlite. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

/**
 * Options of a PostgreSQL store: a URL, or a client. The client must have no open transaction, because a
 * rollback of this transaction would undo acknowledged changes.
 */
export type PostgresStoreOptions = Common &
  (
    | { readonly url: string; readonly client?: undefined }
    | { readonly client: PostgresClient; readonly url?: undefined }
  )

interface Common {
  /** Schema of the tables, which is created if it does not exist. Default: colloquy. */
  readonly schema?: string
  /**
   * Whether to use NOTIFY and LISTEN. LISTEN holds one connection from the first watch until `close`.
   * Default: true. If false, or if a pooler drops notifications, the store only polls.
   */
  readonly listen?: boolean
  /** Milliseconds between polls for changes, ten times longer while notifications arrive. Default: 1,000. */
  readonly pollInterval?: number
  /**
   * Milliseconds until a call without a response fails with `store_unavailable`; its statement may still
   * commit. `close` waits at most as long, and does not fail. Default: 10,000.
   */
  readonly timeout?: number
  /** The clock of records, leases and items. Default: the server's, which all processes share. */
  readonly clock?: Clock
  /** Whether to index all text for `searchText`. Set it in every appending process. Default: false. */
  readonly fullText?: boolean
  /** The feed removes a row of a deleted conversation once this many later rows exist. Default: 100,000. */
  readonly feedRows?: number
  /**
   * Whether statements are prepared by name, which saves planning; the client must accept `{ name, text,
   * values }`, as `pg` does. The store stops preparing if a pooler loses statements. Default: true for a URL,
   * false for a client.
   */
  readonly prepare?: boolean
}

export interface PreparingClient {
  query(statement: {
    readonly name: string
    readonly text: string
    readonly values: unknown[]
  }): Promise<{ readonly rows: unknown[] }>
}

/** A client that receives notifications, such as one of `pg`. */
export interface ListeningClient extends PostgresClient {
  on(
    event: 'notification',
    hear: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown
  on(event: 'error' | 'end', fail: () => void): unknown
  /** Makes its connection keep the process alive. Not every client has this method. */
  ref?(): void
  unref?(): void
}

/** A pool's client that has not been released. */
export interface HeldClient extends ListeningClient {
  release(destroy?: boolean): void
}

/** A pool of `pg`: `query` runs on any of its clients; `connect` lends a client. */
export interface PostgresPool extends PostgresClient {
  connect(): Promise<HeldClient>
  readonly totalCount: number
  readonly options?: { readonly max?: number }
}

/** A client that calls back for each notification of a channel, such as PGlite. */
export interface SubscribingClient extends PostgresClient {
  listen(channel: string, hear: (payload: string) => void): Promise<() => Promise<void>>
}

interface TransactingClient extends PostgresClient {
  transaction<T>(run: (connection: PostgresClient) => Promise<T>): Promise<T>
}

interface LoadedDriver {
  readonly Pool: new (options: {
    readonly connectionString: string
    readonly max: number
    readonly connectionTimeoutMillis: number
    readonly query_timeout: number
    readonly keepAlive: boolean
    readonly allowExitOnIdle: boolean
    readonly onConnect: (client: PostgresClient) => Promise<unknown>
  }) => PostgresPool & {
    end(): Promise<void>
    on(event: 'error', fail: () => void): unknown
  }
}

export async function loadDriver(): Promise<LoadedDriver> {
  try {
    return (await import('pg')).default as object as LoadedDriver
  } catch (cause) {
    throw new ColloquyError(
      'store_unavailable',
      'A PostgreSQL URL requires the package `pg`. Run `npm install pg`.',
      {},
      { cause },
    )
  }
}

export const isPool = (client: PostgresClient): client is PostgresPool =>
  'connect' in client && typeof (client as Partial<PostgresPool>).totalCount === 'number'

export const isTransacting = (client: PostgresClient): client is TransactingClient =>
  'transaction' in client && typeof client.transaction === 'function'

export const isSubscribing = (client: PostgresClient): client is SubscribingClient =>
  'listen' in client && typeof client.listen === 'function'

export const isListening = (client: PostgresClient): client is ListeningClient =>
  'on' in client && typeof client.on === 'function'

/** Returns the SQLSTATE or system code of an error, or an empty string. */
export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}
