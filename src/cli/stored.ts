/** A request about a stored conversation goes in; the conversation is read, folded and answered as one in a file is. */

import { attempt } from './attempt.ts'
import { getConversation } from './db/conversation.ts'
import { withStore } from './db/open.ts'
import type { Io } from './io.ts'
import { progressOn, type Progress } from './progress.ts'
import { readStored, type Recording } from './recording.ts'
import type { FileRequest, Stored } from './request.ts'

/** Answers the request; `write` prints the answer. Resolves to the exit code. */
export async function answerStored(
  { command, json }: FileRequest,
  { db, conversation }: Stored,
  io: Io,
  write: (recording: Recording, progress: Progress) => Promise<void>,
): Promise<number> {
  const name = `${conversation} in ${db.label}`
  const progress = progressOn(name, io)
  const about = { name, fields: { file: db.label, conversation }, json }
  return attempt(about, io, progress, async () => {
    const recording = await withStore(db, { write: false }, async (store) => {
      const record = await getConversation(store, conversation)
      return readStored(store, record, db.label, progress, !(json && command === 'check'))
    })
    await write(recording, progress)
    return command === 'check' && recording.issues.length > 0 ? 1 : 0
  })
}
