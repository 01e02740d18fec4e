/** Causes faults during writes of 24 writers, and compares the database with the acknowledged writes. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { logOf } from '../conversation/stores.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { run as runSql, session } from '../postgres/sql-sessions.ts'
import { startServer } from '../postgres/server.ts'
import { CONVERSATIONS, LEASED, PROCESSES } from './workload.ts'
import type { Report } from './fault-writer.ts'

/** Timeout of a writer's call and duration of a fault in milliseconds. A fault is longer, so that calls fail. */
const [TIMEOUT, FAULT] = [1_000, 1_800]

/** Milliseconds in which each writer makes several calls. */
const MOMENT = 150

/** Tolerance in milliseconds beyond the timeout of a call, for a busy machine. */
const SLACK = 4_000

/** The result of one fault. */
export interface Outcome {
  readonly fault: string
  acknowledged: number
  /** Failed calls, which were then repeated. */
  failed: number
  lost: number
  /** Events that appear twice in their log, or were written under a lease that another process already held. */
  twice: number
  /** Milliseconds of the longest call. */
  longest: number
}

interface Fault {
  readonly name: string
  cause(world: Environment): Promise<void>
}

interface Environment {
  readonly writers: readonly Writer[]
  /** PostgreSQL: a server and its proxy. SQLite: a file. */
  readonly server?: Awaited<ReturnType<typeof startServer>>
  readonly proxy?: Proxy
  readonly file?: string
}

class Writer {
  readonly #program: string
  readonly #target: string
  readonly #name: string
  readonly #onReport: (report: Report) => void
  #child: ChildProcess
  #generation = 0
  #holder = false
  #held: (() => void) | null = null
  #ready = Promise.withResolvers<void>()
  isReady = false
  hasAcknowledged = false
  /** Whether the durations of its calls include a stop of its process. */
  wasStopped = false

  constructor(program: string, target: string, name: string, onReport: (report: Report) => void) {
    this.#program = program
    this.#target = target
    this.#name = name
    this.#onReport = onReport
    this.#child = this.#start()
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get isHolder(): boolean {
    return this.#holder
  }

  forget(): void {
    this.#holder = false
  }

  #start(): ChildProcess {
    this.#generation += 1
    const args = [this.#target, `${this.#name}-${this.#generation}`, String(TIMEOUT)]
    const child = spawn(process.execPath, [this.#program, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin?.on('error', () => undefined)
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const report = JSON.parse(line) as Report
      this.isReady = true
      this.#ready.resolve()
      if (report[0] === 'acknowledged') this.hasAcknowledged = true
      if (report[0] === 'held') this.#held?.()
      else if (report[0] === 'leased') this.#holder = true
      else if (!(this.wasStopped && report[0] === 'failed')) this.#onReport(this.#withoutStop(report))
    })
    return child
  }

  #withoutStop(report: Report): Report {
    return this.wasStopped && report[0] === 'acknowledged' ? [report[0], report[1], report[2], 0] : report
  }

  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGSTOP') this.wasStopped = true
    this.#child.kill(signal)
  }

  /** Limits the size of files that the process may write; `unlimited` removes the limit. */
  limitFiles(bytes: string): void {
    execFileSync('prlimit', ['--pid', String(this.#child.pid), `--fsize=${bytes}:`])
  }

  async kill(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
    this.isReady = false
    this.#ready = Promise.withResolvers()
    this.#child = this.#start()
  }

  /** Pauses the writers; resolves when no call is in progress. */
  hold(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held = resolve
    this.send('hold')
    return promise
  }

  async end(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}

/** Forwards connections. While it is silent, no byte passes and no connection ends. */
class Proxy {
  readonly #server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #isSilent = false

  constructor(port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      const pair = [client, upstream] as const
      this.#pairs.add(pair)
      for (const [one, other] of [pair, [upstream, client] as const]) {
        one.setNoDelay(true)
        one.on('error', () => undefined).on('close', () => other.destroy())
        one.on('data', (bytes) => void (this.#isSilent || !this.#pairs.has(pair) || other.write(bytes)))
      }
    })
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as { readonly port: number }).port
  }

  /** Existing connections stay open but pass nothing more. New connections work after `ms`. */
  async silence(ms: number): Promise<void> {
    this.#isSilent = true
    this.#pairs.clear()
    await sleep(ms)
    this.#isSilent = false
  }

  close(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
    this.#server.close()
  }
}

const pick = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)] as T

