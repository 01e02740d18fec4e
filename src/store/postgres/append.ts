/**
 * Appends in one round trip: decides on this store's copy of the log, and writes if it is current; else
 * decides again on the returned log.
 */

import { unknownConversation } from '../kit/errors.ts'
import { ColloquyError, isColloquyError } from '../../event/errors.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { AppendOptions, AppendResult } from '../contract/store.ts'
import { type AppendDecision, idsToLoad } from '../kit/append/decide-append.ts'
import { type Digests, type LargeString, referencesText, splitBody } from '../kit/blobs.ts'
import { shardOf, TOLD } from '../kit/feed.ts'
import {
  KnownLog,
  LOG_COLUMNS,
  type LogRow,
  resultOf,
  searchColumns,
  StaleLog,
  TIP_COLUMNS,
  tipValues,
} from '../sql/append.ts'
import { saveTexts, storedPieces } from '../sql/blobs.ts'
import { confirm, type Engine, first, type SqlValue, type Work } from '../sql/dialect.ts'
import { eventReads } from '../sql/events.ts'
import { textRow } from '../sql/texts.ts'
import type { Connection } from './connection.ts'
import { FEED_MOMENT, NOW } from './dialect.ts'
import { textValues } from './texts.ts'

interface Appended {
  readonly result: AppendResult
  readonly isNew: boolean
}

interface WaitingAppend {
  readonly facts: readonly Fact[]
  readonly options: AppendOptions
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: unknown) => void
}

interface Decided {
  readonly append: WaitingAppend
  readonly decision: AppendDecision
}

interface AppendRow<T extends string> {
  readonly appended: T | 'written' | LogRow | null
}

interface Line {
  readonly waiting: WaitingAppend[]
  log: KnownLog | null
  underWay: number
  timer: ReturnType<typeof setTimeout> | null
}

/** Events, and characters of their bodies, that one statement writes at most, unless one append has more. */
const [MAX_EVENTS, MAX_TEXT] = [256, 1_000_000]

/** How often appends are decided again because another writer was faster; each time, another one succeeded. */
const MAX_ATTEMPTS = 50

/** Milliseconds that appends wait for one under way: its connection may be one that nothing returns from. */
const TURN_TIMEOUT = 1_000

const MAX_LINES = 1_000

