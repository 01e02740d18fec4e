import { isColloquyError } from '../../event/errors.ts'
import { type TextIndex, type TextPage, TEXT_ROLES } from '../contract/text.ts'
import type { StoredEvent } from '../contract/query.ts'
import type { CheckedTextQuery, FoundText, TextClause, TextSource } from '../kit/query/text-query.ts'
import { findTextPage, firstPlace, placeBehind } from '../kit/query/text-query.ts'
import { eventText, lineOf, sizeOfLine } from '../kit/query/text-tokens.ts'
import { type Bigint, type EventRow, readFact } from '../kit/row.ts'
import { keyColumn, keyCondition } from './conversations.ts'
import type { Dialect, Statement, SqlStep, Work } from './dialect.ts'
import { all, allOf, first, joined, NOTHING, sql, statement } from './dialect.ts'
import { blobReads } from './blobs.ts'
import type { eventReads } from './events.ts'

export interface TextRow {
  readonly seq: number
  readonly time: bigint
  readonly role: number
  readonly size: number
  readonly line: string
}

export interface TextMatch {
  readonly query: CheckedTextQuery
  readonly log: number | null
  readonly columns: Statement
  /** SQL conditions on `t`, a row of texts. `fitsFound` has only the conditions that the index does not check. */
  readonly fits: Statement
  readonly fitsFound: Statement
  readonly below: bigint
  readonly least: bigint
  readonly limit: number
}

export interface TextWork {
  /** Returns the SQL condition that the line of a row contains a clause. `t` is the table of texts in the query. */
  readonly contains: (clause: TextClause) => Statement
  /** Returns a query for `number`, `log` and `seq` of the newest `limit` matching texts, in any order. */
  match(match: TextMatch): Statement
  /** Indexes a range of a log, unless another process has done so. */
  index(log: number, from: number, until: number, rows: readonly TextRow[]): Work<void>
  /** Maintains a part of the index, and returns whether more remains. Null if no maintenance is needed. */
  readonly maintain: (() => Work<boolean>) | null
}

export function textRow({ seq, fact }: StoredEvent, inTree: boolean, time: bigint): TextRow | null {
  const result = inTree ? eventText(fact) : null
  const line = result === null ? '' : lineOf(result.text)
  if (result === null || line === '') return null
  return { seq, time, role: TEXT_ROLES.indexOf(result.role), size: sizeOfLine(line), line }
}

export const [LEAST, BEHIND] = [-(2n ** 63n), 2n ** 63n - 1n]

/** Maximum number of events that one transaction indexes, so that other writes wait only briefly. */
const BATCH = 200

