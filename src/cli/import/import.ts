/** Copies conversations from files into a database, and reports what became of each. */

import { basename, extname, relative, resolve } from 'node:path'
import { type ConversationRecord, hasCode, type Store } from '../../index.ts'
import type { NewConversation } from '../../store/kit/index.ts'
import { parseInstant } from '../../event/index.ts'
import { attempt, complain } from '../attempt.ts'
import { findConversation } from '../db/conversation.ts'
import { withStore } from '../db/open.ts'
import { FileError } from '../failure.ts'
import { isBlank } from '../input/open.ts'
import { type SessionFile, sessionFilesIn } from '../input/session-files.ts'
import type { Session } from '../../sessions/index.ts'
import { factsOf, openFacts, type Source } from '../input/facts.ts'
import { ClosedPipe, type Io, lasting, writeAll, writeLines } from '../print/io.ts'
import { jsonLine } from '../print/json.ts'
import { progressOn, type Progress } from '../print/progress.ts'
import { asideNote } from '../input/recording.ts'
import type { ImportRequest } from '../args/request.ts'
import { importAnswer, showImport } from './show.ts'
import type { Page } from '../show/page.ts'
import { counted, plain, quoted, safe } from '../print/text.ts'
import { batchesOf, copyInto } from './copy.ts'
import { moveHead } from './head.ts'
import { type Plan, planImport, planSession } from './plan.ts'
import { newReport, type ImportReport } from './report.ts'

/**
 * Imports the files in the order given; the worst of their exit codes counts. All of them are imported, also when the
 * reader of the reports is gone.
 * @throws FailedOutput, in the end, when a report could not be written for another reason than that.
 */
export async function importFiles(request: ImportRequest, io: Io, page: Page): Promise<number> {
  const stdout = lasting(io.stdout)
  const code = await importEach(request, { ...io, stdout }, page)
  const failure = stdout.failure()
  if (failure !== null && !(failure instanceof ClosedPipe)) throw failure
  return code
}

async function importEach(request: ImportRequest, io: Io, page: Page): Promise<number> {
  let worst = 0
  for (const file of request.files) {
    const files = file === '-' ? null : await sessionFilesIn(file)
    const code =
      files === null
        ? await importFile(file, request, io, page)
        : await importFolder(file, files, request, io, page)
    worst = Math.max(worst, code)
  }
  return worst
}

/** Imports each file of a folder; one that is nothing of ours is told, and the rest goes on. */
async function importFolder(
  name: string,
  files: readonly SessionFile[],
  request: ImportRequest,
  io: Io,
  page: Page,
): Promise<number> {
  if (request.conversation !== null)
    return attempt({ name, fields: { file: name }, json: request.json }, io, progressOn(name, io), () =>
      Promise.reject(
        new FileError('several_conversations', '--conversation names one, and the folder holds many'),
      ),
    )
  let worst = 0
  let failed = 0
  let aside = 0
  const blank: string[] = []
  for (const { file, name: called } of files) {
    if (await isBlank(file)) {
      blank.push(relative(name, file))
      continue
    }
    const made: ImportReport[] = []
    const code = await importFile(file, request, io, page, called, made)
    worst = Math.max(worst, code)
    if (code !== 0) failed += 1
    if (made.some(({ quarantined }) => quarantined > 0)) aside += 1
  }
  const told = [
    `${counted(files.length - blank.length, 'file')} read`,
    ...(failed === 0 ? [] : [`${counted(failed, 'file')} with something wrong`]),
    ...(aside === 0 ? [] : [`${counted(aside, 'file')} with quarantined lines`]),
  ]
  if (!request.json) await writeLines(io.stdout, [`${safe(name)}: ${told.join(', ')}`])
  if (blank.length > 0) {
    const note = `left out ${counted(blank.length, 'empty file')}: ${blank.map(plain).join(', ')}`
    await complain(io, `${safe(name)}: ${note}`)
  }
  return worst
}

/** Imports a file; `made` gets the reports of what it became. */
async function importFile(
  file: string,
  request: ImportRequest,
  io: Io,
  page: Page,
  name = basename(resolve(file), extname(file)),
  made: ImportReport[] = [],
): Promise<number> {
  const progress = progressOn(file, io)
  const about = { name: file, fields: { file }, json: request.json }
  return attempt(about, io, progress, async () => {
    const source = await openFacts(file, request.from, io)
    const reports = await withStore(request.db, { write: true }, (store) =>
      copyAll(store, file, name, source, request, progress),
    )
    made.push(...reports)
    progress.done()
    for (const report of reports) {
      if (request.json) await writeAll(io.stdout, jsonLine(importAnswer(report)))
      else await writeLines(io.stdout, showImport(page, report, request.db.label))
    }
    const notes = reports.map((report) => asideNote(report, report.events)).filter((note) => note !== null)
    for (const note of notes) await complain(io, `${safe(file)}: ${note}`)
    return notes.length === 0 ? 0 : 1
  })
}

/** Copies the conversation of a file, and those that stand in it beside it, each behind the one that it is of. */
async function copyAll(
  store: Store,
  file: string,
  name: string,
  source: Source,
  request: ImportRequest,
  progress: Progress,
): Promise<ImportReport[]> {
  const { session, sidecarFiles, form, facts } = source
  if (session === null) {
    const plan = planImport(file, sidecarFiles, request)
    return [await copyConversation(store, file, { form, facts }, plan, request, progress)]
  }
  const reports: ImportReport[] = []
  const copy = async (one: Session, of: { parent: string; no: number } | null): Promise<void> => {
    const plan = planSession(name, one, request, of)
    const report = await copyConversation(store, file, { form, facts: factsOf(one) }, plan, request, progress)
    reports.push(report)
    for (const [at, child] of one.children.entries())
      await copy(child, { parent: report.conversation, no: at + 1 })
  }
  await copy(session, null)
  return reports
}

async function copyConversation(
  store: Store,
  file: string,
  { form, facts }: Pick<Source, 'form' | 'facts'>,
  plan: Plan,
  request: ImportRequest,
  progress: Progress,
): Promise<ImportReport> {
  const report = newReport(file, form, plan.id, plan.notes)
  const batches = batchesOf(facts, report)[Symbol.asyncIterator]()
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
