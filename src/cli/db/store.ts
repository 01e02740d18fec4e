/** Opens the store of an address; reading never creates a database. */

import { access, constants, realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import {
  type ConversationRecord,
  hasCode,
  isColloquyError,
  type Store,
  type StoredEvent,
} from '../../index.ts'
import type { ConversationQuery } from '../../store/kit/index.ts'
import { codeOf, FileError, rejectRead } from '../failure.ts'
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
  let opened: Awaited<ReturnType<typeof openStore>> | null = null
  try {
    opened = await openStore(address, access)
    return await work(opened.store)
  } catch (error) {
    throw cleanError(error, address, access)
  } finally {
    await opened?.close().catch(() => undefined)
  }
}

async function openStore({ kind, target }: Address, { write, listen = false, fullText = false }: Access) {
  switch (kind) {
    case 'sqlite':
      return openFile(target, write, fullText)
    case 'postgres': {
      const { postgresStore } = await import('../../store/postgres/index.ts')
      const store = postgresStore({ url: target, listen, fullText })
      return { store, close: () => store.close() }
    }
  }
}

/** Opens a database file, and creates a missing one to write. @throws FileError */
async function openFile(file: string, write: boolean, fullText: boolean) {
  const { sqliteStore } = await import('../../store/sqlite/index.ts')
  await (write ? checkToWrite(file) : checkToRead(file))
  const hadLog = write || (await hasLog(file))
  const store = sqliteStore({ file, readOnly: !write, fullText })
  return {
    store,
    async close() {
      await store.close()
      if (!hadLog && (await hasLog(file))) await removeLog(file)
    },
  }
}

/** Errors of the command about a database as a whole. */
const LACKS: readonly string[] = ['unknown_conversation', 'no_conversations']

/** Removes passwords from errors, and names the database. */
function cleanError(error: unknown, { label, withoutPassword }: Address, { write }: Access): unknown {
  const about = (code: string, message: string) => new FileError(code, message, label)
  if (error instanceof FileError) return LACKS.includes(error.code) ? about(error.code, error.message) : error
  if (hasCode(error, 'store_read_only') && error.data['missing'] === 'schema')
    return about('no_conversations', 'contains no conversations')
  if (hasCode(error, 'store_read_only') && error.data['missing'] === 'text')
    return about(error.code, 'has no full-text index: create it with --index')
  if (error instanceof Error) error.message = withoutPassword(error.message + driverReason(error))
  if (!isColloquyError(error) || !error.code.startsWith('store_')) return error
  // The file was readable: SQLite cannot create its files next to it.
  const { sqlite } = error.data
  const isFolder = sqlite !== undefined && (error.code === 'store_read_only' || sqlite === CANNOT_OPEN)
  if (!write && isFolder) return about('unreadable', READ_ONLY_FOLDER)
  return about(error.code, error.message)
}

const CANNOT_OPEN = 14

const READ_ONLY_FOLDER =
  'cannot be read: SQLite needs files next to it, and permission to write there is denied; get that, or copy the database'

/** The reason of a driver that tried several addresses, which is only in the cause of its error. */
function driverReason({ cause, message }: Error): string {
  if (!message.endsWith(': ')) return ''
  return cause instanceof AggregateError ? String(cause.errors[0]) : codeOf(cause)
}

/** Number of events that are read at a time: a body may be megabytes long. */
const BATCH = 64

/** The record of a conversation; a UUID is found with and without dashes. */
export const findConversation = async (store: Store, id: string): Promise<ConversationRecord | null> =>
  (await store.getConversation(id)) ?? store.getConversation(id === dashed(id) ? undashed(id) : dashed(id))

/** @throws FileError `unknown_conversation`. */
export async function getConversation(store: Store, id: string): Promise<ConversationRecord> {
  const record = await findConversation(store, id)
  if (record !== null) return record
  throw new FileError('unknown_conversation', `no conversation ${quoted(id)} in this database`)
}

/** @throws FileError `unknown_event`. */
export async function getEvent(store: Store, conversation: string, id: string): Promise<StoredEvent> {
  const event = await store.get(conversation, id)
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

export const dashed = (id: string): string => UUID.exec(id)?.slice(1).join('-').toLowerCase() ?? id

export const undashed = (id: string): string => (UUID.test(id) ? dashed(id).replaceAll('-', '') : id)

/** Only a writing connection removes the files that it creates, if it is the last. */
async function removeLog(file: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file)
  try {
    database.prepare('SELECT 1 FROM sqlite_master').get()
  } finally {
    database.close()
  }
}

const hasLog = async (file: string): Promise<boolean> =>
  (await refusalOf(`${await realpath(file)}-wal`, constants.F_OK)) === null

/** @throws FileError for a file that is missing, is a directory, or may not be read. */
async function checkToRead(file: string): Promise<void> {
  const stats = await stat(file).catch(rejectRead(file))
  if (stats.isDirectory()) throw new FileError('unreadable', 'is a directory, not a database', file)
  await access(file, constants.R_OK).catch(rejectRead(file))
}

/** @throws FileError for a file that may not be written or created. */
async function checkToWrite(file: string): Promise<void> {
  if ((await refusalOf(file, constants.F_OK)) !== null) {
    const stats = await stat(dirname(resolve(file))).catch(() => null)
    if (stats?.isDirectory() !== true)
      throw new FileError('not_found', 'cannot be created: its folder does not exist', file)
    const refusal = await refusalOf(dirname(resolve(file)), constants.W_OK | constants.X_OK)
    if (refusal === null) return
    const message = `cannot be created: permission to write in its folder is denied (${refusal})`
    throw new FileError('unwritable', message, file)
  }
  await checkToRead(file)
  const folder = (await hasLog(file)) ? file : dirname(await realpath(file))
  const refusal = (await refusalOf(file, constants.W_OK)) ?? (await refusalOf(folder, constants.W_OK))
  if (refusal !== null)
    throw new FileError('unwritable', `cannot be written: permission is denied (${refusal})`, file)
}

const refusalOf = (path: string, mode: number): Promise<string | null> =>
  access(path, mode).then(() => null, codeOf)
