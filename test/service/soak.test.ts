/**
 * Services over one PostgreSQL are killed in turns under load: nothing acknowledged is lost or repeated
 * (laws W3 to W5, B1, B4). `COLLOQUY_SOAK`: seconds; default 3.
 */

import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { plainId } from '../../src/service/conversations/find-conversation.ts'
import { isOver, type StoredTask } from '../../src/service/control-plane/start-tasks.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'
import { connectSocket, type LiveFrame } from '../../src/testing/server/client.ts'
import { logOf } from '../conversation/stores.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { Fleet, sleep } from './fleet.ts'
import { recordsIn } from './stored-records.ts'
import { Receiver, SECRET } from './receiver.ts'
import { folder, processesIn, until } from './sandbox-commands.ts'

const SECONDS = Number(process.env['COLLOQUY_SOAK'] ?? 3)
const PROCESSES = 3
/** The `ask` conversations need confirmations. */
const IDS = ['soak0', 'soak1', 'soak2', 'ask0', 'ask1']
const STARTERS = 2
/** Milliseconds between two actions of a client, to bound the load. */
const PACE = 100
/** Milliseconds until everything must be idle; far longer than any lease. */
const TIMEOUT = 60_000

const APP = '/api/v1/app-conversations'

let database: TestDatabase
let store: Store
const receiver = new Receiver()
const path = folder()

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
  path.remove()
})

/** Messages of users and agents, in order. */
const messagesIn = (log: readonly StoredEvent[]): { readonly source: string; readonly text: string }[] =>
  log.flatMap(({ fact }) =>
    'llm_message' in fact && (fact.source === 'user' || fact.source === 'agent')
      ? [
          {
            source: fact.source,
            text: (fact.llm_message?.content ?? [])
              .map((part) => ('text' in part ? String(part.text) : ''))
              .join(''),
          },
        ]
      : [],
  )

/** Returns whether the log reports a lost run, as after two crashes on one message. */
function isCutOff(log: readonly StoredEvent[]): boolean {
  const text = log.findLastIndex(({ fact }) => 'source' in fact && fact.kind === 'MessageEvent')
  return log.slice(text).some(({ fact }) => 'code' in fact && fact.code === 'RunLost')
}

const tailOf = async (id: string): Promise<string> =>
  JSON.stringify([await store.getLease(id), ...(await logOf(store, id)).slice(-8).map(({ fact }) => fact)])

/** Ids of the stored sandboxes. */
const stored = async (): Promise<string[]> =>
  [...(await recordsIn(store, 'sandboxes').all()).keys()].toSorted()

/** Folders of the sandboxes. */
const folders = (): string[] => readdirSync(path.path).toSorted()

/** Whether a socket that was closed with this code must not connect again. */
const isFinal = (code: number): boolean =>
  [1000, 1002, 1003, 1007, 1008, 4400].includes(code) || (code >= 4000 && code < 4008)

