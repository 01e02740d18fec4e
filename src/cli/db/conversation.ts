/** A stored conversation for a command: its record, and its log in batches. */

import type { ConversationRecord, Store, StoredEvent } from '../../index.ts'
import { FileError } from '../failure.ts'
import { quoted } from '../print/text.ts'
import { otherUuidForm } from './uuid.ts'

/** How many events are read at a time: a body may be megabytes long. */
const BATCH = 64

/** The record of a conversation; a UUID is found with and without dashes. */
export async function findConversation(store: Store, id: string): Promise<ConversationRecord | null> {
  const found = await store.getConversation(id)
  const other = found === null ? otherUuidForm(id) : null
  return other === null ? found : await store.getConversation(other)
}

/** @throws FileError `unknown_conversation`. */
export async function getConversation(store: Store, id: string): Promise<ConversationRecord> {
  const record = await findConversation(store, id)
  if (record !== null) return record
  throw new FileError('unknown_conversation', `no conversation ${quoted(id)} in this database`)
}

/** The log as the record has it, from its beginning; what is appended meanwhile is left to the next who asks. */
export async function* readLog(
  store: Pick<Store, 'read'>,
  { id, version }: ConversationRecord,
): AsyncIterableIterator<readonly StoredEvent[]> {
  for (let from = 0; from < version;) {
    const events = await store.read(id, { from, limit: Math.min(BATCH, version - from) })
    if (events.length === 0) return
    yield events
    from += events.length
  }
}
