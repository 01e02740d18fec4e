/** The pages in docs are held to what they show: each sample runs as a file, and gives what stands beside its lines. */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { providerServer } from '../src/testing/node/provider-server.ts'
import { blocks, checked, clientsOf, project, README, ROOT, runSamples, SAME } from './readme.ts'

const { folder, write, remove } = project()
const provider = await providerServer()
afterAll(async () => {
  await provider.close()
  remove()
})

write('same.js', SAME)
const DOCS = join(ROOT, 'docs')
const EXAMPLES = join(ROOT, 'examples')
const samples = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md'))
  .flatMap((page) =>
    blocks('ts', readFileSync(join(DOCS, page), 'utf8')).map(({ heading, code }, at) => ({
      name: `${page}, ${heading}`,
      file: `${page.replace(/\.md$/, '')}-${at}.ts`,
      code,
    })),
  )

const files = samples.map(({ file, code }) => write(file, checked(code)))
const env = { ...process.env, ...clientsOf(provider.url) }
let problems: Promise<readonly string[]> | null = null

it.for(samples.map(({ name }, at) => ({ name, at })))('runs: $name', async ({ at }, { signal }) => {
  problems ??= runSamples({ folder, write }, files, env, signal)
  expect((await problems)[at]).toBe('')
})

it('type-check as they stand, with those of the README and the examples', async ({ signal }) => {
  for (const { file, code } of samples) write(`typed/${file}`, code)
  for (const [at, { code }] of blocks('ts', README).entries()) write(`typed/README-${at}.ts`, code)
  for (const name of readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.ts')) write(`typed/${name}`, readFileSync(join(EXAMPLES, name), 'utf8'))
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
