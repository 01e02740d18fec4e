/** Opens the store of an address; reading never creates a database. */

import { access, constants, open, realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import {
  ColloquyError,
  type ConversationRecord,
  hasCode,
  isColloquyError,
  type Store,
  type StoredEvent,
} from '../../index.ts'
import { FileError, fromFileSystem, OldRuntime } from '../failure.ts'
import { readPackage } from '../package.ts'
import { quoted } from '../print/text.ts'
import type { Address } from './address.ts'

/** What the store is for. */
export interface Access {
  readonly write: boolean
  /** Whether to watch what other processes append. */
  readonly listen?: boolean
}

/**
 * Does some work on a store, and closes it. Errors contain no password, and those of the database itself name it.
 */
export async function withStore<T>(
  address: Address,
  access: Access,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { store, close, checkIntegrity } = await openStore(address, access).catch((error: unknown) => {
    throw error instanceof FileError ? about(address, error) : cleanError(error, address, access)
  })
  try {
    const result = await work(store)
    await throwIfDamaged()
    return result
  } catch (error) {
    if (isColloquyError(error)) await throwIfDamaged()
    throw cleanError(error, address, access)
  } finally {
    await close().catch(() => undefined)
  }

  async function throwIfDamaged(): Promise<void> {
    const failure = await checkIntegrity?.()
    if (failure) throw about(address, failure)
  }
}

async function openStore({ kind, target }: Address, access: Access): Promise<Opened> {
  const { write, listen = false } = access
  switch (kind) {
    case 'sqlite':
      return write ? openToWrite(target) : openToRead(target)
    case 'postgres': {
      const { postgresStore } = await import('../../store/postgres/index.ts')
      const store = postgresStore({ url: target, listen })
      return { store, close: () => store.close() }
    }
  }
}

/** The error, about the database. */
const about = ({ label }: Address, { code, message }: Pick<FileError, 'code' | 'message'>): FileError =>
  new FileError(code, message, label)

/** Errors about the contents of a database. */
const LACKS = ['unknown_conversation', 'no_conversations']

/** SQLite's codes for a database that cannot be read, since the files beside it cannot be created or used. */
const SHUT = [14, 264, 520, 1288, 1544]

/** The error as the command reports it: without secrets, and with advice for its user. */
function cleanError(error: unknown, address: Address, { write }: Access): unknown {
  const { label, withoutPassword } = address
  if (hasCode(error, 'store_read_only') && error.data['missing'] === 'schema') {
    const message = 'holds no conversations'
    return about(address, { code: 'no_conversations', message })
  }
  if (isColloquyError(error)) {
    if (!error.code.startsWith('store_'))
      return new ColloquyError(error.code, messageOf(error, withoutPassword), error.data)
    // That the file exists and may be read was checked before.
    if (!write && SHUT.some((code) => code === error.data['sqlite']))
      return about(address, { code: 'unreadable', message: SHUT_FOLDER })
    return about(address, { code: error.code, message: messageOf(error, withoutPassword) })
  }
  if (error instanceof FileError) return LACKS.includes(error.code) ? about(address, error) : error
  if (
    !(error instanceof Error) ||
    ['ClosedPipe', 'FailedOutput', 'UsageError', 'OldRuntime'].includes(error.name)
  )
    return error
  return new Error(withoutPassword(error.message) || `${label} gives an error`)
}

/** The message of an error. A driver that tried several addresses has its reasons in the cause. */
function messageOf(error: ColloquyError, withoutPassword: (text: string) => string): string {
  const { cause, message } = error
  const reasons = cause instanceof AggregateError ? cause.errors.map(String) : []
  const tail = message.endsWith(': ') ? (reasons[0] ?? codeOf(cause)) : ''
  return withoutPassword(message + tail)
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason was given'

/** Number of events that are read at a time: a body may be megabytes long. */
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

/** A UUID with dashes and in small letters; any other text as it is. */
export const dashed = (id: string): string => {
  const parts = UUID.exec(id)
  return parts === null ? id : parts.slice(1).join('-').toLowerCase()
}

/** A UUID without dashes; any other text as it is. */
export const undashed = (id: string): string => (UUID.test(id) ? dashed(id).replaceAll('-', '') : id)

/** The form of a UUID that a text is not written in; null for any other text. */
export function otherUuidForm(id: string): string | null {
  if (!UUID.test(id)) return null
  return id === dashed(id) ? undashed(id) : dashed(id)
}

/** A store, and how it ends. */
export interface Opened {
  readonly store: Store
  /** Leaves nothing of its own beside the database. */
  readonly close: () => Promise<void>
  /** What is wrong with everything that was read, where that shows at the end only. */
  readonly checkIntegrity?: () => Promise<FileError | null>
}

/** Why a database cannot be read that its reader may not write beside. */
export const SHUT_FOLDER =
  'cannot be read: SQLite needs files beside it, and permission to write there is denied; get that, or copy the database with them'

/** To be read and written; made when it is not there. @throws FileError; OldRuntime. */
export async function openToWrite(file: string): Promise<Opened> {
  await loadDriver()
  await checkToWrite(file)
  const store = await storeOf({ file })
  return { store, close: () => store.close() }
}

/** To be read only. @throws FileError; OldRuntime. */
export async function openToRead(file: string): Promise<Opened> {
  const Driver = await loadDriver()
  const { path, isShut } = await checkToRead(file)
  const log = await logSize(path)
  if (isShut && log === null && (await keepsLog(path))) return openStill(path, Driver)
  const store = await storeOf({ file, readOnly: true })
  return {
    store,
    async close() {
      await store.close()
      if (!isShut) await tidy(path, log, Driver)
    },
  }
}

/**
 * A database in write-ahead mode that no process writes just now, whose reader may make no files beside it: without
 * them SQLite reads it as one that cannot change. It can all the same, which is looked for at the end.
 */
async function openStill(path: string, Driver: Driver): Promise<Opened> {
  const before = await traceOf(path)
  const database = openImmutable(path, Driver)
  const store = await storeOf({ database, readOnly: true })
  return {
    store,
    async close() {
      await store.close()
      database.close()
    },
    checkIntegrity: async () =>
      (await logSize(path)) === null && (await traceOf(path)) === before
        ? null
        : new FileError('unreadable', 'was changed while it was read; ask again'),
  }
}

type Source = { readonly file: string } | { readonly database: DatabaseSync }

async function storeOf(options: Source & { readonly readOnly?: boolean }): Promise<Store> {
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

function openImmutable(path: string, Driver: Driver): DatabaseSync {
  try {
    return new Driver(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true })
  } catch {
    // Node takes no such address before 22.15.
    throw new FileError('unreadable', SHUT_FOLDER)
  }
}

/**
 * A connection that only reads makes files that it cannot remove. One that may write does so when it is the last to
 * close, and SQLite knows whether it is. A log that was there before is left to whom it belongs, unless nothing stands
 * in it.
 */
async function tidy(path: string, before: bigint | null, Driver: Driver): Promise<void> {
  const log = await logSize(path)
  if (log === null || (log > 0n && before !== null)) return
  try {
    const database = new Driver(path)
    try {
      database.prepare('SELECT 1 FROM sqlite_master').get()
    } finally {
      database.close()
    }
  } catch {
    // Another process is at work, and closes later.
  }
}

/** Whether the database is in write-ahead mode, by its header. */
async function keepsLog(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0)
    return bytesRead === 20 && buffer[18] === 2
  } finally {
    await file.close()
  }
}

