/**
 * Measures messages per second over HTTP into PostgreSQL, next to a trivial route of the same process, and
 * the processor time of each: `npm run bench:service -- --posts`.
 */

import { execFileSync } from 'node:child_process'
import { Agent, request } from 'node:http'
import { readFileSync } from 'node:fs'
import { startServer } from '../../test/postgres/server.ts'
import { machine, median } from '../measure.ts'
import { type ServiceProcess, start, stop } from './growth.ts'
import { openStore, type Location } from './fill.ts'

const ROUNDS = 9
const SECONDS = 2
/** Concurrent requests, each to a separate conversation. */
const CONCURRENCY = 32
const PROCESSES = [1, 2, 4]
/** Smallest share of the trivial route's rate. */
const MIN_SHARE = 0.4

const MESSAGE = JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'Hello' }], run: false })

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })

const post = (url: string, body: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    request(url, { method: 'POST', agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${response.statusCode} ${url}`))
      response.resume().on('end', resolve)
    })
      .on('error', reject)
      .end(body)
  })

/** POSTs per second, with the processor time of all services and of PostgreSQL for each, in microseconds. */
interface Rate {
  readonly rate: number
  readonly service: number
  readonly database: number
}

async function measureRate(
  services: readonly ServiceProcess[],
  server: number,
  urlOf: (service: ServiceProcess, nth: number) => string,
  body: string,
): Promise<Rate> {
  const cpu = async (): Promise<number> =>
    (await Promise.all(services.map(({ perform }) => perform('cpu')))).reduce((sum, time) => sum + time, 0)
  const before = [await cpu(), databaseCpu(server)] as const
  const startTime = performance.now()
  let done = 0
  const postRepeatedly = async (nth: number): Promise<void> => {
    while (performance.now() < startTime + SECONDS * 1_000) {
      await post(urlOf(services[nth % services.length] as ServiceProcess, nth), body)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, (_, nth) => postRepeatedly(nth)))
  const seconds = (performance.now() - startTime) / 1_000
  return {
    rate: done / seconds,
    service: ((await cpu()) - before[0]) / done,
    database: (databaseCpu(server) - before[1]) / done,
  }
}

function ticksOf(process: string): number {
  try {
    const [, fields = ''] = readFileSync(`/proc/${process}/stat`, 'utf8').split(') ')
    const [user, system] = fields.split(' ').slice(11, 13)
    return Number(user) + Number(system)
  } catch {
    return 0
  }
}

/** Microseconds of processor time of a server and the backends of its open connections. */
function databaseCpu(server: number): number {
  const ids = execFileSync('ps', ['-o', 'pid=', '--ppid', String(server)], { encoding: 'utf8' })
  const ticks = ids
    .trim()
    .split(/\s+/)
    .reduce((sum, id) => sum + ticksOf(id), 0)
  return ticks * 10_000
}

/** Prints the rates. Returns whether one process reaches its share of the trivial route's rate. */
export async function measurePosts(): Promise<boolean> {
  console.log(`${machine()}; ${ROUNDS} rounds of ${SECONDS} s, ${CONCURRENCY} requests at once\n`)
  const server = await startServer({ durable: true })
  const database: Location = { url: server.url, schema: 'posts' }
  const store = openStore(database)
  for (let nth = 0; nth < CONCURRENCY; nth += 1) await store.createConversation({ id: `c${nth}` })
  const [{ pid }] = (await import('pg').then(async ({ default: pg }) => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows } = await client.query(
      `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`,
    )
    await client.end()
    return rows
  })) as [{ pid: number }]
  await store.close()
  const services: ServiceProcess[] = []
  try {
    for (let nth = 0; nth < Math.max(...PROCESSES); nth += 1)
      services.push(await start(CONCURRENCY, { database, webhook: null, followsFeed: false }))
    const rows = [
      {
        name: 'trivial route',
        services: services.slice(0, 1),
        urlOf: (service: ServiceProcess) => service.trivial,
      },
      ...PROCESSES.map((count) => ({
        name: `messages to ${count} processes`,
        services: services.slice(0, count),
        urlOf: (service: ServiceProcess, nth: number) => `${service.url}/api/conversations/c${nth}/events`,
      })),
    ]
    const rates = rows.map((): Rate[] => [])
    for (let round = -1; round < ROUNDS; round += 1)
      for (const [index, row] of rows.entries()) {
        const rate = await measureRate(row.services, pid, row.urlOf, MESSAGE)
        if (round >= 0) rates[index]?.push(rate)
      }
    const medianOf = (index: number, of: keyof Rate): number =>
      median((rates[index] ?? []).map((rate) => rate[of]))
    console.log(
      `${''.padEnd(26)}${'a second'.padStart(10)}${'share'.padStart(8)}   processor µs each: service, PostgreSQL`,
    )
    const share = (index: number): number =>
      median((rates[index] ?? []).map(({ rate }, round) => rate / (rates[0]?.[round]?.rate ?? rate)))
    for (const [index, { name }] of rows.entries())
      console.log(
        `${name.padEnd(26)}${medianOf(index, 'rate').toFixed(0).padStart(10)}${share(index).toFixed(2).padStart(8)}${medianOf(index, 'service').toFixed(0).padStart(12)}${medianOf(index, 'database').toFixed(0).padStart(10)}`,
      )
    console.log(`load after: ${machine().split('load ')[1]}`)
    return share(1) >= MIN_SHARE
  } finally {
    for (const service of services) await stop(service)
    agent.destroy()
    await server.stop()
  }
}
