import { afterEach } from 'vitest'
import { scriptedAgent, type ScriptedReply } from './scripted-agent.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { gate } from './gate.ts'

export interface Info {
  readonly id: string
  readonly title: string | null
  readonly tags: Readonly<Record<string, string>>
  readonly execution_status: string
  readonly error: { readonly code: string } | null
  readonly leaf_event_id: string | null
  readonly event_count: number
  readonly pending_action_ids: readonly string[]
  readonly parent_conversation_id: string | null
  readonly forked_from_conversation_id: string | null
  readonly forked_from_event_id: string | null
  readonly workspace: unknown
}

export const BASE = '/api/conversations'

export interface LifecycleFixture {
  client: Client
  readonly begin: (replies?: readonly ScriptedReply[], store?: Store) => Promise<void>
  /** Creates a conversation and returns its id. */
  readonly create: (body?: object) => Promise<string>
  readonly info: (id: string) => Promise<Info>
  /** Creates a conversation whose run waits in its first step until `open` is called. */
  readonly startHangingRun: () => Promise<{ readonly id: string; readonly open: () => void }>
  /** Waits for a status and returns the conversation. */
  readonly waitForStatus: (id: string, status?: string | readonly string[]) => Promise<Info>
  readonly eventsOf: (id: string, kind?: string) => Promise<Event[]>
  readonly kindsOf: (id: string) => Promise<string[]>
  /** Sends POST requests one after another, and returns their status codes. */
  readonly codes: (...requests: readonly (readonly [string, unknown?])[]) => Promise<number[]>
}

/** Starts a new service for each test. */
export function lifecycleFixture(): LifecycleFixture {
  let client: Client
  afterEach(async () => {
    await client.engine.close()
    await client.engine.store.close()
  })
  const create = async (body: object = {}): Promise<string> => (await client.post<Info>(BASE, body)).body.id
  const info = async (id: string): Promise<Info> => (await client.get<Info>(`${BASE}/${id}`)).body
  const eventsOf = async (id: string, kind?: string): Promise<Event[]> =>
    (await client.get<{ items: Event[] }>(`${BASE}/${id}/events/search`, { kind })).body.items
  return {
    get client() {
      return client
    },
    set client(next) {
      client = next
    },
    async begin(replies = [], store: Store = memoryStore()) {
      client = await clientOver(store, { agent: scriptedAgent(replies) })
    },
    create,
    info,
    async startHangingRun() {
      const { step, reached, open } = gate()
      client = await clientOver(memoryStore(), { agent: () => step })
      const id = await create({ initial_message: say('Hi') })
      await reached
      return { id, open }
    },
    async waitForStatus(id, status = 'finished') {
      const conversation = await client.engine.open(id)
      await conversation.waitFor(status as 'finished')
      return info(id)
    },
    eventsOf,
    kindsOf: async (id) =>
      (await eventsOf(id)).map(({ kind }) => kind).filter((kind) => kind !== 'ConversationStateUpdateEvent'),
    async codes(...requests) {
      const all: number[] = []
      for (const [path, body] of requests) all.push((await client.post(path, body)).status)
      return all
    },
  }
}

export const say = (text: string): object => ({ content: [{ type: 'text', text }] })
