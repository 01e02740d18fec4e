/**
 * Prints how long an appended event takes to reach 1, 50 and 200 sockets, next to bare sockets that send
 * the same bytes: `npm run bench:live`.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import { createEngine } from '../src/conversation/engine.ts'
import type { Event } from '../src/event/types.ts'
import { createService } from '../src/service/index.ts'
import { listen } from '../src/service/node/server.ts'
import { createSockets } from '../src/service/node/sockets.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/contract/store.ts'
import { noArguments } from '../test/usage.ts'
import { machine } from './measure.ts'

const READERS = [1, 50, 200]
const EVENTS = 300
/** Milliseconds between events, so that each one finds idle sockets. */
const INTERVAL = 4
const BODY = 'x'.repeat(1_000)

/**
 * The readers' address and number. They report the latency of every event at every socket, in
 * microseconds.
 */
interface Task {
  readonly url: string
  readonly readers: number
}

/** An event that contains its creation time. All threads share the clock. */
const eventWithTime = (): Event => ({
  kind: 'MessageEvent',
  source: 'environment',
  llm_message: { role: 'user', content: [{ type: 'text', text: `@${process.hrtime.bigint()}@${BODY}` }] },
})

const messageText = (data: RawData): string => (data as Buffer).toString('latin1')

const report = (message: 'ready' | readonly number[]): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message)
}

/** Runs the readers, in their own thread. */
function runReaders({ url, readers }: Task): void {
  const latencies: number[] = []
  let open = 0
  let remaining = readers * EVENTS
  for (let index = 0; index < readers; index += 1) {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    socket.on('message', (data) => {
      const now = process.hrtime.bigint()
      const text = messageText(data)
      const sentAt = /@(\d+)@/.exec(text)?.[1]
      if (sentAt === undefined) {
        // The service reports the end of the replay; a bare socket sends hello.
        if (text.includes('caught_up') && (open += 1) === readers) report('ready')
        return
      }
      latencies.push(Number(now - BigInt(sentAt)) / 1_000)
      if ((remaining -= 1) === 0) report(latencies)
    })
  }
}

/** Sends events one after the other. Returns the readers' latencies, ascending. */
async function time(url: string, readers: number, send: () => Promise<void> | void): Promise<number[]> {
  const worker = new Worker(import.meta.filename, { workerData: { url, readers } satisfies Task })
  const nextMessage = (): Promise<unknown> => new Promise((resolve) => worker.once('message', resolve))
  await nextMessage()
  const done = nextMessage()
  for (let index = 0; index < EVENTS; index += 1) {
    await send()
    await new Promise((resolve) => setTimeout(resolve, INTERVAL))
  }
  const latencies = (await done) as number[]
  await worker.terminate()
  return latencies.toSorted((a, b) => a - b)
}

async function timeService(store: Store, readers: number): Promise<number[]> {
  const engine = createEngine({ store })
  const service = createService({ engine })
  const sockets = createSockets(service)
  const server = await listen({
    fetch: service.fetch,
    port: 0,
    upgrade: sockets.upgrade,
    onShutdown: sockets.close,
  })
  const conversation = await engine.create()
  const url = `${server.url.replace('http', 'ws')}/sockets/events/${conversation.id}`
  const latencies = await time(url, readers, async () => {
    await conversation.append(eventWithTime())
  })
  await server.close()
  await engine.close()
  await store.close()
  return latencies
}

/** No store, engine or state: sends the same text to every socket. */
async function timeBare(readers: number): Promise<number[]> {
  const server = createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on('connection', (socket) => socket.send('"caught_up"'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const latencies = await time(`ws://127.0.0.1:${port}`, readers, () => {
    const text = JSON.stringify(eventWithTime())
    for (const socket of sockets.clients) socket.send(text)
  })
  for (const socket of sockets.clients) socket.terminate()
  await new Promise((resolve) => server.close(resolve))
  return latencies
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

const cell = (micros: number): string => `${(micros / 1_000).toFixed(2)} ms`.padStart(10)

async function main(): Promise<void> {
  noArguments()
  console.log(machine())
  console.log(
    `Time from the append to the reader: ${EVENTS} events of 1 kB, one every ${INTERVAL} ms, readers in a separate thread\n`,
  )
  console.log(
    `${'sockets'.padStart(7)}  ${''.padEnd(16)}${'median'.padStart(10)}${'p99'.padStart(10)}${'maximum'.padStart(10)}`,
  )
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))
  try {
    for (const readers of READERS) {
      const rows: readonly (readonly [string, () => Promise<number[]>])[] = [
        ['bare sockets', () => timeBare(readers)],
        ['memory', () => timeService(memoryStore(), readers)],
        ['SQLite', () => timeService(sqliteStore({ file: join(folder, `${readers}.db`) }), readers)],
      ]
      for (const [name, run] of rows) {
        const sorted = await run()
        console.log(
          `${String(readers).padStart(7)}  ${name.padEnd(16)}${cell(quantile(sorted, 0.5))}${cell(quantile(sorted, 0.99))}${cell(quantile(sorted, 1))}`,
        )
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (isMainThread) await main()
else runReaders(workerData as Task)
