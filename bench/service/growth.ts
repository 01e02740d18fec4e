/** Measures how a service's costs grow with the number of conversations in its database. */

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { MAX_COUNTED } from '../../src/store/contract/query.ts'
import { formatInstant } from '../../src/store/kit/record.ts'
import { startServer, type TestServer } from '../../test/postgres/server.ts'
import { machine, median } from '../measure.ts'
import type { OperationName, ChildConfig, ChildMessage } from './child.ts'
import { fill, createdAt, type Location } from './fill.ts'

/** Maximum growth over the smallest size, in time and in memory. */
const MAX_RATIO = 1.5
const MAX_MEGABYTES = 64

const ROUNDS = 51
/**
 * Warm-up rounds, until every due item has been claimed once. The first change of a page after a
 * checkpoint logs the whole page in PostgreSQL, and a small database has few pages.
 */
const WARM_UP = 11
const STARTS = 5
/** Seconds of counting POSTs, and the number of concurrent ones. */
const SECONDS = 4
const CONCURRENCY = 32

export interface GrowthOptions {
  readonly sizes: readonly number[]
  readonly adapters: readonly string[]
  /** Whether services send webhooks during the measurement. */
  readonly webhooks: boolean
}

/** A service over a database of one size. */
export interface ServiceProcess {
  readonly size: number
  readonly database: Location
  readonly child: ChildProcess
  readonly url: string
  readonly trivial: string
  /** Milliseconds from the start of its process to its first list. */
  readonly started: number
  readonly perform: (operation: OperationName) => Promise<number>
}

/** Waits for webhooks about a conversation. */
class Listener {
  readonly #server: Server
  readonly #waiting = new Map<string, () => void>()

