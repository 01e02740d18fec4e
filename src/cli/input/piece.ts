/** One event of a file, still as bytes, and the number by which people find it. */

import type { JsonValue } from '../../event/index.ts'

/** Where an event's JSON text stands in its source. */
export interface Piece {
  /** Line number from 1; in an array the index plus 1; in a directory the number in the file's name. */
  readonly line: number
  readonly bytes: Buffer
}

/** A file as it arrives. */
export type Chunks = AsyncIterable<Uint8Array>

const NEWLINE = 0x0a
const SPACES: readonly number[] = [0x20, 0x09, NEWLINE, 0x0d]

/** Whether a byte is white space in JSON. */
export const isSpace = (byte: number): boolean => SPACES.includes(byte)

/** Whether there is nothing but white space. */
export const isWhitespace = (bytes: Uint8Array): boolean => bytes.every(isSpace)

/** The value that a text stands for; undefined for what is no JSON. */
export function valueOf(bytes: Buffer): JsonValue | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as JsonValue
  } catch {
    return undefined
  }
}

/** A view of the same memory with Buffer's methods. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Gathers the bytes of a piece that spans chunks, without copying them more than once. */
export class Rest {
  #parts: Buffer[] = []

  add(part: Buffer): void {
    if (part.length > 0) this.#parts.push(part)
  }

  /** What was gathered, ended by a last part; empty from then on. */
  take(last: Buffer): Buffer {
    if (this.#parts.length === 0) return last
    const all = Buffer.concat([...this.#parts, last])
    this.#parts = []
    return all
  }
}
