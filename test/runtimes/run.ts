/**
 * Runs the laws against the built package in Node, Bun, Deno, workerd and Chromium: `npm run test:runtimes`, with the names of
 * some for those alone. The suite is one file for each, in which what is imported of the sources comes from `dist`.
 */

import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { rolldown } from 'rolldown'
import { findBrowser } from '../browser/find-browser.ts'
import type { Outcome } from './suite.ts'

const HERE = import.meta.dirname
const ROOT = resolve(HERE, '../..')
const BUILT = join(HERE, 'node_modules/.built')

/** Without scripts: the runtimes come as packages, and what the scripts would load is there. */
function install(): void {
  const asked = readFileSync(join(HERE, 'package-lock.json'), 'utf8')
  const mark = join(HERE, 'node_modules/.installed-lock')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === asked) return
  run('npm', ['ci', '--ignore-scripts'], HERE)
  cpSync(join(HERE, 'package-lock.json'), mark)
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, [...args], { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}${stdout}`)
  return stdout
}

/** A program of this folder as one file, with the built package in it. */
async function bundle(name: string, platform: 'node' | 'browser'): Promise<string> {
  const built = await rolldown({
    input: join(HERE, `${name}.ts`),
    platform,
    external: ['@electric-sql/pglite', 'pg'],
    resolve: { conditionNames: ['import', 'default'] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [
      {
        name: 'from dist',
        resolveId(source, importer) {
          if (importer === undefined || !source.startsWith('.')) return null
          const path = resolve(dirname(importer), source)
          if (!path.startsWith(join(ROOT, 'src/'))) return null
          return path.replace(join(ROOT, 'src/'), join(ROOT, 'dist/')).replace(/\.ts$/, '.js')
        },
      },
    ],
    logLevel: 'silent',
  })
  const { output } = await built.generate({ format: 'es', codeSplitting: false })
  await built.close()
  const [{ code }] = output
  if (platform === 'browser' && /from ["']node:/.test(code)) throw new Error(`${name} needs a module of Node`)
  const file = join(BUILT, `${name}.mjs`)
  writeFileSync(file, code)
  return file
}

interface Runtime {
  readonly name: string
  version(): string
  /** Lines of JSON, one for each part, as they come. */
  run(): AsyncIterable<string>
}

const program = (name: string, command: string, args: readonly string[] = []): Runtime => ({
  name,
  version: () => run(command, ['--version'], HERE).split('\n', 1)[0] ?? '',
  async *run() {
    const file = await bundle('process', 'node')
    const child = spawn(command, [...args, file], { cwd: HERE, stdio: ['ignore', 'pipe', 'inherit'] })
    yield* createInterface({ input: child.stdout })
  },
})

const BIN = join(HERE, 'node_modules')

const workerd: Runtime = {
  name: 'workerd',
  version: () => JSON.parse(readFileSync(join(BIN, 'workerd/package.json'), 'utf8')).version,
  async *run() {
    const { Miniflare } = await import('miniflare')
    const suite = readFileSync(await bundle('worker', 'browser'), 'utf8')
    const script = `${suite}\nexport default { async fetch() { return new Response(await outcomes()) } }`
    const miniflare = new Miniflare({ modules: true, script, compatibilityDate: '2026-07-01' })
    try {
      yield* (await (await miniflare.dispatchFetch('http://localhost/')).text()).split('\n')
    } finally {
      await miniflare.dispose()
    }
  },
}

/** A page that may run its own script only, and nothing that is made at run time. */
const chromium: Runtime = {
  name: 'Chromium',
  version: () => run(browser(), ['--version', '--no-sandbox'], HERE).trim(),
  async *run() {
    const script = readFileSync(await bundle('page', 'browser'), 'utf8')
    const { promise: outcomes, resolve: heard } = Promise.withResolvers<string>()
    const server = createServer(async (request, response) => {
      if (request.method === 'POST') heard(await text(request))
      const [type, body] =
        request.url === '/page.js'
          ? ['text/javascript', script]
          : [
              'text/html',
              '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>',
            ]
      response.writeHead(200, { 'content-type': type, 'content-security-policy': "default-src 'self'" })
      response.end(body)
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const profile = join(BUILT, 'profile')
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`]
    const child = spawn(browser(), [...flags, `http://127.0.0.1:${port}/`], { stdio: 'ignore' })
    const gone = new Promise<never>((_, fail) => child.once('exit', () => fail(new Error('Chromium ended'))))
    try {
      yield* (await Promise.race([outcomes, gone])).split('\n')
    } finally {
      gone.catch(() => undefined)
      child.kill()
      server.close()
    }
  },
}

function browser(): string {
  const found = findBrowser()
  if (found === null) throw new Error('no Chromium here: npm run test:browser installs it')
  return found
}

const RUNTIMES: readonly Runtime[] = [
  program('Node', process.execPath, ['--no-warnings']),
  program('Bun', join(BIN, '@oven/bun-linux-x64/bin/bun'), ['run']),
  program('Deno', join(BIN, '@deno/linux-x64-glibc/deno'), ['run', '--allow-all', '--quiet']),
  workerd,
  chromium,
]

install()
rmSync(BUILT, { recursive: true, force: true })
mkdirSync(BUILT, { recursive: true })
run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', HERE], ROOT)
if (process.env['COLLOQUY_BUILT'] === undefined) run('npm', ['run', 'build'], ROOT)

const asked = process.argv.slice(2).map((name) => name.toLowerCase())
for (const runtime of RUNTIMES) {
  if (asked.length > 0 && !asked.includes(runtime.name.toLowerCase())) continue
  const version = runtime.version()
  console.log(`\n${runtime.name} (${version})`)
  const start = performance.now()
  let parts = 0
  for await (const line of runtime.run()) {
    if (!line.startsWith('{')) {
      if (line !== '') console.log(`  ${line}`)
      continue
    }
    const { part, passed, failed } = JSON.parse(line) as Outcome
    const seconds = ((performance.now() - start) / 1_000).toFixed(0)
    console.log(`  ${part}: ${passed} passed, ${failed.length} failed (until ${seconds} s)`)
    for (const what of failed) console.log(`    ${what.replaceAll('\n', '\n      ')}`)
    if (failed.length > 0 || passed === 0) process.exitCode = 1
    parts += 1
  }
  if (parts < 3) process.exitCode = 1
}
