/**
 * Prints how many search pages a second the service serves over HTTP, and its p99, next to the bare store
 * call and a trivial Hono route with as many bytes: `npm run bench:service`.
 */

import { Agent, get } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { Hono } from 'hono'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/index.ts'
import { listen } from '../../src/service/node/server.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { machine, median } from '../measure.ts'
import { decoded, makeLines } from '../workload.ts'

const EVENTS = 10_000
const LIMITS = [10, 100]
/** Open requests at any time. */
const CONCURRENCY = 16
const REQUESTS = 2_000
/** Rounds of all rows in turns after a warm-up, so that noise affects all alike. */
const ROUNDS = 5

/** URLs that the client requests in a loop. It reports the total time and each request's. */
interface Task {
  readonly urls: readonly string[]
  readonly requests: number
}

interface Timing {
  /** Milliseconds. */
  readonly total: number
  readonly each: readonly number[]
}

/**
 * The client, in its own thread, with the maximum number of concurrent requests over kept-alive
 * connections.
 */
async function requestPages({ urls, requests }: Task): Promise<Timing> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
  const each: number[] = []
  let next = 0
  const requestRepeatedly = async (): Promise<void> => {
    while (next < requests) {
      const url = urls[next % urls.length] ?? ''
      next += 1
      const start = performance.now()
      await new Promise<void>((resolve, reject) => {
        get(url, { agent }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`${response.statusCode} ${url}`))
          response.on('data', () => undefined).on('end', resolve)
        }).on('error', reject)
      })
      each.push(performance.now() - start)
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: CONCURRENCY }, requestRepeatedly))
  agent.destroy()
  return { total: performance.now() - start, each }
}

interface Row {
  readonly name: string
  readonly run: () => Promise<Timing>
}

/** Makes the calls one after the other, in this thread. */
async function callInTurn(calls: readonly (() => Promise<unknown>)[]): Promise<Timing> {
  const each: number[] = []
  const start = performance.now()
  for (let index = 0; index < REQUESTS; index += 1) {
    const callStart = performance.now()
    await calls[index % calls.length]?.()
    each.push(performance.now() - callStart)
  }
  return { total: performance.now() - start, each }
}

async function rowsOver(
  name: string,
  store: Store,
  limit: number,
  viaHttp: (urls: readonly string[]) => Promise<Timing>,
): Promise<{ readonly rows: readonly Row[]; readonly bytes: number; readonly close: () => Promise<void> }> {
  const engine = createEngine({ store })
  const service = createService({ engine })
  const filter = { conversationId: 'c', excludeKinds: ['ConversationStateUpdateEvent'] as const, limit }
  const cursors: (string | null)[] = [null]
  for (const cursor of cursors) {
    const { cursor: next } = await store.search({ ...filter, ...(cursor !== null && { cursor }) })
    // The list grows while it is walked, until there is no next page.
    if (next !== null) cursors.push(next)
  }
  const paths = cursors.map((cursor) => {
    const page = cursor === null ? '' : `&page_id=${encodeURIComponent(cursor)}`
    return `/api/shared-events/search?conversation_id=c&limit=${limit}${page}`
  })
  const sizes = await Promise.all(
    paths.slice(0, 20).map(async (path) => {
      const response = await service.fetch(new Request(`http://localhost${path}`))
      return (await response.text()).length
    }),
  )
  const bytes = Math.round(sizes.reduce((a, b) => a + b, 0) / sizes.length)
  const trivial = new Hono().get('/', (context) => context.json({ text: 'x'.repeat(bytes - 11) }))
  const server = await listen({ fetch: service.fetch, port: 0 })
  const floor = await listen({ fetch: (request) => trivial.fetch(request), port: 0 })
  const searches = cursors.map(
    (cursor) => () => store.search({ ...filter, ...(cursor !== null && { cursor }) }),
  )
  return {
    bytes,
    rows: [
      { name: `${name}: bare store call`, run: () => callInTurn(searches) },
      { name: `${name}: trivial Hono route`, run: () => viaHttp([`${floor.url}/`]) },
      { name: `${name}: search over HTTP`, run: () => viaHttp(paths.map((path) => server.url + path)) },
    ],
    async close() {
      await Promise.all([server.close(), floor.close()])
      await engine.close()
    },
  }
}

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))
  const client = new Worker(new URL(import.meta.url))
  client.on('error', (error) => {
    throw error
  })
  const viaHttp = (urls: readonly string[]): Promise<Timing> =>
    new Promise((resolve) => {
      client.once('message', resolve)
      client.postMessage({ urls, requests: REQUESTS } satisfies Task, [])
    })
  const events = makeLines(EVENTS).map(decoded)
  console.log(
    `${machine()}; ${EVENTS} events, ${CONCURRENCY} requests at once, ${ROUNDS} rounds of ${REQUESTS}\n`,
  )
  for (const [name, store] of [
    ['memory', memoryStore()],
    ['sqlite', sqliteStore({ file: join(folder, 'bench.db'), synchronous: 'normal' })],
  ] as const) {
    await store.createConversation({ id: 'c', public: true })
    await store.append('c', events, { mode: 'import', expected: 'none' })
    for (const limit of LIMITS) {
      const { rows, bytes, close } = await rowsOver(name, store, limit, viaHttp)
      const rates = rows.map((): number[] => [])
      const slowest = rows.map((): number[] => [])
      for (let round = -1; round < ROUNDS; round += 1) {
        for (const [index, row] of rows.entries()) {
          const { total, each } = await row.run()
          if (round < 0) continue
          rates[index]?.push((REQUESTS * 1_000) / total)
          slowest[index]?.push(p99(each))
        }
      }
      console.log(`pages of ${limit} events, ${(bytes / 1_000).toFixed(1)} kB`)
      for (const [index, row] of rows.entries()) {
        const rate = Math.round(median(rates[index] ?? []))
        const slow = median(slowest[index] ?? [])
        console.log(
          `  ${row.name.padEnd(30)} ${String(rate).padStart(7)} a second   p99 ${slow.toFixed(2).padStart(7)} ms`,
        )
      }
      await close()
    }
    await store.close()
  }
  await client.terminate()
  rmSync(folder, { recursive: true, force: true })
}

if (isMainThread) await main()
else parentPort?.on('message', async (task: Task) => parentPort?.postMessage(await requestPages(task), []))
