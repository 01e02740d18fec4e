/**
 * Export followed by import is the identity (law E) for every log, over SQLite and PostgreSQL, in every
 * layout.
 */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LAYOUTS, type Layout } from '../../src/cli/commands.ts'
import { decodePiece } from '../../src/cli/input/recording.ts'
import { KINDS } from '../../src/event/index.ts'
import { type Fact, isQuarantined, loadLine, type Store } from '../../src/index.ts'
import type { NewConversation } from '../../src/store/kit/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { hostileLog } from '../../src/testing/index.ts'
import { jsonObject } from '../../src/testing/json.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { linesOf, recordedLogs } from '../recorded.ts'
import { RUNS } from '../../properties/run.ts'
import { readConversation } from './database.ts'
import { colloquy } from './run-command.ts'
import { character } from '../../src/testing/text.ts'

let folder = ''
let from: Store
let postgres: TestDatabase
let count = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'colloquy-identity-'))
  from = sqliteStore({ file: join(folder, 'from.db'), synchronous: 'normal' })
  postgres = await testDatabase()
})

afterAll(async () => {
  await from.close()
  await postgres.drop()
  rmSync(folder, { recursive: true, force: true })
})

/**
 * Whether a fact round-trips. Stores skip transient events, and import retries quarantined lines that have
 * become readable.
 */
const isLasting = (fact: Fact): boolean =>
  isQuarantined(fact)
    ? isQuarantined(loadLine(fact.raw).fact) || fact.issues.some(({ type }) => type === 'unicode_error')
    : KINDS[fact.kind].stored

/** Exports a conversation, imports it into another store, and compares the two. */
async function roundTrip(
  facts: readonly Fact[],
  layout: Layout,
  recordFields: Omit<NewConversation, 'id'> = {},
  to: { readonly db: string; open(): Store } = sqlite('to.db'),
): Promise<void> {
  const id = `c${(count += 1)}`
  await from.createConversation({ ...recordFields, id })
  await from.append(id, facts.filter(isLasting), { mode: 'import', expected: 'none' })
  const output = join(folder, `${id}.${layout === 'jsonl' ? 'jsonl' : layout}`)
  const argv = ['--db', join(folder, 'from.db'), '--conversation', id, '--format', layout, '--output', output]
  expect(await colloquy(['export', ...argv])).toMatchObject({ code: 0, err: '' })
  const zone = layout === 'jsonl' && recordFields.timeZone ? ['--timezone', recordFields.timeZone] : []
  const importArgv = ['import', output, '--db', to.db, '--conversation', id, '--json', ...zone]
  const { out } = await colloquy(importArgv)
  expect(JSON.parse(out)).toMatchObject({ conversation: id, created: true, head: null, notes: [] })
  const store = to.open()
  try {
    const [before, after] = [await readConversation(from, id), await readConversation(store, id)]
    expect(after.log).toEqual(before.log)
    // This layout contains only events.
    if (layout !== 'jsonl') expect(after.record).toEqual(before.record)
    else expect(after.record).toMatchObject({ version: before.record.version, headId: before.record.headId })
    expect(JSON.parse((await colloquy(importArgv)).out)).toMatchObject({ added: 0, created: false })
    expect(await readConversation(store, id)).toEqual(after)
  } finally {
    await store.close()
    rmSync(output, { recursive: true })
  }
}

const sqlite = (name: string) => ({
  get db(): string {
    return join(folder, name)
  },
  open: () => sqliteStore({ file: join(folder, name), synchronous: 'normal' }),
})

/**
 * Lines that are difficult to embed: line endings, byte order marks, blanks, lone surrogates, and our own
 * wrapping.
 */
const DIFFICULT_LINES: readonly string[] = [
  '',
  ' ',
  '\n',
  '[1,2',
  '[]',
  '{',
  '"a"',
  '{\n  "kind": "Odd"\n}\n',
  '\ufeff{"kind":"Odd"}',
  '{"kind":"Odd"}\r',
  '"\ud800"',
  '\u001b[2J',
  '{"kind":"colloquy.quarantined","raw":"x","issues":[]}',
  '{"kind":"colloquy.quarantined","id":"x","raw":"","issues":[{"loc":[],"msg":"m","type":"t"}]}',
  '{"kind":"Odd","id":"a","parent_id":7}',
  // Written unwrapped, it would become an event with another id.
  '{"kind":"PauseEvent","id":"\ud800"}',
  '{"kind":"PauseEvent","id":"p\ufffd"}',
]

const raw = fc.oneof(fc.string({ unit: character, maxLength: 12 }), fc.constantFrom(...DIFFICULT_LINES))

const line = fc
  .tuple(raw, fc.constantFrom('json_invalid', 'unicode_error', 'union_tag_invalid'), fc.boolean())
  .map(([raw, type, hasLoaderIssues]): Fact => {
    const fact = loadLine(raw).fact
    const issues = [{ loc: [], msg: 'Not an event.', type }]
    // With the loader's issues, or with those of another loader version.
    return hasLoaderIssues && isQuarantined(fact)
      ? { ...fact, issues }
      : { quarantined: true, raw, issues, id: `q${raw.length}` }
  })

