import { createEngine, type Engine } from '../../../src/conversation/engine.ts'
import type { Event } from '../../../src/event/types.ts'
import { toOpenAIChat } from '../../../src/messages/openai-chat/write.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { join } from 'node:path'
import type { Contender, Location, Session } from '../contender.ts'
import { argumentsOf, type Item, TOOL } from '../items.ts'

const ID = 'c1'
const PAGE = 100
const BATCH = 500

/** Creates events in the format of OpenHands agent servers. */
export function eventOf(item: Item): Event {
  const { id } = item
  switch (item.kind) {
    case 'user':
    case 'assistant': {
      const content = [{ type: 'text', text: item.text }] as const
      const source = item.kind === 'user' ? 'user' : 'agent'
      return { kind: 'MessageEvent', id, source, llm_message: { role: item.kind, content } }
    }
    case 'call':
      return {
        kind: 'ActionEvent',
        id,
        source: 'agent',
        thought: [],
        action: { kind: 'TerminalAction', command: item.command },
        tool_name: TOOL,
        tool_call_id: item.callId,
        tool_call: {
          id: item.callId,
          name: TOOL,
          arguments: argumentsOf(item.command),
          origin: 'completion',
        },
        llm_response_id: `reply-${item.callId}`,
      }
    case 'result':
      return {
        kind: 'ObservationEvent',
        id,
        source: 'environment',
        tool_name: TOOL,
        tool_call_id: item.callId,
        action_id: actionOf(id),
        observation: { kind: 'TerminalObservation', content: [{ type: 'text', text: item.text }] },
      }
    default:
      return item satisfies never
  }
}

/** The call comes right before its result, and ids are numbered. */
const actionOf = (id: string): string => `e-${String(Number(id.slice(2)) - 1).padStart(8, '0')}`

/** @param keepsStore for a store that loses its data when it is closed */
async function openSession(makeStore: () => Store, keepsStore: boolean): Promise<Session> {
  let store = makeStore()
  let engine: Engine = createEngine({ store })
  let conversation = await engine.create({ id: ID })
  return {
    async fill(items) {
      for (let start = 0; start < items.length; start += BATCH)
        await conversation.append(items.slice(start, start + BATCH).map(eventOf))
    },
    async append(turn) {
      for (const item of turn) await conversation.append(eventOf(item))
    },
    async close() {
      await engine.close()
      if (!keepsStore) await store.close()
    },
    async reopen() {
      if (!keepsStore) store = makeStore()
      engine = createEngine({ store })
      conversation = await engine.open(ID)
      await conversation.state()
    },
    async prompt() {
      return toOpenAIChat(await conversation.messages())
    },
    async readAll() {
      let read = 0
      for (;;) {
        const events = await store.read(ID, { from: read })
        read += events.length
        if (events.length < 1_000) return read
      }
    },
    async findPages(length) {
      const cursors: (string | null)[] = [null]
      for (let seen = PAGE; seen < length; seen += PAGE) {
        const { cursor } = await store.search(query(cursors.at(-1) ?? null))
        cursors.push(cursor)
      }
      const page = (number: number) => async (): Promise<number> =>
        (await store.search(query(cursors[number] ?? null))).items.length
      const last = Math.ceil(length / PAGE) - 1
      return { first: page(0), middle: page(last >> 1), last: page(last) }
    },
  }
}

const query = (cursor: string | null): { conversationId: string; limit: number; cursor?: string } => ({
  conversationId: ID,
  limit: PAGE,
  ...(cursor !== null && { cursor }),
})

const sqlite =
  (synchronous: 'full' | 'normal') =>
  ({ folder }: Location): Promise<Session> =>
    openSession(() => sqliteStore({ file: join(folder, 'colloquy.db'), synchronous }), false)

/**
 * The relevant settings: how long SQLite waits for the disk, and whether PostgreSQL notifies other
 * processes.
 */
export const COLLOQUY: readonly Contender[] = [
  {
    family: 'Colloquy memory',
    setting: '',
    description: 'an engine over `memoryStore()`',
    medium: 'memory',
    survives: 'nothing',
    open: () => openSession(memoryStore, true),
  },
  {
    family: 'Colloquy SQLite',
    setting: 'default',
    description: "an engine over `sqliteStore({ file })`: Node's own driver, WAL, `synchronous: 'full'`",
    medium: 'files',
    survives: 'a power cut',
    open: sqlite('full'),
  },
  {
    family: 'Colloquy SQLite',
    setting: 'best',
    description: "the same with `synchronous: 'normal'`",
    medium: 'files',
    survives: 'a kill',
    growsAs: 'default',
    open: sqlite('normal'),
  },
  {
    family: 'Colloquy PostgreSQL',
    setting: 'default',
    description:
      'an engine over `postgresStore({ url })`: a pool, statements prepared by name, NOTIFY for other processes',
    medium: 'postgres',
    survives: 'a power cut',
    open: ({ url }) => openSession(() => postgresStore({ url }), false),
  },
  {
    family: 'Colloquy PostgreSQL',
    setting: 'best',
    description: 'the same with `listen: false`: other processes poll',
    medium: 'postgres',
    survives: 'a power cut',
    growsAs: 'default',
    open: ({ url }) => openSession(() => postgresStore({ url, listen: false }), false),
  },
]
