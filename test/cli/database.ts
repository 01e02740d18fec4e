/** Stores of the command line, read and filled through the library. */

import type { ConversationRecord, Fact, Store, StoredEvent } from '../../src/index.ts'
import { isQuarantined } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

export async function withStore<T>(file: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = sqliteStore({ file, synchronous: 'normal' })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Everything a store has of a conversation, except its creation time. */
export interface StoredConversation {
  readonly record: Omit<ConversationRecord, 'updatedAt'>
  readonly log: readonly object[]
}

/** Reads a conversation without the reasons of quarantined lines, which are recomputed. */
export async function readConversation(store: Store, id: string): Promise<StoredConversation> {
  const conversation = await store.getConversation(id)
  if (conversation === null) throw new Error(`no conversation ${id}`)
  const { updatedAt: _updatedAt, ...record } = conversation
  const log = await store.read(id, { limit: 100_000 })
  return { record, log: log.map(entry) }
}

function entry({ seq, id, parentId, inTree, time, fact }: StoredEvent): object {
  return { seq, id, parentId, inTree, time, fact: factOf(fact) }
}

function factOf(fact: Fact): object {
  if (!isQuarantined(fact)) return fact
  const { issues: _issues, ...rest } = fact
  return rest
}

/** Creates a store with one conversation of these facts. */
export async function createStore(file: string, id: string, facts: readonly Fact[]): Promise<void> {
  await withStore(file, async (store) => {
    await store.createConversation({ id })
    await store.append(id, facts, { mode: 'import', expected: 'none' })
  })
}
