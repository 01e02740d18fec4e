/**
 * Appends in one round trip. This store uses its copy of the log to decide which rows to write. The server
 * writes them only if the copy is current. If not, it returns the log's row, and the store decides again.
 */

import { attempt } from '../../event/json.ts'
import { unknownConversation } from '../kit/errors.ts'
import { ColloquyError, isColloquyError } from '../../event/errors.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { AppendOptions, AppendResult } from '../contract/store.ts'
import { type AppendDecision, idsToLoad, type LogTip } from '../kit/append/decide-append.ts'
import { type Digests, type LargeString, referencesText, splitBody } from '../kit/blobs.ts'
import { shardOf } from '../kit/feed.ts'
import type { LogRow } from '../sql/append.ts'
import { KnownLog, LOG_COLUMNS, appendResult, searchColumns, StaleLog, tipValues } from '../sql/append.ts'
import { saveTexts, storedPieces } from '../sql/blobs.ts'
import type { Engine, SqlRow, SqlValue, Statement, Work } from '../sql/dialect.ts'
import { confirm, first, statement } from '../sql/dialect.ts'
import { eventReads } from '../sql/events.ts'
import { textRow } from '../sql/texts.ts'
import type { Connection } from './connection.ts'
import { rowValues, textValues } from './texts.ts'

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

type Entry = ReturnType<typeof entryOf>

/** True: written. A row: the log changed. `blobs`: send the long strings too. Null: the log is missing or locked. */
type Answer = Settled | 'blobs'

type Settled = true | LogRow | null

interface AppendRow {
  readonly appended: readonly Answer[]
}

