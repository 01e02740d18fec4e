import { createHash } from 'node:crypto'
import { basename, relative, resolve } from 'node:path'
import { type JsonObject, isLegalId, KINDS, parseInstant, ROOT } from '../event/index.ts'
import type { ConversationRecord, Event, Fact, Store, StoredEvent } from '../index.ts'
import { hasCode, isQuarantined, maskSecrets } from '../index.ts'
import { glimpseIssue } from '../inspector/index.ts'
import type { Session } from '../sessions/index.ts'
import type { AppendResult } from '../store/kit/index.ts'
import type { RequestOf } from './commands.ts'
import { dashed, findConversation, readLog, withStore } from './db/store.ts'
import { FileError } from './failure.ts'
import type { Description } from './input/documents.ts'
import { asObject, describeDocuments, describeOwn, headIn, legalId, titleIn } from './input/documents.ts'
import { type DocumentName, extensionOf, isBlankFile, sessionFilesIn, valueOf } from './input/open.ts'
import {
  factsOf,
  newProblems,
  noJsonMessage,
  noteRead,
  openFacts,
  quarantineNote,
  tally,
} from './input/recording.ts'
import type { ReadFact, Source, Tally } from './input/recording.ts'
import { lasting } from './print/io.ts'
import { counted, glimpse, plain, quoted, safe } from './print/text.ts'
import { inWords, oddities, upcastRepairs } from './show/check.ts'
import { aboutFile, byLine, LISTED, Page, type Problem } from './show/page.ts'

type Request = RequestOf<'import'>

/** Imports all files in order. @throws OutputError at the end, except for a closed pipe. */
export async function importFiles(request: Request, { io, json }: Page): Promise<number> {
  const stdout = lasting(io.stdout)
  const page = new Page({ ...io, stdout }, json)
  let worst = 0
  for (const file of request.files) {
    const files = file === '-' ? null : await sessionFilesIn(file)
    const act = files === null ? importFile(request, page, file) : importFolder(request, page, file, files)
    worst = Math.max(worst, await act)
  }
  const failure = stdout.failure()
  if (failure?.isClosed === false) throw failure
  return worst
}

async function importFolder(
  request: Request,
  page: Page,
  name: string,
  files: readonly { readonly file: string; readonly name: string }[],
): Promise<number> {
  return page.attempt(aboutFile(name), async () => {
    if (request.options.conversation !== undefined)
      throw new FileError(
        'several_conversations',
        '--conversation applies to one file, and FILE is a directory: pass a file, or omit --conversation',
      )
    const blank: string[] = []
    let failed = 0
    for (const { file, name: fallback } of files) {
      if (await isBlankFile(file)) blank.push(plain(relative(name, file)))
      else if ((await importFile(request, page, file, fallback)) !== 0) failed += 1
    }
    const read = counted(files.length - blank.length, 'file')
    const failures = failed === 0 ? '' : `, ${counted(failed, 'file')} with problems`
    if (!page.json) await page.print([`${safe(name)}: ${read} read${failures}`])
    const leftOut = `left out ${counted(blank.length, 'empty file')}: ${blank.join(', ')}`
    if (blank.length > 0) await page.complain(`${safe(name)}: ${leftOut}`)
    return failed === 0 ? 0 : 1
  })
}

async function importFile(
  request: Request,
  page: Page,
  file: string,
  name = basename(resolve(file), extensionOf(file)),
): Promise<number> {
  const { db, from } = request.options
  return page.attempt(aboutFile(file), async () => {
    const source = await openFacts(file, from, page.io)
    const reports = await withStore(db, { write: true }, (store) =>
      copyAll({ store, file, request }, name, source),
    )
    for (const report of reports) await page.answer(reportJson(report), showReport(page, report, db.label))
    const notes = reports.flatMap((report) => quarantineNote(report, report.events) ?? [])
    for (const note of notes) await page.complain(`${safe(file)}: ${note}`)
    return notes.length === 0 ? 0 : 1
  })
}

interface Copy {
  readonly store: Store
  readonly file: string
  readonly request: Request
}

