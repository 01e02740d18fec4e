/** The pages are held to what they show: each sample runs as a file, and gives what stands beside its lines. */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { providerServer } from '../src/testing/node/provider-server.ts'
import { testDatabase } from './postgres/database.ts'
import { blocks, checked, clientsOf, PAGES, project, ROOT, runSamples, SAME, SHOWN } from './pages.ts'

const { folder, write, remove } = project()
const provider = await providerServer()
afterAll(async () => {
  await provider.close()
  remove()
})

write('same.js', SAME)
const EXAMPLES = join(ROOT, 'examples')
const samples = PAGES.flatMap((page) =>
  blocks('ts', page).map(({ heading, code }, at) => ({
    name: `${page}, ${heading}`,
    file: `${page.replaceAll('/', '-').replace(/\.md$/, '')}-${at}.ts`,
    code,
  })),
)

const files = samples.map(({ file, code }) => write(file, checked(code)))
const { DATABASE_URL: _, DB_PASSWORD: __, ...others } = process.env
const env = { ...others, ...clientsOf(provider.url) }
let problems: Promise<readonly string[]> | null = null

it.for(samples.map(({ name }, at) => ({ name, at })))('runs: $name', async ({ at }, { signal }) => {
  problems ??= runSamples({ folder, write }, files, env, signal)
  expect((await problems)[at]).toBe('')
})

it('what goes by DATABASE_URL runs twice over PostgreSQL', async ({ signal }) => {
  const overUrl = files.filter((_, at) => samples[at]?.code.includes('DATABASE_URL'))
  expect(overUrl).toHaveLength(1)
  const { url, drop } = await testDatabase()
  try {
    for (let turn = 0; turn < 2; turn += 1)
      expect(await runSamples({ folder, write }, overUrl, { ...env, DATABASE_URL: url }, signal)).toEqual([
        '',
      ])
  } finally {
    await drop()
  }
})

it('notices a value that is not the one shown, and what goes to standard error', async ({ signal }) => {
  const shown = samples.filter(({ code }) => [...code.matchAll(SHOWN)].length > 0)
  expect(shown.length).toBeGreaterThan(samples.length * 0.7)
  const wrong = write('wrong.ts', checked('[1, 2].length // 2\n[1].concat(2) // [2]\n'))
  const loud = write('loud.ts', `console.error('loud')`)
  const [told, heard] = await runSamples({ folder, write }, [wrong, loud], env, signal)
  expect(told).toContain('[ 1, 2 ] is not [ 2 ]')
  expect(heard).toBe('loud\n')
})

it('type-check as they stand, with the examples', async ({ signal }) => {
  for (const { file, code } of samples) write(`typed/${file}`, code)
  for (const name of readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.ts') && !name.startsWith('recipes/'))
      write(`typed/${name}`, readFileSync(join(EXAMPLES, name), 'utf8'))
  const config = write(
    'tsconfig.json',
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: ['typed'] }),
  )
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '--singleThreaded', '-p', config], {
    signal,
  }).catch((error) => error)
  expect(stdout).toBe('')
})
