/** The function that changes items, all or none. */

import { BE_DURABLE, NOW } from './phrases.ts'

/**
 * `change_items` gives, by their numbers from 1 on, the items that were put; or one row that does not fit, the first
 * that is not as expected, with its version, and then nothing was changed. `p_expected` is null for any version, 0 for
 * none; `p_puts` true for a put, false for a deletion, null for a comparison. Bodies and keys come as lines of JSON,
 * one for each change.
 *
 * Who changes an item holds a lock on its name, taken in one order by all, so that one that must not be there does not
 * come about meanwhile. Claims take no such locks, but those of rows, and wait for none.
 */
export const items = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.change_items(
  p_collections text[], p_ids text[], p_expected bigint[], p_puts boolean[], p_due_in bigint[],
  p_keys text, p_bodies text, p_now bigint
) RETURNS TABLE (nth integer, put_version bigint, put_due_at bigint, fits boolean) LANGUAGE plpgsql AS $body$
DECLARE
  v_keys text[] := string_to_array(p_keys, E'\\n');
  v_bodies text[] := string_to_array(p_bodies, E'\\n');
BEGIN
  -- Also for what is only compared: its lock waits for the standby that may lack it yet.
  ${BE_DURABLE}
  PERFORM pg_advisory_xact_lock(l.name) FROM (
    SELECT DISTINCT hashtextextended(n.collection || E'\\n' || n.id, 0) AS name
    FROM unnest(p_collections, p_ids) AS n (collection, id) ORDER BY 1
  ) l;
  PERFORM 1 FROM unnest(p_collections, p_ids) AS n (collection, id)
  JOIN ${schema}.items i ON i.collection = n.collection AND i.id = n.id FOR UPDATE OF i;
  RETURN QUERY SELECT n.nth::integer, i.version, NULL::bigint, false
  FROM unnest(p_collections, p_ids, p_expected) WITH ORDINALITY AS n (collection, id, expected, nth)
  LEFT JOIN ${schema}.items i ON i.collection = n.collection AND i.id = n.id
  WHERE n.expected <> coalesce(i.version, 0) ORDER BY n.nth LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  DELETE FROM ${schema}.item_keys k
  USING unnest(p_collections, p_ids, p_puts, v_keys) AS n (collection, id, put, keys)
  JOIN ${schema}.items i ON i.collection = n.collection AND i.id = n.id
  CROSS JOIN LATERAL json_each_text(i.keys::json) AS o (name, value)
  WHERE n.put IS NOT NULL AND k.collection = i.collection AND k.id = i.id AND k.name = o.name AND k.value = o.value
    AND n.keys::json ->> o.name IS DISTINCT FROM o.value;
  DELETE FROM ${schema}.items i USING unnest(p_collections, p_ids, p_puts) AS n (collection, id, put)
  WHERE NOT n.put AND i.collection = n.collection AND i.id = n.id;
  INSERT INTO ${schema}.items (collection, id, due_at, keys, body)
  SELECT n.collection, n.id, coalesce(p_now, ${NOW}) / 1000 + n.due_in, n.keys, n.body
  FROM unnest(p_collections, p_ids, p_puts, p_due_in, v_keys, v_bodies)
    AS n (collection, id, put, due_in, keys, body)
  WHERE n.put
  ON CONFLICT (collection, id) DO UPDATE SET
    version = DEFAULT, due_at = excluded.due_at, keys = excluded.keys, body = excluded.body;
  INSERT INTO ${schema}.item_keys (collection, name, value, id)
  SELECT n.collection, o.name, o.value, n.id FROM unnest(p_collections, p_ids, p_puts, v_keys) AS n (collection, id, put, keys)
  CROSS JOIN LATERAL json_each_text(n.keys::json) AS o (name, value)
  WHERE n.put
  ON CONFLICT DO NOTHING;
  RETURN QUERY SELECT n.nth::integer, i.version, i.due_at, true
  FROM unnest(p_collections, p_ids, p_puts) WITH ORDINALITY AS n (collection, id, put, nth)
  JOIN ${schema}.items i ON i.collection = n.collection AND i.id = n.id WHERE n.put;
END
$body$;
`
