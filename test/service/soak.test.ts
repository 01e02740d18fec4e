/**
 * Services as processes over one PostgreSQL, killed in turns under load: nothing that was acknowledged is lost or said
 * twice, and the others take over (laws W3 to W5, B4). `COLLOQUY_SOAK` gives the seconds that it takes; default: 4.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { Receiver, SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

const SECONDS = Number(process.env['COLLOQUY_SOAK'] ?? 4)
const PROCESSES = 3
const CONVERSATIONS = 6
/** Milliseconds between two messages of one writer, so that the load is bounded. */
const PACE = 100

let database: TestDatabase
let store: Store
const receiver = new Receiver()

beforeAll(async () => {
  await receiver.start()
  database = await testDatabase()
  store = postgresStore({ url: database.url })
  await store.listConversations({ limit: 1 })
})

afterAll(async () => {
  await store.close()
  await receiver.stop()
  await database.drop()
})

interface Served {
  readonly url: string
  readonly child: ChildProcessByStdio<null, Readable, null>
}

async function serve(): Promise<Served> {
  const file = join(inject('built'), 'test/soak-child.ts')
  const child = spawn(process.execPath, [file, database.url, receiver.url, SECRET], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { url: String(text).trim(), child }
}

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))

it('lose and double nothing, however they are killed', { timeout: 600_000 + SECONDS * 4_000 }, async () => {
  const services = await Promise.all(Array.from({ length: PROCESSES }, serve))
  const end = performance.now() + SECONDS * 1_000
  const ids = Array.from({ length: CONVERSATIONS }, (_, at) => `soak${at}`)
  const acknowledged = new Map<string, string[]>(ids.map((id) => [id, []]))
  let kills = 0
  /** On a busy machine it takes longer until enough has happened. */
  const isOver = (): boolean => performance.now() >= end && kills > 1

  /** Asks any service, and another one where that dies; an operation is asked again as it was. */
  const ask = async (path: string, body: object): Promise<number> => {
    for (let at = Math.floor(Math.random() * PROCESSES); ; at += 1) {
      const url = services[at % PROCESSES]?.url ?? ''
      const response = await fetch(`${url}/api/conversations${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      }).catch(() => null)
      await response?.arrayBuffer().catch(() => undefined)
      if (response !== null && response.status < 500) return response.status
      await sleep(20)
    }
  }

  const write = async (id: string): Promise<void> => {
    expect([200, 201]).toContain(await ask('', { conversation_id: id }))
    for (let n = 0; !isOver(); n += 1) {
      const said = `${id} says ${n}`
      const status = await ask(`/${id}/events`, { content: [{ text: said }], key: `${id}-${n}`, run: true })
      expect(status).toBe(200)
      acknowledged.get(id)?.push(said)
      await sleep(PACE)
    }
  }

  const kill = async (): Promise<void> => {
    for (let turn = 0; !isOver(); turn += 1) {
      await sleep(700)
      const at = turn % PROCESSES
      const victim = services[at]
      const ended = victim && once(victim.child, 'exit')
      victim?.child.kill('SIGKILL')
      await ended
      kills += 1
      services[at] = await serve()
    }
  }

  try {
    await Promise.all([...ids.map(write), kill()])
    for (const id of ids) {
      const facts = await until(async () => {
        const log = await store.read(id)
        const said = log.filter(({ fact }) => 'source' in fact && fact.kind === 'MessageEvent')
        const last = said.at(-1)?.fact
        return last !== undefined && 'source' in last && last.source === 'agent' ? log : null
      })
      const users = facts.flatMap(({ fact }) =>
        'llm_message' in fact && fact.source === 'user'
          ? (fact.llm_message?.content ?? []).map((part) => ('text' in part ? String(part.text) : ''))
          : [],
      )
      expect(users).toEqual(acknowledged.get(id))
    }
    // All of it has come to the webhook, in order, each message of which the receiver leaves out what it has.
    for (const id of ids) {
      const log = await until(async () => {
        const events = (await store.read(id)).map((event) => event.id)
        return new Set(receiver.events(id)).size >= events.length ? events : null
      })
      const messages = new Map(receiver.taken(`/events/${id}`).map((one) => [one.id, one.body]))
      const told = [...messages.values()].flatMap((body) =>
        (body as { id: string }[]).map((event) => event.id),
      )
      expect(told).toEqual(log)
    }
    expect(receiver.forged).toBe(0)
  } finally {
    for (const { child } of services) child.kill('SIGKILL')
  }
})
