/** Tells a text that is one JSON document over many lines from a text of lines that are one each. */

import { asBuffer, isSpace, type Piece, valueOf } from './piece.ts'

/** An object begins with it, as a byte. */
export const OPEN_BRACE = 0x7b

/** What is longer is taken for lines: a document stands in memory as one text, of which the engine allows no longer. */
const MOST_BYTES = 1 << 28

/** What was read of a text, and all of it where that is one document. */
export interface Looked {
  readonly read: readonly Buffer[]
  readonly document: Piece | null
}

/**
 * Looks for one document in a text that begins as an object or as an array: all of it, where its first line is no JSON
 * by itself. An object on the first line alone is a line, an array there is a document if nothing follows.
 * Reads no further than the first line where that is an object; O(length of what it reads).
 */
export async function lookForDocument(head: Buffer, iterator: AsyncIterator<Uint8Array>): Promise<Looked> {
  const from = head.findIndex((byte) => !isSpace(byte))
  const read = [head]
  let size = head.length
  /** Reads up to a line end, or all; whether that is no more than a document may take. */
  const readOn = async (isEnough: (chunk: Buffer) => boolean): Promise<boolean> => {
    while (size <= MOST_BYTES) {
      const next = await iterator.next()
      if (next.done === true) return true
      const chunk = asBuffer(next.value)
      read.push(chunk)
      size += chunk.length
      if (isEnough(chunk)) return size <= MOST_BYTES
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
