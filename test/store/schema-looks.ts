/** A PostgreSQL database that reports every object created in it, and lists the contents of a schema. */

import type pg from 'pg'
import { expect } from 'vitest'

/** Advisory lock: the creation of objects listed in `gates` waits for it. */
const GATE = 7

export const looks = (looker: () => Pick<pg.Client, 'query'>) => ({
  /** Reports every object that `app` creates from now on, and blocks at the gates. */
  async tellAll(): Promise<void> {
    await looker().query(`
      CREATE TABLE made (what text);
      CREATE TABLE gates (what text);
      GRANT ALL ON made, gates TO app;
      CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      DECLARE
        v_command record;
      BEGIN
        FOR v_command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
          IF EXISTS (SELECT FROM public.gates g WHERE v_command.object_identity LIKE g.what) THEN
            PERFORM pg_advisory_xact_lock_shared(${GATE});
          END IF;
          INSERT INTO public.made VALUES (v_command.object_identity);
        END LOOP;
      END $$;
      CREATE EVENT TRIGGER tell ON ddl_command_end EXECUTE FUNCTION tell();
    `)
  },

  /** Blocks the creation of an object until it is released. */
  async hold(what: string): Promise<void> {
    await looker().query('INSERT INTO gates VALUES ($1)', [what])
    await looker().query('SELECT pg_advisory_lock($1)', [GATE])
  },

  letGo: (): Promise<unknown> => looker().query('SELECT pg_advisory_unlock($1)', [GATE]),

  /** Counts committed creations. */
  async made(pattern: string): Promise<number> {
    const { rows } = await looker().query<{ readonly count: number }>(
      'SELECT count(*)::integer AS count FROM made WHERE what LIKE $1',
      [pattern],
    )
    return rows[0]?.count ?? 0
  },

  async versionOf(schema = 'colloquy'): Promise<number | undefined> {
    const { rows } = await looker().query<{ readonly version: number }>(
      `SELECT version FROM ${schema}.schema_version`,
    )
    expect(rows.length).toBe(1)
    return rows[0]?.version
  },

  /** Everything in a schema except table contents. */
  async things(schema: string): Promise<unknown[]> {
    const { rows } = await looker().query(
      `SELECT c.relname AS name, c.relkind::text AS kind FROM pg_class c WHERE c.relnamespace = to_regnamespace($1)
      UNION ALL SELECT p.oid::regprocedure::text, p.prosrc FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1)
      UNION ALL SELECT n.nspname, 'schema' FROM pg_namespace n WHERE n.oid = to_regnamespace($1) ORDER BY 1, 2`,
      [schema],
    )
    return rows
  },
})
