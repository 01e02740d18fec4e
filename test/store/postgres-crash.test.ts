/** Acknowledged writes survive kills of the writers and of the server (law S). */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { hasCode } from '../../src/event/errors.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { replay } from '../../src/state/reduce.ts'
import { settled, until } from '../postgres/sql-sessions.ts'
import { startServer, type TestServer } from '../postgres/server.ts'

/** Number of times the writers are killed; the server is killed a third as often. */
const KILLS = Number(process.env.COLLOQUY_KILLS ?? 4)

let server: TestServer

beforeAll(async () => {
  server = await startServer()
})

afterAll(() => server.stop())

type Acknowledged = Map<string, number>

interface Writer {
  readonly child: ChildProcess
  /** Acknowledged positions by id. */
  readonly acknowledged: Acknowledged
  /** Resolves just before it opens the store. */
  readonly ready: Promise<unknown>
}

function startWriter(schema: string, name: string): Writer {
  const child = spawn(process.execPath, [join(inject('built'), 'test/writer.js'), server.url, schema, name], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text))
  child.on('close', (code) => {
    if (code !== null) throw new Error(`a writer ended by itself: ${errorOutput}`)
  })
  const acknowledged: Acknowledged = new Map()
  const lines = createInterface({ input: child.stdout })
  const ready = once(lines, 'line')
  lines.on('line', (line) => {
    const text = JSON.parse(line) as 'go' | readonly (readonly [number, string])[]
    if (text !== 'go') for (const [seq, id] of text) acknowledged.set(id, seq)
  })
  return { child, acknowledged, ready }
}

async function kill({ child }: Writer): Promise<void> {
  const gone = once(child, 'close')
  child.kill('SIGKILL')
  await gone
}

/** Compares a log with the acknowledgements and a replay: positions, tree and HEAD. Returns the number of events. */
async function check(store: Store, acknowledged: Acknowledged): Promise<number> {
  const record = await store.getConversation('c')
  if (record === null) {
    expect(acknowledged.size).toBe(0)
    return 0
  }
  const events = await store.read('c', { limit: 1_000_000 })
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i))
  expect(record.version).toBe(events.length)
  const positions = new Map(events.map(({ id, seq }) => [id, seq]))
  for (const [id, seq] of acknowledged) expect(positions.get(id), id).toBe(seq)
  const { log } = replay(
    events.map(({ fact }) => fact),
    { conversationId: 'c' },
  )
  expect([...log.entries].map(({ parent }) => parent?.id ?? null)).toEqual(
    events.map(({ parentId }) => parentId),
  )
  expect(record.headId).toBe(log.head?.id ?? null)
  expect(await store.count({ conversationId: 'c' })).toBe(events.length)
  expect(await store.auditBlobs()).toMatchObject({ unused: [], damaged: [], missing: [] })
  // The log still accepts appends.
  const { version } = await store.append('c', [{ kind: 'PauseEvent', id: `after ${events.length}` }])
  expect(version).toBe(events.length + 1)
  return events.length
}

describe('acknowledged writes', () => {
  it(`survive ${KILLS} kills of two writers during schema creation or appends`, async () => {
    let written = 0
    for (let round = 0; round < KILLS; round += 1) {
      const schema = `kill_${round}`
      const store = postgresStore({ url: server.url, schema })
      const writers = [startWriter(schema, 'x'), startWriter(schema, 'y')]
      await Promise.all(writers.map(({ ready }) => ready))
      // The first rounds end during schema creation, the others after some appends.
      const target = 20 + Math.random() * 60
      const countAcknowledged = (): number => writers.reduce((sum, each) => sum + each.acknowledged.size, 0)
      if (round % 4 === 0) await sleep(20 + Math.random() * 60)
      // Waits for appends, not for time: a busy machine writes less.
      else await until(async () => countAcknowledged() >= target)
      await Promise.all(writers.map(kill))
      await settled(server.url)
      const acknowledged = new Map(writers.flatMap((writer) => [...writer.acknowledged]))
      written += await check(store, acknowledged)
      await store.close()
    }
    expect(written).toBeGreaterThan(KILLS * 10)
  })

  it('survive kills and restarts of the server, and the same store can continue', async () => {
    const rounds = Math.max(2, Math.ceil(KILLS / 3))
    const store = postgresStore({ url: server.url, schema: 'server', pollInterval: 50 })
    await store.createConversation({ id: 'c' })
    const acknowledged: Acknowledged = new Map()
    let failures = 0
    const stop = new AbortController()
    const wakes: number[] = []
    store.watch('c', () => wakes.push(Date.now()))
    const writing = (async () => {
      for (let i = 0; !stop.signal.aborted; i += 1) {
        const facts = [
          { kind: 'PauseEvent' as const, id: `a${i}` },
          { kind: 'PauseEvent' as const, id: `b${i}` },
        ]
        for (;;) {
          try {
            const { events } = await store.append('c', facts)
            for (const { id, seq } of events) acknowledged.set(id ?? '', seq)
            break
          } catch (error) {
            // Only retryable errors are allowed.
            if (!hasCode(error, 'store_unavailable') && !hasCode(error, 'store_busy')) throw error
            failures += 1
            await sleep(10)
          }
        }
      }
    })()
    for (let round = 0; round < rounds; round += 1) {
      const before = acknowledged.size
      await sleep(100 + Math.random() * 100)
      if (round % 2 === 0) {
        await server.kill()
        await sleep(30)
        await server.start()
      } else await server.restart()
      while (acknowledged.size < before + 20) await sleep(10)
    }
    stop.abort()
    await writing
    expect(failures).toBeGreaterThan(0)
    await check(store, acknowledged)
    expect(await store.count({ conversationId: 'c' })).toBe(acknowledged.size + 1)
    // The watch still works.
    wakes.length = 0
    const other = postgresStore({ url: server.url, schema: 'server' })
    await other.append('c', [{ kind: 'PauseEvent', id: 'last' }])
    while (wakes.length === 0) await sleep(10)
    await Promise.all([store.close(), other.close()])
  })
})
