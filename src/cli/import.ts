/** Copies conversations from files into a database, and reports what became of each. */

import { createHash } from 'node:crypto'
import { basename, extname, relative, resolve } from 'node:path'
import { isLegalId, type JsonObject, KINDS, parseInstant, ROOT, UPCASTERS } from '../event/index.ts'
import {
  type ConversationRecord,
  type Event,
  type Fact,
  hasCode,
  isQuarantined,
  maskSecrets,
  type Store,
  type StoredEvent,
} from '../index.ts'
import { glimpseIssue } from '../inspector/index.ts'
import type { Session } from '../sessions/index.ts'
import type { AppendResult, NewConversation } from '../store/kit/index.ts'
import type { ImportRequest } from './args/request.ts'
import { attempt, complain } from './attempt.ts'
import { dashed, findConversation, withStore } from './db/store.ts'
import { FileError } from './failure.ts'
import type { Decoded } from './input/decode.ts'
import {
  asObject,
  describeDocuments,
  describeOwn,
  type Description,
  headIn,
  titleIn,
} from './input/documents.ts'
import { factsOf, openFacts, type Read, type Source } from './input/facts.ts'
import { type Form, isBlank, type SessionFile, sessionFilesIn } from './input/open.ts'
import {
  asideNote,
  type Broken,
  count,
  issueAsJson,
  issuesOf,
  type LineIssue,
  noneIsJson,
  noteBroken,
  type Upcasts,
  warningsOf,
} from './input/recording.ts'
import type { DocumentName, SidecarFiles } from './input/sidecar-files.ts'
import { ClosedPipe, type Io, lasting, type Progress, progressOn, writeAll, writeLines } from './print/io.ts'
import { counted, glimpse, jsonLine, plain, quoted, safe } from './print/text.ts'
import { type Repair, repairRows } from './show/check.ts'
import { heading, type Page } from './show/page.ts'

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

/** What is to become of a file. */
export interface Plan {
  readonly id: string
  readonly description: Description
  /** HEAD as base_state.json has it: an id, null for the empty HEAD, undefined where it does not say. */
  readonly head: string | null | undefined
  /** The zone that the user asked for. */
  readonly timeZone: string | null
  /** What the user should know, a sentence each. */
  readonly notes: readonly string[]
}

/**
 * What the session of another agent becomes; `name` is what it is called where it does not say it. `parent` is the
 * conversation that the file itself becomes, for a session that stands in it beside another; `no` counts these.
 */
export function planSession(
  name: string,
  session: Session,
  request: Pick<ImportRequest, 'conversation' | 'timeZone'>,
  of: { readonly parent: string; readonly no: number } | null,
): Plan {
  const notes = session.notes.map(({ what, count, line }) => `${what}: ${count}, first on line ${line}`)
  const named = idIn(session.id)
  const own = of === null ? (request.conversation ?? named ?? idOf(name)) : (named ?? `${of.parent}-${of.no}`)
  if (
    of === null &&
    named !== null &&
    request.conversation !== null &&
    dashed(request.conversation) !== named
  )
    notes.push(`it is called ${quoted(named)} there`)
  return {
    id: dashed(own),
    description: {
      ...describeDocuments({ meta: null, baseState: null }),
      title: titleIn(session.title ?? undefined),
      metadata: { imported_from: session.format },
      timeZone: request.timeZone,
      parentConversationId: of?.parent ?? idIn(session.parentId),
      createdAt: session.createdAt,
    },
    head: undefined,
    timeZone: request.timeZone,
    notes,
  }
}

const idIn = (id: string | null): string | null => (id !== null && isLegalId(id) ? dashed(id) : null)

/** What a file becomes. What the documents say of the id holds; then the user's word, then the name of the file. */
export function planImport(
  file: string,
  sidecarFiles: SidecarFiles | null,
  request: Pick<ImportRequest, 'conversation' | 'timeZone'>,
): Plan {
  const notes: string[] = []
  const read = (name: DocumentName): JsonObject | null => parse(name, sidecarFiles?.documents[name], notes)
  const documents = { meta: read('meta.json'), baseState: read('base_state.json') }
  const own = read('colloquy.json')
  const ownSays = own === null ? null : describeOwn(own)
  if (own !== null && ownSays === null) notes.push('colloquy.json is of another version, and left out')
  const said = ownSays ?? describeDocuments(documents)
  const id = said.id ?? request.conversation ?? nameId(sidecarFiles?.folder ?? null, file)
  if (request.conversation !== null && dashed(request.conversation) !== dashed(id))
    notes.push(`its documents say that it is ${quoted(id)}: --conversation is not used`)
  const metaId = asObject(documents.meta)?.['id']
  if (typeof metaId === 'string' && dashed(metaId) !== id && ownSays === null)
    notes.push(`meta.json has the id ${quoted(metaId)}, base_state.json another, which holds`)
  const ignored = sidecarFiles?.ignored ?? []
  if (ignored.length > 0) notes.push(`left out: ${listed(ignored)}`)
  return {
    id,
    description: request.timeZone === null ? said : { ...said, timeZone: request.timeZone },
    head: headIn(documents),
    timeZone: request.timeZone,
    notes,
  }
}

