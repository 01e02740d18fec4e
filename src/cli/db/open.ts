/** A database's address goes in, a store over it comes out; no database is made by reading one. */

import { stat } from 'node:fs/promises'
import { ColloquyError, hasCode, type Store } from '../../index.ts'
import { FileError, fromFileSystem } from '../failure.ts'
import type { Address } from './address.ts'

/** What the store is for. */
export interface Access {
  readonly write: boolean
  /** Whether to be told of what other processes append. */
  readonly listen?: boolean
  /** Microseconds since 1970 that records are dated with; the present when left out. */
  readonly clock?: () => bigint
}

/** Does some work on a store, closes it, and says whatever goes wrong without the password. */
export async function withStore<T>(
  address: Address,
  access: Access,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(address, access).catch((error: unknown) => {
    throw cleanError(error, address)
  })
  try {
    return await work(store)
  } catch (error) {
    throw cleanError(error, address)
  } finally {
    await store.close().catch(() => undefined)
  }
}

async function openStore({ kind, target }: Address, access: Access): Promise<Store> {
  const { write, clock, listen = false } = access
  const dated = clock === undefined ? {} : { clock }
  if (kind === 'postgres') {
    const { postgresStore } = await import('../../store/postgres/index.ts')
    return postgresStore({ url: target, listen, ...dated })
  }
  if (!write) await checkFile(target)
  const { sqliteStore } = await import('../../store/sqlite/index.ts')
  return sqliteStore({ file: target, readOnly: !write, ...dated })
}

async function checkFile(file: string): Promise<void> {
  const found = await stat(file).catch((error: unknown) => Promise.reject(fromFileSystem(error)))
  if (found.isDirectory()) throw new FileError('unreadable', 'is a directory, not a database')
}

/** The error in words of the command: without secrets, and with advice that can be followed here. */
function cleanError(error: unknown, { label, scrub }: Address): unknown {
  if (hasCode(error, 'store_read_only') && error.message.includes('must be migrated')) {
    return new FileError('no_conversations', 'holds no conversations that this version can read')
  }
  if (error instanceof ColloquyError) return new ColloquyError(error.code, said(error, scrub), error.data)
  if (error instanceof FileError) return error
  if (!(error instanceof Error) || error.name === 'ClosedPipe' || error.name === 'UsageError') return error
  return new Error(scrub(error.message) || `${label} gives an error`)
}

/** A driver may have nothing to say where several addresses were tried; what kept it from each stands in the cause. */
function said(error: ColloquyError, scrub: (text: string) => string): string {
  const { cause, message } = error
  const reasons = cause instanceof AggregateError ? cause.errors.map(String) : []
  const tail = message.endsWith(': ') ? (reasons[0] ?? codeOf(cause)) : ''
  return scrub(message + tail)
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason was given'
