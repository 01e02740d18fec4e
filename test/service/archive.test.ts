import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import { type Client, clientOver } from './client.ts'

const C = '/api/conversations'
interface Info {
  readonly id: string
  readonly archived: boolean
}

let client: Client
const ids: string[] = []

beforeAll(async () => {
  client = await clientOver(memoryStore())
  for (let n = 0; n < 5; n += 1) ids.push((await client.post<Info>(C, { tags: { n: `${n % 2}` } })).body.id)
})
afterAll(async () => {
  await client.engine.close()
  await client.service.runs.settle()
})

const search = async (query: string): Promise<string[]> => {
  const matches: string[] = []
  for (let page: string | null = ''; page !== null;) {
    const { status, body }: { status: number; body: { items: Info[]; next_page_id: string | null } } =
      await client.get(`${C}/search?sort_order=CREATED_AT&${query}${page === '' ? '' : `&page_id=${page}`}`)
    expect(status).toBe(200)
    matches.push(...body.items.map(({ id }) => id))
    page = body.next_page_id
  }
  return matches
}
const count = async (query: string): Promise<unknown> => (await client.get(`${C}/count?${query}`)).body

describe('an archived conversation', () => {
  it('is marked in its information, in searches and in counts until it is unarchived', async () => {
    const [first = '', second = '', third = '', ...rest] = ids
    for (const id of [second, third, third]) {
      const { status, body } = await client.post<Info>(`${C}/${id}/archive`)
      expect([status, body.id, body.archived]).toEqual([200, id, true])
    }
    expect((await client.get<Info>(`${C}/${second}`)).body.archived).toBe(true)
    expect((await client.get<Info>(`${C}/${first}`)).body.archived).toBe(false)
    for (const limit of ['', '&limit=1']) {
      expect(await search(`archived=true${limit}`)).toEqual([second, third])
      expect(await search(`archived=false${limit}`)).toEqual([first, ...rest])
      expect(await search(`x=1${limit}`)).toEqual(ids)
    }
    expect(await search('archived=true&tag=n:1')).toEqual([second])
    expect([await count('archived=true'), await count('archived=false'), await count('')]).toEqual([2, 3, 5])
    expect(await count('archived=true&status=idle&exact=true')).toBe(2)
    const { body } = await client.post<Info>(`${C}/${second}/unarchive`)
    expect([body.archived, await search('archived=true')]).toEqual([false, [third]])
  })

  it('keeps the version of its log and its title', async () => {
    const id = ids[0] ?? ''
    await client.send(`${C}/${id}`, {
      method: 'PATCH',
      body: JSON.stringify({ title: 'Named' }),
      headers: { 'content-type': 'application/json' },
    })
    const { version } = await (await client.engine.open(id)).record()
    await client.post(`${C}/${id}/archive`)
    const { body } = await client.get<{ title: string }>(`${C}/${id}`)
    expect([body.title, (await (await client.engine.open(id)).record()).version]).toEqual(['Named', version])
  })

  it.each(['archive', 'unarchive'])(
    '%s returns 404 for an unknown conversation, and an invalid `archived` filter 422',
    async (verb) => {
      expect((await client.post(`${C}/${'0'.repeat(32)}/${verb}`)).status).toBe(404)
      expect((await client.get(`${C}/search?archived=sometimes`)).status).toBe(422)
      expect((await client.get(`${C}/count?archived=2`)).status).toBe(422)
    },
  )

  it('a search rejects a cursor from another `archived` filter', async () => {
    const { body } = await client.get<{ next_page_id: string }>(`${C}/search?archived=false&limit=1`)
    expect((await client.get(`${C}/search?archived=true&page_id=${body.next_page_id}`)).status).toBe(422)
  })
})

describe('`/server_info`', () => {
  it('lists the capability of idempotent creates, and a repeated create returns 200', async () => {
    const { body } = await client.get<object>('/server_info')
    expect(body).toMatchObject({
      conversation_runtime: 'local',
      capabilities: ['idempotent_conversation_create_v1'],
    })
    const id = crypto.randomUUID()
    const created = [
      await client.post<Info>(C, { conversation_id: id }),
      await client.post<Info>(C, { conversation_id: id }),
    ]
    expect(created.map(({ status }) => status)).toEqual([201, 200])
    await client.send(`${C}/${created[0]?.body.id}`, { method: 'DELETE' })
  })
})

it('a count stops after 10,000 conversations unless `exact=true`', async () => {
  const store = memoryStore()
  await store.createConversation({ id: 'c' })
  const page = await store.listConversations()
  let pages = 0
  const listConversations: Store['listConversations'] = async () => {
    pages += 1
    return {
      ...page,
      items: Array.from({ length: 100 }, () => page.items).flat(),
      cursor: pages < 150 ? 'more' : null,
    }
  }
  const many = await clientOver(wrapStore(store, { listConversations }))
  pages = 0
  const response = await many.get(`${C}/count?archived=true`)
  expect([response.body, response.headers.get('x-count'), pages]).toEqual([0, 'at-least', 101])
  pages = 0
  expect((await many.get(`${C}/count?archived=false&exact=true`)).body).toBe(15_000)
  await many.engine.close()
})
