/**
 * Runs each sample of the pages as a file, and compares the shown values. The package test checks their
 * types.
 */

import { afterAll, expect, it } from 'vitest'
import { providerServer } from '../src/testing/node/provider-server.ts'
import { testDatabase } from './postgres/database.ts'
import { checked, clientsOf, project, runSamples, SAME, samplesOfPages, SHOWN } from './pages.ts'

const { folder, write, remove } = project()
const provider = await providerServer()
afterAll(async () => {
  await provider.close()
  remove()
})

write('same.js', SAME)
const samples = samplesOfPages()
const files = samples.map(({ file, code }) => write(file, checked(code)))
const { DATABASE_URL: _, DB_PASSWORD: __, ...others } = process.env
const env = { ...others, ...clientsOf(provider.url) }
// One with a wrong value, one with output.
const wrong = write('wrong.ts', checked('[1, 2].length // 2\n[1].concat(2) // [2]\n'))
const loud = write('loud.ts', `console.error('loud')`)
let problems: Promise<readonly string[]> | null = null
const problemsOf = async (signal: AbortSignal): Promise<readonly string[]> =>
  (problems ??= runSamples({ folder, write }, [...files, wrong, loud], env, signal))

it.for(samples.map(({ name }, index) => ({ name, at: index })))(
  'runs: $name',
  async ({ at: index }, { signal }) => {
    expect((await problemsOf(signal))[index]).toBe('')
  },
)

it('what goes by DATABASE_URL runs twice over PostgreSQL', async ({ signal }) => {
  const overUrl = samples.filter(({ code }) => code.includes('DATABASE_URL'))
  expect(overUrl).toHaveLength(1)
  const twice = ['first.ts', 'second.ts'].map((name) => write(name, checked(overUrl[0]?.code ?? '')))
  const { url, drop } = await testDatabase()
  try {
    const report = await runSamples({ folder, write }, twice, { ...env, DATABASE_URL: url }, signal)
    expect(report).toEqual(['', ''])
  } finally {
    await drop()
  }
})

it('notices a value that is not the one shown, and what goes to standard error', async ({ signal }) => {
  const shown = samples.filter(({ code }) => [...code.matchAll(SHOWN)].length > 0)
  expect(shown.length).toBeGreaterThan(samples.length * 0.7)
  const [report, heard] = (await problemsOf(signal)).slice(files.length)
  expect(report).toContain('[ 1, 2 ] is not [ 2 ]')
  expect(heard).toBe('loud\n')
})
