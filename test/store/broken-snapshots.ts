import type { SnapshotPart } from '../../src/store/contract/store.ts'
import { altered, type Fault, nextTurn } from './altered.ts'

export const SNAPSHOT_FAULTS: readonly Fault[] = [
  [
    'merges a complete snapshot with what was there',
    'snapshot: a save replaces the parts it names, and with complete removes all others',
    () => altered((inner) => ({ saveSnapshot: (id, parts) => inner.saveSnapshot(id, parts) })),
  ],
  [
    'writes a snapshot part by part',
    'snapshot: of complete ones saved at once one is there, whole, at any time',
    () =>
      altered((inner) => ({
        async saveSnapshot(id, parts, options = {}) {
          await inner.saveSnapshot(id, parts.slice(0, 1), options)
          for (const part of parts.slice(1)) {
            await nextTurn()
            await inner.saveSnapshot(id, [part])
          }
        },
      })),
  ],
  [
    'keeps snapshots beside conversations, and deletes only these',
    'snapshot: it goes with its conversation, and a later one with that id has none',
    () => {
      const stored = new Map<string, readonly SnapshotPart[]>()
      return altered((inner) => ({
        async saveSnapshot(id, parts, options) {
          await inner.saveSnapshot(id, parts, options)
          stored.set(id, await inner.loadSnapshot(id))
        },
        loadSnapshot: async (id) => [...(stored.get(id) ?? [])],
        deleteSnapshot: async (id) => stored.delete(id),
      }))
    },
  ],
  [
    'takes a snapshot for a change of the record',
    'snapshot: saving, loading and deleting leave the record and the log as they are',
    () =>
      altered((inner) => ({
        async saveSnapshot(id, parts, options) {
          await inner.saveSnapshot(id, parts, options)
          await inner.updateConversation(id, {})
        },
      })),
  ],
  [
    'hands out its own bytes',
    'snapshot: it cannot be changed through arguments or results, which are plain bytes',
    () => {
      const loaded = new Map<string, SnapshotPart[]>()
      return altered((inner) => ({
        saveSnapshot: (id, parts, options) => {
          loaded.delete(id)
          return inner.saveSnapshot(id, parts, options)
        },
        async loadSnapshot(id) {
          const parts = loaded.get(id) ?? (await inner.loadSnapshot(id))
          loaded.set(id, parts)
          return parts
        },
      }))
    },
  ],
]