function parse(name: string, bytes: Buffer | undefined, notes: string[]): JsonObject | null {
  if (bytes === undefined) return null
  try {
    const value = asObject(JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, '')))
    if (value !== null) return value
  } catch {
    // Reported below.
  }
  notes.push(`${name} is no JSON object, and left out`)
  return null
}

/**
 * The id that a name gives, the same wherever the file lies: of the folder in an archive or on disk, else of the file.
 */
const nameId = (folder: string | null, file: string): string =>
  idOf(folder ?? basename(resolve(file), extname(file)))

function idOf(name: string): string {
  if (isLegalId(name)) return dashed(name)
  return `import-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** How many names are shown. */
const LISTED = 5

function listed(names: readonly string[]): string {
  const more = names.length - LISTED
  const shown = names.slice(0, LISTED).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}

/** How much is appended at a time: so many facts, or so many bytes of them. */
const BATCH = { facts: 200, bytes: 1 << 22 }

/** After so many lines without one of JSON among them, a file is of another kind. */
const HOPELESS = 1000

/** Some facts with their line numbers. */
export interface Batch {
  readonly facts: Fact[]
  readonly lines: number[]
}

/**
 * The facts of a file in batches. The first comes only once a line of JSON was found, so that nothing is begun for a
 * file of another kind.
 * @throws FileError when there is no such line, or when an element of an array is no JSON.
 */
export async function* batchesOf(
  read: AsyncIterable<readonly Read[]>,
  report: ImportReport,
): AsyncIterableIterator<Batch> {
  let batch: Batch = { facts: [], lines: [] }
  let bytes = 0
  for await (const some of read) {
    for (const decoded of some) {
      noteRead(report, decoded.line, decoded)
      if (report.form === 'array' && decoded.broken === 'not JSON')
        throw new FileError('not_json', `element ${decoded.line} is not JSON`)
      if (isTransient(decoded.fact)) {
        report.skipped += 1
        continue
      }
      batch.facts.push(decoded.fact)
      batch.lines.push(decoded.line)
      bytes += decoded.bytes ?? JSON.stringify(decoded.fact).length
      const full = batch.facts.length >= BATCH.facts || bytes >= BATCH.bytes
      if (!full || (isHopeless(report, batch) && batch.facts.length < HOPELESS)) continue
      refuseHopeless(report, batch)
      report.events += batch.facts.length
      yield batch
      batch = { facts: [], lines: [] }
      bytes = 0
    }
  }
  refuseHopeless(report, batch)
  report.events += batch.facts.length
  if (batch.facts.length > 0) yield batch
}

/**
 * Copies the batches into the log. @throws FileError `other_log` where another event stands in the place of one of
 * them.
 */
export async function copyInto(
  store: Store,
  batches: AsyncIterable<Batch>,
  report: ImportReport,
  start: LogEnd,
  progress: Progress,
): Promise<LogEnd> {
  let end = start
  for await (const batch of batches) {
    const { events, version, headId } = await append(store, report, batch, end.length)
    for (const [i, stored] of events.entries())
      noteStored(report, batch.lines[i] as number, batch.facts[i] as Fact, stored)
    report.added += version - end.version
    end = { length: end.length + batch.facts.length, version, headId }
    progress.tick(end.length)
  }
  return end
}

async function append(
  store: Store,
  { conversation }: ImportReport,
  { facts, lines }: Batch,
  expected: number,
): Promise<AppendResult> {
  try {
    return await store.append(conversation, facts, { mode: 'import', expected })
  } catch (error) {
    if (!hasCode(error, 'version_conflict')) throw error
  }
  // One by one, to find the line: what stands there already is not appended again.
  for (const [i, fact] of facts.entries()) {
    try {
      await store.append(conversation, [fact], { mode: 'import', expected: expected + i })
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error
      const why =
        expected + i === 0
          ? 'so that it was imported from another file'
          : 'as where it was imported in the middle of a reply that the file now has whole'
      throw new FileError(
        'other_log',
        `line ${lines[i]} is another event than conversation ${quoted(conversation)} has there, ${why}; ` +
          'import the file under another --conversation, or into another database',
      )
    }
  }
  return store.append(conversation, facts, { mode: 'import', expected })
}

const isTransient = (fact: Fact): boolean => !isQuarantined(fact) && !KINDS[fact.kind].stored

/** Whether nothing so far was JSON. */
const isHopeless = ({ broken, events }: ImportReport, { facts }: Batch): boolean =>
  broken !== null && broken.count === events + facts.length

function refuseHopeless(report: ImportReport, batch: Batch): void {
  if (report.broken === null || !isHopeless(report, batch)) return
  throw new FileError('not_json', noneIsJson(report.broken, report.form))
}

/** The end of the log, as the last append of an import left it. */
export interface LogEnd {
  /** How many events the import has put there or found there. */
  readonly length: number
  /** How many there are. */
  readonly version: number
  readonly headId: string | null
}

/**
 * The log alone decides where HEAD is (design D7), so what the documents say becomes a fact of the log; the same one
 * each time.
 */
export async function moveHead(
  store: Store,
  report: ImportReport,
  wanted: string | null | undefined,
  { length, version, headId }: LogEnd,
): Promise<void> {
  if (wanted === undefined) return
  const id = report.conversation
  const move = headMove(id, length, wanted)
  if (version > length) {
    const [next] = await store.read(id, { from: length, limit: 1 })
    if (next?.id === move.id) report.head = { value: wanted, added: false }
    else if (headId !== wanted)
      report.notes.push('the conversation has gone on since: HEAD stays where it is')
    return
  }
  const anchor = await anchorOf(store, id, wanted)
  if (anchor === undefined) {
    report.notes.push(`base_state.json has HEAD at ${quoted(wanted ?? '')}, which is not there: HEAD stays`)
  } else if (anchor !== headId) {
    await store.append(id, [move], { mode: 'import', expected: length })
    report.added += 1
    report.head = { value: wanted, added: true }
  }
}

/**
 * The entry that HEAD means when it is sent to an event: itself, or the nearest above that is no state update;
 * undefined for none.
 */
async function anchorOf(store: Store, id: string, wanted: string | null): Promise<string | null | undefined> {
  if (wanted === null) return null
  let event = await store.get(id, wanted)
  if (event === null) return undefined
  while (event !== null) {
    const { fact, parentId }: { fact: typeof event.fact; parentId: string | null } = event
    const kind = isQuarantined(fact) ? fact.event_kind : fact.kind
    if (kind !== 'ConversationStateUpdateEvent') return event.id
    event = parentId === null ? null : await store.get(id, parentId)
  }
  return null
}

/** The event that moves HEAD, with an id that agent servers can read in a file's name. */
function headMove(conversation: string, position: number, value: string | null): Event {
  const hash = createHash('sha256')
    .update(JSON.stringify([conversation, position, value]))
    .digest('hex')
  const id = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-')
  return { kind: 'ConversationStateUpdateEvent', id, source: 'environment', key: 'leaf_event_id', value }
}

/** What the log puts right, as `replay` names it. */
export type RepairCode = 'duplicate_id' | 'unknown_parent' | 'unreadable_timestamp'

/** How many issues are listed: a file of the wrong kind has as many as lines. */
const MOST_ISSUES = 1000

/** What became of one file. It grows while the file is read. */
export interface ImportReport {
  readonly file: string
  readonly form: Form
  /** Its id in the store. */
  conversation: string
  /** Whether the conversation was not there before. */
  created: boolean
  /** Events in the file, those quarantined among them. */
  events: number
  added: number
  /** Transient events, which no store keeps. */
  skipped: number
  quarantined: number
  broken: Broken | null
  readonly issues: LineIssue[]
  /** What is wrong with events that were added all the same. */
  readonly warnings: LineIssue[]
  readonly upcasts: Map<string, Upcasts>
  readonly repairs: Map<RepairCode, Upcasts>
  /** Where HEAD was moved to, since base_state.json has it there; undefined when it was not. */
  head: { readonly value: string | null; readonly added: boolean } | undefined
  readonly notes: string[]
}

/** A report of nothing yet. */
export function newReport(
  file: string,
  form: Form,
  conversation: string,
  notes: readonly string[],
): ImportReport {
  return {
    file,
    form,
    conversation,
    created: false,
    events: 0,
    added: 0,
    skipped: 0,
    quarantined: 0,
    broken: null,
    issues: [],
    warnings: [],
    upcasts: new Map(),
    repairs: new Map(),
    head: undefined,
    notes: [...notes],
  }
}

/** Notes what reading a line came to. */
export function noteRead(
  report: ImportReport,
  line: number,
  { fact, upcasts, warnings, broken }: Decoded,
): void {
  report.broken = noteBroken(report.broken, line, broken)
  for (const name of upcasts) count(report.upcasts, name, line)
  if (isQuarantined(fact)) report.quarantined += 1
  const room = MOST_ISSUES - report.issues.length
  if (room > 0) report.issues.push(...issuesOf(fact, line).slice(0, room))
  const more = MOST_ISSUES - report.warnings.length
  if (more > 0) report.warnings.push(...warningsOf(fact, warnings, line).slice(0, more))
}

/** Notes what the store made of a fact. */
export function noteStored(report: ImportReport, line: number, fact: Fact, stored: StoredEvent): void {
  const parent = fact.parent_id ?? null
  if (!stored.inTree && stored.id !== null) count(report.repairs, 'duplicate_id', line)
  if (stored.inTree && parent !== null && parent !== ROOT && parent !== stored.parentId)
    count(report.repairs, 'unknown_parent', line)
  if (!isQuarantined(fact) && fact.timestamp !== undefined && parseInstant(fact.timestamp) === undefined)
    count(report.repairs, 'unreadable_timestamp', line)
}

const REPAIRS: Readonly<Record<RepairCode, { readonly what: string; readonly detail: string }>> = {
  duplicate_id: { what: 'repeated id', detail: 'kept beside the tree' },
  unknown_parent: { what: 'unknown parent', detail: 'hangs on HEAD as it stood' },
  unreadable_timestamp: { what: 'unreadable time', detail: 'has the time of the event before it' },
}

/** The report as one JSON object, with every secret masked. */
export function importAnswer(report: ImportReport): Readonly<Record<string, unknown>> {
  const { file, conversation, created, events, added, skipped, quarantined, head, notes } = report
  return maskSecrets({
    file,
    conversation,
    created,
    events,
    added,
    present: present(report),
    skipped,
    upcasts: Array.from(report.upcasts, ([name, { count, line }]) => ({ name, count, line })),
    quarantined,
    issues: report.issues.map(issueAsJson),
    warnings: report.warnings.map(issueAsJson),
    repairs: Array.from(report.repairs, ([code, { count, line }]) => ({ code, count, line })),
    head: head ?? null,
    notes,
  })
}

/** How many events of the file were there already. */
const present = ({ events, added, head }: ImportReport): number =>
  events - added + (head?.added === true ? 1 : 0)

/** Shows the report to people. */
export function* showImport(page: Page, report: ImportReport, database: string): IterableIterator<string> {
  const { file, conversation, created, events, added, head, notes, skipped } = report
  const there = present(report)
  const counts = [
    counted(events, 'event'),
    `${added.toLocaleString('en')} added`,
    ...(there > 0 ? [`${there.toLocaleString('en')} there already`] : []),
  ].join(', ')
  yield heading(page, safe(file), counts)
  const verb = created ? 'new' : added > 0 ? 'continued' : 'unchanged'
  yield `  ${page.paint('strong', safe(conversation))} in ${safe(database)}  ${page.paint('dim', verb)}`
  if (head !== undefined) {
    const where = head.value === null ? 'before every event' : `at ${glimpse(head.value)}`
    const how = head.added ? 'an event was added that moves it there' : 'as the event after the last one says'
    yield `  HEAD ${where}, as base_state.json has it: ${how}`
  }
  yield* repairRows(page, repairs(report))
  if (skipped > 0) yield `  left out: ${counted(skipped, 'streaming delta')}, which no store keeps`
  for (const note of notes) yield `  ${page.paint('warn', 'note')}: ${glimpse(note)}`
}

function repairs({ upcasts, issues, warnings, repairs, quarantined }: ImportReport): Repair[] {
  const lines = new Set<number>()
  const aside = issues.flatMap(({ line, issue }): Repair[] => {
    if (lines.has(line)) return []
    lines.add(line)
    return [{ line, what: 'quarantined', detail: glimpseIssue(issue) }]
  })
  const more = quarantined - aside.length
  const last = aside.at(-1)
  if (more > 0 && last !== undefined)
    aside.push({ line: last.line, what: 'quarantined', detail: `and ${counted(more, 'more line')}` })
  const older = Array.from(upcasts, ([name, { line, count }]): Repair => {
    const about = UPCASTERS.find((upcaster) => upcaster.name === name)?.description ?? ''
    return { line, what: 'older shape', detail: `${name}${times(count)}: ${about}` }
  })
  const righted = Array.from(repairs, ([code, { line, count }]): Repair => {
    const { what, detail } = REPAIRS[code]
    return { line, what, detail: count === 1 ? detail : `${times(count).trim()}: ${detail}` }
  })
  const odd = warnings.map(({ line, issue }): Repair => ({ line, what: 'odd', detail: glimpseIssue(issue) }))
  return [...older, ...aside, ...odd, ...righted].toSorted((a, b) => a.line - b.line)
}

const times = (count: number): string => (count === 1 ? '' : ` on ${counted(count, 'line')}`)
