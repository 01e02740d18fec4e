/** Opens the store of an address; reading never creates a database. */

import { access, constants, realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import {
  ColloquyError,
  type ConversationRecord,
  hasCode,
  isColloquyError,
  type Store,
  type StoredEvent,
} from '../../index.ts'
import type { ConversationQuery } from '../../store/kit/index.ts'
import { FileError, rejectRead, OldRuntime } from '../failure.ts'
import { readPackage } from '../package.ts'
import { quoted } from '../print/text.ts'
import type { Address } from './address.ts'

interface Access {
  readonly write: boolean
  readonly listen?: boolean
  readonly fullText?: boolean
}

/** Does some work on a store, and closes it. Errors contain no password, and those of the database name it. */
export async function withStore<T>(
  address: Address,
  access: Access,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  let opened: Opened | null = null
  try {
    opened = await openStore(address, access)
    return await work(opened.store)
  } catch (error) {
    if (opened === null && error instanceof FileError) throw about(address, error)
    throw cleanError(error, address, access)
  } finally {
    await opened?.close().catch(() => undefined)
  }
}

async function openStore(
  { kind, target }: Address,
  { write, listen = false, fullText = false }: Access,
): Promise<Opened> {
  switch (kind) {
    case 'sqlite':
      return write ? openToWrite(target, fullText) : openToRead(target, fullText)
    case 'postgres': {
      const { postgresStore } = await import('../../store/postgres/index.ts')
      return opened(postgresStore({ url: target, listen, fullText }))
    }
  }
}

const about = ({ label }: Address, { code, message }: Pick<FileError, 'code' | 'message'>): FileError =>
  new FileError(code, message, label)

const LACKS = ['unknown_conversation', 'no_conversations']

const FOLDER_CODES = [14, 264, 520, 1288, 1544]

function cleanError(error: unknown, address: Address, { write }: Access): unknown {
  const { label, withoutPassword } = address
  if (hasCode(error, 'store_read_only') && error.data['missing'] === 'schema') {
    return about(address, { code: 'no_conversations', message: 'contains no conversations' })
  }
  if (hasCode(error, 'store_read_only') && error.data['missing'] === 'text') {
    return about(address, { code: error.code, message: 'has no full-text index: create it with --index' })
  }
  if (isColloquyError(error)) {
    if (!error.code.startsWith('store_'))
      return new ColloquyError(error.code, safeMessage(error, withoutPassword), error.data)
    // The file was readable.
    if (!write && FOLDER_CODES.some((code) => code === error.data['sqlite']))
      return about(address, { code: 'unreadable', message: READ_ONLY_FOLDER })
    return about(address, { code: error.code, message: safeMessage(error, withoutPassword) })
  }
  if (error instanceof FileError) return LACKS.includes(error.code) ? about(address, error) : error
  if (
    !(error instanceof Error) ||
    ['ClosedPipe', 'FailedOutput', 'UsageError', 'OldRuntime'].includes(error.name)
  )
    return error
  return new Error(withoutPassword(error.message) || `${label} failed without a reason`)
}

/** The message of an error. A driver that tried several addresses has its reasons in the cause. */
function safeMessage(error: ColloquyError, withoutPassword: (text: string) => string): string {
  const { cause, message } = error
  const reasons = cause instanceof AggregateError ? cause.errors.map(String) : []
  const tail = message.endsWith(': ') ? (reasons[0] ?? systemCode(cause)) : ''
  return withoutPassword(message + tail)
}

const systemCode = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'

/** Number of events that are read at a time: a body may be megabytes long. */
const BATCH = 64

/** The record of a conversation; a UUID is found with and without dashes. */
export async function findConversation(store: Store, id: string): Promise<ConversationRecord | null> {
  const record = await store.getConversation(id)
  const other = record === null ? otherUuidForm(id) : null
  return other === null ? record : await store.getConversation(other)
}

/** @throws FileError `unknown_conversation`. */
export async function getConversation(store: Store, id: string): Promise<ConversationRecord> {
  const record = await findConversation(store, id)
  if (record !== null) return record
  throw new FileError('unknown_conversation', `no conversation ${quoted(id)} in this database`)
}

/** @throws FileError `unknown_event`, also for an id that no event can have. */
export async function getEvent(store: Store, conversation: string, id: string): Promise<StoredEvent> {
  const event = await store.get(conversation, id).catch((error: unknown) => {
    if (hasCode(error, 'invalid_id') || hasCode(error, 'invalid_query')) return null
    throw error
  })
  if (event !== null) return event
  throw new FileError('unknown_event', `no event ${quoted(id)} in this conversation`)
}

/** Yields conversations, in the order of the query. */
export async function* eachConversation(
  store: Store,
  query: ConversationQuery,
): AsyncIterableIterator<ConversationRecord> {
  let page = await store.listConversations(query)
  yield* page.items
  while (page.cursor !== null) {
    page = await store.listConversations({ ...query, cursor: page.cursor })
    yield* page.items
  }
}

/** The log up to the version of the record, in batches; later events are left out. */
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

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

export const dashed = (id: string): string => {
  const parts = UUID.exec(id)
  return parts === null ? id : parts.slice(1).join('-').toLowerCase()
}

export const undashed = (id: string): string => (UUID.test(id) ? dashed(id).replaceAll('-', '') : id)

function otherUuidForm(id: string): string | null {
  if (!UUID.test(id)) return null
  return id === dashed(id) ? undashed(id) : dashed(id)
}

interface Opened {
  readonly store: Store
  readonly close: () => Promise<void>
}

const READ_ONLY_FOLDER =
  'cannot be read: SQLite needs files next to it, and permission to write there is denied; get that, or copy the database'

/** Opens a database for reading and writing, and creates a missing one. @throws FileError; OldRuntime. */
async function openToWrite(file: string, fullText: boolean): Promise<Opened> {
  await loadDriver()
  await checkToWrite(file)
  return opened(await storeOf({ file, fullText }))
}

/** Opens a database for reading. @throws FileError; OldRuntime. */
async function openToRead(file: string, fullText: boolean): Promise<Opened> {
  const Driver = await loadDriver()
  await checkToRead(file)
  const path = await realpath(file)
  const hadLog = await hasLog(path)
  const store = await storeOf({ file, readOnly: true, fullText })
  return {
    store,
    async close() {
      await store.close()
      if (!hadLog && (await hasLog(path))) removeLog(path, Driver)
    },
  }
}

const opened = (store: Store): Opened => ({ store, close: () => store.close() })

async function storeOf(options: {
  readonly file: string
  readonly readOnly?: boolean
  readonly fullText: boolean
}): Promise<Store> {
  const { sqliteStore } = await import('../../store/sqlite/index.ts')
  return sqliteStore(options)
}

type Driver = typeof DatabaseSync

async function loadDriver(): Promise<Driver> {
  try {
    return (await import('node:sqlite')).DatabaseSync
  } catch {
    const { node } = await readPackage()
    throw new OldRuntime(`needs Node ${node} or newer; this is ${process.versions.node}`)
  }
}

/** Only a writing connection removes the files that it creates, if it is the last. */
function removeLog(path: string, Driver: Driver): void {
  try {
    const database = new Driver(path)
    try {
      database.prepare('SELECT 1 FROM sqlite_master').get()
    } finally {
      database.close()
    }
  } catch {
    // Another process uses the database, and closes later.
  }
}

const hasLog = (path: string): Promise<boolean> => isAllowed(`${path}-wal`, constants.F_OK)

/** @throws FileError for a file that is missing, is a directory, or may not be read. */
async function checkToRead(file: string): Promise<void> {
  const stats = await stat(file).catch(rejectRead())
  if (stats.isDirectory()) throw new FileError('unreadable', 'is a directory, not a database')
  const refusal = await refusalOf(file, constants.R_OK)
  if (refusal !== null) throw new FileError('unreadable', `permission denied (${refusal})`)
}

/** @throws FileError for a file that may not be written or created. */
async function checkToWrite(file: string): Promise<void> {
  if (!(await isAllowed(file, constants.F_OK))) return checkFolder(file)
  await checkToRead(file)
  const path = await realpath(file)
  const refusal =
    (await refusalOf(file, constants.W_OK)) ??
    ((await hasLog(path)) ? null : await refusalOf(dirname(path), constants.W_OK))
  if (refusal !== null)
    throw new FileError('unwritable', `cannot be written: permission is denied (${refusal})`)
}

async function checkFolder(file: string): Promise<void> {
  const folder = dirname(resolve(file))
  const stats = await stat(folder).catch(() => null)
  if (stats?.isDirectory() !== true)
    throw new FileError('not_found', 'cannot be created: its folder does not exist')
  const refusal = await refusalOf(folder, constants.W_OK | constants.X_OK)
  if (refusal !== null)
    throw new FileError(
      'unwritable',
      `cannot be created: permission to write in its folder is denied (${refusal})`,
    )
}

const isAllowed = async (path: string, mode: number): Promise<boolean> =>
  (await refusalOf(path, mode)) === null

async function refusalOf(path: string, mode: number): Promise<string | null> {
  return access(path, mode).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown'),
  )
}