/** Concurrent appends to one conversation are written together, with one disk wait (design D30). */
export function appender(engine: Engine, schema: string, connection: Connection, fullText: boolean) {
  const reads = eventReads(engine.dialect)
  const lines = new Map<string, Line>()

  function append(conversationId: string, facts: readonly Fact[], options: AppendOptions): Promise<Appended> {
    return new Promise((resolve, reject) => {
      const line = lines.get(conversationId) ?? { waiting: [], log: null, underWay: 0, timer: null }
      // Set again, so that the least recently used is the first.
      lines.delete(conversationId)
      lines.set(conversationId, line)
      for (const [id, { underWay }] of lines) {
        if (lines.size <= MAX_LINES) break
        if (underWay === 0 && id !== conversationId) lines.delete(id)
      }
      line.waiting.push({ facts, options, resolve, reject })
      if (line.underWay === 0) void send(conversationId, line)
      else setTimer(conversationId, line)
    })
  }

  function setTimer(conversationId: string, line: Line): void {
    line.timer ??= setTimeout(() => void send(conversationId, line), TURN_TIMEOUT)
  }

  async function send(conversationId: string, line: Line): Promise<void> {
    line.underWay += 1
    while (line.waiting.length > 0) {
      if (line.timer !== null) clearTimeout(line.timer)
      line.timer = null
      const group = nextGroup(line.waiting)
      if (line.waiting.length > 0) setTimer(conversationId, line)
      try {
        await writeGroup(conversationId, line, group)
      } catch (error) {
        line.log = null
        if (group.length === 1) group[0]?.reject(error)
        // The group may have failed as a whole, for example at the statement timeout.
        else for (const one of group) await writeGroup(conversationId, line, [one]).catch(one.reject)
      }
    }
    line.underWay -= 1
  }

  /**
   * Decides and writes appends as one. Assumes the log after the last append, new ids and held leases, which
   * the server checks. If one is wrong, or an append is rejected or known, decides all again on the server's
   * data.
   * @throws what the database throws. A rejected append rejects alone.
   */
  async function writeGroup(
    conversationId: string,
    line: Line,
    group: readonly WaitingAppend[],
  ): Promise<void> {
    let known = line.log
    line.log = null
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const isAssumed = attempt === 0
      const log = known ?? (await findLog(conversationId))
      const facts = group.flatMap((append) => append.facts)
      if (isAssumed) log.assumeNew(facts.flatMap((fact) => idOf(fact) ?? []))
      else if (log.tip.version > 0) await engine.read(() => log.load(idsToLoad(facts)))
      const decided: Decided[] = []
      const refused: { readonly append: WaitingAppend; readonly error: unknown }[] = []
      const before = log.tip.version
      let isStale = false
      for (const append of group) {
        try {
          const decision = await engine.read(() => log.decide(append.facts, append.options, isAssumed))
          log.advance(decision)
          decided.push({ append, decision })
        } catch (error) {
          if (error instanceof StaleLog) isStale = true
          else if (!isColloquyError(error) || error.code.startsWith('store_')) throw error
          else refused.push({ append, error })
        }
      }
      known = null
      const isKnown = decided.some(({ decision }) => decision.added.length === 0)
      if (isStale || (isAssumed && (refused.length > 0 || isKnown))) continue
      const isNew = log.tip.version > before
      if (isNew) {
        const current = await write(log, before, decided)
        if (current === null) throw unknownConversation(conversationId)
        if (current !== 'written') {
          known = new KnownLog(conversationId, current, reads)
          continue
        }
      } else await engine.write(confirm)
      log.trim()
      line.log = log
      for (const { append, error } of refused) append.reject(error)
      for (const { append, decision } of decided) {
        append.resolve({ result: resultOf(decision), isNew: decision.added.length > 0 })
      }
      return
    }
    throw new ColloquyError(
      'store_busy',
      'Concurrent writes to this conversation prevented the append. Retry.',
      { conversationId },
    )
  }

  async function findLog(conversationId: string): Promise<KnownLog> {
    const sql = `SELECT ${LOG_COLUMNS} FROM ${engine.dialect.table('log')} WHERE conversation_id = ?`
    const row = await engine.read(() => first<LogRow>(sql, conversationId))
    if (row === undefined) throw unknownConversation(conversationId)
    return new KnownLog(conversationId, row, reads)
  }

  /** Writes decisions. Returns `written`; or the changed row of the log; or null without a log. */
  async function write(
    log: KnownLog,
    version: number,
    decided: readonly Decided[],
  ): Promise<'written' | LogRow | null> {
    const { conversationId, number, row, tip } = log
    const decisions = decided.map(({ decision }) => decision)
    const lease = decided.find(({ append }) => append.options.lease !== undefined)?.append.options.lease
    const added = decisions.flatMap((decision) => decision.added)
    const matches = added.map(searchColumns)
    const digests: Digests = new Map()
    const split = added.map(({ event, hasLargeString }) =>
      hasLargeString ? splitBody(event.fact, digests) : null,
    )
    const strings = new Map(split.flatMap((one) => one?.strings ?? []).map((one) => [one.hash, one]))
    const uses = split.flatMap((one, index) =>
      [...new Set(one?.strings.map(({ hash }) => hash))].map((hash) => ({ seq: version + index, hash })),
    )
    const opened = decisions.flatMap((decision) => decision.opened)
    const values: readonly SqlValue[] = [
      conversationId,
      number,
      row.time_zone,
      lease?.owner ?? null,
      lease?.generation ?? null,
      engine.clock(),
      shardOf(conversationId),
      Math.floor(Math.random() * 2 ** 32),
      version,
      ...tipValues(tip),
      added.map(({ event }) => event.id),
      added.map(({ event }) => event.parentId),
      added.map(({ event }) => event.time),
      added.map(({ node }) => textOf(node?.lane)),
      matches.map(({ kind }) => kind),
      matches.map(({ source }) => source),
      matches.map(({ message }) => message),
      // JSON text has no line feed of its own, and one text is read faster than a list.
      added.map(({ event }, index) => split[index]?.body ?? JSON.stringify(event.fact)).join('\n'),
      split.some((one) => one !== null) ? split.map((one) => one && referencesText(one.strings)) : null,
      uses.map(({ seq }) => String(seq)),
      uses.map(({ hash }) => hash),
      [...strings.keys()],
      [...strings.values()].map(({ bytes }) => String(bytes)),
      opened.map(({ lane }) => String(lane)),
      opened.map(({ time }) => String(time)),
      opened.map(({ parent }) => textOf(parent?.lane)),
      opened.map(({ parent }) => textOf(parent?.seq)),
      opened.map(({ parent }) => textOf(parent?.time)),
      fullText,
      ...textValues(
        fullText ? added.flatMap(({ event, time, node }) => textRow(event, node !== null, time) ?? []) : [],
      ),
    ]
    const marks = [...values, ...NO_PIECES].map(() => '?').join(', ')
    const sql = `SELECT ${schema}.append(${marks}) AS appended`
    const [only] = decided
    const within = only?.append.options.within
    const texts = [...strings.values()]
    const send = async <T extends string>(
      pieces: readonly SqlValue[],
      isStreamed = false,
    ): Promise<T | 'written' | LogRow | null> => {
      const call = () => first<AppendRow<T>>(sql, ...values, ...pieces)
      function* save(): Work<AppendRow<T> | undefined> {
        yield* saveTexts(engine.dialect, texts)
        return yield* call()
      }
      if (within === undefined && !isStreamed) return (await engine.write(call))?.appended ?? null
      let row: AppendRow<T> | undefined
      await connection.transaction<AppendRow<T>>(sql, [...values, ...pieces], async (result, handle) => {
        // The first call has locked the log, and its checks hold for the second.
        row = isStreamed && result?.appended === 'blobs' ? await connection.runOn(handle, save) : result
        const isWritten = row?.appended === 'written'
        if (isWritten && only !== undefined) await within?.(handle, resultOf(only.decision))
        return isWritten
      })
      return row?.appended ?? null
    }
    // The bytes of long strings are sent only where the server does not have them all.
    const appended = await send<'blobs'>(NO_PIECES)
    if (appended !== 'blobs') return appended
    const isStreamed = texts.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_SENT
    return isStreamed && (await connection.canHold())
      ? send<never>(NO_PIECES, true)
      : send<never>(piecesOf(texts))
  }

  return append
}

