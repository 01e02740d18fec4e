/** Handwritten alternatives: an array, a JSON file and a bare table, with an unchecked prompt. */

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Contender, PageName, Location, Session } from '../contender.ts'
import { type Item, plainMessage } from '../items.ts'

const ID = 'c1'
const PAGE = 100

/** A file that receives the in-memory list at each append, and can be read back. */
interface Backing {
  write(all: readonly Item[], added: readonly Item[]): void
  read(): Item[]
}

function openList({ write, read }: Backing): Promise<Session> {
  let items: Item[] = []
  const add = (added: readonly Item[]): void => {
    for (const item of added) items.push(item)
    write(items, added)
  }
  return Promise.resolve({
    async fill(added) {
      add(added)
    },
    async append(turn) {
      for (const item of turn) add([item])
    },
    close: () => Promise.resolve(),
    async reopen() {
      items = read()
    },
    prompt: () => Promise.resolve(items.map(plainMessage)),
    async readAll() {
      return read().length
    },
  })
}

function openArray(): Promise<Session> {
  let items: readonly Item[] = []
  return openList({ write: (all) => (items = all), read: () => [...items] })
}

function openFile({ folder }: Location): Promise<Session> {
  const file = join(folder, 'history.json')
  return openList({
    write: (all) => writeFileSync(file, JSON.stringify(all)),
    read: () => JSON.parse(readFileSync(file, 'utf8')),
  })
}

function openLines({ folder }: Location): Promise<Session> {
  const file = join(folder, 'history.jsonl')
  return openList({
    write: (_, added) => appendFileSync(file, added.map((item) => `${JSON.stringify(item)}\n`).join('')),
    read: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
  })
}

/**
 * Statements of a bare table with id, conversation, seq and the JSON event, and the key (conversation,
 * seq).
 */
export interface Table {
  insert(seq: number, items: readonly Item[]): Promise<void>
  select(from: number, limit: number): Promise<readonly string[]>
  close(): Promise<void>
}

export async function openTable(open: () => Promise<Table>): Promise<Session> {
  let table = await open()
  let length = 0
  const read = async (): Promise<Item[]> =>
    (await table.select(0, 2 ** 31 - 1)).map((body): Item => JSON.parse(body))
  return {
    async fill(items) {
      await table.insert(length, items)
      length += items.length
    },
    async append(turn) {
      for (const item of turn) {
        await table.insert(length, [item])
        length += 1
      }
    },
    close: () => table.close(),
    async reopen() {
      table = await open()
      await read()
    },
    prompt: async () => (await read()).map(plainMessage),
    async readAll() {
      return (await read()).length
    },
    async findPages(total) {
      const page = (from: number) => async (): Promise<number> =>
        (await table.select(from, PAGE)).map((body): Item => JSON.parse(body)).length
      const last = Math.ceil(total / PAGE) - 1
      const pages: Record<PageName, number> = { first: 0, middle: last >> 1, last }
      return {
        first: page(pages.first * PAGE),
        middle: page(pages.middle * PAGE),
        last: page(pages.last * PAGE),
      }
    },
  }
}

type BodyOf = (item: Item) => string

export async function openSqliteTable({ folder }: Location, bodyOf: BodyOf = JSON.stringify): Promise<Table> {
  const database = new DatabaseSync(join(folder, 'bare.db'))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS event (id TEXT NOT NULL, conversation TEXT NOT NULL, seq INTEGER NOT NULL,
      body TEXT NOT NULL, PRIMARY KEY (conversation, seq)) STRICT`)
  const insert = database.prepare('INSERT INTO event VALUES (?, ?, ?, ?)')
  const select = database.prepare(
    'SELECT body FROM event WHERE conversation = ? AND seq >= ? ORDER BY seq LIMIT ?',
  )
  return {
    async insert(seq, items) {
      database.exec('BEGIN IMMEDIATE')
      for (const [i, item] of items.entries()) insert.run(item.id, ID, seq + i, bodyOf(item))
      database.exec('COMMIT')
    },
    async select(from, limit) {
      return select.all(ID, from, limit).map(({ body }) => String(body))
    },
    async close() {
      database.close()
    },
  }
}

export async function openPostgresTable({ url }: Location, bodyOf: BodyOf = JSON.stringify): Promise<Table> {
  const pool = new pg.Pool({ connectionString: url })
  await pool.query(`CREATE TABLE IF NOT EXISTS event (id text NOT NULL, conversation text NOT NULL, seq bigint NOT NULL,
    body text NOT NULL, PRIMARY KEY (conversation, seq))`)
  return {
    async insert(seq, items) {
      await pool.query({
        name: 'insert',
        text: `INSERT INTO event SELECT id, $1, $2::bigint + at - 1, body
          FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS item (id, body, at)`,
        values: [ID, seq, items.map(({ id }) => id), items.map((item) => bodyOf(item))],
      })
    },
    async select(from, limit) {
      const text = 'SELECT body FROM event WHERE conversation = $1 AND seq >= $2 ORDER BY seq LIMIT $3'
      const { rows } = await pool.query({ name: 'select', text, values: [ID, from, limit] })
      return rows.map(({ body }: { body: string }) => body)
    },
    close: () => pool.end(),
  }
}

export const PLAIN: readonly Contender[] = [
  {
    family: 'Array',
    setting: '',
    description: 'only an array',
    medium: 'memory',
    survives: 'nothing',
    open: openArray,
  },
  {
    family: 'JSON file',
    setting: 'default',
    description: 'an array, and a file that each append rewrites',
    medium: 'files',
    survives: 'nothing',
    growsAs: 'best',
    open: openFile,
  },
  {
    family: 'JSON file',
    setting: 'best',
    description: 'an array, and a line of JSON appended to a file for each event',
    medium: 'files',
    survives: 'a kill',
    open: openLines,
  },
  {
    family: 'Bare table, SQLite',
    setting: '',
    description:
      "Node's own driver, WAL, `synchronous = FULL`; id, conversation, seq, JSON, and a primary key",
    medium: 'files',
    survives: 'a power cut',
    open: (database) => openTable(() => openSqliteTable(database)),
  },
  {
    family: 'Bare table, PostgreSQL',
    setting: '',
    description: 'a pool, statements prepared by name; id, conversation, seq, JSON, and a primary key',
    medium: 'postgres',
    survives: 'a power cut',
    open: (database) => openTable(() => openPostgresTable(database)),
  },
]