const COMMON: readonly Fault[] = [
  {
    name: 'killed writers',
    async cause({ writers }) {
      for (let turn = 0; turn < writers.length; turn += 1) {
        await sleep(MOMENT)
        while (!writers.some(({ isReady }) => isReady)) await sleep(20)
        await pick(writers.filter(({ isReady }) => isReady)).kill()
      }
      await Promise.all(writers.map(({ ready }) => ready))
    },
  },
  {
    name: 'stopped lease holders',
    async cause({ writers }) {
      for (const writer of writers) writer.forget()
      await sleep(MOMENT)
      while (!writers.some(({ isHolder }) => isHolder)) await sleep(20)
      const holders = writers.filter(({ isHolder }) => isHolder)
      for (const holder of holders) holder.signal('SIGSTOP')
      // Another process takes the lease over, unless a stopped one holds a lock of the database.
      const others = writers.filter((writer) => !holders.includes(writer))
      const end = performance.now() + FAULT
      while (performance.now() < end && !others.some(({ isHolder }) => isHolder)) await sleep(20)
      for (const holder of holders) holder.signal('SIGCONT')
      await allAcknowledge(holders)
    },
  },
]

const SQLITE: readonly Fault[] = [
  ...COMMON,
  {
    name: 'a lock of another process',
    async cause({ file = '' }) {
      const rival = new DatabaseSync(file)
      rival.exec('PRAGMA busy_timeout = 60000; BEGIN IMMEDIATE')
      await sleep(FAULT)
      rival.exec('COMMIT')
      rival.close()
    },
  },
  {
    name: 'a full disk',
    async cause({ writers }) {
      for (const writer of writers) writer.send('PRAGMA max_page_count = 1')
      // Calls fail at once, not after their timeout.
      await sleep(3 * MOMENT)
      for (const writer of writers) writer.send('PRAGMA max_page_count = 1000000')
    },
  },
  {
    // SQLite treats a write beyond the limit as EIO.
    name: 'an I/O error',
    async cause({ writers }) {
      for (const writer of writers) writer.limitFiles('1')
      await sleep(3 * MOMENT)
      for (const writer of writers) writer.limitFiles('unlimited')
    },
  },
]

