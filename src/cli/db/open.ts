/** Opens the store of an address; reading never creates a database. */

import { ColloquyError, hasCode, isColloquyError, type Store } from '../../index.ts'
import { FileError } from '../failure.ts'
import type { Address } from './address.ts'
import { unreachable } from '../unreachable.ts'
import { type Opened, openToRead, openToWrite, SHUT_FOLDER } from './sqlite.ts'

/** What the store is for. */
export interface Access {
  readonly write: boolean
  /** Whether to watch what other processes append. */
  readonly listen?: boolean
  /** Microseconds since 1970 that records are dated with; the present when left out. */
  readonly clock?: () => bigint
}

/**
 * Does some work on a store, closes it, and says whatever goes wrong without the password; what goes wrong with the
 * database itself names it.
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
  const { write, clock, listen = false } = access
  const dated = clock === undefined ? {} : { clock }
  switch (kind) {
    case 'sqlite':
      return write ? openToWrite(target, dated) : openToRead(target, dated)
    case 'postgres': {
      const { postgresStore } = await import('../../store/postgres/index.ts')
      const store = postgresStore({ url: target, listen, ...dated })
      return { store, close: () => store.close() }
    }
    default:
      return unreachable(kind)
  }
}

/** The error, about the database. */
const about = ({ label }: Address, { code, message }: Pick<FileError, 'code' | 'message'>): FileError =>
  new FileError(code, message, label)

/** What the database was asked for and lacks. */
const LACKS = ['unknown_conversation', 'no_conversations']

/** SQLite's codes for a database that cannot be read, since its log or what belongs to it cannot be made or used. */
const SHUT = [14, 264, 520, 1288, 1544]

/** The error in words of the command: without secrets, and with advice that can be followed here. */
function cleanError(error: unknown, address: Address, { write }: Access): unknown {
  const { label, withoutPassword } = address
  if (hasCode(error, 'store_read_only') && error.message.includes('must be migrated')) {
    const message = 'holds no conversations that this version can read'
    return about(address, { code: 'no_conversations', message })
  }
  if (isColloquyError(error)) {
    if (!error.code.startsWith('store_'))
      return new ColloquyError(error.code, said(error, withoutPassword), error.data)
    // Its file is there and may be read: that was seen to before.
    if (!write && SHUT.some((code) => code === error.data['sqlite']))
      return about(address, { code: 'unreadable', message: SHUT_FOLDER })
    return about(address, { code: error.code, message: said(error, withoutPassword) })
  }
  if (error instanceof FileError) return LACKS.includes(error.code) ? about(address, error) : error
  if (
    !(error instanceof Error) ||
    ['ClosedPipe', 'FailedOutput', 'UsageError', 'OldRuntime'].includes(error.name)
  )
    return error
  return new Error(withoutPassword(error.message) || `${label} gives an error`)
}

/** A driver may have nothing to say where several addresses were tried; what kept it from each stands in the cause. */
function said(error: ColloquyError, withoutPassword: (text: string) => string): string {
  const { cause, message } = error
  const reasons = cause instanceof AggregateError ? cause.errors.map(String) : []
  const tail = message.endsWith(': ') ? (reasons[0] ?? codeOf(cause)) : ''
  return withoutPassword(message + tail)
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason was given'
