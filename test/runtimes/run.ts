/**
 * Runs the core's tests in Node, Bun, Deno, workerd and Chromium: `npm run
 * test:runtimes`. Every runtime must pass as many tests as Node. Names of runtimes select runtimes; parts of file
 * names, which contain a slash, select files.
 */

import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { findBrowser } from '../browser/find-browser.ts'
import { BUILT, bundle, RUNS } from './bundle.ts'
import { coreFiles, ROOT } from './core-files.ts'
import type { Outcome } from './run-tests.ts'

const HERE = import.meta.dirname

/**
 * Skips install scripts: the runtimes are packages, and their scripts would download them again. A machine may
 * lack some runtimes.
 */
function install(): void {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8')
  const mark = join(HERE, 'node_modules/.installed-lock')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return
  run('npm', ['ci', '--ignore-scripts'], HERE)
  cpSync(join(HERE, 'package-lock.json'), mark)
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, [...args], { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}${stdout}`)
  return stdout
}

/** Tests for runtimes that have databases. */
const DATABASES = 'test/runtimes/databases.test.ts'

const withoutDatabases = (files: readonly string[]): string[] => files.filter((file) => file !== DATABASES)

interface Runtime {
  readonly name: string
  /** Null when the machine lacks the runtime. */
  version(): string | null
  /** Yields a line of JSON for each file as it ends. */
  run(files: readonly string[]): AsyncIterable<string>
}

const program = (name: string, command: string, args: readonly string[] = []): Runtime => ({
  name,
  version: () => (existsSync(command) ? (run(command, ['--version'], HERE).split('\n', 1)[0] ?? '') : null),
  async *run(files) {
    const file = await bundle('process', files, 'node')
    const child = spawn(command, [...args, file], { cwd: HERE, stdio: ['ignore', 'pipe', 'inherit'] })
    yield* createInterface({ input: child.stdout })
  },
})

const BIN = join(HERE, 'node_modules')

const workerd: Runtime = {
  name: 'workerd',
  version: () => {
    const manifest = join(BIN, 'workerd/package.json')
    return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : null
  },
  async *run(files) {
    const { Miniflare } = await import('miniflare')
    const tests = readFileSync(await bundle('worker', withoutDatabases(files), 'browser'), 'utf8')
    const script = `${tests}\nexport default { fetch: respond }`
    const miniflare = new Miniflare({ modules: true, script, compatibilityDate: '2026-07-01' })
    try {
      const { body } = await miniflare.dispatchFetch('http://localhost/')
      if (body !== null)
        yield* createInterface({ input: Readable.from(body as unknown as AsyncIterable<Uint8Array>) })
    } finally {
      await miniflare.dispose()
    }
  },
}

/**
 * The page may run only its own script, and no generated code. It is cross-origin isolated, so that it can
 * share memory.
 */
const HEADERS = {
  'content-security-policy': "default-src 'self'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

const chromium: Runtime = {
  name: 'Chromium',
  version: () => {
    const browser = findBrowser()
    return browser === null ? null : run(browser, ['--version', '--no-sandbox'], HERE).trim()
  },
  async *run(files) {
    const script = readFileSync(await bundle('page', withoutDatabases(files), 'browser'), 'utf8')
    const outcomes = new PassThrough()
    const server = createServer(async (request, response) => {
      if (request.method === 'POST') {
        const line = await text(request)
        if (line === '') outcomes.end()
        else outcomes.write(`${line}\n`)
      }
      const [type, body] =
        request.url === '/page.js'
          ? ['text/javascript', script]
          : [
              'text/html',
              '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>',
            ]
      response.writeHead(200, { ...HEADERS, 'content-type': type })
      response.end(body)
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const profile = join(BUILT, 'profile')
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`]
    const child = spawn(findBrowser() ?? '', [...flags, `http://127.0.0.1:${port}/`], { stdio: 'ignore' })
    child.once('exit', () => outcomes.end())
    try {
      yield* createInterface({ input: outcomes })
    } finally {
      child.kill()
      server.close()
    }
  },
}

const node = program('Node', process.execPath, ['--no-warnings'])
const OTHERS: readonly Runtime[] = [
  program('Bun', join(BIN, '@oven/bun-linux-x64/bin/bun'), ['run']),
  program('Deno', join(BIN, '@deno/linux-x64-glibc/deno'), ['run', '--allow-all', '--quiet']),
  workerd,
  chromium,
]

install()
rmSync(BUILT, { recursive: true, force: true })
mkdirSync(BUILT, { recursive: true })
run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', HERE], ROOT)

/** Number of passing tests for each file in a runtime. Failures are printed, and fail the command. */
async function countIn(runtime: Runtime, files: readonly string[]): Promise<Map<string, number>> {
  const start = performance.now()
  const counts = new Map<string, number>()
  let failures = 0
  for await (const line of runtime.run(files)) {
    if (!line.startsWith('{"file":')) {
      if (line !== '') console.log(`  ${line}`)
      continue
    }
    const { file, passed, failed } = JSON.parse(line) as Outcome
    counts.set(file, passed)
    failures += failed.length
    if (passed === 0 && failed.length === 0) reportProblem(`${file}: no test passed`)
    for (const failure of failed) reportProblem(`${file}: ${failure.replaceAll('\n', '\n      ')}`)
  }
  const seconds = ((performance.now() - start) / 1_000).toFixed(0)
  const sum = [...counts.values()].reduce((so, more) => so + more, 0)
  console.log(`  ${sum} tests of ${counts.size} files passed, ${failures} failed (${seconds} s)`)
  if (sum === 0) reportProblem('no test passed')
  return counts
}

function reportProblem(problem: string): void {
  console.log(`    ${problem}`)
  process.exitCode = 1
}

const args = process.argv.slice(2)
const names = args.map((name) => name.toLowerCase())
const unknown = args.find(
  (name) =>
    !name.includes('/') &&
    !['node', ...OTHERS.map((one) => one.name.toLowerCase())].includes(name.toLowerCase()),
)
if (unknown !== undefined) {
  const all = OTHERS.map((one) => one.name.toLowerCase()).join(', ')
  console.error(`${unknown}: must be node, ${all}, or a part of a file's path with a / in it`)
  process.exit(2)
}
const runtimes = OTHERS.filter(({ name }) => names.includes(name.toLowerCase()))
const parts = args.filter((part) => part.includes('/'))
const { files: all, exceptionCounts } = coreFiles()
const files = [...all, DATABASES].filter(
  (file) => parts.length === 0 || parts.some((part) => file.includes(part)),
)
console.log(`${files.length} test files of the core, each property on ${RUNS} values. Excluded:`)
for (const [reason, count] of exceptionCounts) console.log(`  ${count} that ${reason}`)

console.log(`\nNode (${node.version()})`)
const expected = await countIn(node, files)
for (const file of files) if (!expected.has(file)) reportProblem(`${file} did not run`)

for (const runtime of runtimes.length > 0 || names.includes('node') ? runtimes : OTHERS) {
  const version = runtime.version()
  console.log(`\n${runtime.name} (${version ?? 'not on this machine: skipped'})`)
  if (version === null) continue
  const counts = await countIn(runtime, files)
  for (const [file, passed] of expected) {
    const isOptional = file === DATABASES && (runtime === workerd || runtime === chromium)
    const count = counts.get(file) ?? 0
    if (count !== passed && !isOptional) reportProblem(`${file}: ${count} tests passed, in Node ${passed}`)
  }
}
