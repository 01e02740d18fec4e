/** Stores that the command line reads from and writes to, looked at by the library itself. */

import type { ConversationRecord, Fact, Store, StoredEvent } from '../../src/index.ts'
import { isQuarantined } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

/** Does some work on a SQLite file and closes it. */
export async function inFile<T>(file: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = sqliteStore({ file, synchronous: 'normal' })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** All that a store knows of a conversation but when it was put there. */
export interface Kept {
  readonly record: Omit<ConversationRecord, 'updatedAt'>
  readonly log: readonly object[]
}

/** A whole conversation. The reasons for a line in quarantine are left out: they are found anew. */
export async function stored(store: Store, id: string): Promise<Kept> {
  const stored = await store.getConversation(id)
  if (stored === null) throw new Error(`no conversation ${id}`)
  const { updatedAt: _when, ...record } = stored
  const log = await store.read(id, { limit: 100_000 })
  return { record, log: log.map(entry) }
}

function entry({ seq, id, parentId, inTree, time, fact }: StoredEvent): object {
  return { seq, id, parentId, inTree, time, fact: factOf(fact) }
}

function factOf(fact: Fact): object {
  if (!isQuarantined(fact)) return fact
  const { issues: _why, ...rest } = fact
  return rest
}

/** A store with one conversation that holds these facts, as they are. */
export async function fill(file: string, id: string, facts: readonly Fact[]): Promise<void> {
  await inFile(file, async (store) => {
    await store.createConversation({ id })
    await store.append(id, facts, { mode: 'import', expected: 'none' })
  })
}
