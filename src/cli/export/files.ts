/**
 * The files of a conversation's directory as agent servers lay it out, one at a time, so that no log must fit in
 * memory.
 */

import type { ConversationRecord, Store } from '../../index.ts'
import { readLog } from '../db/conversation.ts'
import { documentsOf } from '../input/documents.ts'
import { ownDocument } from '../input/colloquy-document.ts'
import type { Progress } from '../print/progress.ts'
import { eventFileName } from './file-name.ts'
import { textOf } from './line.ts'

/** A file of a conversation's directory. */
export interface ConversationFile {
  /** With `/` between folder and name. */
  readonly path: string
  readonly text: string
  /** Milliseconds since 1970; of the event, or of the record. */
  readonly time: number
}

/** The documents, then the events in order. */
export async function* conversationFiles(
  store: Pick<Store, 'read'>,
  record: ConversationRecord,
  progress: Progress,
): AsyncIterableIterator<ConversationFile> {
  const documents = documentsOf(record)
  const time = Date.parse(record.updatedAt)
  yield { path: 'meta.json', text: JSON.stringify(documents.meta), time }
  yield { path: 'base_state.json', text: JSON.stringify(documents.baseState), time }
  const own = ownDocument(record, documents)
  if (own !== null) yield { path: 'colloquy.json', text: JSON.stringify(own), time }
  for await (const events of readLog(store, record)) {
    for (const event of events) {
      const path = `events/${eventFileName(event.seq, event.id)}`
      yield { path, text: textOf(event, 'file'), time: Number(BigInt(event.time) / 1000n) }
    }
    progress.tick((events.at(-1)?.seq ?? 0) + 1)
  }
}