export function textReads(d: Dialect, work: TextWork, events: ReturnType<typeof eventReads>) {
  const [log, conversation] = [d.table('log'), statement(d.table('conversation'))]
  const { readBodies } = blobReads(d)
  // Joins each hit `h` with its event, so that most pages need one statement.
  const event = statement('l.conversation_id, h.seq, e.id, CAST(e.time AS text) AS time, e.body, e.blobs')
  const joins = statement(
    `${d.lookUp('log', 'l', 'l.number = h.log')} ${d.lookUp('event', 'e', 'e.log = h.log AND e.seq = h.seq')}`,
  )
  // Locks the log, so that no body is erased before its text is written.
  const nextLog = `SELECT number, conversation_id, version, text_version FROM ${log}
    WHERE number > ? AND text_version < version ORDER BY number LIMIT 1${d.lock}`
  const progress = `SELECT coalesce(sum(text_version), 0) AS indexed, coalesce(sum(version), 0) AS total FROM ${log}`

  function* search(query: CheckedTextQuery): Work<TextPage> {
    const logRow = query.conversation === null ? null : yield* events.findLog(query.conversation)
    if (logRow === undefined) return { items: [], cursor: null }
    return yield* findTextPage(query, source(query, logRow?.number ?? null))
  }

  const textsOf = <R extends HitRow>(rows: readonly R[]): Work<(FoundText & { readonly row: R })[]> =>
    readBodies(
      rows,
      (row) => row.conversation_id,
      false,
      (row, strings) => {
        const { number, conversation_id: conversationId, seq, id, time, body } = row
        const fact = readFact(conversationId, seq, body, strings)
        return { row, position: number, event: { conversationId, seq, id, time, fact } }
      },
    )

  function source(query: CheckedTextQuery, log: number | null): TextSource<SqlStep, readonly object[]> {
    // The index compares only single terms.
    const phrases = query.includes.filter(({ terms }) => terms.length > 1)
    const others = otherConditions(query)
    const request = {
      query,
      log,
      fits: allOf([...query.includes.map(work.contains), others]),
      fitsFound: allOf([...phrases.map(work.contains), others]),
    }
    const least = query.from === null ? LEAST : firstPlace(query.from)
    const behind = query.until === null ? BEHIND : placeBehind(query.until)
    const lower = (position: bigint | null): bigint =>
      position === null || position > behind ? behind : position
    return {
      *newest(below, limit) {
        const match = work.match({ ...request, columns: NOTHING, below: lower(below), least, limit })
        const rows = yield* all<HitRow>(
          sql`SELECT CAST(h.number AS text) AS number, ${event} FROM (${match}) AS h ${joins} ORDER BY h.number DESC`,
        )
        return yield* textsOf(rows)
      },
      *ranked({ top, bottom, after }, limit, maximum) {
        const match = work.match({
          ...request,
          columns: sql`, ${score(query)} AS score`,
          below: lower(top === null ? null : top + 1n),
          least: bottom === null || bottom < least ? least : bottom,
          limit: maximum,
        })
        const beyond = allOf([
          after !== null &&
            sql`(w.score < ${after.score} OR (w.score = ${after.score} AND w.number < ${after.position}))`,
        ])
        const rows = yield* all<RankedRow>(
          // The SQLite store recognizes by WITH RECURSIVE that the statement returns rows.
          sql`WITH RECURSIVE w AS MATERIALIZED (${match})
          SELECT CAST(h.number AS text) AS number, h.score, ${event},
            CAST((SELECT max(number) FROM w) AS text) AS top,
            CAST((SELECT min(number) FROM w) AS text) AS bottom,
            (SELECT count(*) FROM w) AS count
          FROM (SELECT * FROM w WHERE ${beyond} ORDER BY w.score DESC, w.number DESC LIMIT ${limit}) AS h ${joins}
          ORDER BY h.score DESC, h.number DESC`,
        )
        const [best] = rows
        if (best === undefined) return null
        return {
          rows: (yield* textsOf(rows)).map((text) => ({ ...text, score: Number(text.row.score) })),
          top: BigInt(best.top),
          bottom: BigInt(best.bottom),
          count: Number(best.count),
        }
      },
    }
  }

  function otherConditions(query: CheckedTextQuery): Statement {
    const { excludes, record, role, messagesOnly, from, until } = query
    const [tags, others] = [true, false].map((isTag) =>
      record.keys
        .filter((key) => (keyColumn(key) === null) === isTag)
        .map((key) => keyCondition(d, key, 't.log')),
    )
    const ofRecord = [...(others ?? []), record.public !== null && sql`c.public = ${Number(record.public)}`]
    return allOf([
      ...excludes.map((clause) => sql`NOT ${work.contains(clause)}`),
      role !== null && sql`t.role = ${TEXT_ROLES.indexOf(role)}`,
      messagesOnly && sql`t.role <> ${TEXT_ROLES.indexOf('tool')}`,
      from !== null && sql`t.time >= ${from}`,
      until !== null && sql`t.time < ${until}`,
      d.textFits !== '' && statement(d.textFits),
      ...(tags ?? []),
      ofRecord.some(Boolean) &&
        sql`EXISTS (SELECT 1 FROM ${conversation} AS c WHERE c.number = t.log AND ${allOf(ofRecord)})`,
    ])
  }

  function* indexNext(after: number): Work<number | null> {
    const row = yield* first<{
      readonly number: Bigint
      readonly conversation_id: string
      readonly version: number
      readonly text_version: number
    }>(nextLog, after)
    if (row === undefined) return null
    const [number, from] = [Number(row.number), row.text_version]
    const until = Math.min(row.version, from + BATCH)
    let read: readonly StoredEvent[]
    try {
      read = yield* events.stretch(row.conversation_id, number, from, until - 1)
    } catch (error) {
      // The body is damaged: readers of the event get this error, and later logs are still indexed.
      if (isColloquyError(error)) return number
      throw error
    }
    const rows = read.flatMap((event) => textRow(event, event.inTree, BigInt(event.time)) ?? [])
    yield* work.index(number, from, until, rows)
    return until === row.version ? number : number - 1
  }

  function* count(): Work<TextIndex> {
    const row = yield* first<{ readonly indexed: Bigint; readonly total: Bigint }>(progress)
    return { indexed: Number(row?.indexed ?? 0), total: Number(row?.total ?? 0) }
  }

  return { search, indexNext, count }
}

