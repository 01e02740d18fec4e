/**
 * Runs each sample of the pages as a file, and compares the shown values. The package test checks their
 * types.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { replay, toMessages } from '../src/index.ts'
import { checkLog } from '../src/laws/index.ts'
import { providerServer } from '../src/testing/node/provider-server.ts'
import type { Store } from '../src/store/contract/store.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { testDatabase } from './postgres/database.ts'
import { blocks, withChecks, clientsOf, project, runSamples, SAME, samplesOfPages, SHOWN } from './pages.ts'

const { folder, write, remove } = project()
const provider = await providerServer()
afterAll(async () => {
  await provider.close()
  remove()
})

write('same.js', SAME)
const samples = samplesOfPages()
const files = samples.map(({ file, code }) => write(file, withChecks(code)))
const { DATABASE_URL: _url, DB_PASSWORD: _password, ...others } = process.env
const env = { ...others, ...clientsOf(provider.url) }
// One sample with a wrong value, and one that prints.
const wrongSample = write('wrong.ts', withChecks('[1, 2].length // 2\n[1].concat(2) // [2]\n'))
const printingSample = write('loud.ts', `console.error('loud')`)
let problems: Promise<readonly string[]> | null = null
const problemsOf = async (signal: AbortSignal): Promise<readonly string[]> =>
  (problems ??= runSamples({ folder, write }, [...files, wrongSample, printingSample], env, signal))

it.for(samples.map(({ name }, index) => ({ name, index })))(
  'the sample in $name runs and has the shown values',
  async ({ index }, { signal }) => {
    expect((await problemsOf(signal))[index]).toBe('')
  },
)

it('the sample with DATABASE_URL runs twice over PostgreSQL', async ({ signal }) => {
  const databaseSamples = samples.filter(({ code }) => code.includes('DATABASE_URL'))
  expect(databaseSamples).toHaveLength(1)
  const copies = ['first.ts', 'second.ts'].map((name) =>
    write(name, withChecks(databaseSamples[0]?.code ?? '')),
  )
  const { url, drop } = await testDatabase()
  try {
    const report = await runSamples({ folder, write }, copies, { ...env, DATABASE_URL: url }, signal)
    expect(report).toEqual(['', ''])
  } finally {
    await drop()
  }
})

it('`runSamples` reports a wrong value, and output on standard error', async ({ signal }) => {
  const samplesWithValues = samples.filter(({ code }) => [...code.matchAll(SHOWN)].length > 0)
  expect(samplesWithValues.length).toBeGreaterThan(samples.length * 0.7)
  const [report, standardError] = (await problemsOf(signal)).slice(files.length)
  expect(report).toContain('[ 1, 2 ] is not [ 2 ]')
  expect(standardError).toBe('loud\n')
})

it.each([
  ['ai-sdk.ts', 'finished 2 5\n'],
  ['langgraph.ts', 'finished It is nine.\n'],
])('the recipe %s prints %j', async (name, output) => {
  const [block] = blocks(`ts \\[${name}\\]`, 'docs/recipes.md')
  const file = write(name, block?.code ?? '')
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 30_000 })
  expect(stdout).toBe(output)
})

const MIGRATION = 'From a table of messages'

/** The date of a row. */
const dateOf = (id: number): string =>
  new Date(Date.UTC(2024, 4, 1, 10) + id * 61_000).toISOString().replace('Z', '000Z')

/**
 * A table of 1,000 rows in ten interleaved chats. Every fifth chat is unknown, and every seventh row of a chat
 * is a result without a call.
 */
function tables() {
  const rows = Array.from({ length: 1_000 }, (_, index) => {
    const id = index * 2 + 1
    // Chats are interleaved.
    const row = { id, chat_id: `c${index % 10}`, created_at: dateOf(id) }
    const turn = Math.floor(index / 10)
    const call = { id: `call-${turn}`, type: 'function', function: { name: 'ls', arguments: '{}' } }
    if (turn % 7 === 3)
      return { ...row, role: 'tool', content: `Orphan ${id}`, tool_calls: null, tool_call_id: `lost-${id}` }
    if (turn % 7 === 4) return { ...row, role: 'assistant', content: null, tool_calls: [call] }
    if (turn % 7 === 5)
      return { ...row, role: 'tool', content: `Result ${id}`, tool_call_id: `call-${turn - 1}` }
    return { ...row, role: turn % 2 === 0 ? 'user' : 'assistant', content: `Text ${id}`, tool_calls: null }
  })
  const chats = Array.from({ length: 10 }, (_, number) => ({
    id: `c${number}`,
    user_id: `u${number % 3}`,
    title: `Chat ${number}`,
    created_at: dateOf(-number),
  })).filter((_, number) => number % 5 !== 0)
  return { rows, chats }
}

it('the migration in docs/importing.md keeps the ids, dates and contents of 1,000 rows', async () => {
  const block = blocks('ts', 'docs/importing.md').find(({ heading }) => heading === MIGRATION)
  const [functions = ''] = (block?.code ?? '').split('\n// SELECT')
  const { migrate } = (await import(write('migrate.ts', `${functions}\nexport { migrate }`))) as {
    readonly migrate: (store: Store, chats: readonly object[], rows: readonly object[]) => Promise<void>
  }
  const { rows, chats } = tables()
  const store = sqliteStore({ file: ':memory:' })
  for (let migration = 0; migration < 2; migration += 1) await migrate(store, chats, rows)
  const chatsById = new Map(chats.map((chat) => [chat.id, chat]))
  let orphans = 0
  for (const [id, rowsOfChat] of Map.groupBy(rows, (row) => row.chat_id)) {
    const chat = chatsById.get(id)
    expect(await store.getConversation(id)).toMatchObject({
      owner: chat?.user_id ?? null,
      title: chat?.title ?? null,
      createdAt: chat?.created_at ?? rowsOfChat[0]?.created_at,
    })
    const log = await store.read(id)
    const facts = log.map(({ fact }) => fact)
    expect(
      log.map(({ fact, time }) => [
        fact.id,
        'timestamp' in fact ? fact.timestamp : null,
        Number(time) / 1_000,
      ]),
    ).toEqual(rowsOfChat.map((row) => [`row-${row.id}`, row.created_at, Date.parse(row.created_at)]))
    for (const [index, { content }] of rowsOfChat.entries())
      if (content !== null) expect(JSON.stringify(facts[index])).toContain(JSON.stringify(content))
    const results = facts.filter((fact) => 'action_id' in fact && fact.action_id?.startsWith('row-'))
    expect(results).toHaveLength(rowsOfChat.filter(({ content }) => content?.startsWith('Result ')).length)
    orphans += checkLog(facts, { ended: true }).length
    expect(JSON.stringify(toMessages(replay(facts)))).not.toContain('Orphan ')
  }
  expect(orphans).toBe(rows.filter(({ content }) => content?.startsWith('Orphan ')).length)
  await store.close()
})
