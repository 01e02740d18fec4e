/** Emmett's event stores for SQLite and PostgreSQL. Its user writes the prompt, as a fold of the stream. */

import { type Event as EmmettEvent, type EventStore } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'
import { getSQLiteEventStore, sqliteConnection } from '@event-driven-io/emmett-sqlite'
import { join } from 'node:path'
import type { Contender, Place, Session } from '../contender.ts'
import { type Item, plainMessage } from '../items.ts'

type ItemEvent = EmmettEvent<'item', { readonly item: Item }>

const STREAM = 'conversation-c1'
const PAGE = 100
/** Larger batches exceed SQLite's limit of variables per statement. */
const BATCH = 500

const eventOf = (item: Item): ItemEvent => ({ type: 'item', data: { item } })

interface Opened {
  readonly store: Pick<EventStore, 'appendToStream' | 'readStream' | 'aggregateStream'>
  close(): Promise<void>
}

async function openSession(open: () => Promise<Opened>): Promise<Session> {
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
    leave: () => close(),
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

function openSqlite({ folder }: Place): Promise<Opened> {
  const store = getSQLiteEventStore({ fileName: join(folder, 'emmett.db') })
  const appendToStream: Opened['store']['appendToStream'] = (...args) =>
    again(() => store.appendToStream(...args))
  return Promise.resolve({ store: { ...store, appendToStream }, close: () => Promise.resolve() })
}

/**
 * Emmett does not wait for the pragma of a new connection. A commit that runs into it fails, and the
 * caller must retry.
 */
async function again<T>(run: () => Promise<T>): Promise<T> {
  for (let times = 1; ; times += 1) {
    try {
      return await run()
    } catch (error) {
      if (times === 5 || !String(error).includes('SQLITE_BUSY')) throw error
    }
  }
}

/** One connection for all calls, which does not wait for the disk. */
async function openKept({ folder }: Place): Promise<Opened> {
  const fileName = join(folder, 'emmett.db')
  const connection = sqliteConnection({ fileName })
  await connection.command('PRAGMA synchronous = NORMAL')
  const store = getSQLiteEventStore({ fileName, connectionOptions: { singleton: true, connection } })
  return { store, close: async () => connection.close() }
}

function openPostgres({ url }: Place): Promise<Opened> {
  const store = getPostgreSQLEventStore(url)
  return Promise.resolve({ store, close: () => store.close() })
}

export const EMMETT: readonly Contender[] = [
  {
    family: 'Emmett SQLite',
    setting: 'default',
    means: '`getSQLiteEventStore({ fileName })`: a connection for each call, WAL',
    ground: 'files',
    survives: 'a power cut',
    open: (database) => openSession(() => openSqlite(database)),
  },
  {
    family: 'Emmett SQLite',
    setting: 'best',
    means: 'one connection kept open (`connectionOptions.singleton`), `synchronous = NORMAL`',
    ground: 'files',
    survives: 'a kill',
    growsAs: 'default',
    open: (database) => openSession(() => openKept(database)),
  },
  {
    family: 'Emmett PostgreSQL',
    setting: '',
    means: '`getPostgreSQLEventStore(url)`: a pool; no setting was found that makes it faster',
    ground: 'postgres',
    survives: 'a power cut',
    open: (database) => openSession(() => openPostgres(database)),
  },
]
