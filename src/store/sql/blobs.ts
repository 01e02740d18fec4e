import { ColloquyError, isColloquyError } from '../../event/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import { attempt } from '../../event/json.ts'
import type { BlobAudit, BlobContent, BlobRange, BlobReference } from '../contract/blobs.ts'
import type { LargeString } from '../kit/blobs.ts'
import { checkRange, damagedBlob, digestOfPieces, isBlobHash, readReferences } from '../kit/blobs.ts'
import type { FeedPage } from '../contract/feed.ts'
import { type FeedPart, type FeedPlan, fillFeed } from '../kit/feed.ts'
import { utf8Pieces } from '../../event/sha-256.ts'
import { type Bigint, type BodyStrings, type EventRow, readEvent } from '../kit/row.ts'
import { compareIds } from '../kit/record.ts'
import { all, type Dialect, type Engine, first, statement, type Work } from './dialect.ts'

type BodyRow = Pick<EventRow, 'seq' | 'body' | 'blobs'>

/** Maximum bytes of blobs that are read together; a larger blob is read piece by piece. */
const MAX_TOGETHER = 2 ** 20

const AUDIT_PAGE = 1_000

/** A piece of a text in UTF-8. `start`: number of bytes before it. */
interface TextPiece {
  readonly start: number
  readonly bytes: Uint8Array
}

interface BlobPiece {
  readonly hash: string
  readonly start: Bigint
  readonly base64: number
  readonly bytes: Uint8Array
}

export function* saveBlobs(
  d: Dialect,
  log: number,
  seq: number,
  strings: readonly LargeString[],
): Work<void> {
  yield* saveTexts(d, strings)
  for (const hash of new Set(strings.map((one) => one.hash)))
    yield statement(`INSERT INTO ${d.table('blob_use')} (log, seq, hash) VALUES (?, ?, ?)`, log, seq, hash)
}

/** Writes missing strings and locks stored strings, in the order of hashes. The caller must insert into `blob_use`. */
export function* saveTexts(d: Dialect, strings: readonly LargeString[]): Work<void> {
  const insert = `INSERT INTO ${d.table('blob_piece')} (hash, start, base64, bytes) VALUES (?, ?, ?, ?)`
  for (const { hash, bytes, text } of strings.toSorted((a, b) => compareIds(a.hash, b.hash)))
    if (yield* insertOrLock(d, hash, bytes))
      for (const piece of storedPieces(text))
        yield statement(insert, hash, piece.start, piece.base64, piece.bytes)
}

/** Divides a text into pieces. The base64 of a data URL begins a new piece. */
export function* storedPieces(text: string): Generator<TextPiece & Pick<BlobPiece, 'base64'>> {
  const comma = text.startsWith('data:') ? text.indexOf(',') + 1 : 0
  let start = 0
  for (const part of [text.slice(0, comma), text.slice(comma)])
    for (const { bytes } of utf8Pieces(part)) {
      const decoded = fromBase64(bytes)
      yield { start, base64: Number(decoded !== null), bytes: decoded ?? bytes }
      start += bytes.length
    }
}

/** Inserts a blob and returns true, or locks an existing blob, so that no other transaction deletes it. */
function* insertOrLock(d: Dialect, hash: string, bytes: number): Work<boolean> {
  const blob = d.table('blob')
  const insert = `INSERT INTO ${blob} (hash, bytes) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING RETURNING hash`
  for (;;) {
    if ((yield* all(insert, hash, bytes)).length > 0) return true
    if ((yield* all(`SELECT hash FROM ${blob} WHERE hash = ?${d.lock}`, hash)).length > 0) return false
  }
}