const NO_PIECES: readonly SqlValue[] = [[], [], [], [], null]

/** Bytes of long strings that one statement sends at most, where the client can hold a transaction for more. */
const MAX_SENT = 8 * 2 ** 20

function piecesOf(strings: readonly LargeString[]): readonly SqlValue[] {
  const pieces = strings.flatMap(({ hash, text }) =>
    [...storedPieces(text)].map((piece) => ({ hash, ...piece })),
  )
  const all = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let end = 0
  for (const { bytes } of pieces) {
    all.set(bytes, end)
    end += bytes.length
  }
  return [
    pieces.map(({ hash }) => hash),
    pieces.map(({ start }) => String(start)),
    pieces.map(({ base64 }) => String(base64)),
    pieces.map(({ bytes }) => String(bytes.length)),
    all,
  ]
}

const textOf = (value: number | bigint | undefined): string | null =>
  value === undefined ? null : String(value)

const idOf = (fact: Fact): string | undefined => {
  const id = (fact as Fact | null | undefined)?.id
  return typeof id === 'string' ? id : undefined
}

/** Returns the next group: the first append, and as many more small ones as fit. O(group). */
function nextGroup(waiting: WaitingAppend[]): WaitingAppend[] {
  let [count, events, text] = [0, 0, 0]
  let lease: AppendOptions['lease']
  for (const { facts, options } of waiting) {
    if (count > 0 && options.within !== undefined) break
    events += facts.length
    if (waiting.length > 1) text += sizeOf(facts)
    const ownLease = options.lease
    const isSame =
      ownLease === undefined ||
      lease === undefined ||
      (ownLease.owner === lease.owner && ownLease.generation === lease.generation)
    if (count > 0 && (events > MAX_EVENTS || text > MAX_TEXT || !isSame)) break
    lease ??= ownLease
    count += 1
    // It has a commit of its own.
    if (options.within !== undefined) break
  }
  return waiting.splice(0, count)
}

