import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const store = memoryStore()
const service = createService({ engine: createEngine({ store }), agent: () => async function* () {} })

async function call(path: string, init: RequestInit = {}) {
  const headers = { 'content-type': 'application/json' }
  const response = await service.fetch(new Request(`http://localhost${path}`, { headers, ...init }))
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

const post = (path: string, body: object) => call(path, { method: 'POST', body: JSON.stringify(body) })

const idsOf = async (query: string): Promise<string[]> => {
  const { body } = await call(`/api/conversations/search?sort_order=CREATED_AT&${query}`)
  return body.items.map(({ id }: { readonly id: string }) => id)
}

it('an owner can be set, read, searched and counted, and a fork keeps it', async () => {
  const tags = { userId: 'u', tenant_id: 't' }
  const created = await post('/api/conversations', { conversation_id: 'a', owner: 'ann', tags })
  expect(created).toMatchObject({ status: 201, body: { owner: 'ann', tags } })
  await post('/api/conversations', { conversation_id: 'b', owner: 'bob' })
  await post('/api/conversations', { conversation_id: 'c' })
  expect((await call('/api/conversations/c')).body.owner).toBeNull()
  expect((await post('/api/conversations/a/fork', { id: 'a2' })).body.owner).toBe('ann')
  expect((await post('/api/conversations/a/fork', { id: 'b2', owner: 'bob' })).body.owner).toBe('bob')
  expect(await idsOf('owner=ann')).toEqual(['a', 'a2'])
  expect(await idsOf('owner=bob&status=idle')).toEqual(['b', 'b2'])
  expect(await idsOf('owner=ann&tag=userId%3Au')).toEqual(['a'])
  expect(await idsOf('owner=%27%20or%201%3D1')).toEqual([])
  expect((await call('/api/conversations/count?owner=bob')).body).toBe(2)
  expect((await call('/api/conversations/count?owner=bob&status=idle')).body).toBe(2)
  for (const owner of ['', '%00', 'x'.repeat(201)]) {
    expect((await call(`/api/conversations/search?owner=${owner}`)).status, owner).toBe(422)
    expect((await call(`/api/conversations/count?owner=${owner}`)).status, owner).toBe(422)
  }
  const [first] = (await call('/api/conversations/search?owner=ann&limit=1')).body.items
  const { next_page_id: page } = (await call('/api/conversations/search?owner=ann&limit=1')).body
  expect(first.id).toBe('a2')
  expect((await call(`/api/conversations/search?owner=bob&limit=1&page_id=${page}`)).status).toBe(422)
})

it('a GET of an unknown conversation creates nothing', async () => {
  const { next } = await store.feed({ from: 'end' })
  const { body: document } = await call('/openapi.json')
  const paths = Object.entries(document.paths as Record<string, object>).filter(([, one]) => 'get' in one)
  expect(paths.length).toBeGreaterThan(50)
  for (const [path] of paths) {
    const url = path.replaceAll(/\{[^}]+\}/g, 'nobody')
    const { status } = await call(`${url}?ids=nobody&conversation_id=nobody`).catch(() => ({ status: 0 }))
    expect(status, url).not.toBe(500)
  }
  expect((await store.countConversations()).count).toBe(5)
  expect((await store.feed({ after: next })).items).toEqual([])
})
