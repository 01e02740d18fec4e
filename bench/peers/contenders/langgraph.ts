/** A LangGraph graph over each saver. Its node produces the next event in one super-step. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import {
  END,
  MemorySaver,
  MessagesDeltaValue,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from '@langchain/langgraph'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { convertMessagesToCompletionsMessageParams } from '@langchain/openai'
import { join } from 'node:path'
import { colloquySaver } from '../../../src/adapters/langgraph.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import type { Contender, Location, Session } from '../contender.ts'
import { type Item, TOOL } from '../items.ts'

type Durability = 'sync' | 'async' | 'exit'

/** How messages are stored, and when a checkpoint is awaited. */
interface Setting {
  readonly isDelta: boolean
  readonly durability: Durability
}

interface OpenedSaver {
  readonly saver: BaseCheckpointSaver
  close(): Promise<void>
}

const CONFIG = { configurable: { thread_id: 'c1' } }

/**
 * Number of events appended one by one before timing, so that the last snapshot of the deltas has an average
 * distance. When each step writes all messages, one event is enough.
 */
const SINGLE_APPENDS = 50

function messageOf(item: Item): BaseMessage {
  const { id } = item
  switch (item.kind) {
    case 'user':
      return new HumanMessage({ id, content: item.text })
    case 'assistant':
      return new AIMessage({ id, content: item.text })
    case 'call': {
      const call = { id: item.callId, name: TOOL, args: { command: item.command } }
      return new AIMessage({ id, content: '', tool_calls: [call] })
    }
    case 'result':
      return new ToolMessage({ id, content: item.text, tool_call_id: item.callId, name: TOOL })
    default:
      return item satisfies never
  }
}

/** @param queue messages that the node has not yet produced */
function makeGraph(saver: BaseCheckpointSaver, isDelta: boolean, queue: BaseMessage[]) {
  const next = (): { messages: BaseMessage[] } => ({ messages: queue.splice(0, 1) })
  const route = (): 'agent' | typeof END => (queue.length > 0 ? 'agent' : END)
  const options = { checkpointer: saver }
  const full = new StateSchema({ messages: MessagesValue })
  const delta = new StateSchema({ messages: MessagesDeltaValue })
  return isDelta
    ? new StateGraph(delta)
        .addNode('agent', next)
        .addEdge(START, 'agent')
        .addConditionalEdges('agent', route)
        .compile(options)
    : new StateGraph(full)
        .addNode('agent', next)
        .addEdge(START, 'agent')
        .addConditionalEdges('agent', route)
        .compile(options)
}

async function openSession(
  open: () => Promise<OpenedSaver>,
  { isDelta, durability }: Setting,
  keepsSaver: boolean,
): Promise<Session> {
  const queue: BaseMessage[] = []
  let opened = await open()
  let graph = makeGraph(opened.saver, isDelta, queue)
  let current: BaseMessage[] = []
  const load = async (): Promise<BaseMessage[]> => (await graph.getState(CONFIG)).values.messages ?? []
  const append = async (turn: readonly Item[], mode: Durability): Promise<void> => {
    const [first, ...rest] = turn.map(messageOf)
    if (first === undefined) return
    // The first message starts the turn; after a single message the node has nothing to add.
    queue.push(...rest)
    const options = { recursionLimit: turn.length + 5, durability: mode }
    const { messages } = await graph.invoke({ messages: [first] }, { ...CONFIG, ...options })
    current = messages
  }
  return {
    async fill(items) {
      const singleCount = isDelta ? Math.min(SINGLE_APPENDS, items.length - 1) : 1
      const messages = items.slice(0, items.length - singleCount).map(messageOf)
      await graph.updateState(CONFIG, { messages }, 'agent')
      await append(items.slice(items.length - singleCount), 'async')
    },
    append: (turn) => append(turn, durability),
    async close() {
      current = []
      if (!keepsSaver) await opened.close()
    },
    async reopen() {
      if (!keepsSaver) opened = await open()
      graph = makeGraph(opened.saver, isDelta, queue)
      current = await load()
    },
    prompt: () => Promise.resolve(convertMessagesToCompletionsMessageParams({ messages: current })),
    async readAll() {
      return (await load()).length
    },
  }
}

function openMemory(): Promise<OpenedSaver> {
  return Promise.resolve({ saver: new MemorySaver(), close: () => Promise.resolve() })
}

function openSqlite({ folder }: Location): Promise<OpenedSaver> {
  const saver = SqliteSaver.fromConnString(join(folder, 'langgraph.db'))
  return Promise.resolve({ saver, close: async () => void saver.db.close() })
}

async function openPostgres({ url }: Location): Promise<OpenedSaver> {
  const saver = PostgresSaver.fromConnString(url)
  await saver.setup()
  return { saver, close: () => saver.end() }
}

const openColloquy =
  (open: (database: Location) => Store) =>
  async (database: Location): Promise<OpenedSaver> => {
    const store = open(database)
    return { saver: colloquySaver({ store }), close: () => store.close() }
  }

const FULL: Setting = { isDelta: false, durability: 'async' }
const DELTA: Setting = { isDelta: true, durability: 'sync' }
const EXIT: Setting = { isDelta: true, durability: 'exit' }

const FULL_MEANS =
  '`MessagesValue`, `durability: "async"`: each step writes all messages, and `invoke` waits for the writes at its end'
const DELTA_MEANS =
  '`MessagesDeltaValue` (beta): new messages, and all messages at every 100th step; `durability: "sync"`'
const EXIT_MEANS =
  'the same with `durability: "exit"`: messages are written at the end of a turn of 18 events'

export const LANGGRAPH: readonly Contender[] = [
  {
    family: 'LangGraph memory',
    setting: 'default',
    description: FULL_MEANS,
    medium: 'memory',
    survives: 'nothing',
    open: () => openSession(openMemory, FULL, true),
  },
  {
    family: 'LangGraph memory',
    setting: 'delta',
    description: DELTA_MEANS,
    medium: 'memory',
    survives: 'nothing',
    open: () => openSession(openMemory, DELTA, true),
  },
  ...savedContenders('LangGraph SQLite', 'files', 'a kill', openSqlite),
  ...savedContenders('LangGraph PostgreSQL', 'postgres', 'a power cut', openPostgres),
  ...savedContenders(
    'LangGraph on Colloquy SQLite',
    'files',
    'a power cut',
    openColloquy(({ folder }) => sqliteStore({ file: join(folder, 'langgraph.db') })),
  ).slice(0, 1),
  ...savedContenders(
    'LangGraph on Colloquy PostgreSQL',
    'postgres',
    'a power cut',
    openColloquy(({ url }) => postgresStore({ url })),
  ).slice(0, 1),
]

function savedContenders(
  family: string,
  medium: Contender['medium'],
  survives: Contender['survives'],
  open: (database: Location) => Promise<OpenedSaver>,
): Contender[] {
  const common = { family, medium, survives }
  const opener = (setting: Setting) => (database: Location) =>
    openSession(() => open(database), setting, false)
  return [
    { ...common, setting: 'default', description: FULL_MEANS, open: opener(FULL) },
    { ...common, setting: 'delta', description: DELTA_MEANS, open: opener(DELTA) },
    { ...common, setting: 'delta, exit', description: EXIT_MEANS, open: opener(EXIT) },
  ]
}