/** Characters of the bodies; one that cannot be written is refused when it is decided. */
function sizeOf(facts: readonly Fact[]): number {
  try {
    return JSON.stringify(facts).length
  } catch {
    return MAX_TEXT
  }
}

const TIP_TYPES: Readonly<Record<(typeof TIP_COLUMNS)[number], string>> = {
  version: 'integer',
  time: 'bigint',
  in_order: 'integer',
  head_id: 'text',
  head_parent_id: 'text',
  head_seq: 'integer',
  head_lane: 'integer',
  head_time: 'bigint',
  last_lane: 'integer',
  last_lane_end: 'integer',
}

/**
 * `append` writes a decision and returns "written"; or, unchanged, the log's row if log, zone or lease
 * differs, or an id exists; null for an unknown conversation; "blobs" if a long string's bytes are neither
 * stored nor passed. It locks blobs against deletion, by hash, as `drop_blobs` does.
 */
export const appendFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.append(
  p_conversation text, p_number bigint, p_zone text, p_owner text, p_generation integer,
  p_now bigint, p_shard integer, p_witness bigint, p_from integer,
  ${TIP_COLUMNS.map((name) => `p_${name} ${TIP_TYPES[name]}`).join(', ')},
  p_ids text[], p_parent_ids text[], p_times bigint[], p_lanes integer[], p_kinds text[], p_sources text[],
  p_messages text[], p_bodies text, p_blobs text[], p_use_seqs integer[], p_use_hashes text[], p_hashes text[],
  p_sizes bigint[], p_opened integer[], p_opened_times bigint[], p_opened_parent_lanes integer[],
  p_opened_parent_seqs integer[], p_opened_parent_times bigint[], p_full_text boolean, p_text_numbers bigint[],
  p_text_seqs integer[], p_text_times bigint[], p_text_roles integer[], p_text_sizes integer[], p_text_lines text,
  p_piece_hashes text[], p_piece_starts bigint[], p_piece_base64s integer[], p_piece_lengths integer[],
  p_piece_bytes bytea
) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  v ${schema}.log%ROWTYPE;
  known integer;
