/** Copies conversations from files into a database, and reports what became of each. */

import { type ConversationRecord, hasCode, type Store } from '../../index.ts'
import type { NewConversation } from '../../store/kit/index.ts'
import { parseInstant } from '../../event/index.ts'
import { attempt, complain } from '../attempt.ts'
import { findConversation } from '../db/conversation.ts'
import { withStore } from '../db/open.ts'
import { FileError } from '../failure.ts'
import { openInput, type Opened } from '../input/open.ts'
import { type Io, writeAll, writeLines } from '../print/io.ts'
import { jsonLine } from '../print/json.ts'
import { progressOn, type Progress } from '../print/progress.ts'
import { brokenNote } from '../input/recording.ts'
import type { ImportRequest } from '../args/request.ts'
import { importAnswer, showImport } from './show.ts'
import type { Page } from '../show/page.ts'
import { quoted, safe } from '../print/text.ts'
import { batchesOf, copyInto } from './copy.ts'
import { moveHead } from './head.ts'
import { type Plan, planImport } from './plan.ts'
import { newReport, type ImportReport } from './report.ts'

/** Imports the files in the order given; the worst of their exit codes counts. */
export async function importFiles(request: ImportRequest, io: Io, page: Page): Promise<number> {
  let worst = 0
  for (const file of request.files) worst = Math.max(worst, await importFile(file, request, io, page))
  return worst
}

async function importFile(file: string, request: ImportRequest, io: Io, page: Page): Promise<number> {
  const progress = progressOn(file, io)
  const about = { name: file, fields: { file }, json: request.json }
  return attempt(about, io, progress, async () => {
    const opened = await openInput(file, io)
    const plan = planImport(file, opened.sidecarFiles, request)
    const report = await withStore(request.db, { write: true }, (store) =>
      copyConversation(store, file, opened, plan, request, progress),
    )
    progress.done()
    if (request.json) await writeAll(io.stdout, jsonLine(importAnswer(report)))
    else await writeLines(io.stdout, showImport(page, report, request.db.label))
    const note = brokenNote(report)
    if (note !== null) await complain(io, `${safe(file)}: ${note}`)
    return note === null ? 0 : 1
  })
}

async function copyConversation(
  store: Store,
  file: string,
  { form, pieces }: Opened,
  plan: Plan,
  request: ImportRequest,
  progress: Progress,
): Promise<ImportReport> {
  const report = newReport(file, form, plan.id, plan.notes)
  const batches = batchesOf(pieces, report)[Symbol.asyncIterator]()
  try {
    // Nothing is created, no database either, before something was read that is worth it.
    const first = await batches.next()
    const known = await findConversation(store, plan.id)
    report.conversation = known?.id ?? plan.id
    const record =
      known === null ? await create(store, plan, request, report) : await checked(store, known, plan)
    const { version, headId } = record
    const start = { length: 0, version, headId }
    const end = await copyInto(store, resumed(first, batches), report, start, progress)
    await moveHead(store, report, plan.head, end)
    return report
  } finally {
    await batches.return?.()
  }
}

/** What an iterator gives from its first result on, which was taken already. */
async function* resumed<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncIterableIterator<T> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value
}

/** Creates the conversation, dated as its documents say. */
async function create(
  store: Store,
  { id, description }: Plan,
  { db }: ImportRequest,
  report: ImportReport,
): Promise<ConversationRecord> {
  report.created = true
  const { createdAt, ...rest } = description
  const instant = createdAt === null ? undefined : parseInstant(createdAt)
  const made = (conversation: NewConversation): Promise<ConversationRecord> =>
    instant === undefined
      ? store.createConversation(conversation)
      : withStore(db, { write: true, clock: () => instant }, (dated) =>
          dated.createConversation(conversation),
        )
  try {
    return await made({ ...rest, id })
  } catch (error) {
    if (!hasCode(error, 'invalid_argument') || !String(error.data['field']).startsWith('metadata'))
      throw error
    report.notes.push(`its documents cannot be kept: ${error.message}`)
    return await made({ ...rest, id, metadata: {} })
  }
}

/** A conversation that is there already keeps its zone: the times of its events were read in it. */
async function checked(store: Store, record: ConversationRecord, plan: Plan): Promise<ConversationRecord> {
  const { timeZone } = plan
  if (timeZone === null || timeZone === record.timeZone) return record
  if (record.version === 0) return store.updateConversation(record.id, { timeZone })
  throw new FileError(
    'other_time_zone',
    `conversation ${quoted(record.id)} was read in the time zone ${record.timeZone ?? 'UTC'}, and keeps it`,
  )
}
