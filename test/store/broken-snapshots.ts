import type { SnapshotPart } from '../../src/store/contract/store.ts'
import { altered, type Fault, nextTurn } from './altered.ts'

export const SNAPSHOT_FAULTS: readonly Fault[] = [
  [
    'merges a complete snapshot with the previous one',
    'snapshot: saving replaces the listed parts, and with `complete` removes all others',
    () => altered((inner) => ({ saveSnapshot: (id, parts) => inner.saveSnapshot(id, parts) })),
  ],
  [
    'writes the parts of a snapshot in separate transactions',
    'snapshot: concurrent complete saves leave one whole snapshot at any time',
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
    'keeps the snapshot of a deleted conversation',
    'snapshot: it is deleted with its conversation, and a new conversation with the id has none',
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
    'updates the record when a snapshot is saved',
    'snapshot: saving, loading and deleting it do not change the record and the log',
    () =>
      altered((inner) => ({
        async saveSnapshot(id, parts, options) {
          await inner.saveSnapshot(id, parts, options)
          await inner.updateConversation(id, {})
        },
      })),
  ],
  [
    'returns its internal byte arrays',
    'snapshot: changing arguments or results does not change it',
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
