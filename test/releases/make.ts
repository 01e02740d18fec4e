/**
 * Writes what a release leaves behind, for later ones to be held to: `node test/releases/make.ts`, once, when a version is
 * released. Logs of every kind and form, a snapshot, a SQLite database and the rows of a PostgreSQL one, and what is read of all.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import pg from 'pg'
import { createEngine } from '../../src/conversation/engine.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { KINDS } from '../../src/event/kinds.ts'
import { loadLine } from '../../src/event/load.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { encodeSnapshot } from '../../src/state/snapshot.ts'
import { listPendingCalls } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { MIGRATIONS } from '../../src/store/postgres/schema/migrations.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { hostileLog, legalLog } from '../../src/testing/index.ts'
import { REPLY_WIRES } from '../../properties/replies/wires.ts'
import { SAMPLES } from '../event/samples.ts'
import { startServer } from '../postgres/server.ts'
import { readLog, readStored } from './reading.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
}
const folder = join(import.meta.dirname, version)
if (existsSync(folder) && process.argv[2] !== '--again')
  throw new Error(`${version} has left its files; they never change`)

/** Two values of an arbitrary, always the same. */
const some = <T>(arbitrary: fc.Arbitrary<T>): T[] => fc.sample(arbitrary, { seed: 1, numRuns: 12 })

const lineOf = (fact: Fact): string => (isQuarantined(fact) ? fact.raw : encodeEvent(fact))

/** The longest of logs that stay short enough to be kept. */
const longest = (logs: readonly (readonly Fact[])[]): string[] =>
  (logs.toSorted((a, b) => b.length - a.length).find((log) => JSON.stringify(log).length < 8_000) ?? []).map(
    lineOf,
  )

/** The smallest and the fullest event of each kind, one behind the other. */
const kinds = SAMPLES.flatMap(({ kind, minimal, full }) =>
  [minimal, full].map((fields, at) =>
    JSON.stringify({
      ...fields,
      kind,
      id: `${kind}-${at}`,
      timestamp: '2026-11-21T10:00:00Z',
      parent_id: null,
    }),
  ),
)

/** A reply of each provider, as its reader gives it, each behind a question and all that came before. */
function makeReplies(): string[] {
  let state = replay([])
  const lines: string[] = []
  const add = (event: Event): void => {
    const id = `r${lines.length}`
    const whole = { ...event, id, timestamp: `2026-11-21T10:00:${String(lines.length).padStart(2, '0')}Z` }
    lines.push(encodeEvent(whole))
    state = reduce(state, whole)
  }
  for (const [name, { reply, read, write: request }] of Object.entries(REPLY_WIRES)) {
    const content = [{ text: `What does ${name} say?` }]
    add({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content } })
    const said = some(reply).toSorted((a, b) => JSON.stringify(b).length - JSON.stringify(a).length)
    const raw = said.find((one) => JSON.stringify(one).length < 6_000) ?? {}
    for (const event of read(raw, { state, request: request(toMessages(state)) }).events) add(event)
    for (const { entry } of listPendingCalls(state)) {
      const { tool_name, tool_call_id } = entry.event
      const observation = { kind: 'AnyObservation', content: [{ text: 'done' }] }
      add({
        kind: 'ObservationEvent',
        source: 'environment',
        tool_name,
        tool_call_id,
        action_id: entry.id,
        observation,
      })
    }
  }
  return lines
}

const odd = [
  'no JSON',
  '{"kind":"Unheard","id":"unheard"}',
  '{"kind":"MessageEvent","id":"m","source":"user","llm_message":{"role":"user","content":"once a text"}}',
  '{"id":"a","action":"message","args":{"content":"of an old dialect"},"source":"user","timestamp":"2025-01-01T00:00:00"}',
  '{"kind":"ConversationStateUpdateEvent","id":"s","agent_status":"RUNNING"}',
  '{"kind":"PauseEvent","id":"later","parent_id":"nowhere","timestamp":"soon"}',
]

const logs: Readonly<Record<string, readonly string[]>> = {
  sample: readFileSync(join(ROOT, 'src/cli/sample.jsonl'), 'utf8').trimEnd().split('\n'),
  kinds,
  replies: makeReplies(),
  odd,
  legal: longest(some(legalLog())),
  hostile: longest(some(hostileLog())),
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
const facts = (name: string): Fact[] => (logs[name] ?? []).map((line) => loadLine(line).fact)

/** Every log imported, a conversation that was held, a snapshot and an item. */
async function fill(store: Store): Promise<void> {
  for (const name of Object.keys(logs)) {
    await store.createConversation({
      id: name,
      title: `The log ${name}`,
      tags: { form: name },
      public: name === 'sample',
    })
    // Deltas are for readers, and never stored.
    await store.append(
      name,
      facts(name).filter((fact) => isQuarantined(fact) || KINDS[fact.kind].stored),
      { mode: 'import' },
    )
  }
  const engine = createEngine({ store })
  const held = await engine.create({ id: 'held' })
  await held.sendMessage('Hello')
  await held.run(async function* () {
    const content = [{ type: 'text', text: 'Hello to you' }] as const
    yield { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content } }
  })
  await store.saveSnapshot('sample', encodeSnapshot(replay(facts('sample'), { conversationId: 'sample' })))
  await store.changeItems([
    { collection: 'notes', id: 'n', expected: null, put: { body: { kept: true }, keys: { by: 'name' } } },
  ])
}

for (const [name, lines] of Object.entries(logs)) write(`${name}.jsonl`, `${lines.join('\n')}\n`)

const file = join(folder, 'store.sqlite')
const database = new DatabaseSync(file)
const sqlite = sqliteStore({ database })
await fill(sqlite)
const stored: Record<string, object> = {}
for (const name of Object.keys(logs)) stored[name] = await readStored(sqlite, name)
const held = await readStored(sqlite, 'held')
await sqlite.close()
database.exec('PRAGMA journal_mode = DELETE; VACUUM')
database.close()
writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }))
rmSync(file)

const server = await startServer()
try {
  const postgres = postgresStore({ url: server.url })
  await fill(postgres)
  const heldInPostgres = await readStored(postgres, 'held')
  await postgres.close()
  const client = new pg.Client(server.url)
  await client.connect()
  const { rows } = await client.query<{ readonly name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'colloquy'::regnamespace AND relkind = 'r'
      AND relname <> 'schema_version' ORDER BY 1`,
  )
  const texts: string[] = []
  for (const { name } of rows) {
    const found = await client.query<{ readonly row: string }>(
      `SELECT row_to_json(t)::text AS row FROM "colloquy"."${name}" t`,
    )
    const values = found.rows.map(({ row }) => row).join(',\n')
    const target = `"colloquy"."${name}"`
    texts.push(
      `INSERT INTO ${target} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${target}, $rows$[\n${values}\n]$rows$);`,
    )
  }
  await client.end()
  const about = `-- The rows of a database of version ${MIGRATIONS.length}; test/store/migrations/ has its tables. Never changed.`
  write('postgres.sql', `${[about, ...texts].join('\n')}\n`)
  const read = Object.fromEntries(Object.keys(logs).map((name) => [name, readLog(facts(name), name)]))
  const all = {
    postgresVersion: MIGRATIONS.length,
    logs: read,
    stored,
    held,
    heldInPostgres,
  }
  write('read.json', `${JSON.stringify(all, null, 2)}\n`)
} finally {
  await server.stop()
}