/** What is another as soon as a process has written. */
async function traceOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true })
  return [ino, size, mtimeNs].join()
}

/** A file that may be read. */
export interface Readable {
  /** Without links: what SQLite keeps beside it stands there. */
  readonly path: string
  /** Whether the file or its folder may not be written. */
  readonly isShut: boolean
}

/** @throws FileError for what is not there, is no file, or may not be read. */
export async function checkToRead(file: string): Promise<Readable> {
  const found = await stat(file).catch((error: unknown) => Promise.reject(fromFileSystem(error)))
  refuseDirectory(found)
  refuseToRead(await refusal(file, constants.R_OK))
  const path = await realpath(file)
  const refused = (await refusal(path, constants.W_OK)) ?? (await refusal(dirname(path), constants.W_OK))
  return { path, isShut: refused !== null }
}

/** @throws FileError for what may not be written, or, where it is not there, may not be made. */
export async function checkToWrite(file: string): Promise<void> {
  const found = await stat(file).catch(noneThere)
  if (found === null) return checkFolder(file)
  refuseDirectory(found)
  refuseToRead(await refusal(file, constants.R_OK))
  const refused = (await refusal(file, constants.W_OK)) ?? (await refusalBeside(file))
  if (refused !== null)
    throw new FileError('unwritable', `cannot be written: permission is denied (${refused})`)
}

/** Bytes of the write-ahead log; null when there is none. */
export async function logSize(path: string): Promise<bigint | null> {
  const found = await stat(`${path}-wal`, { bigint: true }).catch(() => null)
  return found?.size ?? null
}

async function checkFolder(file: string): Promise<void> {
  const folder = dirname(resolve(file))
  const found = await stat(folder).catch(noneThere)
  if (found?.isDirectory() !== true)
    throw new FileError('not_found', 'cannot be made: its folder is not there')
  const refused = await refusal(folder, constants.W_OK | constants.X_OK)
  if (refused !== null)
    throw new FileError(
      'unwritable',
      `cannot be made: permission to write in its folder is denied (${refused})`,
    )
}

/** Why no files may be made beside a database; null where they may, or are there already. */
async function refusalBeside(file: string): Promise<string | null> {
  const path = await realpath(file)
  return (await logSize(path)) === null ? refusal(dirname(path), constants.W_OK) : null
}

/** Null, or the reason why not. */
async function refusal(path: string, mode: number): Promise<string | null> {
  return access(path, mode).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown'),
  )
}

function refuseToRead(refused: string | null): void {
  if (refused !== null) throw new FileError('unreadable', `permission denied (${refused})`)
}

function refuseDirectory(found: { isDirectory(): boolean }): void {
  if (found.isDirectory()) throw new FileError('unreadable', 'is a directory, not a database')
}

function noneThere(error: unknown): null {
  const failure = fromFileSystem(error)
  if (failure.code === 'not_found') return null
  throw failure
}
