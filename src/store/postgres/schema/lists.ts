/** The functions of lists: what keeps the indexes of conversations, and what walks them. */

import { MOST_LOOKED_AT } from '../../contract/query.ts'

const keep = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.list_conversation() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.updated_at <> OLD.updated_at THEN
      UPDATE ${schema}.conversation_changes SET updated_at = NEW.updated_at WHERE conversation_id = NEW.conversation_id;
    END IF;
    IF NEW.status IS DISTINCT FROM OLD.status THEN
      UPDATE ${schema}.conversation_keys SET value = coalesce(NEW.status, '')
      WHERE conversation_id = NEW.conversation_id AND name = 'status';
    END IF;
    IF NEW.public = OLD.public AND NEW.tags = OLD.tags THEN
      RETURN NULL;
    END IF;
    DELETE FROM ${schema}.conversation_keys WHERE conversation_id = NEW.conversation_id;
  ELSIF TG_OP = 'DELETE' THEN
    DELETE FROM ${schema}.conversation_keys WHERE conversation_id = OLD.conversation_id;
    DELETE FROM ${schema}.conversation_changes WHERE conversation_id = OLD.conversation_id;
    RETURN NULL;
  ELSE
    INSERT INTO ${schema}.conversation_changes (conversation_id, updated_at) VALUES (NEW.conversation_id, NEW.updated_at);
  END IF;
  INSERT INTO ${schema}.conversation_keys (conversation_id, name, value, created_at)
  SELECT NEW.conversation_id, k.name, k.value, NEW.created_at FROM (
    VALUES ('parent', coalesce(NEW.parent_conversation_id, '')), ('status', coalesce(NEW.status, '')),
      ('sandbox', NEW.sandbox_id), ('public', CASE WHEN NEW.public THEN 'true' END)
    UNION ALL SELECT 'tag.' || split_part(t.tag, '=', 1), substr(t.tag, position('=' IN t.tag) + 1)
    FROM unnest(NEW.tags) AS t (tag)
  ) AS k (name, value) WHERE k.value IS NOT NULL;
  RETURN NULL;
END
$body$;
`

/** A walk is of its index and nothing else, however few rows the planner expects. */
const PLAN = `STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off
  SET enable_seqscan = off SET enable_bitmapscan = off`

type Way = 'ASC' | 'DESC'

/** Which rows are walked, by the index that a list goes by. */
const WALKS = {
  created: { table: 'conversations', time: 'created_at', key: '' },
  updated: { table: 'conversation_changes', time: 'updated_at', key: '' },
  key: { table: 'conversation_keys', time: 'created_at', key: 'x.name = p_name AND x.value = p_value AND ' },
} as const

const walkOf = (schema: string, by: keyof typeof WALKS, way: Way, columns = ''): string => {
  const { table, time, key } = WALKS[by]
  return `SELECT ${columns}x.conversation_id AS id, x.${time} AS at FROM ${schema}.${table} x
      WHERE ${key}(x.${time}, x.conversation_id) > (p_low_time, p_low_id) AND (x.${time}, x.conversation_id) < (p_high_time, p_high_id)
      ORDER BY x.${time} ${way}, x.conversation_id ${way}`
}

/** What walks are given: a key, two places to stay between, and all else that a conversation is compared with. */
const PARAMETERS = `p_name text, p_value text, p_low_time bigint, p_low_id text, p_high_time bigint, p_high_id text,
  p_title text, p_public boolean, p_names text[], p_values text[], p_from bigint, p_until bigint`

const fits = (schema: string, by: keyof typeof WALKS): string => {
  const other = by === 'updated' ? 'c.created_at' : 'c.updated_at'
  return `(p_title IS NULL OR position(p_title IN c.title_folded) > 0)
      AND (p_public IS NULL OR c.public = p_public)
      AND ${other} >= p_from AND ${other} < p_until
      AND (cardinality(p_names) = 0 OR (
        SELECT bool_and(coalesce(asked.value = (
          SELECT k.value FROM ${schema}.conversation_keys k
          WHERE (k.conversation_id, k.name) >= (c.conversation_id, asked.name)
            AND (k.conversation_id, k.name) <= (c.conversation_id, asked.name)
          ORDER BY k.conversation_id, k.name LIMIT 1
        ), false)) FROM unnest(p_names, p_values) AS asked (name, value)
      ))`
}

/**
 * The conversation that a walk `w` has come to, if it fits. Where it walks their own table, that is what it has read;
 * any other is found by its id, by an order that one index alone gives.
 */
const looked = (schema: string, by: keyof typeof WALKS): string =>
  by === 'created'
    ? `SELECT * FROM (SELECT w.*) c WHERE ${fits(schema, by)}`
    : `SELECT * FROM ${schema}.conversations c
    WHERE c.conversation_id BETWEEN w.id AND w.id AND ${fits(schema, by)} ORDER BY c.conversation_id LIMIT 1`

/** What such a walk reads. */
const rowsOf = (schema: string, by: keyof typeof WALKS, way: Way): string =>
  walkOf(schema, by, way, by === 'created' ? 'x.*, ' : '')

/** The columns of a record, in the order in which pages give them, with their types. */
export const RECORD_TYPES = {
  conversation_id: 'text',
  title: 'text',
  public: 'boolean',
  tags: 'text[]',
  metadata: 'text',
  time_zone: 'text',
  parent_conversation_id: 'text',
  sandbox_id: 'text',
  status: 'text',
  created_at: 'bigint',
  updated_at: 'bigint',
  version: 'integer',
  head_id: 'text',
} as const

const COLUMNS = Object.keys(RECORD_TYPES)

/**
 * A page: the records that fit, and behind fewer than asked for a row without any, with the place at which the walk
 * has looked at as many as it may.
 */
const page = (schema: string, by: keyof typeof WALKS, way: Way): string => {
  const types = Object.entries(RECORD_TYPES).map(([name, type]) => `"${name}" ${type}`)
  return `