BEGIN
  SELECT * INTO v FROM ${schema}.log WHERE conversation_id = p_conversation FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF v.number <> p_number OR v.version <> p_from OR v.time_zone IS DISTINCT FROM p_zone
    OR (p_owner IS NOT NULL AND (v.lease_owner IS DISTINCT FROM p_owner OR v.lease_generation <> p_generation))
    OR EXISTS (
      SELECT FROM unnest(p_ids, p_lanes) AS n (id, lane) CROSS JOIN LATERAL (
        SELECT FROM ${schema}.event e
        WHERE e.log = p_number AND e.id BETWEEN n.id AND n.id AND e.lane IS NOT NULL ORDER BY e.id LIMIT 1
      ) e WHERE n.lane IS NOT NULL
    )
  THEN
    RETURN (SELECT to_jsonb(r) FROM (
      SELECT ${LOG_COLUMNS} FROM ${schema}.log WHERE number = v.number
    ) r);
  END IF;
  IF cardinality(p_hashes) > 0 THEN
    SELECT count(*) INTO known FROM (
      SELECT FROM ${schema}.blob b WHERE b.hash = ANY (p_hashes) ORDER BY b.hash FOR KEY SHARE
    ) AS b;
    IF known < cardinality(p_hashes) THEN
      IF p_piece_bytes IS NULL THEN
        RETURN '"blobs"';
      END IF;
      WITH new AS (
        INSERT INTO ${schema}.blob AS b (hash, bytes)
        SELECT n.hash, n.bytes FROM unnest(p_hashes, p_sizes) AS n (hash, bytes) ORDER BY n.hash
        ON CONFLICT (hash) DO UPDATE SET bytes = b.bytes RETURNING b.hash, b.xmax = 0 AS is_new
      )
      INSERT INTO ${schema}.blob_piece (hash, start, base64, bytes)
      SELECT p.hash, p.start, p.base64, substring(p_piece_bytes FROM p.first FOR p.length) FROM (
        SELECT n.*, (1 + sum(n.length) OVER (ORDER BY n.nth) - n.length)::integer AS first
        FROM unnest(p_piece_hashes, p_piece_starts, p_piece_base64s, p_piece_lengths) WITH ORDINALITY
          AS n (hash, start, base64, length, nth)
      ) AS p JOIN new ON new.hash = p.hash AND new.is_new;
    END IF;
  END IF;
  IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  INSERT INTO ${schema}.event (log, seq, id, parent_id, time, lane, kind, source, message, body, blobs)
  SELECT p_number, p_from + (n - 1)::integer, f.id, f.parent_id, f.time, f.lane, f.kind, f.source, f.message, f.body,
    f.blobs
  FROM unnest(
    p_ids, p_parent_ids, p_times, p_lanes, p_kinds, p_sources, p_messages, string_to_array(p_bodies, E'\n'),
    p_blobs
  ) WITH ORDINALITY AS f (id, parent_id, time, lane, kind, source, message, body, blobs, n);
  IF cardinality(p_hashes) > 0 THEN
    INSERT INTO ${schema}.blob_use (log, seq, hash)
    SELECT p_number, u.seq, u.hash FROM unnest(p_use_seqs, p_use_hashes) AS u (seq, hash);
  END IF;
  IF cardinality(p_opened) > 0 THEN
    INSERT INTO ${schema}.lane (log, lane, time, parent_lane, parent_seq, parent_time)
    SELECT p_number, o.* FROM unnest(
      p_opened, p_opened_times, p_opened_parent_lanes, p_opened_parent_seqs, p_opened_parent_times
    ) AS o;
  END IF;
  IF p_full_text AND v.text_version = p_from THEN
    v.text_version := p_version;
    IF cardinality(p_text_numbers) > 0 THEN
      PERFORM ${schema}.write_texts(
        p_number, p_text_numbers, p_text_seqs, p_text_times, p_text_roles, p_text_sizes, p_text_lines
      );
    END IF;
  END IF;
  UPDATE ${schema}.log SET text_version = v.text_version,
    ${TIP_COLUMNS.map((name) => `${name} = p_${name}`).join(', ')},
    updated_at = greatest(updated_at, coalesce(p_now, ${NOW}))
  WHERE number = p_number;
  INSERT INTO ${schema}.feed (shard, witness, number, conversation_id, told, from_seq, until_seq, moment)
  VALUES (p_shard, p_witness, p_number, p_conversation, ${TOLD.events}, p_from, p_version, ${FEED_MOMENT});
  RETURN '"written"';
END
$body$`
