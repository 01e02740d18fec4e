/** Emmett's event stores for SQLite and PostgreSQL. The benchmark writes the prompt as a fold of the stream. */

import { type Event as EmmettEvent, type EventStore } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'
import { getSQLiteEventStore, sqliteConnection } from '@event-driven-io/emmett-sqlite'
import { join } from 'node:path'
import type { Contender, Location, Session } from '../contender.ts'
import { type Item, plainMessage } from '../items.ts'

type ItemEvent = EmmettEvent<'item', { readonly item: Item }>

const STREAM = 'conversation-c1'
const PAGE = 100
/** Larger batches exceed SQLite's limit of variables per statement. */
const BATCH = 500

const eventOf = (item: Item): ItemEvent => ({ type: 'item', data: { item } })

interface OpenedStore {
  readonly store: Pick<EventStore, 'appendToStream' | 'readStream' | 'aggregateStream'>
  close(): Promise<void>
}

async function openSession(open: () => Promise<OpenedStore>): Promise<Session> {
  let { store, close } = await open()
  const messages = async (): Promise<object[]> => {
    const { state } = await store.aggregateStream<object[], ItemEvent>(STREAM, {
      initialState: () => [],
      evolve: (state: object[], { data }: ItemEvent) => {
        state.push(plainMessage(data.item))
        return state
      },
    })
    return state
  }
  return {
    async fill(items) {
      for (let start = 0; start < items.length; start += BATCH)
        await store.appendToStream(STREAM, items.slice(start, start + BATCH).map(eventOf))
    },
    async append(turn) {
      for (const item of turn) await store.appendToStream(STREAM, [eventOf(item)])
    },
    close: () => close(),
    async reopen() {
      ;({ store, close } = await open())
      await messages()
    },
    prompt: messages,
    async readAll() {
      return (await store.readStream<ItemEvent>(STREAM)).events.length
    },
    async findPages(length) {
      // Positions start at 1, and `to` is inclusive.
      const page = (from: number) => async (): Promise<number> => {
        const to = BigInt(from + PAGE - 1)
        return (await store.readStream<ItemEvent>(STREAM, { from: BigInt(from), to })).events.length
      }
      const pages = Math.ceil(length / PAGE)
      const positionOf = (number: number): number => number * PAGE + 1
      return {
        first: page(positionOf(0)),
        middle: page(positionOf((pages - 1) >> 1)),
        last: page(positionOf(pages - 1)),
      }
    },
  }
}

function openSqlite({ folder }: Location): Promise<OpenedStore> {
  const store = getSQLiteEventStore({ fileName: join(folder, 'emmett.db') })
  const appendToStream: OpenedStore['store']['appendToStream'] = (...args) =>
    retryWhenBusy(() => store.appendToStream(...args))
  return Promise.resolve({ store: { ...store, appendToStream }, close: () => Promise.resolve() })
}

/**
 * Retries a call. Emmett does not wait for the pragma of a new connection, so a concurrent commit may fail.
 */
async function retryWhenBusy<T>(run: () => Promise<T>): Promise<T> {
  for (let times = 1; ; times += 1) {
    try {
      return await run()
    } catch (error) {
      if (times === 5 || !String(error).includes('SQLITE_BUSY')) throw error
    }
  }
}

/** Opens one connection for all calls. Its commits do not wait for the disk. */
async function openSingleConnection({ folder }: Location): Promise<OpenedStore> {
  const fileName = join(folder, 'emmett.db')
  const connection = sqliteConnection({ fileName })
  await connection.command('PRAGMA synchronous = NORMAL')
  const store = getSQLiteEventStore({ fileName, connectionOptions: { singleton: true, connection } })
  return { store, close: async () => connection.close() }
}

function openPostgres({ url }: Location): Promise<OpenedStore> {
  const store = getPostgreSQLEventStore(url)
  return Promise.resolve({ store, close: () => store.close() })
}

export const EMMETT: readonly Contender[] = [
  {
    family: 'Emmett SQLite',
    setting: 'default',
    description: '`getSQLiteEventStore({ fileName })`: a connection for each call, WAL',
    medium: 'files',
    survives: 'a power cut',
    open: (database) => openSession(() => openSqlite(database)),
  },
  {
    family: 'Emmett SQLite',
    setting: 'best',
    description: 'one connection kept open (`connectionOptions.singleton`), `synchronous = NORMAL`',
    medium: 'files',
    survives: 'a kill',
    growsAs: 'default',
    open: (database) => openSession(() => openSingleConnection(database)),
  },
  {
    family: 'Emmett PostgreSQL',
    setting: '',
    description: '`getPostgreSQLEventStore(url)`: a pool; we found no faster setting',
    medium: 'postgres',
    survives: 'a power cut',
    open: (database) => openSession(() => openPostgres(database)),
  },
]
