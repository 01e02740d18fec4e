/** A LangGraph graph whose node makes the next event in one super-step, over each saver. */

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
import type { Contender, Place, Session } from '../contender.ts'
import { type Item, TOOL } from '../items.ts'

type Durability = 'sync' | 'async' | 'exit'

/** How messages are kept, and when a checkpoint is awaited. */
interface Setting {
  readonly isDelta: boolean
  readonly durability: Durability
}

interface Opened {
  readonly saver: BaseCheckpointSaver
  close(): Promise<void>
}

const CONFIG = { configurable: { thread_id: 'c1' } }

/**
 * Events appended one by one before timing, so that the last snapshot of the deltas is as far back as on
 * average. When each step writes everything, one event is enough.
 */
const SINGLY = 50

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

/** @param queue the messages that the node still has to make */
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
  open: () => Promise<Opened>,
  { isDelta, durability }: Setting,
  keepsSaver: boolean,
): Promise<Session> {
  const queue: BaseMessage[] = []
  let opened = await open()
  let graph = makeGraph(opened.saver, isDelta, queue)
  let current: BaseMessage[] = []
  const load = async (): Promise<BaseMessage[]> => (await graph.getState(CONFIG)).values.messages ?? []
  const append = async (turn: readonly Item[], how: Durability): Promise<void> => {
    const [first, ...rest] = turn.map(messageOf)
    if (first === undefined) return
    // The first message starts the turn; after a single message the node has nothing to add.
    queue.push(...rest)
    const limits = { recursionLimit: turn.length + 5, durability: how }
    const { messages } = await graph.invoke({ messages: [first] }, { ...CONFIG, ...limits })
    current = messages
  }
  return {
    async fill(items) {
      const singly = isDelta ? Math.min(SINGLY, items.length - 1) : 1
      const messages = items.slice(0, items.length - singly).map(messageOf)
      await graph.updateState(CONFIG, { messages }, 'agent')
      await append(items.slice(items.length - singly), 'async')
    },
    append: (turn) => append(turn, durability),
    async leave() {
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

function openMemory(): Promise<Opened> {
  return Promise.resolve({ saver: new MemorySaver(), close: () => Promise.resolve() })
}

function openSqlite({ folder }: Place): Promise<Opened> {
  const saver = SqliteSaver.fromConnString(join(folder, 'langgraph.db'))
  return Promise.resolve({ saver, close: async () => void saver.db.close() })
}

async function openPostgres({ url }: Place): Promise<Opened> {
  const saver = PostgresSaver.fromConnString(url)
  await saver.setup()
  return { saver, close: () => saver.end() }
}

const colloquy =
  (open: (database: Place) => Store) =>
  async (database: Place): Promise<Opened> => {
    const store = open(database)
    return { saver: colloquySaver({ store }), close: () => store.close() }
  }

const FULL: Setting = { isDelta: false, durability: 'async' }
const DELTA: Setting = { isDelta: true, durability: 'sync' }
const EXIT: Setting = { isDelta: true, durability: 'exit' }

const FULL_MEANS =
  '`MessagesValue`, `durability: "async"`: each step writes all messages, waited for at the end of `invoke`'
const DELTA_MEANS =
  '`MessagesDeltaValue` (beta): what is new, and all messages at every 100th; `durability: "sync"`'
const EXIT_MEANS = 'the same with `durability: "exit"`: written when a turn of 18 events ends'

export const LANGGRAPH: readonly Contender[] = [
  {
    family: 'LangGraph memory',
    setting: 'default',
    means: FULL_MEANS,
    ground: 'memory',
    survives: 'nothing',
    open: () => openSession(openMemory, FULL, true),
  },
  {
    family: 'LangGraph memory',
    setting: 'delta',
    means: DELTA_MEANS,
    ground: 'memory',
    survives: 'nothing',
    open: () => openSession(openMemory, DELTA, true),
  },
  ...saved('LangGraph SQLite', 'files', 'a kill', openSqlite),
  ...saved('LangGraph PostgreSQL', 'postgres', 'a power cut', openPostgres),
  ...saved(
    'LangGraph on Colloquy SQLite',
    'files',
    'a power cut',
    colloquy(({ folder }) => sqliteStore({ file: join(folder, 'langgraph.db') })),
  ).slice(0, 1),
  ...saved(
    'LangGraph on Colloquy PostgreSQL',
    'postgres',
    'a power cut',
    colloquy(({ url }) => postgresStore({ url })),
  ).slice(0, 1),
]

function saved(
  family: string,
  ground: Contender['ground'],
  survives: Contender['survives'],
  open: (database: Place) => Promise<Opened>,
): Contender[] {
  const common = { family, ground, survives }
  const opener = (setting: Setting) => (database: Place) => openSession(() => open(database), setting, false)
  return [
    { ...common, setting: 'default', means: FULL_MEANS, open: opener(FULL) },
    { ...common, setting: 'delta', means: DELTA_MEANS, open: opener(DELTA) },
    { ...common, setting: 'delta, exit', means: EXIT_MEANS, open: opener(EXIT) },
  ]
}
