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
import { shardOf } from '../kit/feed.ts'
import {
  KnownLog,
  LOG_COLUMNS,
  type LogRow,
  appendResult,
  searchColumns,
  StaleLog,
  tipValues,
} from '../sql/append.ts'
import { saveTexts, storedPieces } from '../sql/blobs.ts'
import { confirm, type Engine, first, type SqlValue, type Work } from '../sql/dialect.ts'
import { eventReads } from '../sql/events.ts'
import { textRow } from '../sql/texts.ts'
import type { Connection } from './connection.ts'
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
      if (isAssumed) log.assumeNew(facts.flatMap((fact) => factId(fact) ?? []))
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
        append.resolve({ result: appendResult(decision), isNew: decision.added.length > 0 })
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
      ...tipValues(tip, log.isSearchableWith([])),
      added.map(({ event }) => event.id),
      added.map(({ event }) => event.parentId),
      added.map(({ event }) => event.time),
      added.map(({ node }) => numberText(node?.lane)),
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
      opened.map(({ parent }) => numberText(parent?.lane)),
      opened.map(({ parent }) => numberText(parent?.seq)),
      opened.map(({ parent }) => numberText(parent?.time)),
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
        if (isWritten && only !== undefined) await within?.(handle, appendResult(only.decision))
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

const numberText = (value: number | bigint | undefined): string | null =>
  value === undefined ? null : String(value)

const factId = (fact: Fact): string | undefined => {
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
    if (waiting.length > 1) text += bodySize(facts)
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
function bodySize(facts: readonly Fact[]): number {
  try {
    return JSON.stringify(facts).length
  } catch {
    return MAX_TEXT
  }
}