interface WaitingEntry {
  readonly entry: Entry
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

interface Line {
  readonly waiting: WaitingAppend[]
  log: KnownLog | null
  underWay: number
  timer: ReturnType<typeof setTimeout> | null
}

/** Maximum events in a statement, and maximum characters in their bodies. A single append may have more. */
const [MAX_EVENTS, MAX_TEXT] = [256, 1_000_000]

/** Maximum attempts to append. Each attempt after the second means that another write changed the log. */
const MAX_ATTEMPTS = 50

/**
 * Maximum milliseconds to wait for an earlier append to the conversation, because that append's connection
 * may be dead.
 */
const TURN_TIMEOUT = 1_000

const MAX_LINES = 1_000

/** Maximum milliseconds that waiting appends wait for the running call of the SQL function `append`. */
const CALL_TURN = 50

/** Returns the store's `append`. Concurrent appends share a wait for the disk (design D30). */
export function appender(engine: Engine, schema: string, connection: Connection, fullText: boolean) {
  const reads = eventReads(engine.dialect)
  const lines = new Map<string, Line>()
  const shared: WaitingEntry[] = []
  let calls = 0

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
   * Decides appends, and writes them together. Assumes that the log has not changed since this store's last
   * append, that ids are new, and that leases are held; the server checks this. If an assumption is wrong, or
   * if an append is rejected or is already stored, decides all appends again on the server's data. A rejected
   * append does not reject the others.
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
      if (!isAssumed && log.tip.version > 0) await engine.read(() => log.load(idsToLoad(facts)))
      const decided: Decided[] = []
      const refused: { readonly append: WaitingAppend; readonly error: unknown }[] = []
      const before = log.tip
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
      const isNew = log.tip.version > before.version
      if (isNew) {
        const current = await write(log, before, decided)
        if (current === null) throw unknownConversation(conversationId)
        if (current !== true) {
          known = new KnownLog(conversationId, current, reads)
          continue
        }
      } else await engine.write(confirm)
      log.trim()
      line.log = log
      for (const { append, error } of refused) append.reject(error)
      for (const { append, decision } of decided)
        append.resolve({ result: appendResult(decision), isNew: decision.added.length > 0 })
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

  async function write(log: KnownLog, before: LogTip, decided: readonly Decided[]): Promise<Settled> {
    const entry = entryOf(log, before, decided, fullText)
    const { strings } = entry
    const [only] = decided
    const within = only?.append.options.within
    // Shared entries are sent again after an error. An import without ids could then be appended twice.
    const isLive = decided.every(({ append }) => append.options.mode !== 'import')
    if (within === undefined && strings.length === 0 && isLive)
      return ((await share(entry)) ?? (await alone(entry))) as Settled
    const send = async (pieces: readonly SqlValue[], isStreamed = false): Promise<Answer> => {
      if (within === undefined && !isStreamed) return alone(entry, pieces)
      const { sql, values } = statementOf([entry], true, pieces)
      function* save(): Work<AppendRow | undefined> {
        yield* saveTexts(engine.dialect, strings)
        return yield* first<AppendRow>(sql, ...values)
      }
      let row: AppendRow | undefined
      await connection.transaction<AppendRow>(sql, values, async (result, handle) => {
        // The first call has locked the log, so its checks also hold for the second call.
        row = isStreamed && result?.appended[0] === 'blobs' ? await connection.runOn(handle, save) : result
        const isWritten = row?.appended[0] === true
        if (isWritten && only !== undefined) await within?.(handle, appendResult(only.decision))
        return isWritten
      })
      return row?.appended[0] ?? null
    }
    // The bytes of long strings are sent only if the server lacks some of them.
    const answer = await send(NO_PIECES)
    if (answer !== 'blobs') return answer
    const isStreamed = strings.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_SENT
    const mayStream = isStreamed && (await connection.canHold())
    return (await (mayStream ? send(NO_PIECES, true) : send(piecesOf(strings)))) as Settled
  }

  function share(entry: Entry): Promise<Answer> {
    return new Promise((resolve, reject) => {
      shared.push({ entry, resolve, reject })
      if (calls === 0) void sendShared()
    })
  }

  /**
   * Sends waiting entries in one call, and answers each entry. An entry has appends to one conversation. If the
   * call has several entries, the answer for a locked log is null. A single entry waits for the lock. The next
   * call waits at most {@link CALL_TURN} milliseconds for this call.
   */
  async function sendShared(): Promise<void> {
    let isCounted = true
    calls += 1
    const end = (): void => {
      if (isCounted) calls -= 1
      isCounted = false
      if (calls === 0 && shared.length > 0) void sendShared()
    }
    const timer = setTimeout(end, CALL_TURN)
    const group = nextShared(shared)
    try {
      const entries = group.map(({ entry }) => entry)
      const answers = await call(entries, entries.length === 1)
      for (const [index, { resolve }] of group.entries()) resolve(answers[index] ?? null)
    } catch (error) {
      // One entry may have failed the whole call.
      for (const { entry, resolve, reject } of group)
        if (group.length === 1) reject(error)
        else alone(entry).then(resolve, reject)
    }
    clearTimeout(timer)
    end()
  }

  const alone = async (entry: Entry, pieces = NO_PIECES): Promise<Answer> =>
    (await call([entry], true, pieces))[0] ?? null

  async function call(
    entries: readonly Entry[],
    waits: boolean,
    pieces = NO_PIECES,
  ): Promise<readonly Answer[]> {
    const { sql, values } = statementOf(entries, waits, pieces)
    return (await engine.write(() => first<AppendRow>(sql, ...values)))?.appended ?? []
  }

  function statementOf(entries: readonly Entry[], waits: boolean, pieces: readonly SqlValue[]): Statement {
    const [end, rows] = [{ events: 0, lanes: 0, texts: 0 }, [] as string[]]
    for (const entry of entries) {
      const ranges = (['events', 'lanes', 'texts'] as const).flatMap((of) => [
        end[of] + 1,
        (end[of] += entry[of].length),
      ])
      rows.push(recordText([String(rows.length + 1), ...entry.log, ...ranges.map(String)]))
    }
    const strings = entries.flatMap((entry) => entry.strings)
    const values: readonly SqlValue[] = [
      engine.clock(),
      waits,
      fullText,
      rows,
      ...rowValues(entries.flatMap(({ events }) => events)),
      entries.flatMap(({ lanes }) => lanes),
      ...rowValues(entries.flatMap(({ texts }) => texts)),
      entries.flatMap(({ uses }) => uses),
      strings.map(({ hash, bytes }) => [hash, String(bytes)]),
      ...pieces,
    ]
    return statement(`SELECT ${schema}.append(${values.map(() => '?').join(', ')}) AS appended`, ...values)
  }

  return append
}

/** Returns the rows to write for appends to one conversation, as arguments of the SQL function `append`. */
function entryOf(log: KnownLog, before: LogTip, decided: readonly Decided[], fullText: boolean) {
  const { conversationId, number, row, tip } = log
  const lease = decided.find(({ append }) => append.options.lease !== undefined)?.append.options.lease
  const decisions = decided.map(({ decision }) => decision)
  const added = decisions.flatMap((decision) => decision.added)
  const digests: Digests = new Map()
  const strings = new Map<string, LargeString>()
  const uses: SqlRow[] = []
  const events = added.map((placed): SqlRow => {
    const { event, node } = placed
    const split = splitBody(event.fact, digests)
    for (const one of split?.strings ?? []) strings.set(one.hash, one)
    for (const hash of new Set(split?.strings.map((one) => one.hash))) uses.push([String(event.seq), hash])
    const { kind, source, message } = searchColumns(placed)
    const ids = [event.id, numberText(node?.lane), event.parentId, event.time]
    const body = split?.body ?? JSON.stringify(event.fact)
    return [...ids, kind, source, message, split && referencesText(split.strings), body]
  })
  const opened = decisions.flatMap((decision) => decision.opened)
  return {
    log: [
      conversationId,
      String(number),
      row.time_zone,
      lease?.owner ?? null,
      numberText(lease?.generation),
      String(shardOf(conversationId)),
      String(Math.floor(Math.random() * 2 ** 32)),
      String(before.version),
      before.head?.id ?? null,
      ...tipValues(tip, log.isSearchable).map(numberText),
    ],
    events,
    lanes: opened.map(({ lane, time, parent }) =>
      [lane, time, parent?.lane, parent?.seq, parent?.time].map(numberText),
    ),
    texts: fullText
      ? added.flatMap(({ event, time, node }) => textRow(event, node !== null, time) ?? []).map(textValues)
      : [],
    uses,
    strings: [...strings.values()],
    /** Characters of the bodies. */
    size: events.reduce((sum, one) => sum + (one.at(-1)?.length ?? 0), 0),
  }
}

const NO_PIECES: readonly SqlValue[] = [[], null]

/** Maximum bytes of long strings in one statement. More bytes are streamed if the client supports transactions. */
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
    pieces.map(({ hash, start, base64, bytes }) => [hash, start, base64, bytes.length].map(numberText)),
    all,
  ]
}

