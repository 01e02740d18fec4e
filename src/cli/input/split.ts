/** Splits a file into the bytes of its events, each with the number by which people find it. */

import type { JsonValue } from '../../event/index.ts'
import { FileError } from '../failure.ts'

/** JSON text of an event in its source. */
export interface Piece {
  /** Line from 1; array index plus 1; or the number in a file's name. */
  readonly line: number
  readonly bytes: Buffer
}

export type Chunks = AsyncIterable<Uint8Array>

const NEWLINE = 0x0a
const SPACES: readonly number[] = [0x20, 0x09, NEWLINE, 0x0d]

export const isSpace = (byte: number): boolean => SPACES.includes(byte)

const isWhitespace = (bytes: Uint8Array): boolean => bytes.every(isSpace)

export function valueOf(bytes: Buffer): JsonValue | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as JsonValue
  } catch {
    return undefined
  }
}

export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Gathers the bytes of a piece that spans chunks, and copies them once. */
class Rest {
  #parts: Buffer[] = []

  add(part: Buffer): void {
    if (part.length > 0) this.#parts.push(part)
  }

  take(last: Buffer): Buffer {
    if (this.#parts.length === 0) return last
    const all = Buffer.concat([...this.#parts, last])
    this.#parts = []
    return all
  }
}

/**
 * Splits a stream into lines (LF or CRLF), one chunk at a time; blank lines are counted and skipped. Memory
 * for one chunk and one line.
 */
export async function* splitLines(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const rest = new Rest()
  let line = 0
  for await (const raw of chunks) {
    const chunk = asBuffer(raw)
    const pieces: Piece[] = []
    let from = 0
    for (let index = chunk.indexOf('\n'); index >= 0; index = chunk.indexOf('\n', from)) {
      const bytes = rest.take(chunk.subarray(from, index))
      from = index + 1
      line += 1
      if (!isWhitespace(bytes)) pieces.push({ line, bytes })
    }
    rest.add(chunk.subarray(from))
    if (pieces.length > 0) yield pieces
  }
  const last = rest.take(Buffer.alloc(0))
  if (!isWhitespace(last)) yield [{ line: line + 1, bytes: last }]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENING_BYTES: readonly number[] = [0x5b, 0x7b]
const END = 0x5d
const CLOSE: readonly number[] = [END, 0x7d]

/**
 * Splits an array into elements, one chunk at a time. It follows only brackets and strings (the reader checks
 * elements), so a large array is never one text in memory.
 * @throws FileError `not_an_array` or `not_json`.
 */
export async function* splitArray(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const rest = new Rest()
  // Nesting: 0 before the array, 1 between its elements, -1 after it.
  let depth = 0
  let inString = false
  let escaped = false
  let count = 0
  for await (const raw of chunks) {
    const chunk = asBuffer(raw)
    const pieces: Piece[] = []
    let from = 0
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] as number
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) inString = false
      } else if (depth <= 0) {
        if (isSpace(byte)) continue
        if (depth < 0) throw new FileError('not_json', 'the file has content after the end of the array')
        depth = 1
        from = index + 1
      } else if (byte === QUOTE) inString = true
      else if (OPENING_BYTES.includes(byte)) depth += 1
      else if (depth === 1 && (byte === COMMA || byte === END)) {
        const bytes = rest.take(chunk.subarray(from, index))
        from = index + 1
        if (byte === END) depth = -1
        if (byte === END && count === 0 && isWhitespace(bytes)) continue
        count += 1
        pieces.push({ line: count, bytes })
      } else if (CLOSE.includes(byte)) {
        depth -= 1
        if (depth === 0)
          throw new FileError('not_json', `element ${count + 1} of the array has an unmatched bracket`)
      }
    }
    if (depth > 0) rest.add(chunk.subarray(from))
    if (pieces.length > 0) yield pieces
  }
  if (depth > 0)
    throw new FileError('not_json', `the array is incomplete: the file ends in element ${count + 1}`)
}

export const OPEN_BRACE = 0x7b

/** A longer text is read as lines, because a document is one string, whose length is limited. */
const MAX_DOCUMENT_BYTES = 1 << 28

interface Beginning {
  readonly read: readonly Buffer[]
  readonly document: Piece | null
}

/**
 * Finds one document in a text that begins as an object or array: all of it, unless its first line is JSON by
 * itself. An object on the first line is a line; an array there is a document if nothing follows. Stops after
 * a first line that is an object; O(length read).
 */
export async function findDocument(head: Buffer, iterator: AsyncIterator<Uint8Array>): Promise<Beginning> {
  const from = head.findIndex((byte) => !isSpace(byte))
  const read = [head]
  let size = head.length
  const readOn = async (isEnough: (chunk: Buffer) => boolean): Promise<boolean> => {
    while (size <= MAX_DOCUMENT_BYTES) {
      const next = await iterator.next()
      if (next.done === true) return true
      const chunk = asBuffer(next.value)
      read.push(chunk)
      size += chunk.length
      if (isEnough(chunk)) return size <= MAX_DOCUMENT_BYTES
    }
    return false
  }
  const none = { read, document: null }
  if (!head.includes('\n', from) && !(await readOn((chunk) => chunk.includes('\n')))) return none
  const known = Buffer.concat(read).subarray(from)
  const end = known.indexOf('\n')
  const isObject = known[0] === OPEN_BRACE
  if (isObject && valueOf(end < 0 ? known : known.subarray(0, end)) !== undefined) return none
  if (end >= 0 && !(await readOn(() => false))) return none
  const bytes = Buffer.concat(read).subarray(from)
  if (valueOf(bytes) === undefined) return none
  return { read, document: { line: head.subarray(0, from).toString('latin1').split('\n').length, bytes } }
}