/** Copies the conversations of a file, each after its parent. */
async function copyAll(copy: Copy, name: string, source: Source): Promise<readonly ImportReport[]> {
  const { store } = copy
  const { session, sidecarFiles, form, facts } = source
  if (session === null)
    return [await copyConversation(copy, { form, facts }, planImport(copy, name, sidecarFiles))]
  // Store nothing if --from is wrong. Otherwise, a second import with the correct --from would find the id in use.
  if (session.facts.length > 0 && session.facts.every(({ fact }) => isQuarantined(fact)))
    throw new FileError('no_events', `contains no record in the format ${session.format}: change --from`)
  const reports: ImportReport[] = []
  const copySession = async (one: Session, fallbackId: string, parentId: string | null): Promise<void> => {
    const plan = planSession(copy, one, fallbackId, parentId)
    const report = await copyConversation(copy, { form, facts: factsOf(one) }, plan)
    reports.push(report)
    await linkSubagents(store, report.conversation, factsOf(one))
    const { parentConversationId } = plan.description
    const isUnlinked = one.subagent?.actionId === null
    const parent = isUnlinked ? await store.getConversation(parentConversationId ?? '') : null
    if (parent !== null) await linkSubagents(store, parent.id, readLog(store, parent))
    for (const [index, child] of one.children.entries())
      await copySession(child, `${report.conversation}-${index + 1}`, report.conversation)
  }
  await copySession(session, idOfName(name), null)
  return reports
}

/** Stores which tool call opened each subagent. Run it after an import of a parent or a subagent. O(facts). */
async function linkSubagents(
  store: Store,
  parentId: string,
  facts: AsyncIterable<readonly Pick<ReadFact, 'fact'>[]>,
): Promise<void> {
  for await (const some of facts) {
    for (const { fact } of some) {
      if (isQuarantined(fact) || fact.kind !== 'ObservationEvent') continue
      const { kind, conversation_id: name } = fact.observation as JsonObject
      const id = kind === 'SubagentObservation' ? legalId(name) : null
      const child = id === null ? null : await store.getConversation(dashed(id))
      const subagent = asObject(child?.metadata['subagent'])
      if (child?.parentConversationId !== parentId || subagent === null || 'action_id' in subagent) continue
      const metadata = { ...child.metadata, subagent: { ...subagent, action_id: fact.action_id } }
      await store.updateConversation(child.id, { metadata })
    }
  }
}

type Position = Pick<AppendResult, 'version' | 'headId'>

async function copyConversation(
  copy: Copy,
  { form, facts }: Pick<Source, 'form' | 'facts'>,
  plan: Plan,
): Promise<ImportReport> {
  const { store, file } = copy
  const report = newReport(file, form, plan)
  const begin = async (): Promise<Position> => {
    const known = await findConversation(store, plan.id)
    report.conversation = known?.id ?? plan.id
    report.created = known === null
    return known === null ? create(store, plan, report) : checkZone(copy, known)
  }
  // Nothing is created, not even a database, before an importable fact is read.
  let position: Position | null = null
  let length = 0
  for await (const batch of batchesOf(facts, report)) {
    position ??= await begin()
    const appended = await append(store, report.conversation, batch, length)
    for (const [index, stored] of appended.events.entries())
      noteStored(report, batch[index] as ReadFact, stored)
    report.added += appended.version - position.version
    position = appended
    length = appended.length
  }
  position ??= await begin()
  if (plan.head !== undefined) await moveHead(store, report, plan.head, length, position)
  report.present = report.events - report.added + (report.head?.added === true ? 1 : 0)
  return report
}

async function create(
  store: Store,
  { id, description }: Plan,
  report: ImportReport,
): Promise<ConversationRecord> {
  const { createdAt, ...rest } = description
  const made = { ...rest, id, ...(createdAt !== null && { createdAt }) }
  try {
    return await store.createConversation(made)
  } catch (error) {
    if (!hasCode(error, 'invalid_argument') || !String(error.data['field']).startsWith('metadata'))
      throw error
    report.notes.push(`meta.json and base_state.json cannot be stored: ${error.message}`)
    return store.createConversation({ ...made, metadata: {} })
  }
}

async function checkZone({ store, request }: Copy, record: ConversationRecord): Promise<ConversationRecord> {
  const { timezone: timeZone } = request.options
  if (timeZone === undefined || timeZone === (record.timeZone ?? 'UTC')) return record
  if (record.version === 0) return store.updateConversation(record.id, { timeZone })
  throw new FileError(
    'other_time_zone',
    `conversation ${quoted(record.id)} has the time zone ${record.timeZone ?? 'UTC'}; omit --timezone`,
  )
}