const oddId = fc.oneof(
  fc.constantFrom(
    '../../etc/passwd',
    'a/b',
    'a\\b',
    'CON',
    '.',
    '..',
    'é'.repeat(200),
    '😀'.repeat(100),
    '%2e',
    '~',
    'a b*',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }).filter((id) => !/[\p{Cc}\p{Cs}]/u.test(id)),
)

const recordFields = fc.record(
  {
    title: fc.constantFrom('T', 'a \u202e title'),
    public: fc.boolean(),
    tags: fc.constantFrom({}, { a: '1' }),
    metadata: fc.oneof(
      jsonObject,
      fc.constantFrom({ persisted: 7 }, { persisted: { meta: { title: 'T' } } }),
    ),
    timeZone: fc.constantFrom('Asia/Tokyo', null),
    parentConversationId: fc.constantFrom('p', '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f'),
  },
  { requiredKeys: [] },
)

describe('a line that resembles a wrapped quarantined line', () => {
  it.each([
    { id: 7 },
    { id: '\ud800' },
    { id: '' },
    { parent_id: 'p' },
    { parent_id: null },
    { id: 'a', parent_id: 7 },
    { id: 'a', event_kind: 7 },
    { event_kind: null },
    { raw: 7 },
    { issues: {} },
    { issues: [{ loc: [], msg: 'm' }] },
  ])('is kept verbatim with the fields %j', (fields) => {
    const line = JSON.stringify({ kind: 'colloquy.quarantined', raw: 'x', issues: [], ...fields })
    expect(decodePiece(Buffer.from(line)).fact).toMatchObject({ raw: line })
  })
})

describe('export, then import', () => {
  it.each(LAYOUTS)('round-trips hostile logs as %s', async (layout) => {
    await fc.assert(
      fc.asyncProperty(hostileLog(), recordFields, (log, record) => roundTrip(log, layout, record)),
      { numRuns: Math.max(5, Math.round(RUNS / 40)) },
    )
  })

  it.each(LAYOUTS)('round-trips arbitrary fields and ids as %s', async (layout) => {
    const odd = fc.tuple(fc.array(oddId, { maxLength: 5 }), jsonObject)
    await fc.assert(
      fc.asyncProperty(odd, async ([ids, fields]) => {
        const events = ids.map(
          (id) => loadLine(JSON.stringify({ kind: 'PauseEvent', id, classification: fields })).fact,
        )
        expect(events.filter(isQuarantined)).toEqual([])
        await roundTrip(events, layout)
      }),
      { numRuns: Math.max(3, Math.round(RUNS / 40)) },
    )
  })

  it.each(LAYOUTS)(
    'round-trips unreadable lines, and ids that are invalid file names, as %s',
    async (layout) => {
      const events = oddId.map((id): Fact => ({ kind: 'PauseEvent', id }))
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(line, events), { maxLength: 12 }), (log) =>
          roundTrip(log, layout),
        ),
        { numRuns: Math.max(5, Math.round(RUNS / 40)) },
      )
    },
  )

  it.each(LAYOUTS)('round-trips hostile logs into PostgreSQL as %s', async (layout) => {
    const to = { db: postgres.url, open: () => postgresStore({ url: postgres.url, listen: false }) }
    await fc.assert(
      fc.asyncProperty(hostileLog(), recordFields, (log, record) => roundTrip(log, layout, record, to)),
      { numRuns: Math.max(3, Math.round(RUNS / 400)) },
    )
  })

  it.each(DIFFICULT_LINES)('round-trips a log of the single line %j', async (raw) => {
    for (const type of ['json_invalid', 'unicode_error']) {
      const fact: Fact = { quarantined: true, raw, issues: [{ loc: [], msg: 'Not an event.', type }] }
      if (!isLasting(fact)) continue
      for (const layout of LAYOUTS) await roundTrip([fact], layout)
      // Import accepts the exported text from standard input with any first line.
      const readConversation = ['--db', join(folder, 'from.db'), '--conversation', `c${count}`]
      const { out } = await colloquy(['export', ...readConversation])
      const importArgv = await colloquy(['import', '-', '--json', ...readConversation], { stdin: out })
      const { quarantined, error } = JSON.parse(importArgv.out)
      expect(error).toBeUndefined()
      // A file with nothing but a quarantined line exits with 1.
      expect(importArgv.code).toBe(quarantined === 1 ? 1 : 0)
    }
  })

  it('leaves no temporary files', () => {
    expect(readdirSync(folder).filter((name) => !name.includes('.db'))).toEqual([])
  })
})

const logs = recordedLogs()

describe.skipIf(logs.length === 0)('recorded logs', () => {
  // Layout and content are independent, so each log tests one layout.
  it.each(logs.map((log, index) => ({ ...log, layout: LAYOUTS[index % LAYOUTS.length] as Layout })))(
    '$file round-trips as $layout',
    async ({ layout, ...log }) => {
      const facts = linesOf(log).map((text) => loadLine(text).fact)
      await roundTrip(facts, layout)
    },
  )
})
