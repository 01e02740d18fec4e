/**
 * The package as users get it: packed, installed in an empty project and imported, on this Node and on
 * the oldest supported one. The pages' samples match its types.
 */

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiReport } from './api.ts'
import { link, linkPeers, ROOT, samplesOfPages } from './pages.ts'

const run = promisify(execFile)
const OLDEST = '22.13.1'
const EXAMPLES = join(ROOT, 'examples')
const pathOfBin = (name: string): string => join(ROOT, 'node_modules/.bin', name)
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

let project = ''
let packed: {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

const npm = (args: readonly string[], cwd: string) => run('npm', [...args], { cwd, maxBuffer: 1 << 26 })

const CHECK = `
  import { initialState, reduce } from 'colloquy'
  import { decodeEvent } from 'colloquy/events'
  import { shellHook } from 'colloquy/shell'
  import { createRequire } from 'node:module'
  const hook = shellHook({ on: 'Stop', command: 'cat >&2; exit 2' })
  const { blocked } = await hook.run({ event_type: 'Stop', conversation_id: 'c' }, new AbortController().signal)
  const decoded = decodeEvent({ kind: 'PauseEvent' })
  const state = reduce(initialState(), decoded.event)
  const { version } = createRequire(import.meta.url)('colloquy/package.json')
  console.log(JSON.stringify([process.versions.node, state.header.status, version, blocked]))
`

const without = (lines: readonly string[], others: ReadonlySet<string>): string[] =>
  lines.filter((line) => !others.has(line))

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'colloquy-package-'))
  await npm(['run', 'build'], ROOT)
  const { stdout } = await npm(['pack', '--ignore-scripts', '--json', '--pack-destination', project], ROOT)
  packed = JSON.parse(stdout.slice(stdout.indexOf('[\n')))[0]
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  )
  await writeFile(join(project, 'check.js'), CHECK)
  // Only its dependencies are installed next to it: nothing else can be found.
  const installed = join(project, 'node_modules/colloquy')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(project, packed.filename), '-C', installed, '--strip-components=1'])
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) link(project, name)
})

afterAll(() => rm(project, { recursive: true, force: true }))

/** Compiler output for a program in the project; empty without errors. */
const typeErrors = (...args: readonly string[]): Promise<string> =>
  run(process.execPath, [TSC, '--singleThreaded', ...args], { cwd: project }).then(
    ({ stdout }) => stdout,
    (error) => error.stdout,
  )

/** Type-checks a user's program, with only these types of its environment. */
async function typeCheck(name: string, text: string, types: string): Promise<void> {
  await writeFile(join(project, name), text)
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', types]
  expect(await typeErrors(...flags, name)).toBe('')
}