interface Plan {
  readonly id: string
  readonly description: Description
  /** HEAD in the documents; null if it is before every event, undefined if the documents have no HEAD. */
  readonly head?: string | null | undefined
  readonly notes: readonly string[]
}

function planSession({ request }: Copy, session: Session, fallbackId: string, parentId: string | null): Plan {
  const { conversation, timezone: timeZone = null } = request.options
  const notes = session.notes.map(({ what, count, line }) => `${what}: ${count}, first on line ${line}`)
  const fileId = legalId(session.id)
  // --conversation names only the outermost session.
  const chosen = parentId === null ? conversation : undefined
  if (fileId !== null && chosen !== undefined && dashed(chosen) !== dashed(fileId))
    notes.push(`its id in the file is ${quoted(dashed(fileId))}`)
  const namedParent = legalId(session.parentId)
  const { subagent } = session
  const link = subagent !== null && {
    subagent: { ...(subagent.actionId !== null && { action_id: subagent.actionId }), depth: subagent.depth },
  }
  return {
    id: dashed(chosen ?? fileId ?? fallbackId),
    description: {
      ...describeDocuments({ meta: null, baseState: null }),
      title: titleIn(session.title ?? undefined),
      ...(subagent !== null && { tags: { subagent: 'true' } }),
      metadata: { imported_from: session.format, ...link },
      timeZone,
      parentConversationId: parentId ?? (namedParent === null ? null : dashed(namedParent)),
      createdAt: session.createdAt,
    },
    notes,
  }
}

function planImport({ request }: Copy, name: string, sidecarFiles: Source['sidecarFiles']): Plan {
  const { conversation, timezone: timeZone } = request.options
  const notes: string[] = []
  const read = (document: DocumentName) => parseDocument(document, sidecarFiles?.documents[document], notes)
  const documents = { meta: read('meta.json'), baseState: read('base_state.json') }
  const ownValue = read('colloquy.json')
  const ownDescription = ownValue === null ? null : describeOwn(ownValue)
  if (ownValue !== null && ownDescription === null)
    notes.push('colloquy.json is damaged or has another version, and is ignored')
  const description = ownDescription ?? describeDocuments(documents)
  const id = description.id ?? conversation ?? idOfName(sidecarFiles?.folder ?? name)
  if (conversation !== undefined && dashed(conversation) !== dashed(id))
    notes.push(`--conversation is ignored: the documents have the id ${quoted(id)}`)
  const metaId = documents.meta?.['id']
  if (typeof metaId === 'string' && dashed(metaId) !== id && ownDescription === null)
    notes.push(`meta.json has the id ${quoted(metaId)}; base_state.json has another id, which is used`)
  const ignored = sidecarFiles?.ignored ?? []
  const more = ignored.length > LISTED_NAMES ? ` and ${ignored.length - LISTED_NAMES} more` : ''
  if (ignored.length > 0) notes.push(`left out: ${ignored.slice(0, LISTED_NAMES).join(', ')}${more}`)
  return {
    id,
    description: { ...description, ...(timeZone && { timeZone }) },
    head: headIn(documents),
    notes,
  }
}

const LISTED_NAMES = 5

function parseDocument(name: string, bytes: Buffer | undefined, notes: string[]): JsonObject | null {
  if (bytes === undefined) return null
  const value = asObject(valueOf(bytes.toString('utf8').replace(/^\ufeff/, '')))
  if (value === null) notes.push(`${name} is not a JSON object, and is ignored`)
  return value
}

const idOfName = (name: string): string =>
  isLegalId(name) ? dashed(name) : `import-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`

const BATCH = 200

/** A file that begins with this many lines, none of which is an event, is rejected as another kind of file. */
const HOPELESS = 1000

