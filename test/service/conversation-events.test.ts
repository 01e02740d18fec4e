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

describe.each(Object.keys(STORES))('conversation events over %s', (name) => {
  let store: Store
  let client: Client
  const appPath = `/api/v1/conversation/${ID}/events`
  const agentPath = `/api/conversations/${ID}/events`

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

  it('are found in a search of every kind, also state updates', async () => {
    for (const path of [appPath, agentPath]) {
      expect(await result(path)).toEqual(['u1', 's1', 'a1', 'p1'])
      expect(await result(path, { timestamp__gte: time(2), timestamp__lt: time(4) })).toEqual(['s1', 'a1'])
    }
    expect(await result(appPath, { kind__eq: 'ConversationStateUpdateEvent' })).toEqual(['s1'])
    const { body } = await client.get<Page>(`${appPath}/search`, { limit: 3, sort_order: 'TIMESTAMP_DESC' })
    expect(body.items.map(({ id }) => id)).toEqual(['p1', 'a1', 's1'])
    const next = await client.get<Page>(`${appPath}/search`, {
      limit: 3,
      sort_order: 'TIMESTAMP_DESC',
      page_id: body.next_page_id ?? '',
    })
    expect(next.body).toMatchObject({ items: [{ id: 'u1' }], next_page_id: null })
  })

  it('can be filtered by source, by text, and by a short or qualified kind', async () => {
    expect(await result(agentPath, { source: 'agent' })).toEqual(['a1'])
    expect(await result(agentPath, { body: 'cat' })).toEqual(['u1'])
    for (const kind of ['PauseEvent', 'openhands.sdk.event.user_action.PauseEvent']) {
      expect(await result(agentPath, { kind })).toEqual(['p1'])
    }
    expect(await client.get(`${agentPath}/search`, { kind: 'a.b.Nothing' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'kind'], type: 'enum' }] },
    })
    expect(await client.get(`${agentPath}/search`, { source: 'nobody', limit: 101 })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'source'] }, { loc: ['query', 'limit'] }] },
    })
  })

  it('can be read by id, with encrypted content set to null', async () => {
    const { body } = await client.get<(Event | null)[]>(appPath, { id: ['s1', 'x', 'u1'] })
    expect(body).toMatchObject([{ id: 's1', value: { encrypted_content: null } }, null, { id: 'u1' }])
    expect((await client.get(`${agentPath}/s1`)).body).toMatchObject({ value: { encrypted_content: null } })
    expect(await client.get(`${agentPath}/x`)).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('"x"') },
    })
    const ids = Array.from({ length: 101 }, () => 'u1')
    expect((await client.get(appPath, { id: ids })).status).toBe(400)
  })

  it('accept a UUID with dashes, and return 404 for an unknown conversation', async () => {
    expect(await result(appPath.replace(ID, DASHED))).toHaveLength(4)
    // A cursor of one form of the id also works with the other.
    const first = await client.get(`${appPath}/search`.replace(ID, DASHED), { limit: 1 })
    const { next_page_id: page_id } = first.body as { readonly next_page_id: string }
    for (const path of [`${appPath}/search`, `${appPath}/search`.replace(ID, DASHED)]) {
      const { body } = await client.get(path, { limit: 100, page_id })
      expect(body).toMatchObject({ items: [{}, {}, {}], next_page_id: null })
    }
    expect((await client.get(`${appPath}/search`, { page_id: 'x' })).status).toBe(422)
    for (const path of [
      `${appPath}/search`,
      `${appPath}/count`,
      `${appPath}?id=u1`,
      `${agentPath}/search`,
      `${agentPath}/count`,
      `${agentPath}/u1`,
    ]) {
      const { status, body } = await client.get(path.replace(ID, 'nobody'))
      expect([status, body]).toEqual([404, { detail: expect.stringContaining('"nobody"') }])
    }
  })

  it('return 401 for a wrong key', async () => {
    for (const path of [
      `${appPath}/search`,
      `${appPath}/count`,
      `${appPath}?id=u1`,
      `${agentPath}/search`,
      `${agentPath}/u1`,
    ]) {
      const { status } = await client.send(path, { headers: { 'x-session-api-key': 'other' } })
      expect(status).toBe(401)
    }
  })
})
