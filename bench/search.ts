/**
 * Compares a page of `searchText` with the database's own query for the same page over the same texts in a
 * plain table (FTS5 with `snippet`, `tsvector` with `ts_headline`): the columns of a hit, no results of tools,
 * and one row more than the page, to detect a next page. Compares an append with the index to one without. Medians of interleaved rounds, at least `--rounds` of them and for at least 0.3 seconds.
 *
 * Usage: npm run bench:search [-- --events 1000000] [--rounds 11] [--only sqlite] [--postgres URL]
 * Without a URL it starts its own PostgreSQL. 100,000 events take about a minute, 1,000,000 about six.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import type { Event } from '../src/event/types.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/contract/store.ts'
import { startServer } from '../test/postgres/server.ts'
import { ONE_KB } from './events-of-size.ts'
import { machine, median } from './measure.ts'
import { decoded, makeLines, seeded } from './workload.ts'

const { values: args } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '11' },
    only: { type: 'string' },
    postgres: { type: 'string' },
  },
})
const EVENTS = Number(args.events)
const ROUNDS = Number(args.rounds)

/** Maximum multiples of the database's own query, and of an append without an index. */
const [MAX_PAGE, MAX_APPEND] = [1.5, 1.25]

const [PER_CONVERSATION, BATCH, WORDS] = [1_000, 500, 40]

/** Milliseconds of uncounted rounds of a query, and minimum milliseconds of counted ones. */
const [WARM_UP, MIN_TIME] = [100, 300]

const random = seeded(7)
const vocabulary = Array.from({ length: 20_000 }, (_, n) => `${'abcdefghij'[n % 10]}${n.toString(36)}`)
/** Returns a random word. A few words appear in most texts, and most words in few. */
const word = (): string => vocabulary[Math.floor(20_000 * random() ** 4)] ?? ''
const textOf = (n: number): string =>
  `${Array.from({ length: WORDS }, word).join(' ')}${n % 7 === 0 ? ' deploy the database' : ''}${n % 5_000 === 0 ? ' zebra' : ''}`

const eventOf = (n: number, text: string): Event => ({
  kind: 'MessageEvent',
  id: `e${n}`,
  source: 'user',
  timestamp: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
  llm_message: { role: 'user', content: [{ text }] },
})

const QUERIES = [
  { name: 'a word in most texts', query: vocabulary[0] ?? '', fts: `"${vocabulary[0]}"` },
  { name: 'a word in a seventh of the texts', query: 'deploy', fts: '"deploy"' },
  { name: 'a word in few texts', query: 'zebra', fts: '"zebra"' },
  { name: 'two words', query: `deploy ${vocabulary[40]}`, fts: `"deploy" AND "${vocabulary[40]}"` },
  { name: 'a phrase', query: '"deploy the database"', fts: '"deploy the database"' },
] as const

type Query = (typeof QUERIES)[number]
type Order = 'time' | 'rank'

interface Candidate {
  readonly name: string
  readonly store: Store
  insert(texts: readonly string[]): unknown
  /** Creates the indexes that {@link Measured.insert} and appends would otherwise update event by event. */
  finish?(): Promise<void>
  bareQuery(query: Query, order: Order): unknown
}

async function fill({ store, insert, finish }: Candidate): Promise<void> {
  for (let start = 0; start < EVENTS; start += BATCH) {
    const texts = Array.from({ length: Math.min(BATCH, EVENTS - start) }, (_, n) => textOf(start + n))
    const id = `c${Math.floor(start / PER_CONVERSATION)}`
    if (start % PER_CONVERSATION === 0) await store.createConversation({ id })
    await store.append(
      id,
      texts.map((text, n) => eventOf(start + n, text)),
      { mode: 'import' },
    )
    await insert(texts)
  }
  await finish?.()
}

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const ms = (value: number): string => `${value.toFixed(2)} ms`.padStart(12)
const verdict = (ratio: number, limit: number): string =>
  `${ratio.toFixed(2).padStart(8)}  (at most ${limit})  ${ratio <= limit ? 'holds' : 'MISSES'}`

