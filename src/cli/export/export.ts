/**
 * Writes a stored conversation to standard output, a file, a directory or a zip, in the form that import reads back.
 */

import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationRecord, Store } from '../../index.ts'
import { redactionRules, redactRecord, redactStored } from '../../context/redaction/index.ts'
import { attempt } from '../attempt.ts'
import { getConversation, readLog } from '../db/conversation.ts'
import { withStore } from '../db/open.ts'
import { type Io, writeLines } from '../print/io.ts'
import { progressOn, type Progress } from '../print/progress.ts'
import type { ExportRequest } from '../args/request.ts'
import { heading, type Page } from '../show/page.ts'
import { counted, safe } from '../print/text.ts'
import { folderName } from './file-name.ts'
import { conversationFiles } from './files.ts'
import { shownTextOf, textOf } from './line.ts'
import { writeTo } from './target.ts'

/** Where the log is read from. */
type Source = Pick<Store, 'read'>

/** Writes the conversation. Resolves to the exit code. */
export async function exportConversation(request: ExportRequest, io: Io, page: Page): Promise<number> {
  const { db, conversation, output } = request
  const name = output ?? `${conversation} in ${db.label}`
  const progress = progressOn(name, io)
  const about = { name, fields: { file: db.label, conversation }, json: false }
  return attempt(about, io, progress, async () => {
    const record = await withStore(db, { write: false }, async (store) => {
      const rules = request.redact ? redactionRules() : null
      const stored = await getConversation(store, conversation)
      const found = rules === null ? stored : redactRecord(stored, rules)
      const source: Source =
        rules === null
          ? store
          : {
              read: async (...given) =>
                (await store.read(...given)).map((event) => redactStored(event, rules)),
            }
      if (output === null) await printLines(source, found, io)
      else await writeOutput(source, found, { ...request, output }, progress)
      return found
    })
    progress.done()
    if (output === null) return 0
    const remark = `${counted(record.version, 'event')} of ${safe(record.id)}`
    await writeLines(io.stdout, [heading(page, safe(output), remark)])
    return 0
  })
}

/** One entry on each line; a terminal gets nothing that would drive it. */
async function printLines(store: Source, record: ConversationRecord, { stdout }: Io): Promise<void> {
  for await (const events of readLog(store, record)) {
    const lines = events.map((event) => (stdout.isTTY ? shownTextOf(event) : textOf(event, 'line')))
    await writeLines(stdout, lines)
  }
}

async function writeOutput(
  store: Source,
  record: ConversationRecord,
  request: ExportRequest & { readonly output: string },
  progress: Progress,
): Promise<void> {
  switch (request.layout) {
    case 'jsonl':
      return writeTo(request, 'file', (path) => writeJsonl(store, record, path, progress))
    case 'directory':
      return writeTo(request, 'directory', (path) => writeDirectory(store, record, path, progress))
    case 'zip': {
      const { writeZip } = await import('./zip.ts')
      const files = conversationFiles(store, record, progress)
      return writeTo(request, 'file', (path) => writeZip(path, folderName(record.id), files))
    }
  }
}

async function writeJsonl(
  store: Source,
  record: ConversationRecord,
  path: string,
  progress: Progress,
): Promise<void> {
  const file = await open(path, 'wx')
  try {
    for await (const events of readLog(store, record)) {
      await file.appendFile(events.map((event) => `${textOf(event, 'line')}\n`).join(''))
      progress.tick((events.at(-1)?.seq ?? 0) + 1)
    }
  } finally {
    await file.close()
  }
}

async function writeDirectory(
  store: Source,
  record: ConversationRecord,
  path: string,
  progress: Progress,
): Promise<void> {
  await mkdir(path)
  await mkdir(join(path, 'events'))
  for await (const { path: name, text } of conversationFiles(store, record, progress))
    await writeFile(join(path, name), text, { flag: 'wx' })
}
