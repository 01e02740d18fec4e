/** A PostgreSQL database that tells of each thing that is made in it, and what a schema in it holds. */

import type pg from 'pg'
import { expect } from 'vitest'

/** Where the making of what is in the table of gates waits, while another holds this lock. */
const GATE = 7

/** Looks into the database of a superuser's session. */
export const looks = (looker: () => Pick<pg.Client, 'query'>) => ({
  /** Has it tell of each thing that `app` makes from now on, and wait where it is told to. */
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

  /** Lets who makes this wait, until it is let go. */
  async hold(what: string): Promise<void> {
    await looker().query('INSERT INTO gates VALUES ($1)', [what])
    await looker().query('SELECT pg_advisory_lock($1)', [GATE])
  },

  letGo: (): Promise<unknown> => looker().query('SELECT pg_advisory_unlock($1)', [GATE]),

  /** How often things were made, and that what made them was kept. */
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

  /** Everything in a schema, but for what is in its tables. */
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
