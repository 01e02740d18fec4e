/** Pieces of SQL that several functions share. */

/** The server's time in microseconds since 1970; as a float, which holds them exactly until the year 2255, and is fast. */
export const NOW = `(date_part('epoch', clock_timestamp()) * 1000000)::bigint`

/** Makes this transaction's commit wait for the disk where the server's default would let a crash lose what was acknowledged. */
export const BE_DURABLE = `
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;`

/** What a writer says of the conversation it believes to write to; nulls ask nothing. */
export const WRITER = `p_expected integer, p_owner text, p_generation integer, p_zoneless boolean, p_now bigint`

/** The same for a statement of its own, to be joined: one row. */
export const DURABLE = `(
  SELECT CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
) AS durable`