CREATE OR REPLACE FUNCTION ${schema}.list_${by}_${way === 'ASC' ? 'up' : 'down'}(${PARAMETERS}, p_most integer)
RETURNS TABLE (looked_id text, looked_at bigint, ${types.join(', ')})
LANGUAGE plpgsql ${PLAN} AS $body$
#variable_conflict use_column
DECLARE
  v_count integer;
BEGIN
  RETURN QUERY SELECT NULL::text, NULL::bigint, ${COLUMNS.map((name) => `r.${name}`).join(', ')}
  FROM (${rowsOf(schema, by, way)} LIMIT ${MOST_LOOKED_AT}) w CROSS JOIN LATERAL (
    ${looked(schema, by)}
  ) r ORDER BY w.at ${way}, w.id ${way} LIMIT p_most;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  IF v_count < p_most THEN
    RETURN QUERY SELECT w.id, w.at, ${Object.values(RECORD_TYPES)
      .map((type) => `NULL::${type}`)
      .join(', ')}
    FROM (${walkOf(schema, by, way)} OFFSET ${MOST_LOOKED_AT - 1} LIMIT 1) w;
  END IF;
END
$body$;
`
}

/** A count: how many were looked at, at most so many where that is not null, and how many of them fit. */
const count = (schema: string, by: keyof typeof WALKS): string => `
CREATE OR REPLACE FUNCTION ${schema}.count_${by}(${PARAMETERS}, p_all boolean, p_most integer)
RETURNS TABLE (looked integer, fit integer) LANGUAGE plpgsql ${PLAN} AS $body$
BEGIN
  IF p_all THEN
    RETURN QUERY SELECT count(*)::integer, count(*)::integer FROM (${walkOf(schema, by, 'ASC')} LIMIT p_most) w;
    RETURN;
  END IF;
  RETURN QUERY SELECT count(*)::integer, count(r.conversation_id)::integer
  FROM (${rowsOf(schema, by, 'ASC')} LIMIT p_most) w LEFT JOIN LATERAL (
    ${looked(schema, by)}
  ) r ON true;
END
$body$;
`

const BY = ['created', 'updated', 'key'] as const

/**
 * `list_conversation` is what the trigger calls. `list_created_up` and the like give a page, `count_created` and the
 * like a count, each by one index: that of creation, of change, or of a key by creation.
 */
export const lists = (schema: string): string =>
  [
    keep(schema),
    ...BY.flatMap((by) => [page(schema, by, 'ASC'), page(schema, by, 'DESC'), count(schema, by)]),
  ].join('')
