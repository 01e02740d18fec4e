/** The chunks of a state's columnar log from a position on. Existing chunks are reused. */

import { type Log, columnarLength } from '../../log/log.ts'
import { type Chunk, type Row, rowOf, writeChunk } from '../../log/columnar/chunk.ts'
import { type Seal, sealOf } from '../../log/columnar/sealed.ts'
import { whyDropped } from '../dropped.ts'
import type { Checkpoint } from '../state.ts'
import { CHUNK_LABEL } from './record.ts'

export const NO_SEAL: Seal = [0, 0]

/**
 * Seals of complete chunks, by last entry, which belongs to one version of one log and so identifies
 * everything before it.
 */
const seals = new WeakMap<Checkpoint, { readonly size: number; readonly seal: Seal }>()

/**
 * Returns the chunks from a position. O(length - from + chunk); once O(length) when earlier chunks were
 * neither read nor written with this log.
 */
export function chunksFrom(log: Log<Checkpoint>, from: number, size: number): Uint8Array[] {
  const { length } = log.entries
  const chunks: Uint8Array[] = []
  let link: Seal | null = null
  for (let index = Math.floor(from / size); index * size < length; index += 1) {
    link ??= sealBefore(log, index, size)
    const bytes = chunkAt(log, index, size, link)
    chunks.push(bytes)
    link = sealOf(bytes)
  }
  return chunks
}

export function lastSeal(log: Log<Checkpoint>, size: number, chunks: readonly Uint8Array[]): Seal {
  const last = chunks.at(-1)
  return last === undefined ? sealBefore(log, log.entries.length / size, size) : sealOf(last)
}

function chunkAt(log: Log<Checkpoint>, index: number, size: number, link: Seal): Uint8Array {
  const first = index * size
  const known = completeAt(log, index, size)
  if (known !== undefined) return known.bytes
  const end = Math.min(first + size, log.entries.length)
  const bytes = writeChunk(CHUNK_LABEL, { first, size, link }, rowsOf(log, first, end))
  const last = log.entries.get(first + size - 1)
  if (last !== undefined) seals.set(last, { size, seal: sealOf(bytes) })
  return bytes
}

function completeAt(log: Log<Checkpoint>, index: number, size: number): Chunk | undefined {
  const chunk = log.index.columns?.chunks[index]
  const fits = chunk?.size === size && chunk.count === size && (index + 1) * size <= columnarLength(log)
  return fits ? chunk : undefined
}

function sealBefore(log: Log<Checkpoint>, index: number, size: number): Seal {
  // Search back to a known seal, then forward: a chunk names its predecessor.
  let position = index
  let link = knownSeal(log, position - 1, size)
  while (link === undefined) {
    position -= 1
    link = knownSeal(log, position - 1, size)
  }
  for (; position < index; position += 1) link = sealOf(chunkAt(log, position, size, link))
  return link
}

function knownSeal(log: Log<Checkpoint>, index: number, size: number): Seal | undefined {
  if (index < 0) return NO_SEAL
  const complete = completeAt(log, index, size)
  if (complete !== undefined) return complete.seal
  const last = log.entries.get((index + 1) * size - 1)
  const known = last === undefined ? undefined : seals.get(last)
  return known?.size === size ? known.seal : undefined
}

/** Rows of a range: from the columnar log as far as it reaches, then from the entries. */
function rowsOf(log: Log<Checkpoint>, from: number, to: number): Row[] {
  const { columns } = log.index
  const known = Math.max(from, Math.min(to, columnarLength(log)))
  const rows = columns?.rows(from, known) ?? []
  for (const checkpoint of log.entries.slice(known, to))
    rows.push(rowOf(checkpoint, droppedAt(log, checkpoint)))
  return rows
}

/** Why the result at this checkpoint is not in the view. Null when it is, or when there is no result. */
function droppedAt(log: Log<Checkpoint>, checkpoint: Checkpoint) {
  const last = checkpoint.branch.dropped.last()
  return last?.entry === checkpoint ? whyDropped(log, last) : null
}