it(
  'killed services neither lose nor repeat acknowledged work',
  { timeout: 900_000 + SECONDS * 4_000 },
  async () => {
    const fleet = new Fleet([database.url, receiver.url, SECRET, path.path])
    await Promise.all(Array.from({ length: PROCESSES }, (_, index) => fleet.start(index)))
    const end = performance.now() + SECONDS * 1_000
    /** A busy machine needs longer until enough has happened. */
    const isRunning = (): boolean => performance.now() < end || fleet.kills < 2
    const messages = new Map<string, string[]>()
    const deleted = new Set<string>()
    /** Event ids of each log, as received over all connections of a socket. */
    const receivedIds = new Map<string, string[]>()
    const over = new AbortController()
    const readers: Promise<void>[] = []

    const listen = (id: string): void => {
      const ids: string[] = []
      receivedIds.set(id, ids)
      const reading = async (): Promise<void> => {
        for (let after = -1; !over.signal.aborted;) {
          const socket = connectSocket({ url: fleet.url }, id, { after })
          over.signal.addEventListener('abort', socket.close, { once: true })
          const read = ({ type, position, event }: LiveFrame): boolean => {
            after = position ?? after
            if (type === 'event') ids.push(String(event.id))
            return false
          }
          // No frame matches, so this reads each one until the connection ends.
          await socket.find(read).catch(() => undefined)
          expect(socket.frames.map(({ type }) => type)).not.toContain('reset')
          const { code } = await socket.closed
          if (!over.signal.aborted && isFinal(code))
            throw new Error(`The server ended the stream with ${code}`)
          if (socket.frames.length === 0) await sleep(50)
        }
      }
      readers.push(reading())
    }

    const write = async (id: string): Promise<void> => {
      const isAsking = id.startsWith('ask')
      const first = `${id} says first`
      const { status } = await fleet.request('POST', '/api/conversations', {
        conversation_id: id,
        initial_message: { content: [{ text: first }] },
        ...(isAsking && { confirmation_policy: { kind: 'AlwaysConfirm' } }),
      })
      expect([200, 201]).toContain(status)
      messages.set(id, [first])
      listen(id)
      for (let n = 0; isRunning(); n += 1) {
        if (isAsking) await approveCalls(id)
        const text = `${id} says ${n}`
        const body = { content: [{ text }], key: `${id}-${n}`, run: true }
        expect((await fleet.request('POST', `/api/conversations/${id}/events`, body)).status).toBe(200)
        messages.get(id)?.push(text)
        await sleep(PACE)
      }
      if (isAsking) await approveCalls(id)
    }

    /** Approves pending calls until none is left. */
    const approveCalls = async (id: string): Promise<void> => {
      await until(async () => {
        const { body } = await fleet.request('GET', `/api/conversations/${id}`)
        const { execution_status: status } = body
        if (status !== 'waiting_for_confirmation') return status === 'finished' || status === 'error'
        const answer = await fleet.request(
          'POST',
          `/api/conversations/${id}/events/respond_to_confirmation`,
          {
            accept: true,
          },
        )
        expect([200, 409]).toContain(answer.status)
        return false
      }, TIMEOUT).catch(async () => {
        throw new Error(`${id} asks for nothing: ${await tailOf(id)}`)
      })
    }

    /** Starts conversations in new sandboxes, and deletes every third once it exists. */
    const begin = async (starter: number): Promise<void> => {
      for (let n = 0; isRunning(); n += 1) {
        const id = `${starter}f8fad5b-d9cb-469f-a165-${String(n).padStart(12, '0')}`
        const text = `${id} begins`
        const { status } = await fleet.request('POST', APP, {
          conversation_id: id,
          initial_message: { content: [{ text }] },
        })
        // A repeated request finds the conversation.
        expect([200, 409]).toContain(status)
        if (n % 3 === 1) {
          await until(async () => (await store.getConversation(id)) !== null, TIMEOUT)
          expect([200, 404]).toContain((await fleet.request('DELETE', `${APP}/${id}`)).status)
          deleted.add(id)
        } else messages.set(id, [text])
        await sleep(PACE * 2)
      }
    }

    /** Keeps one process dead at a time; the others finish its work. */
    const kill = async (): Promise<void> => {
      for (let turn = 0; isRunning(); turn += 1) {
        await sleep(700)
        await fleet.kill(turn % PROCESSES)
        await sleep(300)
        await fleet.start((turn + 2) % PROCESSES)
      }
    }

    try {
      await Promise.all([
        ...IDS.map(write),
        ...Array.from({ length: STARTERS }, (_, index) => begin(index)),
        kill(),
      ])
      await checkStarts()
      await checkLogs()
      await checkReaders()
      expect(receiver.forged).toBe(0)
      over.abort()
      await Promise.all(readers)
      await fleet.killAll()
      await until(() => processesIn(path.path).length === 0, TIMEOUT)
    } finally {
      over.abort()
      await fleet.killAll()
    }

    /** Each start has ended, each conversation exists, and each sandbox belongs to a start. */
    async function checkStarts(): Promise<void> {
      const tasks = await until(async () => {
        const all = [...(await recordsIn<StoredTask>(store, 'start-tasks').all()).values()]
        return all.every(isOver) ? all : null
      }, TIMEOUT)
      expect(tasks.filter(({ status }) => status === 'ERROR')).toEqual([])
      const planned = tasks.map((task) => task.planned_id)
      expect(new Set(planned).size).toBe(planned.length)
      expect([...deleted].filter((id) => planned.includes(id))).toEqual([])
      for (const id of planned) expect(messages.has(id)).toBe(true)
      for (const id of deleted) expect(await store.getConversation(id)).toBeNull()
      const owned = tasks.map((task) => String(task.sandbox_id)).toSorted()
      await until(async () => String(await stored()) === String(owned), TIMEOUT).catch(async () =>
        expect(await stored()).toEqual(owned),
      )
      await until(() => String(folders()) === String(owned), TIMEOUT).catch(() =>
        expect(folders()).toEqual(owned),
      )
    }

    /** Acknowledged messages are in the log once, in order, with at most one reply each. */
    async function checkLogs(): Promise<void> {
      for (const [id, texts] of messages) {
        const isAnswered = async (): Promise<readonly StoredEvent[] | null> => {
          const log = await logOf(store, id)
          return messagesIn(log).at(-1)?.source === 'agent' || isCutOff(log) ? log : null
        }
        const log = await until(isAnswered, TIMEOUT).catch(async () => {
          throw new Error(`${id} is not answered: ${await tailOf(id)}`)
        })
        const logged = messagesIn(log)
        expect(logged.filter(({ source }) => source === 'user').map(({ text }) => text)).toEqual(texts)
        // No message has two replies: a reply repeats its message, which may precede later ones.
        const replies = logged.filter(({ source }) => source === 'agent').map(({ text }) => text)
        if (!id.startsWith('ask')) expect(new Set(replies).size).toBe(replies.length)
        let open = 0
        for (const { source } of logged) {
          open += source === 'user' ? 1 : -1
          expect(open).toBeGreaterThanOrEqual(0)
        }
      }
    }

    /** Sockets and the webhook got each event in order; the webhook may repeat messages. */
    async function checkReaders(): Promise<void> {
      for (const id of messages.keys()) {
        const log = (await logOf(store, id)).map((event) => event.id)
        const reports = (): string[] =>
          [
            ...new Map(receiver.accepted(`/events/${plainId(id)}`).map((one) => [one.id, one.body])).values(),
          ].flatMap((body) => (body as { id: string }[]).map((event) => event.id))
        await until(() => new Set(reports()).size >= log.length, TIMEOUT).catch(() => undefined)
        expect(reports()).toEqual(log)
        const ids = receivedIds.get(id)
        if (ids === undefined) continue
        await until(() => ids.length >= log.length, TIMEOUT).catch(() => undefined)
        expect(ids).toEqual(log)
      }
      for (const id of deleted) {
        const last = () => receiver.all.findLast(({ body }) => (body as { id?: unknown }).id === id)?.type
        // A conversation deleted before its first webhook message needs no message.
        await until(() => ['conversation.deleted', undefined].includes(last()), TIMEOUT).catch(
          () => undefined,
        )
        expect(['conversation.deleted', undefined]).toContain(last())
      }
    }
  },
)