  constructor() {
    this.#server = createServer((request, response) => {
      const id = /\/events\/([^/?]+)/.exec(request.url ?? '')?.[1]
      request.resume().on('end', () => response.end('{}'))
      if (id !== undefined) this.#waiting.get(id)?.()
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  waitFor(id: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

export async function start(size: number, config: ChildConfig): Promise<ServiceProcess> {
  const child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(config)], {
    execArgv: ['--expose-gc'],
  })
  const next = (): Promise<ChildMessage> =>
    new Promise((resolve, reject) => {
      child.once('message', (text: ChildMessage) => resolve(text))
      child.once('exit', (code) => reject(new Error(`a service process exited with ${code}`)))
    })
  const text = await next()
  if (!('url' in text)) throw new Error('a service process reported no address')
  const perform = async (operation: OperationName): Promise<number> => {
    const reply = next()
    child.send(operation)
    const answer = await reply
    child.removeAllListeners('exit')
    return 'value' in answer ? answer.value : 0
  }
  return { size, database: config.database, child, ...text, perform }
}

export async function stop({ child }: ServiceProcess): Promise<void> {
  child.removeAllListeners('exit')
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

async function send(url: string, body?: object): Promise<void> {
  const init = body && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  }
  const response = await fetch(url, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${url} ${text}`)
}

const message = { role: 'user', content: [{ type: 'text', text: 'Hello' }], run: false }

/** An operation that returns its duration in milliseconds. */
type Operation = readonly [name: string, run: (service: ServiceProcess) => Promise<number>]

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startTime = performance.now()
  await work()
  return performance.now() - startTime
}

const request = (name: string, path: string): Operation => [
  name,
  ({ url }) => timed(() => send(`${url}${path}`)),
]

const viaChannel = (name: OperationName): Operation => [name, ({ perform }) => perform(name)]

/** Each list shows ten items; each linear comparison checks 1,000. */
const OPERATIONS: readonly Operation[] = [
  ['create', ({ url }) => timed(() => send(`${url}/api/conversations`, {}))],
  viaChannel('follow'),
  request('list', '/api/conversations/search?limit=10'),
  request('list by change', '/api/conversations/search?limit=10&sort_order=UPDATED_AT_DESC'),
  request('list by status', '/api/conversations/search?limit=10&sort_order=CREATED_AT&status=paused'),
  request('list by tag', '/api/conversations/search?limit=10&sort_order=CREATED_AT&tag=group:7'),
  request('list by sandbox', '/api/v1/app-conversations/search?limit=10&sandbox_id__eq=s11'),
  request(
    'list by creation',
    `/api/v1/app-conversations/search?limit=10&created_at__lt=${formatInstant(createdAt(500))}`,
  ),
  request(
    'list by time of change',
    `/api/v1/app-conversations/search?limit=10&updated_at__gte=${formatInstant(createdAt(0))}`,
  ),
  request('list by title', '/api/v1/app-conversations/search?limit=10&title__contains=no+such'),
  viaChannel('list by parent'),
  // Before the counts, which fill the processor's caches more the larger the database is.
  viaChannel('claim'),
  request('count', '/api/conversations/count'),
  request('count by status', '/api/conversations/count?status=finished'),
  request('count by title', '/api/v1/app-conversations/count?title__contains=no+such'),
]

/**
 * Milliseconds of rest. A notification right after another change waits for the pause between two
 * notifications, whose rest depends on the measurement before. The first list would also wait for earlier
 * writes.
 */
const REST = 100
const AFTER_REST: ReadonlySet<string> = new Set(['follow', 'list', 'webhook'])

/** A count stops at 10,000, so its base is the first size of at least that many. */
const isCount = (name: string): boolean => name.startsWith('count')

interface Row {
  readonly name: string
  /** Milliseconds, by size and round. */
  readonly times: readonly (readonly number[])[]
}

/** Median ratio over the rounds. Both sides run right after each other, so that other load affects both. */
const ratioOf = (times: readonly number[], base: readonly number[]): number =>
  median(times.map((time, round) => time / (base[round] ?? time)))

/**
 * Times each operation at each size in turn. Each round starts with another size, since deferred work,
 * such as webhooks, slows down the next operation.
 */
async function measure(running: readonly ServiceProcess[], operations: readonly Operation[]): Promise<Row[]> {
  const times = operations.map(() => running.map((): number[] => []))
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    for (const [nth, [name, run]] of operations.entries()) {
      for (const turn of running.keys()) {
        const index = (turn + round + running.length) % running.length
        const service = running[index]
        if (service === undefined) continue
        if (AFTER_REST.has(name)) await setTimeout(REST)
        const duration = await run(service)
        if (round >= 0) times[nth]?.[index]?.push(duration)
      }
    }
  }
  return operations.map(([name], nth) => ({ name, times: times[nth] ?? [] }))
}

/** Index of the smallest size that should cost the same. */
const baseOf = (name: string, sizes: readonly number[]): number =>
  isCount(name) ? sizes.findIndex((size) => size >= MAX_COUNTED) : 0

function printRows(rows: readonly Row[], sizes: readonly number[]): string[] {
  const failures: string[] = []
  console.log(
    `  ${'milliseconds (median)'.padEnd(26)}${sizes.map((size) => String(size).padStart(11)).join('')}`,
  )
  for (const { name, times } of rows) {
    const base = baseOf(name, sizes)
    const compared = base < 0 ? [] : times.slice(base).map((all) => ratioOf(all, times[base] ?? []))
    const limit = Math.max(0, ...compared)
    if (limit > MAX_RATIO) failures.push(`${name} costs ${limit.toFixed(2)} times as much`)
    console.log(
      `  ${name.padEnd(26)}${times.map((all) => median(all).toFixed(2).padStart(11)).join('')}   ${limit === 0 ? '' : `${limit.toFixed(2)} x`}`,
    )
  }
  return failures
}

/** POSTs per second over services that share a database. */
async function throughput(
  urls: readonly string[],
  path: (nth: number) => string,
  body?: object,
): Promise<number> {
  let done = 0
  const until = performance.now() + SECONDS * 1_000
  const sendRepeatedly = async (nth: number): Promise<void> => {
    while (performance.now() < until) {
      await send(`${urls[nth % urls.length]}${path(nth)}`, body)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, (_, nth) => sendRepeatedly(nth)))
  return done / SECONDS
}

/** Measures and prints one adapter at every size. Returns the costs that exceed a limit. */
async function measureAdapter(
  adapter: string,
  { sizes, webhooks }: GrowthOptions,
  folder: string,
  server: TestServer | null,
): Promise<string[]> {
  const locationOf = (size: number): Location =>
    server === null ? { file: join(folder, `${size}.db`) } : { url: server.url, schema: `n${size}` }
  for (const size of sizes) {
    const duration = await timed(() => fill(locationOf(size), size))
    console.log(`${adapter}: ${size} conversations filled in ${(duration / 1_000).toFixed(1)} s`)
  }
  const starts = sizes.map((): number[] => [])
  for (let round = -1; round < STARTS; round += 1) {
    for (const [index, size] of sizes.entries()) {
      const service = await start(size, { database: locationOf(size), webhook: null, followsFeed: false })
      if (round >= 0) starts[index]?.push(service.started)
      await stop(service)
    }
  }
  const listener = new Listener()
  const webhook = webhooks ? await listener.listen() : null
  const running: ServiceProcess[] = []
  for (const size of sizes)
    running.push(await start(size, { database: locationOf(size), webhook, followsFeed: true }))
  const webhookOperation: Operation = [
    'webhook',
    ({ url }) =>
      timed(async () => {
        const delivery = listener.waitFor('c9')
        await send(`${url}/api/conversations/c9/events`, message)
        await delivery
      }),
  ]
  const operations = [...OPERATIONS, ...(webhooks ? [webhookOperation] : [])]
  const rows = await measure(running, operations)
  rows.push({ name: 'start', times: starts })
  const memory: number[] = []
  for (const { perform } of running) memory.push(await perform('memory'))
  const failures = printRows(rows, sizes)
  console.log(`  ${'RSS (MB)'.padEnd(26)}${memory.map((mb) => mb.toFixed(0).padStart(11)).join('')}`)
  const memoryGrowth = Math.max(...memory) - (memory[0] ?? 0)
  if (memoryGrowth > MAX_MEGABYTES) failures.push(`RSS grows by ${memoryGrowth.toFixed(0)} MB`)
  await printThroughput(adapter, running[0], server !== null)
  for (const service of running) await stop(service)
  listener.close()
  return failures.map((failure) => `${adapter}: ${failure}`)
}

const eventsOf = (nth: number): string => `/api/conversations/c${nth}/events`

async function printThroughput(
  adapter: string,
  first: ServiceProcess | undefined,
  isShared: boolean,
): Promise<void> {
  if (first === undefined) return
  const trivial = await throughput([first.trivial], () => '/', {})
  console.log(`  POSTs a second: a trivial route ${trivial.toFixed(0)}`)
  const services = [first]
  for (const processes of isShared ? [1, 2, 4] : [1]) {
    while (services.length < processes)
      services.push(await start(first.size, { database: first.database, webhook: null, followsFeed: false }))
    const rate = await throughput(
      services.map(({ url }) => url),
      eventsOf,
      message,
    )
    console.log(`  POSTs a second: messages to ${processes} processes (${adapter}) ${rate.toFixed(0)}`)
  }
  for (const service of services.slice(1)) await stop(service)
}

/** Prints everything. Returns whether all costs are within their limits. */
export async function measureGrowth(options: GrowthOptions): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))
  console.log(`${machine()}; ${ROUNDS} rounds\n`)
  const failures: string[] = []
  try {
    for (const adapter of options.adapters) {
      const server = adapter === 'postgres' ? await startServer({ durable: true }) : null
      try {
        failures.push(...(await measureAdapter(adapter, options, folder, server)))
      } finally {
        await server?.stop()
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  for (const failure of failures) console.log(`over the limit: ${failure}`)
  return failures.length === 0
}
