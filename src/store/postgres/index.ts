/** `colloquy/postgres`: a store over PostgreSQL, for any number of processes. */

export { postgresStore } from './store.ts'
export type { PostgresStoreOptions } from './options.ts'
export type {
  HeldClient,
  ListeningClient,
  PostgresClient,
  PostgresPool,
  SubscribingClient,
} from './driver.ts'