export function queryTerms(
  { includes }: CheckedTextQuery,
  write: (term: string, isPrefix: boolean) => string,
): string[] {
  const written = includes.flatMap(({ terms, isPrefix }) =>
    terms.map((term, index) => write(term, isPrefix && index === terms.length - 1)),
  )
  return [...new Set(written)]
}

const score = ({ includes }: CheckedTextQuery): Statement =>
  joined(
    includes.map(
      ({ piece }) => sql`(1000000 - CAST(1000000 AS bigint) * (64 + t.size) / (64 * (
        (octet_length(t.line) - octet_length(replace(t.line, ${piece}, ''))) / CAST(${new TextEncoder().encode(piece).length} AS int)
      ) + 64 + t.size))`,
    ),
    ' + ',
  )

type HitRow = Pick<EventRow, 'seq' | 'id' | 'time' | 'body' | 'blobs'> & {
  readonly number: string
  readonly conversation_id: string
}

interface RankedRow extends HitRow {
  readonly score: Bigint
  readonly top: string
  readonly bottom: string
  readonly count: Bigint
}

/** Milliseconds from an append to its indexing, and from a failure to the retry. */
const [IDLE, AFTER_FAULT] = [200, 5_000]

const MANY = 256

/**
 * Minimum pause between two searches for events that are not indexed: in milliseconds, and as a multiple of
 * the last search's duration. A search reads the end of every log.
 */
const [LOOK_INTERVAL, LOOK_FACTOR] = [1_000, 50]

/**
 * Indexes in small steps. After each step it pauses for as long as the step took, at most 100 ms. If two
 * processes index the same events, only one writes them.
 */
export class TextIndexer {
  readonly #reads: ReturnType<typeof textReads>
  readonly #maintain: TextWork['maintain']
  readonly #write: <T>(work: () => Work<T>) => Promise<T>
  /** Earliest `performance.now()` of the next check for unindexed events; infinite while a check is due or running. */
  #nextLook = 0
  #isClosed = false
  #written = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #isRunning = false

  constructor(
    reads: ReturnType<typeof textReads>,
    maintain: TextWork['maintain'],
    write: <T>(work: () => Work<T>) => Promise<T>,
  ) {
    this.#reads = reads
    this.#maintain = maintain
    this.#write = write
  }

  start(): void {
    if (this.#nextLook === 0) this.look()
  }

  /** Indexes events that other processes appended without an index. Does nothing soon after the last search. */
  look(): void {
    if (performance.now() < this.#nextLook) return
    this.#nextLook = Infinity
    this.#soon(0)
  }

  wrote(count: number): void {
    this.#written += count
    if (this.#maintain !== null) this.#soon(this.#written >= MANY ? 0 : IDLE)
  }

  close(): void {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #soon(delay: number): void {
    if (this.#isClosed || this.#isRunning || (this.#timer !== null && delay > 0)) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#run(), delay)
    this.#timer.unref?.()
  }

  async #run(): Promise<void> {
    this.#timer = null
    this.#written = 0
    this.#isRunning = true
    const hasFailed = await this.#work().catch(() => true)
    this.#isRunning = false
    if (hasFailed === true) this.#soon(AFTER_FAULT)
    else if (this.#nextLook === Infinity) this.#soon(0)
    else if (this.#written > 0) this.wrote(0)
  }

  async #work(): Promise<void> {
    await this.#order()
    let log: number | null = this.#nextLook === Infinity ? 0 : null
    while (log !== null && !this.#isClosed) {
      const from: number = log
      const start = performance.now()
      log = await this.#step(() => this.#reads.indexNext(from))
      const end = performance.now()
      if (log === null) this.#nextLook = end + Math.max(LOOK_INTERVAL, LOOK_FACTOR * (end - start))
      await this.#order()
    }
  }

  async #order(): Promise<void> {
    const maintain = this.#maintain
    let isMore = maintain !== null
    while (isMore && !this.#isClosed) isMore = maintain !== null && (await this.#step(maintain))
  }

  async #step<T>(work: () => Work<T>): Promise<T> {
    const start = performance.now()
    const result = await this.#write(work)
    const pause = Math.min(performance.now() - start, 100)
    await new Promise((resolve) => {
      setTimeout(resolve, pause).unref?.()
    })
    return result
  }
}