const POSTGRES: readonly Fault[] = [
  ...COMMON,
  {
    name: 'a killed server',
    async cause({ server }) {
      await server?.kill()
      await sleep(200)
      await server?.start()
    },
  },
  {
    name: 'frozen backends',
    async cause({ server }) {
      const backends = (await runSql(
        server?.url ?? '',
        `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      )) as { readonly pid: number }[]
      for (const { pid } of backends) process.kill(pid, 'SIGSTOP')
      await sleep(FAULT)
      for (const { pid } of backends) process.kill(pid, 'SIGCONT')
    },
  },
  { name: 'half-open connections', cause: async ({ proxy }) => proxy?.silence(FAULT) },
  {
    name: 'a lock of another process',
    async cause({ server }) {
      const rival = await session(server?.url ?? '')
      await rival.query('BEGIN')
      await rival.query('SELECT FROM colloquy.log FOR UPDATE')
      await sleep(FAULT)
      await rival.end()
    },
  },
]

async function check(store: Store, acknowledged: ReadonlyMap<string, ReadonlySet<string>>, outcome: Outcome) {
  for (const conversation of [...CONVERSATIONS, LEASED]) {
    const ids = (await logOf(store, conversation)).map(({ id }) => id ?? '')
    const stored = new Set(ids)
    for (const id of acknowledged.get(conversation) ?? []) if (!stored.has(id)) outcome.lost += 1
    outcome.twice += ids.length - stored.size
    if (conversation !== LEASED) continue
    const generations = ids.map((id) => Number(id.split('.')[0]))
    outcome.twice += generations.filter((one, index) => one < (generations[index - 1] ?? 0)).length
  }
}

/** Resolves when each process has reported another acknowledgement. */
async function allAcknowledge(writers: readonly Writer[]): Promise<void> {
  for (const writer of writers) writer.hasAcknowledged = false
  while (!writers.every(({ hasAcknowledged }) => hasAcknowledged)) await sleep(20)
}

/** Resolves after the next acknowledgement of any writer. */
async function nextAcknowledgement(outcome: Outcome): Promise<void> {
  const before = outcome.acknowledged
  while (outcome.acknowledged === before) await sleep(20)
}

/** Causes faults in turn until the deadline, each at least once. */
async function runFaults(
  program: string,
  kind: string,
  faults: readonly Fault[],
  store: Store,
  target: string,
  parts: Omit<Environment, 'writers'>,
  deadline: number,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  for (const id of [...CONVERSATIONS, LEASED]) await store.createConversation({ id })
  const acknowledged = new Map<string, Set<string>>()
  let outcome: Outcome | null = null
  const onReport = (report: Report): void => {
    if (report[0] === 'acknowledged') {
      const [, conversation, id] = report
      acknowledged.set(conversation, (acknowledged.get(conversation) ?? new Set()).add(id))
      if (outcome !== null) outcome.acknowledged += 1
    } else if (report[0] === 'failed' && outcome !== null) outcome.failed += 1
    const ms = Number(report.at(-1))
    if (outcome !== null && ms > outcome.longest) outcome.longest = ms
  }
  const writers = Array.from(
    { length: PROCESSES },
    (_, index) => new Writer(program, target, String(index), onReport),
  )
  try {
    for (let turn = 0; turn < faults.length || performance.now() < deadline; turn += 1) {
      const fault = faults[turn % faults.length] as Fault
      outcome = { fault: `${kind}: ${fault.name}`, acknowledged: 0, failed: 0, lost: 0, twice: 0, longest: 0 }
      for (const writer of writers) {
        writer.wasStopped = false
        writer.send('go')
      }
      await Promise.all(writers.map(({ ready }) => ready))
      await Promise.all([sleep(MOMENT), allAcknowledge(writers)])
      await fault.cause({ ...parts, writers })
      await Promise.all([sleep(MOMENT), nextAcknowledgement(outcome)])
      await Promise.all(writers.map((writer) => writer.hold()))
      await check(store, acknowledged, outcome)
      onOutcome(outcome)
    }
  } finally {
    await Promise.all(writers.map((writer) => writer.end()))
  }
}

/**
 * Runs all faults over SQLite and then PostgreSQL, each for half of the time but at least once.
 * @param onOutcome receives each outcome
 * @param program the file of a writer, bundled or not
 */
export async function runAll(
  minutes: number,
  onOutcome: (outcome: Outcome) => void,
  program = join(import.meta.dirname, 'fault-writer.ts'),
): Promise<void> {
  const half = minutes * 30_000
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-faults-'))
  const file = join(folder, 'faults.db')
  const sqlite = sqliteStore({ file, synchronous: 'normal' })
  try {
    await runFaults(program, 'SQLite', SQLITE, sqlite, file, { file }, performance.now() + half, onOutcome)
  } finally {
    await sqlite.close()
    rmSync(folder, { recursive: true, force: true })
  }
  const server = await startServer()
  const proxy = new Proxy(Number(new URL(server.url).port))
  const url = new URL(server.url)
  url.port = String(await proxy.listen())
  const postgres = postgresStore({ url: server.url })
  try {
    const deadline = performance.now() + half
    await runFaults(
      program,
      'PostgreSQL',
      POSTGRES,
      postgres,
      url.href,
      { server, proxy },
      deadline,
      onOutcome,
    )
  } finally {
    await postgres.close()
    proxy.close()
    await server.stop()
  }
}

/** Whether no write was lost or duplicated, and no call exceeded its timeout. */
export const isClean = ({ acknowledged, lost, twice, longest }: Outcome): boolean =>
  acknowledged > 0 && lost === 0 && twice === 0 && longest <= TIMEOUT + SLACK
