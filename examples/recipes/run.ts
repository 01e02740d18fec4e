/**
 * Tests docs/recipes.md: extracts the page's files, starts each with the packed library, its framework
 * and a fake model, and sends requests as a browser does.
 *
 *   npm run test:recipes            all recipes
 *   npm run test:recipes express    one recipe
 */

import { deepStrictEqual, ok } from 'node:assert'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { providerServer } from '../../src/testing/node/provider-server.ts'

const HERE = import.meta.dirname
const ROOT = resolve(HERE, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/recipes.md'), 'utf8')

/** The test of each recipe. */
const RECIPES: Readonly<Record<string, (environment: Environment) => Promise<void>>> = {
  hono: (environment) => testServer(environment, ['hono.ts']),
  express: (environment) => testServer(environment, ['express.ts']),
  next: ({ folder, env }) => {
    const next = join(HERE, 'node_modules/next/dist/bin/next')
    const path = { folder: join(folder, 'next'), env }
    run(process.execPath, [next, 'build'], path.folder, env)
    return testServer(path, [next, 'start'])
  },
  worker: async ({ folder }) => {
    const { default: worker } = (await import(pathToFileURL(join(folder, 'worker.ts')).href)) as {
      default: { fetch: (request: Request, env: object) => Promise<Response> }
    }
    const ask = async (headers: Record<string, string>) => {
      const request = new Request('http://localhost/api/conversations/search', { headers })
      return (await worker.fetch(request, { SERVICE_KEY: 'k' })).status
    }
    deepStrictEqual([await ask({}), await ask({ 'x-session-api-key': 'k' })], [401, 200])
  },
  'ai-sdk': async ({ folder, env }) =>
    deepStrictEqual(run(process.execPath, ['ai-sdk.ts'], folder, env), 'finished 2 5\n'),
  drizzle: async ({ folder, env }) =>
    deepStrictEqual(run(process.execPath, ['drizzle.ts'], folder, env), 'refused u1 1 1\n'),
  kysely: async ({ folder, env }) =>
    deepStrictEqual(run(process.execPath, ['kysely.ts'], folder, env), 'refused u1 1 1\n'),
  langgraph: async ({ folder, env }) =>
    deepStrictEqual(run(process.execPath, ['langgraph.ts'], folder, env), 'finished It is nine.\n'),
}

interface Environment {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

/** Returns the standard output. @throws Error with all output when the command fails. */
function run(command: string, args: readonly string[], cwd: string, env = process.env): string {
  const { status, stdout, stderr, error } = spawnSync(command, [...args], { cwd, encoding: 'utf8', env })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? ''}${stdout}${stderr}`)
}

/** Installs the frameworks when missing, and the current library. */
function install(): void {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8')
  const mark = join(HERE, 'node_modules', '.installed-lock')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== lock) {
    run('npm', ['ci', '--ignore-scripts'], HERE)
    writeFileSync(mark, lock)
  }
  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--silent', '--pack-destination', HERE], ROOT),
  ) as {
    filename: string
  }[]
  const file = join(HERE, packed?.filename ?? '')
  run('npm', ['install', '--no-save', '--ignore-scripts', file], HERE)
  rmSync(file)
}

/** Writes the page's files into a folder from which imports find the packages. Next has its own folder. */
function write(): string {
  mkdirSync(join(HERE, '.work'), { recursive: true })
  const folder = mkdtempSync(join(HERE, '.work', 'page-'))
  const writeProjectFile = (name: string, text: string): void => {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  writeProjectFile('package.json', '{ "type": "module", "private": true }')
  for (const [, name = '', code = ''] of PAGE.matchAll(/^```ts \[(.+)\]\n([^]*?)^```/gm)) {
    if (!name.startsWith('app/')) writeProjectFile(name, code)
    if (name.startsWith('app/') || name === 'chat.ts') writeProjectFile(`next/${name}`, code)
  }
  // Files of every Next project.
  writeProjectFile('next/package.json', '{ "private": true }')
  writeProjectFile('next/app/layout.tsx', LAYOUT)
  writeProjectFile('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER, include: ['*.ts'] }))
  return folder
}

const LAYOUT = 'export default ({ children }: any) => <html><body>{children}</body></html>\n'

const COMPILER = {
  target: 'es2024',
  module: 'nodenext',
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  types: ['node'],
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** Starts a server, tests its chat over HTTP, and stops it. */
async function testServer({ folder, env }: Environment, args: readonly string[]): Promise<void> {
  const port = await freePort()
  const child = spawn(process.execPath, [...args], {
    cwd: folder,
    env: { ...env, PORT: String(port), CHAT_DB: join(folder, `${port}.db`) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  try {
    await testChat(`http://localhost:${port}/api/chat`, () => child.exitCode !== null)
  } catch (error) {
    throw new Error(`${args.join(' ')}: ${stderr}`, { cause: error })
  } finally {
    child.kill()
    const [code] = await once(child, 'exit')
    if (!args.some((one) => one.includes('next'))) deepStrictEqual(code, 0)
  }
}