/** Yields batches of facts, but none before it has read an event, so that a file of another kind creates nothing. */
async function* batchesOf(
  read: AsyncIterable<readonly ReadFact[]>,
  report: ImportReport,
): AsyncIterableIterator<readonly ReadFact[]> {
  const batch: ReadFact[] = []
  let foreign = 0
  const isHopeless = (): boolean => foreign > 0 && foreign === report.events + batch.length
  const close = (): readonly ReadFact[] => {
    if (isHopeless())
      throw report.broken?.count === foreign
        ? new FileError('not_json', noJsonMessage(report.broken, report.form))
        : new FileError('no_events', 'contains no event, and is not a session in a known format; see --from')
    report.events += batch.length
    return batch.splice(0)
  }
  for await (const some of read) {
    for (const decoded of some) {
      noteRead(report, decoded, MAX_ISSUES)
      const { fact, broken, hasNoKind } = decoded
      if (broken !== null || hasNoKind === true) foreign += 1
      // No store keeps transient events.
      if (!isQuarantined(fact) && !KINDS[fact.kind].stored) report.skipped += 1
      else batch.push(decoded)
      if (batch.length >= (isHopeless() ? HOPELESS : BATCH)) yield close()
    }
    // A chunk is appended at once, because facts may be large.
    if (batch.length > 0 && !isHopeless()) yield close()
  }
  const last = close()
  if (last.length > 0) yield last
}

/** Appends a batch. Skips HEAD moves that earlier imports stored. @throws FileError `other_log` */
async function append(
  store: Store,
  conversation: string,
  batch: readonly ReadFact[],
  expected: number,
): Promise<AppendResult & { readonly length: number }> {
  const facts = batch.map(({ fact }) => fact)
  try {
    const appended = await store.append(conversation, facts, { mode: 'import', expected })
    return { ...appended, length: expected + facts.length }
  } catch (error) {
    if (!hasCode(error, 'version_conflict')) throw error
  }
  if (batch.length > 1) {
    // Append each half separately to find the conflicting line. Events that already exist are not appended again.
    const half = Math.ceil(batch.length / 2)
    const front = await append(store, conversation, batch.slice(0, half), expected)
    const back = await append(store, conversation, batch.slice(half), front.length)
    return { ...back, events: [...front.events, ...back.events] }
  }
  const [stored] = await store.read(conversation, { from: expected, limit: 1 })
  const { value = null } = { ...(stored?.fact as { readonly value?: string | null } | undefined) }
  if (stored?.id === headMove(conversation, expected, value).id)
    return append(store, conversation, batch, expected + 1)
  const why = expected === 0 ? 'it was imported from another file' : 'perhaps a stored reply is incomplete'
  throw new FileError(
    'other_log',
    `line ${batch[0]?.line} differs from the stored event in conversation ${quoted(conversation)} (${why}); ` +
      'import this file into another database, or with another --conversation',
  )
}

/**
 * Moves HEAD to the event that the documents record. Only the log decides where HEAD is (design D7), so the
 * move is an event. The event is the same at each import.
 */
async function moveHead(
  store: Store,
  report: ImportReport,
  wanted: string | null,
  length: number,
  { version, headId }: Position,
): Promise<void> {
  const id = report.conversation
  const move = headMove(id, length, wanted)
  if (version > length) {
    const [next] = await store.read(id, { from: length, limit: 1 })
    if (next?.id === move.id) report.head = { value: wanted, added: false }
    else if (headId !== wanted)
      report.notes.push('HEAD was not moved, because the conversation has continued since the earlier import')
    return
  }
  // After a move, HEAD is the nearest entry on the path that is not a state update.
  let event = wanted === null ? null : await store.get(id, wanted)
  if (wanted !== null && event === null) {
    report.notes.push(`HEAD was not moved: base_state.json sets it to the unknown event ${quoted(wanted)}`)
    return
  }
  while (event !== null && kindOf(event.fact) === 'ConversationStateUpdateEvent')
    event = event.parentId === null ? null : await store.get(id, event.parentId)
  if ((event?.id ?? null) === headId) return
  await store.append(id, [move], { mode: 'import', expected: length })
  report.added += 1
  report.head = { value: wanted, added: true }
}

const kindOf = (fact: Fact): string | null | undefined => (isQuarantined(fact) ? fact.event_kind : fact.kind)

/** Returns the event that moves HEAD. Its id is a UUID, because agent servers expect a UUID in a file's name. */
function headMove(conversation: string, position: number, value: string | null): Event {
  const text = JSON.stringify([conversation, position, value])
  const hash = createHash('sha256').update(text).digest('hex')
  const id = dashed(`${hash.slice(0, 12)}8${hash.slice(13, 16)}8${hash.slice(17, 32)}`)
  return { kind: 'ConversationStateUpdateEvent', id, source: 'environment', key: 'leaf_event_id', value }
}