const recordText = (row: SqlRow): string =>
  `(${row.map((value) => (value === null ? '' : `"${value.replaceAll(/["\\]/g, '\\$&')}"`)).join(',')})`

const numberText = (value: number | bigint | string | null | undefined): string | null =>
  value === undefined || value === null ? null : String(value)

function nextShared(shared: WaitingEntry[]): WaitingEntry[] {
  let [events, text] = [0, 0]
  const end = shared.findIndex(({ entry }, index) => {
    events += entry.events.length
    text += entry.size
    return index > 0 && (events > MAX_EVENTS || text > MAX_TEXT)
  })
  return shared.splice(0, end === -1 ? shared.length : end)
}

function nextGroup(waiting: WaitingAppend[]): WaitingAppend[] {
  let [count, events, text] = [0, 0, 0]
  let lease: AppendOptions['lease']
  for (const { facts, options } of waiting) {
    // `within` needs its own transaction. A repeated group could append an import without ids twice.
    const isAlone = options.within !== undefined || options.mode === 'import'
    if (count > 0 && isAlone) break
    events += facts.length
    if (waiting.length > 1) text += bodySize(facts)
    const ownLease = options.lease
    const isSame =
      ownLease === undefined ||
      lease === undefined ||
      (ownLease.owner === lease.owner && ownLease.generation === lease.generation)
    if (count > 0 && (events > MAX_EVENTS || text > MAX_TEXT || !isSame)) break
    lease ??= ownLease
    count += 1
    if (isAlone) break
  }
  return waiting.splice(0, count)
}

/** Returns the size of the bodies as JSON; `MAX_TEXT` for an invalid body, which is rejected later. */
const bodySize = (facts: readonly Fact[]): number => attempt(() => JSON.stringify(facts).length, MAX_TEXT)
