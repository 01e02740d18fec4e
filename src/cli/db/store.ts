/** Opens the store of an address; reading never creates a database. */

import { stat } from 'node:fs/promises'
import { type ConversationRecord, isColloquyError, type Store, type StoredEvent } from '../../index.ts'
import type { ConversationQuery } from '../../store/kit/index.ts'
import { FileError, rejectRead } from '../failure.ts'
import { quoted } from '../print/text.ts'
import type { Address } from './address.ts'

interface Access {
  readonly write: boolean
  readonly listen?: boolean
  readonly fullText?: boolean
}

/** Passes an open store to `work` and closes it. Errors omit the database's password, and store errors name the database. */
export async function withStore<T>(
  address: Address,
  access: Access,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  let store: Store | null = null
  try {
    store = await openStore(address, access)
    return await work(store)
  } catch (error) {
    throw cleanError(error, address)
  } finally {
    await store?.close().catch(() => undefined)
  }
}

async function openStore({ kind, target }: Address, { write, listen = false, fullText = false }: Access) {
  switch (kind) {
    case 'sqlite': {
      const { sqliteStore } = await import('../../store/sqlite/index.ts')
      const stats = await stat(target).catch(write ? () => null : rejectRead(target))
      if (stats?.isDirectory() === true)
        throw new FileError('unreadable', 'is a directory, not a database', target)
      return sqliteStore({ file: target, readOnly: !write, fullText })
    }
    case 'postgres': {
      const { postgresStore } = await import('../../store/postgres/index.ts')
      return postgresStore({ url: target, listen, fullText })
    }
  }
}

function cleanError(error: unknown, { label, withoutPassword }: Address): unknown {
  if (!(error instanceof Error) || error instanceof FileError) return error
  error.message = withoutPassword(error.message)
  if (!isColloquyError(error) || !error.code.startsWith('store_')) return error
  const { missing } = error.data
  if (missing === 'schema') return new FileError('no_conversations', 'contains no conversations', label)
  if (missing === 'text')
    return new FileError(error.code, 'has no full-text index: create one with --index', label)
  return new FileError(error.code, error.message, label)
}

/** Events per batch. A batch is small, because an event may have megabytes. */
const BATCH = 64

export const findConversation = async (store: Store, id: string): Promise<ConversationRecord | null> =>
  (await store.getConversation(id)) ?? store.getConversation(id === dashed(id) ? undashed(id) : dashed(id))

export async function getConversation(store: Store, id: string): Promise<ConversationRecord> {
  const record = await findConversation(store, id)
  if (record !== null) return record
  throw new FileError(
    'unknown_conversation',
    `no conversation ${quoted(id)} in this database; list the ids with \`colloquy conversations\``,
  )
}

export async function getEvent(store: Store, conversation: string, id: string): Promise<StoredEvent> {
  const event = await store.get(conversation, id)
  if (event !== null) return event
  throw new FileError('unknown_event', `no event ${quoted(id)} in this conversation; write the whole id`)
}

export async function* eachConversation(
  store: Store,
  query: ConversationQuery,
): AsyncIterableIterator<ConversationRecord> {
  for (let next = query; ;) {
    const { items, cursor } = await store.listConversations(next)
    yield* items
    if (cursor === null) return
    next = { ...query, cursor }
  }
}

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