describe('the packed package', () => {
  it('contains only the expected files, within the size limits', () => {
    const paths = packed.files.map((file) => file.path)
    expect(paths).toContain('dist/index.js')
    expect(paths).toContain('dist/index.d.ts')
    expect(paths).toContain('dist/cli/sample.jsonl')
    expect(paths).toContain('docs/llms.txt')
    expect(
      paths.filter(
        (path) =>
          !/^(dist\/|LICENSE|README\.md|docs\/(?!site\/)|examples\/(?:store-json\/|chat\.ts|terminal\.ts)|properties\/laws\.md|package\.json|CHANGELOG\.md)/.test(
            path,
          ),
      ),
    ).toEqual([])
    expect(paths.length).toBeLessThanOrEqual(1_000)
    expect(packed.size).toBeLessThanOrEqual(1_400_000)
  })

  it('has a placeholder author and URLs until its first publication', async () => {
    const { author, bugs, homepage, repository } = JSON.parse(
      await readFile(join(ROOT, 'package.json'), 'utf8'),
    )
    expect(author).toBe('The Colloquy authors')
    for (const url of [bugs.url, homepage, repository.url]) expect(url).toContain('//colloquy.example/')
  })

  it('publishes the declarations in test/api.txt, which `npm run api` updates', async () => {
    const report = apiReport(join(project, 'node_modules/colloquy')).split('\n')
    const listed = (await readFile(join(ROOT, 'test/api.txt'), 'utf8')).split('\n')
    const [added, removed] = [without(report, new Set(listed)), without(listed, new Set(report))]
    expect({ added, removed }).toEqual({ added: [], removed: [] })
    expect(report).toEqual(listed)
  })

  it('declares its side effects for bundlers in dist/package.json too', async () => {
    const installed = join(project, 'node_modules/colloquy')
    const read = async (path: string) => JSON.parse(await readFile(join(installed, path), 'utf8'))
    const { type, sideEffects } = await read('package.json')
    expect(sideEffects).toBe(false)
    expect(await read('dist/package.json')).toEqual({ type, sideEffects })
  })

  it('can be imported in an empty project', async () => {
    const { stdout } = await run(process.execPath, ['check.js'], { cwd: project })
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(JSON.parse(stdout)).toEqual([process.versions.node, 'paused', manifest.version, true])
  })

  it(`can be imported, and runs its command, on Node ${OLDEST}`, async () => {
    const command = 'node check.js && node node_modules/colloquy/dist/cli/main.js demo'
    const { stdout } = await npm(['exec', '-y', `--package=node@${OLDEST}`, '-c', command], project)
    const start = stdout.indexOf('["')
    const end = stdout.indexOf('\n', start)
    expect(JSON.parse(stdout.slice(start, end))).toEqual([OLDEST, 'paused', expect.any(String), true])
    expect(stdout.slice(end)).toContain('State')
  })

  it('type-checks in a strict consumer', async () => {
    const program = `import { replay, type State } from 'colloquy'
import { createService } from 'colloquy/service'
import { anthropicStep, type StepTool } from 'colloquy/steps'
const add: StepTool = { name: 'add', description: '', parameters: {}, execute: ({ a }) => String(a) }
const client = { messages: { create: async () => ({}) } }
export const step = anthropicStep({ client, model: 'm', max_tokens: 1, tools: [add] })
export const state: State = replay([{ kind: 'PauseEvent' }])
export { createService }
`
    await typeCheck('check.ts', program, '')
  })

  it('type-checks its Node entries with only the types of Node', async () => {
    const program = `import { sqliteStore } from 'colloquy/sqlite'
import { postgresStore } from 'colloquy/postgres'
import { shellHook } from 'colloquy/shell'
import { serve, processSandboxes } from 'colloquy/service/node'
export { sqliteStore, postgresStore, shellHook, serve, processSandboxes }
`
    await typeCheck('check-node.ts', program, join(ROOT, 'node_modules/@types/node'))
  })

  it('type-checks the samples of the pages and the examples', async () => {
    const write = async (name: string, text: string): Promise<string> => {
      const file = join(project, 'samples', name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      return file
    }
    for (const { file, code } of samplesOfPages()) await write(file, code)
    for (const name of readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }))
      if (name.endsWith('.ts') && !name.startsWith('recipes/'))
        await write(name, await readFile(join(EXAMPLES, name), 'utf8'))
    linkPeers(join(project, 'samples'))
    // The package's own declarations import it.
    link(project, 'fast-check')
    const config = { extends: join(ROOT, 'tsconfig.json'), include: ['.'], exclude: [] }
    expect(await typeErrors('-p', await write('tsconfig.json', JSON.stringify(config)))).toBe('')
  })

  it('passes publint and attw', async () => {
    await run(pathOfBin('publint'), ['--strict', join(project, packed.filename)], { cwd: ROOT })
    const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const { './package.json': _, ...entries } = exports as Record<string, { readonly types: string }>
    for (const { types, ...other } of Object.values(entries))
      expect(other).toEqual({ default: types.replace(/\.d\.ts$/, '.js') })
    // All entries have the same form, so a few are enough.
    const some = ['.', './service/node', './testing/server']
    expect(Object.keys(entries)).toEqual(expect.arrayContaining(some))
    const file = join(project, packed.filename)
    await run(pathOfBin('attw'), ['--profile', 'esm-only', '--entrypoints', ...some, '--', file], {
      cwd: ROOT,
    })
  })
})