/** What an import does with a fact that it cannot store as it is. */
const REPAIRS = {
  duplicate_id: 'kept outside the tree',
  unknown_parent: 'follows HEAD instead',
  unreadable_timestamp: 'gets the time of the previous event',
}

/** Maximum number of listed issues, because in a file of the wrong kind every line has an issue. */
const MAX_ISSUES = 1000

const newReport = (file: string, form: Source['form'], { id, notes }: Plan) => ({
  file,
  form,
  conversation: id,
  created: false,
  /** Number of events in the file, including quarantined lines, but not transient events. */
  events: 0,
  added: 0,
  /** Number of events that the database already had. */
  present: 0,
  /** Number of transient events in the file, which are not imported because no store keeps them. */
  skipped: 0,
  ...newProblems(),
  repairs: new Map<keyof typeof REPAIRS, Tally>(),
  /**
   * `value` is HEAD in base_state.json (null: before every event). `added` is whether this import, and not an
   * earlier one, added the event that moves HEAD there. `head` is null if the log has no such event.
   */
  head: null as { readonly value: string | null; readonly added: boolean } | null,
  notes: [...notes],
})

type ImportReport = ReturnType<typeof newReport>

function noteStored({ repairs }: ImportReport, { line, fact }: ReadFact, stored: StoredEvent): void {
  const parent = fact.parent_id ?? null
  if (!stored.inTree && stored.id !== null) tally(repairs, 'duplicate_id', line)
  if (stored.inTree && parent !== null && parent !== ROOT && parent !== stored.parentId)
    tally(repairs, 'unknown_parent', line)
  if (!isQuarantined(fact) && fact.timestamp !== undefined && parseInstant(fact.timestamp) === undefined)
    tally(repairs, 'unreadable_timestamp', line)
}

const reportJson = ({ form: _form, broken: _broken, ...report }: ImportReport) =>
  maskSecrets({
    ...report,
    upcasts: Array.from(report.upcasts, ([name, counts]) => ({ name, ...counts })),
    repairs: Array.from(report.repairs, ([code, counts]) => ({ code, ...counts })),
  })

function* showReport(page: Page, report: ImportReport, database: string): IterableIterator<string> {
  const { file, conversation, created, events, added, present, head, notes, skipped } = report
  const before = present === 0 ? '' : `, ${present.toLocaleString('en')} already stored`
  yield page.heading(safe(file), `${counted(events, 'event')}, ${added.toLocaleString('en')} added${before}`)
  const verb = created ? 'new' : added > 0 ? 'continued' : 'unchanged'
  yield `  ${page.paint('strong', safe(conversation))} in ${safe(database)}  ${page.paint('dim', verb)}`
  if (head !== null) {
    const where = head.value === null ? 'before every event' : `at ${glimpse(head.value)}`
    const how = head.added ? 'this import added an event that moves it' : 'an earlier import moved it'
    yield `  HEAD ${where}, by base_state.json: ${how}`
  }
  yield* page.problemRows(problemsIn(report), { limit: LISTED })
  if (skipped > 0) yield `  left out: ${counted(skipped, 'streaming delta')}, which no store keeps`
  for (const note of notes) yield `  ${page.paint('warn', 'note')}: ${glimpse(note)}`
}

function problemsIn(report: ImportReport): readonly Problem[] {
  const first = new Map(report.issues.toReversed().map((issue) => [issue.line, issue]))
  const aside = Array.from(first, ([line, issue]): Problem => {
    return { line, what: 'quarantined', detail: glimpseIssue(issue) }
  })
  const more = report.quarantined - aside.length
  const line = Math.max(...first.keys())
  if (more > 0) aside.push({ line, what: 'quarantined', detail: `and ${counted(more, 'more line')}` })
  const repaired = Array.from(report.repairs, ([code, { line, count }]): Problem => {
    const where = count === 1 ? '' : `on ${counted(count, 'line')}: `
    return { line, what: inWords(code), detail: where + REPAIRS[code] }
  })
  return byLine([...upcastRepairs(report), ...aside, ...oddities(report), ...repaired])
}
