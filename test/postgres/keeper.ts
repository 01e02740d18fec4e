/**
 * Owns one PostgreSQL server. Reads commands as lines and prints the server's address after each. When its
 * input ends, even because the test runner was killed, it stops the server and removes its folder.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { copyPrograms, type Programs } from './binaries.ts'

/** As root, runs the server as `nobody`, because it refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null

/** Settings for small databases that live for seconds: only a power loss would show the difference. */
const FAST = {
  full_page_writes: 'off',
  autovacuum: 'off',
  jit: 'off',
  io_method: 'sync',
  checkpoint_timeout: '1h',
}

const [folder = '', durable = 'off'] = process.argv.slice(2)
const data = join(folder, 'data')
const password = randomBytes(12).toString('hex')
const port = await freePort()

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop())
process.stdin.on('end', () => void stop())
const lines = createInterface({ input: process.stdin })
let stopping = false
let server: ChildProcess | null = null

try {
  const programs = await prepare()
  server = await start(programs)
  printAddress()
  for await (const line of lines) {
    await end(line === 'kill' ? 'SIGKILL' : 'SIGINT')
    if (line === 'start' || line === 'restart') server = await start(programs)
    printAddress()
  }
} finally {
  await stop()
}

async function prepare(): Promise<Programs> {
  const programs = await copyPrograms(folder)
  const secret = join(folder, 'password')
  await mkdir(data, { mode: 0o700 })
  await writeFile(secret, password, { mode: 0o600 })
  if (user !== null) for (const path of [data, secret]) await chown(path, user.uid, user.gid)
  await chmod(folder, 0o755)
  const args = ['-D', data, '-U', 'postgres', '-A', 'password', `--pwfile=${secret}`]
  const options = ['-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
  await promisify(execFile)(programs.initdb, [...args, ...options], { cwd: folder, ...user })
  await rm(secret)
  return programs
}

/** Starts the server and waits for connections; after a kill, old backends may have to end first. */
async function start(programs: Programs): Promise<ChildProcess> {
  const deadline = Date.now() + 300_000
  for (;;) {
    const child = spawn(programs.postgres, ['-D', data, ...settings()], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...user,
    })
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4_000)))
    while (child.exitCode === null && child.signalCode === null) {
      if (await isReady(child)) return child
      await sleep(15)
    }
    if (Date.now() > deadline) throw new Error(`the server does not start: ${output}`)
    await sleep(50)
  }
}

function settings(): string[] {
  const values = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    fsync: durable,
    log_min_messages: 'fatal',
    ...(durable === 'off' && FAST),
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** The server writes its process id and state to this file. */
async function isReady(child: ChildProcess): Promise<boolean> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')
  const fields = text.split('\n')
  return fields[0] === String(child.pid) && fields[7]?.trim() === 'ready'
}

async function end(signal: NodeJS.Signals): Promise<void> {
  const child = server
  server = null
  if (child === null || child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  // The data is discarded, so skip the shutdown checkpoint.
  await end('SIGQUIT')
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(0)
}

function printAddress(): void {
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  process.stdout.write(`${JSON.stringify({ url, pid: server?.pid ?? null })}\n`)
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port: result } = probe.address() as AddressInfo
  probe.close()
  return result
}
