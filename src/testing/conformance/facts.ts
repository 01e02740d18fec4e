import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event, MessageEvent, PauseEvent } from '../../event/types.ts'
import type { Item, ItemChange, ItemQuery } from '../../store/contract/items.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import type { Lease, Store } from '../../store/contract/store.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { holds } from './assert.ts'

type Identity = Pick<Event, 'timestamp' | 'parent_id'>

export const say = (id: string, text: string, more: Partial<MessageEvent> = {}): MessageEvent => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text }] },
  ...more,
})

export const pause = (id: string, more: Identity = {}): PauseEvent => ({ kind: 'PauseEvent', id, ...more })

/** Returns a state update event, which never becomes HEAD. */
export const update = (
  id: string,
  key: string,
  value: JsonValue,
  more: Identity = {},
): ConversationStateUpdateEvent => ({ kind: 'ConversationStateUpdateEvent', id, key, value, ...more })

/** Returns a state update event that moves HEAD to a target, which may be invalid. */
export const leaf = (id: string, target: JsonValue): ConversationStateUpdateEvent =>
  update(id, 'leaf_event_id', target)

export const pauses = (count: number, prefix = 'p'): PauseEvent[] =>
  Array.from({ length: count }, (_, i) => pause(`${prefix}${i}`))

export async function begin(store: Store, id: string, facts: readonly Fact[] = []): Promise<string> {
  await store.createConversation({ id })
  if (facts.length > 0) await store.append(id, facts)
  return id
}

export const storable = (facts: readonly Fact[]): readonly Fact[] =>
  facts.filter((fact) => isQuarantined(fact) || fact.kind !== 'StreamingDeltaEvent')

export const pluck = <T, K extends keyof T>(items: readonly T[], field: K): T[K][] =>
  items.map((item) => item[field])

export const idsOf = (events: readonly StoredEvent[]): (string | null)[] => pluck(events, 'id')

/** Ids in the order of code points. In UTF-16 order, the last two would be exchanged. */
export const SORTED_IDS = ['B', 'a', 'a b', 'b', 'é', '\uffee', '\u{1f600}']

export const NO_TEXTS = [undefined, null, 7, {}, ['a']] as unknown as readonly string[]

/** Milliseconds of a time limit that does not expire during a case; `SHORT` expires soon. */
export const LONG = 600_000
export const SHORT = 30

export const after = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

export async function granted(store: Store, id: string, owner: string, ttl: number): Promise<Lease> {
  const lease = await store.acquireLease(id, owner, ttl)
  if (lease === null) throw new Error(`${owner} did not get the lease of ${id}`)
  return lease
}

export async function put(
  store: Store,
  id: string,
  body: object,
  more: Partial<ItemChange> & Partial<Pick<NonNullable<ItemChange['put']>, 'keys' | 'dueIn'>> = {},
): Promise<Item> {
  const { keys = {}, dueIn = null, ...change } = more
  const [item] = await store.changeItems([
    { collection: 'c', id, put: { body: body as Item['body'], keys, dueIn }, ...change },
  ])
  if (item === undefined || item === null) throw new Error('changeItems did not return the stored item')
  return item
}

export const writeItem = (id: string, expected: number | null, n: number): ItemChange => ({
  collection: 'c',
  id,
  expected,
  put: { body: { n } },
})

export async function itemIds(store: Store, query: ItemQuery = {}): Promise<string[]> {
  const { limit = 2 } = query
  const ids: string[] = []
  for await (const items of allPages((start) => store.listItems('c', { ...query, limit, ...start }))) {
    holds(items.length <= limit, 'a page has more items than its limit')
    ids.push(...pluck(items, 'id'))
  }
  return ids
}