async function testChat(api: string, hasExited: () => boolean): Promise<void> {
  const user = { 'x-user': 'ann' }
  for (;;) {
    const response = await fetch(`${api}/chat-1`, { headers: user }).catch(() => null)
    if (response !== null) {
      deepStrictEqual([response.status, await response.json()], [200, []])
      break
    }
    if (hasExited()) throw new Error('the server has exited')
    await wait(50)
  }
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello!' }] }
  const post = (body: string, extraHeaders: Readonly<Record<string, string>> = user) =>
    fetch(api, { method: 'POST', body, headers: { 'content-type': 'application/json', ...extraHeaders } })
  const text = await (await post(JSON.stringify({ id: 'chat-1', messages: [message] }))).text()
  ok(text.startsWith('data: {"type":"start","messageId":"m1-reply"}'), text)
  ok(text.endsWith('data: [DONE]\n\n'), text)
  const messages = (await (await fetch(`${api}/chat-1`, { headers: user })).json()) as { id: string }[]
  deepStrictEqual(
    messages.map(({ id }) => id),
    ['m1', 'm1-reply'],
  )
  ok((await (await fetch(`${api}/chat-1/stream`, { headers: user })).text()).endsWith('data: [DONE]\n\n'))
  const bob = { 'x-user': 'bob' }
  deepStrictEqual((await fetch(`${api}/chat-1`)).status, 401)
  deepStrictEqual(await (await fetch(`${api}/chat-1`, { headers: bob })).json(), [])
  deepStrictEqual((await fetch(`${api}/chat-1/stream`, { headers: bob })).status, 204)
  deepStrictEqual((await post(JSON.stringify({ id: 'chat-1', messages: [message] }), bob)).status, 404)
  for (const [headers, status] of [
    [bob, 404],
    [user, 200],
  ] as const)
    deepStrictEqual((await fetch(`${api}/chat-1/stop`, { method: 'POST', headers })).status, status)
  deepStrictEqual((await post('{')).status, 400)
  deepStrictEqual((await post('{"id":"chat-1","messages":[]}')).status, 400)
}

const [, , only] = process.argv
if (only !== undefined && !Object.hasOwn(RECIPES, only)) {
  console.error(`${only}: must be one of ${Object.keys(RECIPES).join(', ')}`)
  process.exit(2)
}
install()
const provider = await providerServer()
const folder = write()
const env = {
  ...process.env,
  ANTHROPIC_API_KEY: 'none',
  ANTHROPIC_BASE_URL: provider.url,
  NEXT_TELEMETRY_DISABLED: '1',
}
try {
  run(process.execPath, [join(HERE, 'node_modules/typescript/bin/tsc'), '-p', folder], HERE)
  for (const [name, test] of Object.entries(RECIPES)) {
    if (only !== undefined && only !== name) continue
    // The recipes run one after the other, since the machine may be small.
    // oxlint-disable-next-line no-await-in-loop
    await test({ folder, env })
    console.log(`${name}: passed`)
  }
} finally {
  await provider.close()
  rmSync(folder, { recursive: true, force: true })
}