async function measurePages({ name, store, bareQuery }: Candidate): Promise<boolean> {
  let holds = true
  // Warm up, as in a server that has run for a while.
  for (let round = 0; round < 300; round += 1) {
    for (const { query } of QUERIES) await store.searchText({ query })
    await store.searchText({ query: QUERIES[2].query, order: 'rank' })
    for (const order of ['time', 'rank'] as const) await bareQuery(QUERIES[2], order)
  }
  for (const order of ['time', 'rank'] as const)
    for (const query of QUERIES) {
      const [ours, bare]: [number[], number[]] = [[], []]
      const start = performance.now()
      while (ours.length < ROUNDS || performance.now() - start < WARM_UP + MIN_TIME) {
        const oursTime = await timed(() => store.searchText({ query: query.query, order }))
        const bareTime = await timed(() => bareQuery(query, order))
        // The first rounds read what the previous query displaced from the caches.
        if (performance.now() - start < WARM_UP) continue
        ours.push(oursTime)
        bare.push(bareTime)
      }
      const ratio = median(ours) / median(bare)
      holds &&= ratio <= MAX_PAGE
      console.log(
        `${name.padEnd(12)}${`${query.name}, by ${order}`.padEnd(42)}${ms(median(bare))}${ms(median(ours))}${verdict(ratio, MAX_PAGE)}`,
      )
    }
  return holds
}

const lines = makeLines(2_000, { sizes: ONE_KB })
let appendCount = 0
function nextEvent(): Event {
  const event = decoded(lines[appendCount % lines.length] as string)
  const { parent_id: _, ...rest } = event as Event & Record<string, unknown>
  // An engine stamps events. Without a time, all texts would compete for the same positions.
  return { ...rest, id: `a${(appendCount += 1)}`, timestamp: new Date().toISOString() } as Event
}

