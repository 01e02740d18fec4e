/** Opens the parts of a snapshot, or nothing when they do not belong together. */

import { Chunk } from '../../log/columnar/chunk.ts'
import type { Seal } from '../../log/columnar/sealed.ts'
import type { State } from '../state.ts'
import { NO_SEAL } from './chunks.ts'
import { readHead } from './head-part.ts'
import { stateOver } from './assemble.ts'
import { CHUNK_LABEL } from './version.ts'

/** A part as it was stored. */
interface Part {
  readonly part: number
  readonly bytes: Uint8Array
}

/** The state in the parts, or null. O(bytes). */
export function openParts(parts: readonly Part[], conversationId: string): State | null {
  const byNumber = new Map(parts.map(({ part, bytes }) => [part, bytes]))
  if (byNumber.size !== parts.length) return null
  const first = byNumber.get(0)
  const head = first === undefined ? null : readHead(first)
  if (head === null || head.record.conversationId !== conversationId) return null
  const { length, size, seal } = head.record
  const chunks: Chunk[] = []
  let link: Seal = NO_SEAL
  for (let at = 0; at < length; at += size) {
    const bytes = byNumber.get(chunks.length + 1)
    const chunk = bytes === undefined ? null : Chunk.open(CHUNK_LABEL, bytes)
    // A chunk names the one before it and the head the last: parts of two logs, or of two states, do not fit.
    if (chunk === null || chunk.first !== at || chunk.size !== size || !isSame(chunk.link, link)) return null
    if (chunk.count !== Math.min(size, length - at)) return null
    chunks.push(chunk)
    link = chunk.seal
  }
  return isSame(link, seal) ? stateOver({ ...head, chunks, conversationId }) : null
}

const isSame = (one: Seal, other: Seal): boolean => one[0] === other[0] && one[1] === other[1]
