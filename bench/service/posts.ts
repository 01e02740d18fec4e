/**
 * Measures messages per second over HTTP into PostgreSQL, next to a trivial route of the same process, and
 * the processor time of each: `npm run bench:service -- --posts`.
 */

import { execFileSync } from 'node:child_process'
import { Agent, request } from 'node:http'
import { readFileSync } from 'node:fs'
import { startServer } from '../../test/postgres/server.ts'
import { machine, median } from '../measure.ts'
import { type Running, start, stop } from './growth.ts'
import { storeAt, type Place } from './fill.ts'

const ROUNDS = 9
const SECONDS = 2
/** Open requests, each to a conversation of its own. */
const AT_ONCE = 32
const PROCESSES = [1, 2, 4]
/** Smallest share of the trivial route's rate. */
const LEAST_SHARE = 0.4

const MESSAGE = JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'Hello' }], run: false })

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

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
  services: readonly Running[],
  server: number,
  urlOf: (service: Running, nth: number) => string,
  body: string,
): Promise<Rate> {
  const cpu = async (): Promise<number> =>
    (await Promise.all(services.map(({ ask }) => ask('cpu')))).reduce((sum, one) => sum + one, 0)
  const before = [await cpu(), databaseCpu(server)] as const
  const begun = performance.now()
  let done = 0
  const one = async (nth: number): Promise<void> => {
    while (performance.now() < begun + SECONDS * 1_000) {
      await post(urlOf(services[nth % services.length] as Running, nth), body)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, nth) => one(nth)))
  const seconds = (performance.now() - begun) / 1_000
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

/** Microseconds of processor time of a server and its backends, which live while their connections do. */
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
  console.log(`${machine()}; ${ROUNDS} rounds of ${SECONDS} s, ${AT_ONCE} requests at once\n`)
  const server = await startServer({ durable: true })
  const database: Place = { url: server.url, schema: 'posts' }
  const store = storeAt(database)
  for (let nth = 0; nth < AT_ONCE; nth += 1) await store.createConversation({ id: `c${nth}` })
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
  const services: Running[] = []
  try {
    for (let nth = 0; nth < Math.max(...PROCESSES); nth += 1)
      services.push(await start(AT_ONCE, { database, webhook: null, follows: false }))
    const rows = [
      { name: 'trivial route', services: services.slice(0, 1), urlOf: (one: Running) => one.trivial },
      ...PROCESSES.map((count) => ({
        name: `messages to ${count} processes`,
        services: services.slice(0, count),
        urlOf: (one: Running, nth: number) => `${one.url}/api/conversations/c${nth}/events`,
      })),
    ]
    const rates = rows.map((): Rate[] => [])
    for (let round = -1; round < ROUNDS; round += 1)
      for (const [index, row] of rows.entries()) {
        const rate = await measureRate(row.services, pid, row.urlOf, MESSAGE)
        if (round >= 0) rates[index]?.push(rate)
      }
    const middle = (index: number, of: keyof Rate): number =>
      median((rates[index] ?? []).map((one) => one[of]))
    console.log(
      `${''.padEnd(26)}${'a second'.padStart(10)}${'share'.padStart(8)}   processor µs each: service, PostgreSQL`,
    )
    const share = (index: number): number =>
      median((rates[index] ?? []).map(({ rate }, round) => rate / (rates[0]?.[round]?.rate ?? rate)))
    for (const [index, { name }] of rows.entries())
      console.log(
        `${name.padEnd(26)}${middle(index, 'rate').toFixed(0).padStart(10)}${share(index).toFixed(2).padStart(8)}${middle(index, 'service').toFixed(0).padStart(12)}${middle(index, 'database').toFixed(0).padStart(10)}`,
      )
    console.log(`load after: ${machine().split('load ')[1]}`)
    return share(1) >= LEAST_SHARE
  } finally {
    for (const service of services) await stop(service)
    agent.destroy()
    await server.stop()
  }
}