/** Appends the measured mix event by event, in turn to a store with an index and to one without. */
async function measureAppends(name: string, indexed: Store, plain: Store): Promise<boolean> {
  const [withIndex, withoutIndex]: [number[], number[]] = [[], []]
  for (let round = 0; round < 40; round += 1)
    for (const [store, times] of [
      [indexed, withIndex],
      [plain, withoutIndex],
    ] as const) {
      await store.createConversation({ id: `append ${round}` })
      for (let n = 0; n < 25; n += 1) {
        const event = nextEvent()
        times.push(await timed(() => store.append(`append ${round}`, [event])))
      }
    }
  const ratio = median(withIndex) / median(withoutIndex)
  console.log(
    `${name.padEnd(12)}${'append'.padEnd(42)}${ms(median(withoutIndex))}${ms(median(withIndex))}${verdict(ratio, MAX_APPEND)}`,
  )
  return ratio <= MAX_APPEND
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-search-'))

function sqlite(): Candidate {
  const store = sqliteStore({ file: join(folder, 'store.db'), synchronous: 'normal', fullText: true })
  const database = new DatabaseSync(join(folder, 'plain.db'))
  database.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE VIRTUAL TABLE plain
    USING fts5 (text, conversation UNINDEXED, event UNINDEXED, seq UNINDEXED, role UNINDEXED, time UNINDEXED)`,
  )
  const insert = database.prepare(
    `INSERT INTO plain (text, conversation, event, seq, role, time) VALUES (?, ?, ?, ?, 'user', ?)`,
  )
  let count = 0
  const page = (order: string) =>
    database.prepare(
      `SELECT rowid, conversation, event, seq, role, time, snippet(plain, 0, '[', ']', '…', 32)
      FROM plain WHERE plain MATCH ? AND role <> 'tool' ORDER BY ${order} LIMIT 21`,
    )
  const pages = { time: page('rowid DESC'), rank: page('rank') }
  return {
    name: 'SQLite',
    store,
    insert(texts) {
      database.exec('BEGIN')
      for (const text of texts) {
        const { id, timestamp } = eventOf(count, text)
        const conversation = `c${Math.floor(count / PER_CONVERSATION)}`
        insert.run(text, conversation, id ?? null, count % PER_CONVERSATION, timestamp ?? null)
        count += 1
      }
      database.exec('COMMIT')
    },
    bareQuery: ({ fts }, order) => pages[order].all(fts),
  }
}

async function postgres(url: string): Promise<Candidate> {
  const pool = new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true })
  // The server ends before the pool.
  pool.on('error', () => undefined)
  await pool.query(
    'DROP SCHEMA IF EXISTS bench_search, bench_search_store, bench_search_append_true, bench_search_append_false CASCADE',
  )
  await pool.query('CREATE SCHEMA bench_search')
  await pool.query(`CREATE TABLE bench_search.plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation text, event text, seq integer, role text, time text, text text, words tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED)`)
  const schema = 'bench_search_store'
  const store = postgresStore({ url, schema, fullText: true, timeout: 60_000 })
  await store.textIndex()
  const { rows } = await pool.query(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = '${schema}' AND indexname = 'text_words'`,
  )
  await pool.query(`DROP INDEX ${schema}.text_words`)
  // oxlint-disable-next-line consistent-function-scoping
  const page = (order: string): string =>
    `SELECT id, conversation, event, seq, role, time, ts_headline('simple', text, q) FROM (
      SELECT * FROM bench_search.plain, phraseto_tsquery('simple', $1) AS q
      WHERE words @@ q AND role <> 'tool' ORDER BY ${order} LIMIT 21
    ) AS hit`
  const allWords = (order: string): string => page(order).replace('phraseto_tsquery', 'plainto_tsquery')
  const orders = { time: 'id DESC', rank: 'ts_rank(words, q) DESC' }
  let count = 0
  return {
    name: 'PostgreSQL',
    store,
    insert(texts) {
      const first = count
      count += texts.length
      return pool.query(
        `INSERT INTO bench_search.plain (conversation, event, seq, role, time, text)
        SELECT 'c' || n / $3, 'e' || n, n % $3, 'user', to_timestamp(1700000000 + n)::text, text
        FROM (SELECT $2::integer - 1 + nth::integer AS n, text FROM unnest($1::text[]) WITH ORDINALITY AS t (text, nth)) AS t`,
        [texts, first, PER_CONVERSATION],
      )
    },
    async finish() {
      await pool.query('CREATE INDEX ON bench_search.plain USING gin (words)')
      await pool.query(rows[0].indexdef)
      for (const table of ['bench_search.plain', `${schema}.text`, `${schema}.event`, `${schema}.log`])
        await pool.query(`VACUUM (ANALYZE) ${table}`)
    },
    bareQuery: ({ query }, order) => {
      const text = query.startsWith('"') ? page(orders[order]) : allWords(orders[order])
      return pool.query({
        name: `${order} ${query.startsWith('"')}`,
        text,
        values: [query.replaceAll('"', '')],
      })
    },
  }
}

console.log(machine())
console.log(
  `${EVENTS.toLocaleString('en')} events; medians of at least ${ROUNDS} rounds: the database's query, searchText, ratio`,
)
const needsServer = args.postgres === undefined && args.only !== 'sqlite'
const server = needsServer ? await startServer({ durable: true }) : null
const url = args.postgres ?? server?.url ?? ''
try {
  let holds = true
  const all = { sqlite, postgres: () => postgres(url) }
  for (const [name, make] of Object.entries(all)) {
    if (args.only !== undefined && args.only !== name) continue
    const candidate = await make()
    const start = performance.now()
    await fill(candidate)
    for (let isReady = false; !isReady;) {
      const { indexed, total } = await candidate.store.textIndex()
      isReady = indexed === total
    }
    // The index is completed while idle.
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    console.log(`${candidate.name}: filled in ${((performance.now() - start) / 1000).toFixed(0)} s`)
    holds = (await measurePages(candidate)) && holds
    await candidate.store.close()
    const isSqlite = candidate.name === 'SQLite'
    const [indexed, plain] = [true, false].map((fullText): Store =>
      isSqlite
        ? sqliteStore({ file: join(folder, `append-${fullText}.db`), synchronous: 'normal', fullText })
        : postgresStore({ url, schema: `bench_search_append_${fullText}`, fullText }),
    ) as [Store, Store]
    holds = (await measureAppends(candidate.name, indexed, plain)) && holds
    await indexed.close()
    await plain.close()
  }
  if (!holds) process.exitCode = 1
} finally {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
