/** The chunks of a state's columnar log from a position on; those that exist are taken as they are. */

import { type Log, columnarLength } from '../../log/log.ts'
import { type Chunk, type Row, rowOf, writeChunk } from '../../log/columnar/chunk.ts'
import { type Seal, sealOf } from '../../log/columnar/sealed.ts'
import { whyDropped } from '../dropped.ts'
import type { Checkpoint } from '../state.ts'
import { CHUNK_LABEL } from './record.ts'

/** What the chunk before the first is taken to be sealed with. */
export const NO_SEAL: Seal = [0, 0]

/**
 * The seals of complete chunks that were written from entries, by the last entry: an entry is made for one version of
 * one log, so it stands for all that came before it.
 */
const seals = new WeakMap<Checkpoint, { readonly size: number; readonly seal: Seal }>()

/**
 * The chunks from the one on that holds a position. O(length - from + chunk); where the chunks before were neither read
 * nor written with this log, once O(length).
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

/** The seal of the last chunk, which stands for the whole columnar log. The chunk may be written for it. */
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

/** The complete chunk that the log's columns have already. */
function completeAt(log: Log<Checkpoint>, index: number, size: number): Chunk | undefined {
  const chunk = log.index.columns?.chunks[index]
  const fits = chunk?.size === size && chunk.count === size && (index + 1) * size <= columnarLength(log)
  return fits ? chunk : undefined
}

/** The seal of the chunk before the one with an index; chunks are written for it where it is not known. */
function sealBefore(log: Log<Checkpoint>, index: number, size: number): Seal {
  // Back to a chunk whose seal is known, then forth: a chunk names the one before.
  let at = index
  let link = knownSeal(log, at - 1, size)
  while (link === undefined) {
    at -= 1
    link = knownSeal(log, at - 1, size)
  }
  for (; at < index; at += 1) link = sealOf(chunkAt(log, at, size, link))
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

/** The rows from a position up to another: read from the columnar log as far as it goes, then from the entries. */
function rowsOf(log: Log<Checkpoint>, from: number, to: number): Row[] {
  const { columns } = log.index
  const known = Math.max(from, Math.min(to, columnarLength(log)))
  const rows = columns?.rows(from, known) ?? []
  for (const checkpoint of log.entries.slice(known, to))
    rows.push(rowOf(checkpoint, droppedAt(log, checkpoint)))
  return rows
}

/** Why the result at this checkpoint stays out of the view; null where it does not, or there is none. */
function droppedAt(log: Log<Checkpoint>, checkpoint: Checkpoint) {
  const last = checkpoint.branch.dropped.last()
  return last?.entry === checkpoint ? whyDropped(log, last) : null
}
