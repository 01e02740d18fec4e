/** Prints what the PostgreSQL store costs beside the same rows through the bare driver: appends, and pages with each filter. */

import pg from 'pg'
import { decodeLine } from '../src/event/decode.ts'
import type { EventKind } from '../src/event/kinds.ts'
import type { Event } from '../src/event/types.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import type { EventFilter } from '../src/store/query.ts'
import type { Store } from '../src/store/store.ts'
import type { StoredEvent } from '../src/store/stored-event.ts'
import { startServer } from '../test/postgres/server.ts'
import { machine, type Timing } from './measure.ts'
import { type AsyncPiece, measureAsync } from './measure-async.ts'
import { PostgresFloor } from './postgres-floor.ts'
import { makeLines, MEASURED_MIX } from './workload.ts'

/** What is measured. */
export interface PostgresBenchOptions {
  /** Lengths of the logs. Default: 1,000 and 100,000. */
  readonly lengths?: readonly number[]
  /** Body sizes by name. Default: 1 KB, and the measured mix. */
  readonly sizes?: Readonly<Record<string, typeof MEASURED_MIX>>
  /** Where the lines go. Default: the console. */
  readonly print?: (line: string) => void
}

const KILOBYTE = { action: 700, observation: 600, systemPrompt: 1_000, message: 700 }

interface Bench {
  readonly store: Store
  readonly floor: PostgresFloor
  readonly print: (line: string) => void
}

/**
 * Starts a server of its own with durable commits, and measures on it. The floor of an append: the row's lock, the position it gives and
 * the row inserted, in one statement prepared by name, over tables with the same indexes. The floor of a page: the same rows alone in a
 * table, read by one range of the time index, and their bodies parsed.
 */
export async function benchPostgres(options: PostgresBenchOptions = {}): Promise<void> {
  const { lengths = [1_000, 100_000], print = (line) => console.log(line) } = options
  const sizes = options.sizes ?? { '1 KB': KILOBYTE, 'the measured mix': MEASURED_MIX }
  const server = await startServer({ durable: true })
  const client = new pg.Client(server.url)
  await client.connect()
  const version = (await client.query<{ server_version: string }>('SHOW server_version')).rows[0]
  print(`${machine()}, PostgreSQL ${version?.server_version ?? '?'}`)
  const store = postgresStore({ url: server.url, schema: 'store', listen: false })
  const twin = postgresStore({ url: server.url, schema: 'floor', listen: false })
  try {
    await twin.countConversations()
    const bench: Bench = { store, floor: new PostgresFloor(client, 'floor'), print }
    for (const [name, size] of Object.entries(sizes)) {
      for (const length of lengths) await benchLength(bench, { name: `${name}, ${length}`, length, size }, client)
    }
  } finally {
    await Promise.all([store.close(), twin.close(), client.end()])
    await server.stop()
  }
}

async function benchLength(
  bench: Bench,
  log: { readonly name: string; readonly length: number; readonly size: typeof MEASURED_MIX },
  client: pg.Client,
): Promise<void> {
  const { store, floor, print } = bench
  const conversation = log.name
  const lines = makeLines(log.length, { sizes: log.size, condenseAt: 400, branchEvery: 200 })
  await store.createConversation({ id: conversation })
  await floor.create(conversation)
  for (let at = 0; at < lines.length; at += 500) {
    const events = lines.slice(at, at + 500).map(decoded)
    await store.append(conversation, events)
    await floor.insertMany(conversation, events)
  }
  for (const schema of ['store', 'floor']) await client.query(`VACUUM (ANALYZE) ${schema}.events`)
  await client.query('CHECKPOINT')
  print(`\n${log.name.padEnd(34)}${'least'.padStart(9)}${'median'.padStart(9)}  µs; beside its floor`)

  const fresh = freshEvents(log)
  const ones = [
    { name: 'floor', run: () => floor.insertOne(conversation, fresh()) },
    { name: 'append one', run: () => store.append(conversation, [fresh()]) },
  ]
  report(bench, await measureAsync(ones, { rounds: 40, count: 50 }))
  const hundred = (): Event[] => Array.from({ length: 100 }, fresh)
  const batches = [
    { name: 'floor', run: () => floor.insertMany(conversation, hundred()) },
    { name: 'append a batch of 100', run: () => store.append(conversation, hundred()) },
  ]
  report(bench, await measureAsync(batches, { rounds: 15, count: 4 }))
  await client.query('VACUUM (ANALYZE) store.events')
  for (const [name, filter] of Object.entries(FILTERS)) await benchPages(bench, { conversation, name, filter })
}

const FILTERS: Readonly<Record<string, Omit<EventFilter, 'conversationId'>>> = {
  'no filter': {},
  'one kind': { kinds: ['ActionEvent'] },
  'a rare kind': { kinds: ['Condensation'] },
  'two kinds': { kinds: ['ActionEvent', 'ObservationEvent'] },
  'but one kind': { excludeKinds: ['ConversationStateUpdateEvent'] },
  'but three kinds': { excludeKinds: ['ActionEvent', 'ObservationEvent', 'TokenEvent'] as readonly EventKind[] },
  source: { source: 'environment' },
  time: { timestampGte: '2026-01-01T00:01:40Z', timestampLt: '2026-02-01T00:00:00Z' },
  leaf: {},
}

/** The first and the deepest page, each beside the same rows in a conversation of their own. */
async function benchPages(
  { store, floor, print }: Bench,
  asked: { readonly conversation: string; readonly name: string; readonly filter: Omit<EventFilter, 'conversationId'> },
): Promise<void> {
  const { conversation, name } = asked
  const leafId = (await store.getConversation(conversation))?.headId ?? ''
  const filter = { conversationId: conversation, ...asked.filter, ...(name === 'leaf' && { leafId }) }
  const alone = `${conversation}, ${name}`
  await floor.create(alone)
  let before: StoredEvent | null = null
  let deepest: string | undefined
  for (let cursor: string | undefined, more = true; more;) {
    const page = await store.search({ ...filter, ...(cursor !== undefined && { cursor }) })
    await floor.insertMany(alone, page.items.map(({ fact }) => fact as Event))
    cursor = page.next_page_id ?? undefined
    more = cursor !== undefined
    if (cursor === undefined || (await store.search({ ...filter, cursor })).next_page_id === null) more = more && false
    else deepest = cursor
    before = page.items.at(-1) ?? before
  }
  const pieces = (cursor: string | undefined, at: { time: bigint; seq: number }): AsyncPiece[] => [
    { name: 'floor', run: () => floor.page(alone, at, 101) },
    {
      name: `${cursor === undefined ? 'first' : 'deepest'} page, ${name}`,
      run: () => store.search({ ...filter, ...(cursor !== undefined && { cursor }) }),
    },
  ]
  void before
  void deepest
  void pieces
  print('')
}
