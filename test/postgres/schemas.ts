/** Schemas that are used again: most of what a small test over PostgreSQL costs is to make the tables of its own. */

import type pg from 'pg'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import type { OwnRows } from '../../src/testing/index.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** The schemas of one test file. */
export interface Schemas {
  /** The name of a schema that holds nothing: a new one, or one that was given back, emptied. */
  take(): Promise<string>
  /** Gives back all that were taken; what was open there must be closed. */
  giveBack(): void
}

/**
 * Schemas in the database of a superuser's client, or pool. What is emptied keeps its tables, its functions, and what its
 * sequences have counted.
 */
export function schemas(prefix: string, admin: () => Pick<pg.Pool, 'query'>): Schemas {
  const taken: string[] = []
  const free: string[] = []
  let made = 0
  return {
    async take() {
      const again = free.pop()
      const name = again ?? `${prefix}_${(made += 1)}`
      taken.push(name)
      if (again !== undefined) await admin().query(emptying(name))
      return name
    },
    giveBack: () => void free.push(...taken.splice(0)),
  }
}

/** Opens stores for the kit, each on a schema of its own, and knows which schema each has. */
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
    open: async () => on(await from.take()),
    reopen: async (store) => on(schemaOf.get(store) as string),
  }
}

/** A table beside those of the stores. */
export const ROWS: OwnRows = {
  async insert(tx, text) {
    const client = tx as pg.ClientBase
    await makeNotes(client)
    await client.query('INSERT INTO public.note (text) VALUES ($1)', [text])
  },
  async list(tx) {
    const client = tx as pg.ClientBase
    await makeNotes(client)
    return (await client.query<{ readonly text: string }>('SELECT text FROM public.note')).rows.map(
      ({ text }) => text,
    )
  },
}

/** One transaction after the other: of two that create a table at once, one fails. */
async function makeNotes(client: pg.ClientBase): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(37)')
  await client.query('CREATE TABLE IF NOT EXISTS public.note (text text NOT NULL)')
}

/** One statement; as a replica, so that the triggers tell nobody of what goes. */
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
