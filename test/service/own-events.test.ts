import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { agent, user } from '../build.ts'
import { type Client, clientOver, STORES } from './client.ts'

interface Page {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
}

const ID = 'abcdefabcdefabcdefabcdefabcdefab'
const DASHED = 'abcdefab-cdef-abcd-efab-cdefabcdefab'
const KEY = 'key'

const time = (second: number): string => `2026-01-01T00:00:0${second}Z`
const LOG: readonly Event[] = [
  user('u1', 'Where is the CAT?', { timestamp: time(1) }),
  {
    kind: 'ConversationStateUpdateEvent',
    id: 's1',
    timestamp: time(2),
    key: 'stats',
    value: { encrypted_content: 'x' },
  },
  agent('a1', 'On the mat.', { timestamp: time(3) }),
  { kind: 'PauseEvent', id: 'p1', timestamp: time(4) },
]

describe.each(Object.keys(STORES))('events of an own conversation over %s', (name) => {
  let store: Store
  let client: Client
  const ownId = `/api/v1/conversation/${ID}/events`
  const agents = `/api/conversations/${ID}/events`

  beforeAll(async () => {
    store = STORES[name]?.() as Store
    client = await clientOver(store, { keys: [KEY], headers: { 'x-session-api-key': KEY } })
    await store.createConversation({ id: ID })
    await store.append(ID, LOG, { mode: 'import', expected: 'none' })
  })
  afterAll(() => store.close())

  const result = async (path: string, query = {}) => {
    const { body } = await client.get<Page>(`${path}/search`, query)
    const { body: count } = await client.get<number>(`${path}/count`, query)
    expect(count).toBe(body.items.length)
    return body.items.map(({ id }) => id)
  }

  it('finds every kind, also the one that shared conversations hide', async () => {
    for (const path of [ownId, agents]) {
      expect(await result(path)).toEqual(['u1', 's1', 'a1', 'p1'])
      expect(await result(path, { timestamp__gte: time(2), timestamp__lt: time(4) })).toEqual(['s1', 'a1'])
    }
    expect(await result(ownId, { kind__eq: 'ConversationStateUpdateEvent' })).toEqual(['s1'])
    const { body } = await client.get<Page>(`${ownId}/search`, { limit: 3, sort_order: 'TIMESTAMP_DESC' })
    expect(body.items.map(({ id }) => id)).toEqual(['p1', 'a1', 's1'])
    const next = await client.get<Page>(`${ownId}/search`, {
      limit: 3,
      sort_order: 'TIMESTAMP_DESC',
      page_id: body.next_page_id ?? '',
    })
    expect(next.body).toMatchObject({ items: [{ id: 'u1' }], next_page_id: null })
  })

  it('finds by source, by words and by kind, short or as the path of a class', async () => {
    expect(await result(agents, { source: 'agent' })).toEqual(['a1'])
    expect(await result(agents, { body: 'cat' })).toEqual(['u1'])
    for (const kind of ['PauseEvent', 'openhands.sdk.event.user_action.PauseEvent']) {
      expect(await result(agents, { kind })).toEqual(['p1'])
    }
    expect(await client.get(`${agents}/search`, { kind: 'a.b.Nothing' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'kind'], type: 'enum' }] },
    })
    expect(await client.get(`${agents}/search`, { source: 'nobody', limit: 101 })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'source'] }, { loc: ['query', 'limit'] }] },
    })
  })

  it('gets events by id, without their secrets', async () => {
    const { body } = await client.get<(Event | null)[]>(ownId, { id: ['s1', 'x', 'u1'] })
    expect(body).toMatchObject([{ id: 's1', value: { encrypted_content: null } }, null, { id: 'u1' }])
    expect((await client.get(`${agents}/s1`)).body).toMatchObject({ value: { encrypted_content: null } })
    expect(await client.get(`${agents}/x`)).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('"x"') },
    })
    const ids = Array.from({ length: 101 }, () => 'u1')
    expect((await client.get(ownId, { id: ids })).status).toBe(400)
  })

  it('finds a UUID with dashes, and says of an unknown conversation that it is unknown', async () => {
    expect(await result(ownId.replace(ID, DASHED))).toHaveLength(4)
    // A cursor of one form of the id also works with the other.
    const first = await client.get(`${ownId}/search`.replace(ID, DASHED), { limit: 1 })
    const { next_page_id: page_id } = first.body as { readonly next_page_id: string }
    for (const path of [`${ownId}/search`, `${ownId}/search`.replace(ID, DASHED)]) {
      const { body } = await client.get(path, { limit: 100, page_id })
      expect(body).toMatchObject({ items: [{}, {}, {}], next_page_id: null })
    }
    expect((await client.get(`${ownId}/search`, { page_id: 'x' })).status).toBe(422)
    for (const path of [
      `${ownId}/search`,
      `${ownId}/count`,
      `${ownId}?id=u1`,
      `${agents}/search`,
      `${agents}/count`,
      `${agents}/u1`,
    ]) {
      const { status, body } = await client.get(path.replace(ID, 'nobody'))
      expect([status, body]).toEqual([404, { detail: expect.stringContaining('"nobody"') }])
    }
  })

  it('is only for who has the key', async () => {
    for (const path of [
      `${ownId}/search`,
      `${ownId}/count`,
      `${ownId}?id=u1`,
      `${agents}/search`,
      `${agents}/u1`,
    ]) {
      const { status } = await client.send(path, { headers: { 'x-session-api-key': 'other' } })
      expect(status).toBe(401)
    }
  })
})
