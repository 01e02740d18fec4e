/** A log goes in, the rows that search it come out: the first and the deepest page with each filter. */

import type { EventQuery } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { FoundPage, Ground, RowGroup } from './ground.ts'
import { fastest, type Pair } from './pair.ts'

const TARGET = 1.5

/** Pages with fewer events are shown and not judged. */
const FEW = 10

/** Pages read in one turn. */
const CALLS = 3

/** A filter, and how users of the bare driver would write it. */
interface Shape {
  readonly name: string
  readonly query: Omit<EventQuery, 'conversationId'>
  readonly ways: FoundPage['ways']
  /** Shown and not judged. */
  readonly isFree?: boolean
}

/** Stands for HEAD. */
const LEAF = '<head>'

/** The kinds of the log and their sources, as SQL: each is one range of an index. */
const ACTION = `kind = 'ActionEvent' AND source = 'agent'`
const OBSERVATION = `kind = 'ObservationEvent' AND source = 'environment'`
const MESSAGE = `kind = 'MessageEvent' AND source = 'user'`
const PROMPT = `kind = 'SystemPromptEvent' AND source = 'agent'`
const UPDATE = `kind = 'ConversationStateUpdateEvent' AND source = 'environment'`
const [PAUSE, STOP] = [`kind = 'PauseEvent' AND source = 'user'`, `kind = 'PauseEvent' AND source = 'agent'`]

const SHAPES: readonly Shape[] = [
  { name: 'no filter', query: {}, ways: [['true']] },
  { name: 'no filter, newest first', query: { order: 'timestamp_desc' }, ways: [['true']] },
  { name: 'a kind', query: { kinds: ['ObservationEvent'] }, ways: [[OBSERVATION]] },
  { name: 'a rare kind', query: { kinds: ['PauseEvent'] }, ways: [[`kind = 'PauseEvent'`], [PAUSE, STOP]] },
  { name: 'a rare kind and a source', query: { kinds: ['PauseEvent'], source: 'user' }, ways: [[PAUSE]] },
  {
    name: 'two kinds',
    query: { kinds: ['ActionEvent', 'ObservationEvent'] },
    ways: [[`kind IN ('ActionEvent', 'ObservationEvent')`], [ACTION, OBSERVATION]],
  },
  {
    name: 'all kinds but one',
    query: { excludeKinds: ['ConversationStateUpdateEvent'] },
    ways: [[`kind <> 'ConversationStateUpdateEvent'`], [ACTION, OBSERVATION, MESSAGE, PROMPT, PAUSE, STOP]],
  },
  {
    name: 'all kinds but the common ones',
    query: { excludeKinds: ['ActionEvent', 'ObservationEvent'] },
    ways: [[`kind NOT IN ('ActionEvent', 'ObservationEvent')`], [MESSAGE, PROMPT, UPDATE, PAUSE, STOP]],
  },
  { name: 'a source', query: { source: 'agent' }, ways: [[`source = 'agent'`], [ACTION, PROMPT, STOP]] },
  {
    name: 'times',
    query: { timestampGte: '2026-01-01T00:05:00Z', timestampLt: '2027-01-01T00:00:00Z' },
    ways: [['time < 1798761600000000']],
  },
  {
    name: 'times and a kind, newest first',
    query: {
      kinds: ['ActionEvent'],
      timestampGte: '2026-01-01T00:05:00Z',
      timestampLt: '2027-01-01T00:00:00Z',
      order: 'timestamp_desc',
    },
    ways: [[`${ACTION} AND time >= 1767225900000000`]],
  },
  // Every message holds it, so that its page is that of the messages.
  { name: 'a text', query: { text: 'e' }, ways: [[MESSAGE]], isFree: true },
  { name: 'a leaf', query: { leafId: LEAF }, ways: null },
  { name: 'a leaf, newest first', query: { leafId: LEAF, order: 'timestamp_desc' }, ways: null },
  { name: 'a leaf and a kind', query: { leafId: LEAF, kinds: ['ActionEvent'] }, ways: null },
  { name: 'a leaf and a source', query: { leafId: LEAF, source: 'environment' }, ways: null },
]

/** Pages of a hundred events. */
export const pageRows: RowGroup = {
  title: 'page',
  rounds: 40,
  flat: false,
  pairs: async (ground) => {
    const pairs: Pair[] = []
    for (const shape of SHAPES) {
      for (const depth of ['first', 'deepest'] as const) {
        const pair = await pagePair(ground, shape, depth)
        if (pair !== null) pairs.push(pair)
      }
    }
    return pairs
  },
}

async function pagePair(
  { id, length, store, floor }: Ground,
  { name, query: given, ways, isFree = false }: Shape,
  depth: 'first' | 'deepest',
): Promise<Pair | null> {
  const head = (await store.getConversation(id))?.headId ?? ''
  const first = { conversationId: id, ...given, ...(given.leafId === LEAF && { leafId: head }) }
  const query = depth === 'first' ? first : await deepest(store, first)
  if (query === null) return null
  const { items, next_page_id: next } = await store.search(query)
  if (items.length === 0) return null
  const page = await fastest(await floor.pages({ query, ways, items, more: next !== null }))
  return {
    name: `${depth} page, ${name}${items.length < 100 ? ` (${items.length} events)` : ''}`,
    length,
    count: CALLS,
    // A few rows cost little, whatever they cost beside a look that finds them.
    target: isFree || items.length < FEW ? null : TARGET,
    async store() {
      for (let call = 0; call < CALLS; call += 1) await store.search(query)
    },
    async floor() {
      for (let call = 0; call < CALLS; call += 1) await page()
    },
  }
}

/** The last full page that another one follows, found by paging down to it; null where the first is as deep. */
async function deepest(store: Store, filter: EventQuery): Promise<EventQuery | null> {
  let query = filter
  for (let left = await store.count(filter); left > 200; left -= 100) {
    const { next_page_id: cursor } = await store.search(query)
    if (cursor === null) break
    query = { ...filter, cursor }
  }
  return query === filter ? null : query
}
