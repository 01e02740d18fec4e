/**
 * Operations whose cost depends on the log's length, and the expected growth of each. A benchmark times
 * them; a test counts their work.
 */

import { createEngine } from '../../src/conversation/engine.ts'
import { decodeLine } from '../../src/event/decode.ts'
import type { Event } from '../../src/event/types.ts'
import { explain } from '../../src/explain/explain.ts'
import { findings } from '../../src/explain/findings.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { stateAt, switchTo } from '../../src/state/at.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import { CHUNK_SIZE } from '../../src/state/snapshot/record.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { GRAMMARS } from '../../test/messages/grammars.ts'
import { readTail } from '../tail.ts'
import { makeEvents, seeded } from '../workload.ts'

export type Growth = 'constant' | 'logarithmic' | 'linear'

export interface Operation {
  readonly name: string
  readonly growth: Growth
  /**
   * Minimum length at which the growth is expected; for example, a snapshot's last chunk of 4,096 events
   * is always rewritten. Default: 0.
   */
  readonly from?: number
  readonly run: (n: number) => unknown
}

const SMALL = { action: 90, observation: 120, systemPrompt: 300, message: 90 } as const
const ID = 'grown'

/** Condensations keep the view short, as in a long conversation. */
export const logOf = (length: number): Event[] => makeEvents(length, { sizes: SMALL, condenseAt: 80 })

const nextMessage = (n: number): Event => ({
  kind: 'MessageEvent',
  id: `more-${n}`,
  timestamp: '2027-01-01T00:00:00Z',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'And then?' }] },
})

/** Operations without a store. */
export function foldOperations(events: readonly Event[]): Operation[] {
  const { length } = events
  const state = replay(events, { conversationId: ID })
  const line = JSON.stringify(events[length >> 1])
  const random = seeded(5)
  const ids = Array.from({ length: 997 }, () => events[Math.floor(random() * length)]?.id ?? '')
  const idAt = (n: number): string => ids[n % ids.length] ?? ''
  const saved = encodeSnapshot(state)
  const messages = toMessages(state)
  return [
    { name: 'decode a line', growth: 'constant', run: () => decodeLine(line) },
    { name: 'import a line: decode and reduce', growth: 'logarithmic', run: () => importLine(line, state) },
    { name: 'reduce one event', growth: 'logarithmic', run: (n) => reduce(state, nextMessage(n)) },
    {
      name: 'view after an event',
      growth: 'logarithmic',
      run: (n) => readTail(reduce(state, nextMessage(n)).branch.view),
    },
    { name: 'state at an event', growth: 'logarithmic', run: (n) => stateAt(state, idAt(n)) },
    { name: 'switch to an event', growth: 'logarithmic', run: (n) => switchTo(state, idAt(n)) },
    { name: 'messages, neutral', growth: 'constant', run: () => toMessages(state) },
    ...Object.entries(GRAMMARS).map(([name, { write }]): Operation => ({
      name: `messages, ${name}`,
      growth: 'constant',
      run: () => write(messages),
    })),
    { name: 'explain an event', growth: 'linear', run: (n) => explain(state, idAt(n)) },
    {
      name: 'snapshot, save the last 100',
      growth: 'constant',
      from: CHUNK_SIZE,
      run: () => encodeSnapshot(state, length - 100),
    },
    { name: 'snapshot, save all', growth: 'linear', run: () => encodeSnapshot(state) },
    { name: 'snapshot, open', growth: 'linear', run: () => decodeSnapshot(saved, ID) },
    // A baseline: a map slows down by itself once it outgrows the processor's caches.
    {
      name: 'map of the ids',
      growth: 'linear',
      run: () => new Map(events.map(({ id }, seq) => [id, seq])),
    },
    { name: 'replay', growth: 'linear', run: () => replay(events) },
    { name: 'check', growth: 'linear', run: () => checkLog(events) },
    { name: 'findings', growth: 'linear', run: () => findings(state) },
  ]
}

/** Costs of a log that was never condensed, so that the view contains all of it. */
export function viewOperations(events: readonly Event[]): Operation[] {
  const state = replay(events, { conversationId: ID })
  const neutral = toMessages(state)
  return [
    { name: 'all messages, neutral', growth: 'linear', run: () => toMessages(replay(events)) },
    ...Object.entries(GRAMMARS).map(([name, { write }]): Operation => ({
      name: `all messages, ${name}`,
      growth: 'linear',
      run: () => write(neutral),
    })),
  ]
}

function importLine(line: string, state: ReturnType<typeof replay>): unknown {
  const decoded = decodeLine(line)
  return decoded.ok ? reduce(state, { ...decoded.event, id: 'imported' }) : null
}

/** Operations of a store that contains the log. */
export async function storeOperations(store: Store, events: readonly Event[]): Promise<Operation[]> {
  const { length } = events
  await store.createConversation({ id: ID })
  for (let from = 0; from < length; from += 1_000)
    await store.append(ID, events.slice(from, from + 1_000), { mode: 'import' })
  const engine = createEngine({ store })
  const conversation = await engine.open(ID)
  await conversation.state()
  const random = seeded(5)
  const ids = Array.from({ length: 997 }, () => events[Math.floor(random() * length)]?.id ?? '')
  const middle = events[length >> 1]
  const search = (query: object) => () => store.search({ conversationId: ID, limit: 20, ...query })
  const { cursor } = await store.search({ conversationId: ID, limit: Math.min(100, length >> 1) })
  const end = await store.feed({ from: 'end' })
  return [
    { name: 'append', growth: 'logarithmic', run: (n) => store.append(ID, [nextMessage(n)]) },
    { name: 'send a message', growth: 'logarithmic', run: () => conversation.sendMessage('And then?') },
    {
      name: 'read one',
      growth: 'logarithmic',
      run: (n) => store.get(ID, ids[n % ids.length] ?? ''),
    },
    { name: 'page, first', growth: 'logarithmic', run: search({}) },
    { name: 'page, last', growth: 'logarithmic', run: search({ order: 'timestamp_desc' }) },
    {
      name: 'page, from the middle',
      growth: 'logarithmic',
      run: search({ timestampGte: middle?.timestamp }),
    },
    {
      name: 'page, by its cursor',
      growth: 'logarithmic',
      run: search({ cursor, limit: Math.min(100, length >> 1) }),
    },
    { name: 'page of a kind', growth: 'logarithmic', run: search({ kinds: ['ObservationEvent'] }) },
    // The shortest log has 8 user messages, so a larger page would not be full.
    { name: 'page of a source', growth: 'logarithmic', run: search({ source: 'user', limit: 8 }) },
    { name: 'page of a path', growth: 'logarithmic', run: search({ leafId: events.at(-1)?.id }) },
    { name: 'follow: new events', growth: 'logarithmic', run: () => store.feed({ after: end.next }) },
    {
      name: 'open again',
      growth: 'linear',
      run: async () => (await createEngine({ store }).open(ID)).state(),
    },
    {
      name: 'fork, and delete the fork',
      growth: 'linear',
      // Several forks of a long log do not fit into the memory of a process.
      run: async () => engine.delete((await conversation.fork()).id),
    },
  ]
}
