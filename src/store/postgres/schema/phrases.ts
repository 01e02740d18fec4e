/** Pieces of SQL that several functions share. */

/**
 * The server's time in microseconds since 1970; as a float, which holds them exactly until the year 2255, and is fast.
 */
export const NOW = `(date_part('epoch', clock_timestamp()) * 1000000)::bigint`

/**
 * Settings of `synchronous_commit` by which what was acknowledged is lost in a crash, or when a standby takes over
 * (design D12).
 */
const WEAK = `('off', 'local', 'remote_write')`

/** Makes this transaction's commit wait for this disk, and for that of the synchronous standby where there is one. */
export const BE_DURABLE = `
  IF current_setting('synchronous_commit') IN ${WEAK} THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;`

/** What a writer says of the conversation it believes to write to; nulls ask nothing. */
export const WRITER = `p_expected integer, p_owner text, p_generation integer, p_zoneless boolean, p_now bigint`

/** The same for a statement of its own, to be joined: one row. */
export const DURABLE = `(
  SELECT CASE WHEN current_setting('synchronous_commit') IN ${WEAK} THEN set_config('synchronous_commit', 'on', true) END
) AS durable`

/**
 * How the functions that search are planned: once, since a plan for the values at hand is no better and costs more than
 * the page; and along an index in its order. The planner knows the length of the average conversation at most: where
 * most are short, or it has yet to count, it would read all of a long one and sort. What was found is still sorted
 * where no index can: before PostgreSQL 18 such a sort counts as so dear that the plan would be compiled at each call,
 * which takes a hundred times as long as the page (`jit`). Each setting costs a call some microseconds, so there are no
 * more: whatever else reads a whole conversation would have to sort it, too.
 */
export const STEADY = `STABLE SET plan_cache_mode = force_generic_plan SET enable_sort = off SET jit = off`

/**
 * What a function is made with that appends: rows are found by an index. Of a table that was small when the session
 * first appended, all would be read, and the versions that appends leave behind until the next vacuum with it.
 */
export const BY_INDEX = 'SET enable_seqscan = off'

/** And what one is made with that looks for single events (`standing`): along an index in its order. */
export const IN_ORDER = `${BY_INDEX} SET enable_sort = off`

/**
 * The event of the tree with this id, as a table to select from. It is first of an order that the index of ids alone
 * gives, for a function that does not sort: of equal columns the planner chooses between indexes by the length of the
 * average conversation, and would read all of a long one where most are short.
 */
export const standing = (schema: string, conversation: string, id: string): string => `(
        SELECT * FROM ${schema}.events s
        WHERE s.conversation_id = ${conversation} AND s.id BETWEEN ${id} AND ${id} AND s.lane IS NOT NULL
        ORDER BY s.id LIMIT 1
      )`

/** The events `e` of the tree with these ids, as a table to select from: one after the other, each by its index. */
export const eachStanding = (schema: string, conversation: string, ids: string): string => `
      unnest(${ids}) AS wanted_id CROSS JOIN LATERAL ${standing(schema, conversation, 'wanted_id')} e`

/**
 * The kinds and sources that a log has, `<kind> <source>` each, with those of new events: for the update of a
 * conversation.
 */
export const kindsWith = (kinds: string, sources: string): string => `kinds || ARRAY(
      SELECT DISTINCT n.kind || ' ' || n.source FROM unnest(${kinds}, ${sources}) AS n (kind, source)
      WHERE n.kind IS NOT NULL AND n.kind || ' ' || n.source <> ALL (kinds)
    )`
