import { expect, it } from 'vitest'
import { redactingStore, redactionRules } from '../../src/context/redaction/index.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import { createService } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'

function client(store: Store, keys: readonly string[] = []) {
  const service = createService({
    engine: createEngine({ store }),
    agent: () => async function* () {},
    keys,
  })
  return async (query: string, headers: Readonly<Record<string, string>> = {}) => {
    const url = `http://localhost/api/conversations/search-text?${query}`
    const response = await service.fetch(new Request(url, { headers }))
    const text = await response.text()
    return { status: response.status, body: JSON.parse(text) }
  }
}

const say = (id: string, text: string, second: number): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  timestamp: `2026-01-01T00:00:0${second}Z`,
  llm_message: { role: 'user', content: [{ text }] },
})

async function filled(store: Store): Promise<Store> {
  await store.createConversation({ id: 'a', owner: 'ann', public: true, tags: { team: 'red' } })
  await store.createConversation({ id: '6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f', owner: 'bob' })
  await store.append('a', [say('1', 'Deploy the crème', 1), say('2', 'deploy deploy', 2)])
  await store.append('6f1c9f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f', [say('3', 'Not to deploy', 3)])
  return store
}

const ids = ({ body }: { readonly body: { readonly items: readonly { readonly event_id: string }[] } }) =>
  body.items.map(({ event_id }) => event_id)

it('a search finds, ranks, filters and pages', async () => {
  const search = client(await filled(memoryStore({ fullText: true })))
  expect(ids(await search('query=deploy'))).toEqual(['3', '2', '1'])
  expect(ids(await search('query=deploy&sort_order=RANK'))).toEqual(['2', '3', '1'])
  expect(ids(await search('query=deploy%20-not'))).toEqual(['2', '1'])
  expect(ids(await search('query=deploy&owner=bob'))).toEqual(['3'])
  expect(ids(await search('query=deploy&public=true'))).toEqual(['2', '1'])
  expect(ids(await search('query=deploy&tag=team%3Ared&limit=1'))).toEqual(['2'])
  expect(ids(await search('query=deploy&role=assistant'))).toEqual([])
  expect(ids(await search('query=deploy&conversation_id=6F1C9F0E1A2B4C3D8E4F5A6B7C8D9E0F'))).toEqual(['3'])
  expect(
    ids(await search('query=deploy&timestamp__gte=2026-01-01T00:00:02Z&timestamp__lt=2026-01-01T00:00:03Z')),
  ).toEqual(['2'])
  const first = await search('query=deploy&limit=2')
  expect(ids(await search(`query=deploy&limit=2&page_id=${first.body.next_page_id}`))).toEqual(['1'])
  expect((await search('query=creme')).body.items).toEqual([
    {
      conversation_id: 'a',
      event_id: '1',
      position: 0,
      role: 'user',
      timestamp: '2026-01-01T00:00:01.000000Z',
      snippet: 'Deploy the crème',
      ranges: [[11, 16]],
    },
  ])
})

it('a query without terms finds nothing, and an invalid parameter gets 422', async () => {
  const search = client(await filled(memoryStore({ fullText: true })))
  for (const query of ['', '%22', '-', '(', 'AND%20OR', '%00', '*', 'a'.repeat(5_000), '%ED%A0%80'])
    expect(await search(`query=${query}`), query).toEqual({
      status: 200,
      body: { items: [], next_page_id: null },
    })
  for (const query of [
    '',
    'query=a&limit=0',
    'query=a&limit=101',
    'query=a&role=robot',
    'query=a&sort_order=x',
    'query=a&page_id=x',
    'query=a&owner=',
    'query=a&timestamp__gte=x',
  ])
    expect((await search(query)).status, query).toBe(422)
})

it('an invalid `conversation_id` gets 422', async () => {
  const { status, body } = await client(memoryStore({ fullText: true }))(
    `query=a&conversation_id=${'x'.repeat(201)}`,
  )
  expect([status, body.detail[0].loc]).toEqual([422, ['query', 'conversation_id']])
})

it('a service without an index returns 501, and a request without a key gets 401', async () => {
  expect(await client(memoryStore())('query=a')).toMatchObject({ status: 501 })
  const search = client(await filled(memoryStore({ fullText: true })), ['k'])
  const refused = await search('query=deploy')
  expect(refused.status).toBe(401)
  expect(await search('query=nothing')).toEqual(refused)
  expect(ids(await search('query=deploy', { 'x-session-api-key': 'k' }))).toEqual(['3', '2', '1'])
})

it('a request with a wrong key does not search the store', async () => {
  const store = await filled(memoryStore({ fullText: true }))
  const calls: unknown[] = []
  const watched = new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function' || !/search|count|list/i.test(String(name))) return method
      return (...values: unknown[]) => {
        calls.push(name)
        return Reflect.apply(method, target, values)
      }
    },
  })
  const search = client(watched, ['k'])
  for (const query of [
    'query=deploy',
    'query=nothing',
    'query=deploy&owner=bob',
    'query=deploy&public=true',
  ]) {
    calls.length = 0
    expect((await search(query, { 'x-session-api-key': 'wrong' })).status).toBe(401)
    expect(calls.filter((name) => name === 'searchText')).toEqual([])
  }
  await search('query=deploy', { 'x-session-api-key': 'k' })
  expect(calls).toContain('searchText')
})

it('a search finds no deleted and no redacted text', async () => {
  const inner = memoryStore({ fullText: true })
  const rules = redactionRules({ secrets: ['correct horse battery'] })
  const store = await filled(redactingStore(inner, rules))
  await store.append('a', [say('4', 'The password is correct horse battery, deploy', 4)])
  const search = client(store)
  expect(ids(await search('query=horse'))).toEqual([])
  const [hit] = (await search('query=password')).body.items
  expect(hit.snippet).toBe('The password is [redacted], deploy')
  await store.deleteConversation('a')
  expect(ids(await search('query=deploy'))).toEqual(['3'])
})