export function blobReads(d: Dialect) {
  const blob = d.table('blob')
  const piece = d.table('blob_piece')
  const use = d.table('blob_use')
  const log = d.table('log')
  const event = d.table('event')
  const pieces = `SELECT p.hash, p.start, p.base64, p.bytes FROM ${d.elements} JOIN ${piece} AS p ON p.hash = listed.value`
  const pieceAt = `SELECT p.hash, p.start, p.base64, p.bytes FROM ${piece} AS p WHERE p.hash = ? AND p.start <= ?
    ORDER BY p.hash DESC, p.start DESC LIMIT 1`

  function* exists(hash: string): Work<boolean> {
    return (yield* all(`SELECT hash FROM ${blob} WHERE hash = ?`, hash)).length > 0
  }

  function* readPiece(hash: string, index: number): Work<TextPiece> {
    const row = yield* first<BlobPiece>(pieceAt, hash, index)
    if (row !== undefined) {
      const [start, bytes] = [Number(row.start), pieceBytes(row)]
      if (start + bytes.length > index) return { start, bytes }
    }
    throw damagedBlob(hash)
  }

  /** Reads the referenced texts, by hash. Omits blobs that do not exist. */
  function* texts(references: Iterable<BlobReference>): Work<ReadonlyMap<string, string>> {
    const sizes = new Map([...references].map(({ hash, bytes }) => [hash, bytes]))
    const result = new Map<string, string>()
    let [together, size] = [[] as string[], 0]
    for (const [hash, bytes] of sizes) {
      if (bytes > MAX_TOGETHER) {
        if (!(yield* exists(hash))) continue
        let text = ''
        for (let index = 0; index < bytes;) {
          const row = yield* readPiece(hash, index)
          text += decode(row.bytes)
          index += row.bytes.length
        }
        result.set(hash, text)
        continue
      }
      if (size + bytes > MAX_TOGETHER) {
        yield* readTogether(together, result)
        ;[together, size] = [[], 0]
      }
      together.push(hash)
      size += bytes
    }
    if (together.length > 0) yield* readTogether(together, result)
    return result
  }

  function* readTogether(hashes: readonly string[], matches: Map<string, string>): Work<void> {
    const rows = yield* all<BlobPiece>(pieces, JSON.stringify(hashes))
    for (const row of rows.toSorted((a, b) => Number(a.start) - Number(b.start)))
      matches.set(row.hash, (matches.get(row.hash) ?? '') + decode(pieceBytes(row)))
  }

  /** Reads rows with their long strings. Omits events that were deleted meanwhile. */
  function* readBodies<R extends BodyRow, T>(
    rows: readonly R[],
    conversationOf: (row: R) => string,
    refs: boolean,
    read: (row: R, strings?: BodyStrings) => T,
  ): Work<T[]> {
    const references = new Map<R, readonly BlobReference[]>()
    for (const row of rows)
      if (row.blobs !== null) references.set(row, referencesOf(conversationOf(row), row))
    if (references.size === 0) return rows.map((row) => read(row))
    const result = refs ? null : yield* texts([...references.values()].flat())
    const isMissing = ({ hash }: BlobReference): boolean => result?.has(hash) === false
    const results: T[] = []
    for (const row of rows) {
      const rowReferences = references.get(row)
      const missing = rowReferences?.find(isMissing)
      if (missing === undefined)
        results.push(read(row, rowReferences && { references: rowReferences, texts: result }))
      else if (yield* isUsed(conversationOf(row), missing.hash)) throw damagedBlob(missing.hash)
    }
    return results
  }

  function* fillPage<R extends EventRow>(
    plan: FeedPlan,
    rows: readonly R[],
    partOf: (row: R) => FeedPart,
  ): Work<FeedPage> {
    const conversationOf = (row: R): string => partOf(row).row.conversationId
    const read = yield* readBodies(rows, conversationOf, false, (row, strings) => ({
      part: partOf(row),
      event: readEvent(conversationOf(row), row, strings),
    }))
    const events = Map.groupBy(read, ({ part }) => part)
    return fillFeed(plan, (part) => (events.get(part) ?? []).map(({ event }) => event))
  }

  function* isUsed(conversationId: string, hash: string): Work<boolean> {
    const used = `SELECT u.hash FROM ${use} AS u JOIN ${log} AS l ON l.number = u.log
      WHERE u.hash = ? AND l.conversation_id = ? LIMIT 1`
    return (yield* all(used, hash, conversationId)).length > 0
  }

  async function readBlob(
    read: Engine['read'],
    conversationId: string,
    hash: string,
    range?: BlobRange,
  ): Promise<BlobContent | null> {
    checkRange(range)
    if (!isBlobHash(hash) || !isLegalId(conversationId)) return null
    const row = await read(function* () {
      const result = yield* first<{ readonly bytes: Bigint }>(
        `SELECT CAST(bytes AS text) AS bytes FROM ${blob} WHERE hash = ?`,
        hash,
      )
      return result !== undefined && (yield* isUsed(conversationId, hash)) ? result : undefined
    })
    if (row === undefined) return null
    const bytes = Number(row.bytes)
    const { from, to } = checkRange(range, bytes)
    return { bytes, content: { [Symbol.asyncIterator]: () => stream(read, hash, from, to) } }
  }

  async function* stream(
    read: Engine['read'],
    hash: string,
    from: number,
    to: number,
  ): AsyncGenerator<Uint8Array> {
    for (let index = from; index < to;) {
      const row = await read(() => readPiece(hash, index))
      const part = row.bytes.subarray(index - row.start, to - row.start)
      yield new Uint8Array(part)
      index += part.length
    }
  }

  async function audit(read: Engine['read']): Promise<BlobAudit> {
    const unused: string[] = []
    const damaged: string[] = []
    let [blobs, size, hash] = [0, 0, '']
    for (;;) {
      const page = await read(() =>
        all<{ readonly hash: string; readonly bytes: Bigint; readonly used: number }>(
          `SELECT b.hash, CAST(b.bytes AS text) AS bytes,
            CASE WHEN EXISTS (SELECT 1 FROM ${use} AS u WHERE u.hash = b.hash) THEN 1 ELSE 0 END AS used
          FROM ${blob} AS b WHERE b.hash > ? ORDER BY b.hash LIMIT ${AUDIT_PAGE}`,
          hash,
        ),
      )
      for (const row of page) {
        ;[blobs, size, hash] = [blobs + 1, size + Number(row.bytes), row.hash]
        if (row.used === 0) unused.push(hash)
        const content = stream(read, hash, 0, Number(row.bytes))
        const digest = await digestOfPieces(content).catch((error: unknown) => {
          if (isColloquyError(error) && error.data['hash'] === hash) return null
          throw error
        })
        if (digest !== hash && (await read(() => exists(hash)))) damaged.push(hash)
      }
      if (page.length < AUDIT_PAGE) break
    }
    const { events, missing } = await auditUses(read)
    return { blobs, bytes: size, events, unused, damaged, missing }
  }

  async function auditUses(read: Engine['read']): Promise<Pick<BlobAudit, 'events' | 'missing'>> {
    const missing: { readonly conversationId: string; readonly seq: number }[] = []
    let [events, after] = [0, 0]
    for (;;) {
      const logs = await read(() =>
        all<{ readonly number: Bigint; readonly conversation_id: string; readonly used: number }>(
          // Few logs have long strings: one statement skips a page of logs without any.
          `SELECT l.number, l.conversation_id, CASE WHEN
            EXISTS (SELECT 1 FROM ${use} AS u WHERE u.log = l.number LIMIT 1 OFFSET 0) OR
            EXISTS (SELECT 1 FROM ${event} AS e WHERE e.log = l.number AND e.blobs IS NOT NULL LIMIT 1 OFFSET 0)
            THEN 1 ELSE 0 END AS used FROM ${log} AS l WHERE l.number > ? ORDER BY l.number LIMIT ${AUDIT_PAGE}`,
          after,
        ),
      )
      for (const { number, conversation_id: conversationId, used } of logs) {
        after = Number(number)
        if (used === 0) continue
        // One statement, so that an append between two reads cannot look like a fault.
        const rows = await read(() =>
          all<{ readonly seq: number; readonly hash: string | null; readonly blobs: string | null }>(
            `SELECT u.seq, u.hash, CAST(NULL AS text) AS blobs FROM ${use} AS u WHERE u.log = ?
            UNION ALL SELECT e.seq, NULL, e.blobs FROM ${event} AS e WHERE e.log = ? AND e.blobs IS NOT NULL`,
            after,
            after,
          ),
        )
        // A hash that is only in a body, or only in the recorded uses, is a fault.
        const differing = new Set<string>()
        const bodies = new Set<number>()
        for (const { seq, hash, blobs } of rows) {
          const hashes = hash === null ? hashesOf(blobs) : [hash]
          if (hash === null) bodies.add(seq)
          for (const one of hashes) {
            const key = `${seq} ${one}`
            if (!differing.delete(key)) differing.add(key)
          }
        }
        events += bodies.size
        for (const seq of new Set([...differing].map((key) => Number(key.split(' ')[0]))))
          missing.push({ conversationId, seq })
      }
      if (logs.length < AUDIT_PAGE) return { events, missing }
    }
  }

  return { readBodies, fillPage, readBlob, audit }
}

