/** Snapshots. Their bytes remain in the changes that saved them, and are read on demand. */

import type { SaveSnapshotOptions, SnapshotPart } from 'colloquy/store-kit'
import type { Change } from './changes.ts'
import type { Journal } from './journal.ts'

export const snapshotChange = (
  id: string,
  parts: readonly SnapshotPart[],
  options: SaveSnapshotOptions = {},
): Change => ({
  type: 'snapshot',
  id,
  complete: options.complete ?? false,
  parts: parts.map(({ part, bytes }) => [part, Buffer.from(bytes).toString('base64')]),
})

/** All parts, from one save. O(bytes). */
export function loadParts(journal: Journal, id: string): SnapshotPart[] {
  for (;;) {
    const { conversations, next } = journal.latest()
    const { snapshot = new Map<number, number>() } = conversations.get(id) ?? {}
    const texts = new Map<number, ReadonlyMap<number, string>>()
    for (const number of new Set(snapshot.values())) {
      const change = journal.read(number)
      if (change?.type === 'snapshot') texts.set(number, new Map(change.parts))
    }
    const parts = [...snapshot]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([part, number]) => {
        const text = texts.get(number)?.get(part)
        return text === undefined ? [] : [{ part, bytes: new Uint8Array(Buffer.from(text, 'base64')) }]
      })
    // Otherwise another process has saved a new snapshot and erased this one.
    if (parts.length === snapshot.size || journal.latest().next === next) return parts
  }
}
