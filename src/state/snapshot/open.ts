/** Opens the parts of a snapshot, or nothing when they do not belong together. */

import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import { Chunk } from '../../log/columnar/chunk.ts'
import { keyAt } from '../../log/columnar/keys.ts'
import type { Seal } from '../../log/columnar/sealed.ts'
import type { State } from '../state.ts'
import { NO_SEAL } from './chunks.ts'
import { readHead } from './head-part.ts'
import { type Contents, stateOver } from './assemble.ts'
import { CHUNK_LABEL } from './version.ts'

/** A part as it was stored. */
interface Part {
  readonly part: number
  readonly bytes: Uint8Array
}

/** A fact as it was read from the log. */
export interface Found {
  readonly id: string | null
  readonly fact: Fact
}

/** Parts that belong together, before they are a state. */
export interface Saved extends Contents {
  /** The positions whose bodies are to be read from the log. */
  readonly lacking: readonly number[]
}

/** What the parts hold, or null. O(bytes). */
export function readParts(parts: readonly Part[], conversationId: string): Saved | null {
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
  return isSame(link, seal) ? { ...head, chunks, conversationId } : null
}

/**
 * The state, with the bodies that its parts lack as they were found in the log. Null where one is missing, and where
 * any position holds another event than the snapshot knows there: then it is of another log. O(view + found).
 */
export function stateWith(saved: Saved, found: ReadonlyMap<number, Found>): State | null {
  const bodies = new Map(saved.bodies)
  const { size, length } = saved.record
  for (const [seq, { id, fact }] of found) {
    const chunk = saved.chunks[Math.floor(seq / size)]
    if (chunk === undefined || seq >= length || keyAt(chunk.ids, seq) !== id) return null
    if (!isQuarantined(fact) && fact.kind === chunk.kind(seq)) bodies.set(seq, fact)
  }
  return saved.lacking.every((seq) => bodies.has(seq)) ? stateOver({ ...saved, bodies }) : null
}

const isSame = (one: Seal, other: Seal): boolean => one[0] === other[0] && one[1] === other[1]