const hashesOf = (blobs: string | null): ReadonlySet<string> =>
  attempt(() => new Set(readReferences(blobs ?? '[]').map(({ hash }) => hash)), new Set(['damaged']))

function referencesOf(conversationId: string, { seq, blobs }: BodyRow): readonly BlobReference[] {
  try {
    return readReferences(blobs ?? '[]')
  } catch (cause) {
    const message = `The references to long strings at position ${seq} of conversation ${JSON.stringify(conversationId)} are damaged. Restore the database from a backup.`
    throw new ColloquyError('store_unavailable', message, { conversationId, seq }, { cause })
  }
}

const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

const DIGITS = Uint8Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', (digit) =>
  digit.charCodeAt(0),
)
const DIGIT_VALUES = new Int8Array(256).fill(-1)
for (const [value, digit] of DIGITS.entries()) DIGIT_VALUES[digit] = value
const PADDING = 61

const pieceBytes = ({ base64, bytes }: BlobPiece): Uint8Array => (base64 === 0 ? bytes : toBase64(bytes))

/** Decodes a text that {@link toBase64} can return; null for any other text. */
function fromBase64(text: Uint8Array): Uint8Array | null {
  const padding = text.at(-1) !== PADDING ? 0 : text.at(-2) !== PADDING ? 1 : 2
  if (text.length % 4 !== 0) return null
  const bytes = new Uint8Array((text.length / 4) * 3)
  const end = text.length - padding
  const bits = (index: number, shift: number): number =>
    index < end ? (DIGIT_VALUES[text[index] ?? 0] ?? 0) << shift : 0
  // Negative after an invalid digit.
  let signs = 0
  for (let from = 0, to = 0; from < text.length; from += 4, to += 3) {
    const group = bits(from, 18) | bits(from + 1, 12) | bits(from + 2, 6) | bits(from + 3, 0)
    signs |= group
    bytes[to] = group >> 16
    bytes[to + 1] = group >> 8
    bytes[to + 2] = group
  }
  const length = bytes.length - padding
  return signs < 0 || bytes.subarray(length).some((rest) => rest !== 0) ? null : bytes.subarray(0, length)
}

function toBase64(bytes: Uint8Array): Uint8Array {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4)
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const group = ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0)
    text[to] = DIGITS[group >> 18] ?? 0
    text[to + 1] = DIGITS[(group >> 12) & 63] ?? 0
    text[to + 2] = DIGITS[(group >> 6) & 63] ?? 0
    text[to + 3] = DIGITS[group & 63] ?? 0
  }
  return text.fill(PADDING, Math.ceil((bytes.length * 4) / 3))
}
