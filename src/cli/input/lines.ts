/**
 * Splits a stream of bytes into lines; blank ones are left out but counted, so that line numbers are those of an
 * editor.
 */

import { asBuffer, type Chunks, isWhitespace, type Piece, Rest } from './piece.ts'

/** The lines of a stream, as many at a time as one chunk ends. LF or CRLF; memory for one chunk and one line. */
export async function* splitLines(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const rest = new Rest()
  let line = 0
  for await (const raw of chunks) {
    const chunk = asBuffer(raw)
    const pieces: Piece[] = []
    let from = 0
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      const bytes = rest.take(chunk.subarray(from, at))
      from = at + 1
      line += 1
      if (!isWhitespace(bytes)) pieces.push({ line, bytes })
    }
    rest.add(chunk.subarray(from))
    if (pieces.length > 0) yield pieces
  }
  const last = rest.take(Buffer.alloc(0))
  if (!isWhitespace(last)) yield [{ line: line + 1, bytes: last }]
}
