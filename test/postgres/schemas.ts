/** Reuses schemas, since creating tables dominates small PostgreSQL tests. */

import type pg from 'pg'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import type { OwnRows } from '../../src/testing/index.ts'
import type { Store } from '../../src/store/contract/store.ts'

export interface Schemas {
  /** The name of an empty schema, new or reused. */
  acquire(): Promise<string>
  /** Releases all acquired schemas; their stores must be closed. */
  releaseAll(): void
}

/** Schemas in the database of a superuser's client or pool. Emptying keeps tables, functions and sequence values. */
export function schemas(prefix: string, admin: () => Pick<pg.Pool, 'query'>): Schemas {
  const acquired: string[] = []
  const free: string[] = []
  let count = 0
  return {
    async acquire() {
      const again = free.pop()
      const name = again ?? `${prefix}_${(count += 1)}`
      acquired.push(name)
      if (again !== undefined) await admin().query(emptying(name))
      return name
    },
    releaseAll: () => void free.push(...acquired.splice(0)),
  }
}

/** Opens stores for the kit, each on its own schema, and remembers the schema. */
export function opener(
  from: Schemas,
  to: () => PostgresStoreOptions,
): {
  open(): Promise<Store>
  reopen(store: Store): Promise<Store>
} {
  const schemaOf = new Map<Store, string>()
  const on = (schema: string): Store => {
    const store = postgresStore({ ...to(), schema })
    schemaOf.set(store, schema)
    return store
  }
  return {
    open: async () => on(await from.acquire()),
    reopen: async (store) => on(schemaOf.get(store) as string),
  }
}

/** A table of the caller in the database of the stores. */
export const ROWS: OwnRows = {
  async insert(tx, text) {
    const client = tx as pg.ClientBase
    await createNotes(client)
    await client.query('INSERT INTO public.note (text) VALUES ($1)', [text])
  },
  async list(tx) {
    const client = tx as pg.ClientBase
    await createNotes(client)
    return (await client.query<{ readonly text: string }>('SELECT text FROM public.note')).rows.map(
      ({ text }) => text,
    )
  },
}

/** Uses a lock, because concurrent creation of the same table fails. */
async function createNotes(client: pg.ClientBase): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(37)')
  await client.query('CREATE TABLE IF NOT EXISTS public.note (text text NOT NULL)')
}

/** Empties all tables in one statement. The role `replica` disables triggers, so that none notifies. */
const emptying = (schema: string): string => `DO $$
DECLARE
  name text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'schema_version' LOOP
    EXECUTE format('DELETE FROM ${schema}.%I', name);
  END LOOP;
END
$$`
