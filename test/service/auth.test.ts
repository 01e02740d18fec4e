import { describe, expect, it } from 'vitest'
import { digestOf } from '../../src/event/sha-256.ts'
import { identifier } from '../../src/service/auth/caller.ts'
import { apiKeys } from '../../src/service/auth/api-keys.ts'
import { HttpProblem } from '../../src/service/http/problem.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Answer, type Client, clientOver, STORES } from './client.ts'

const COUNT = '/api/v1/conversation/c/events/count'

const clientWith = async (keys: readonly string[]): Promise<Client> => {
  const store = memoryStore()
  await store.createConversation({ id: 'c' })
  return clientOver(store, { keys })
}

const statusOf = async (
  client: Client,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
  path = COUNT,
): Promise<number> => (await client.send(path, { method, headers })).status

describe('session keys', () => {
  it.each(['', '  ', undefined])('reject %j as a key', async (key) => {
    await expect(clientWith(['one', key as string])).rejects.toMatchObject({ data: { field: 'keys' } })
  })

  it.each<[string, Readonly<Record<string, string>>, number]>([
    ['no credential', {}, 401],
    ['the first key', { 'X-Session-API-Key': 'one' }, 200],
    ['the second key', { 'X-Session-API-Key': 'two' }, 200],
    ['the second key as a bearer token', { Authorization: 'Bearer two' }, 200],
    ['the second key as an access token', { 'X-Access-Token': 'two' }, 200],
    ['another authorization scheme', { Authorization: 'Basic two' }, 401],
    ['a key in another case', { 'X-Session-API-Key': 'ONE' }, 401],
    ['a part of a key', { 'X-Session-API-Key': 'on' }, 401],
    ['both keys', { 'X-Session-API-Key': 'one,two' }, 401],
    ['an empty key', { 'X-Session-API-Key': '' }, 401],
    ['an empty header and a bearer token', { 'X-Session-API-Key': '', Authorization: 'Bearer two' }, 200],
    ['a blank header and an access token', { 'X-Session-API-Key': ' ', 'X-Access-Token': 'two' }, 200],
    ['an empty header and the cookie', { 'X-Access-Token': '', Cookie: 'api_key=one' }, 200],
    ['the cookie', { Cookie: 'a=b; api_key=one' }, 200],
    ['an escaped cookie', { Cookie: 'api_key=%6Fne' }, 200],
    ['a malformed escape in the cookie', { Cookie: 'api_key=%zz' }, 401],
    ['a cookie of another name', { Cookie: 'my_api_key=one' }, 401],
    ['a wrong header and a valid cookie', { 'X-Session-API-Key': 'x', Cookie: 'api_key=one' }, 401],
  ])('a request with %s %j gets %i', async (_what, headers, status) => {
    expect(await statusOf(await clientWith(['one', 'two']), headers)).toBe(status)
  })

  it('are not accepted in a query string', async () => {
    const client = await clientWith(['one'])
    for (const name of ['api_key', 'session_api_key', 'X-Session-API-Key', 'token']) {
      expect(await statusOf(client, {}, 'GET', `${COUNT}?${name}=one`)).toBe(401)
    }
  })

  it('are not required for public paths, or when none is configured', async () => {
    const client = await clientWith(['one'])
    for (const path of ['/health', '/openapi.json', '/api/shared-events/search?conversation_id=c']) {
      expect(await statusOf(client, {}, 'GET', path)).toBe(200)
    }
    expect(await statusOf(await clientWith([]), {})).toBe(200)
  })
})

const create = (client: Client, headers: Readonly<Record<string, string>>): Promise<Answer> =>
  client.send('/api/keys', { method: 'POST', headers, body: JSON.stringify({ name: 'n' }) })

describe('pages of other sites', () => {
  const cross = { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://elsewhere.example' }

  it('cannot write with a cookie, and CORS lets them read no response', async () => {
    const client = await clientWith(['one'])
    const cookie = { Cookie: 'api_key=one' }
    expect((await create(client, { ...cookie, ...cross })).status).toBe(403)
    expect((await create(client, { ...cookie, Origin: 'https://elsewhere.example' })).status).toBe(403)
    expect((await create(client, { ...cookie, Origin: 'null' })).status).toBe(403)
    expect((await create(client, { ...cookie, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200)
    expect((await create(client, { ...cookie, Origin: 'http://localhost' })).status).toBe(200)
    const { headers } = await client.send(COUNT, { headers: { ...cookie, ...cross } })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  it('cannot write to a service without keys, but can with a key in a header', async () => {
    expect((await create(await clientWith([]), cross)).status).toBe(403)
    expect((await create(await clientWith([]), {})).status).toBe(200)
    const client = await clientWith(['one'])
    expect((await create(client, { ...cross, 'X-Session-API-Key': 'one' })).status).toBe(200)
  })

  it('can read every response header that is not an instruction to the browser', async () => {
    const client = await clientWith([])
    const url = `data:image/png;base64,${'QUJD'.repeat(30_000)}`
    const llm_message = { role: 'user', content: [{ image_urls: [url] }] } as const
    await (await client.engine.open('c')).append({ kind: 'MessageEvent', source: 'user', llm_message })
    const blob = `/api/conversations/c/blobs/${digestOf(url).hash}`
    // CORS exposes some headers by itself. The others of this list are instructions to browsers and caches.
    const others =
      /^(?:access-control-|vary$|x-content-type-options$|content-(?:length|type|security-policy)$|cache-control$)/
    const read = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => {
      const answer = await client.send(path, {
        method,
        headers: { Origin: 'http://localhost:3000', ...headers },
      })
      const exposed = answer.headers.get('access-control-expose-headers')?.toLowerCase().split(', ')
      const names = [...answer.headers.keys()].filter((header) => !others.test(header))
      expect([answer.status, names.filter((header) => exposed?.includes(header) !== true)]).toEqual([
        answer.status,
        [],
      ])
      return names
    }
    expect(await read('/api/conversations/count')).toContain('x-count')
    expect(await read('/api/file/download-trajectory/c')).toContain('content-disposition')
    expect(await read(blob)).toContain('etag')
    expect(await read(blob, { Range: 'bytes=0-9' })).toContain('content-range')
    expect(await read('/api/conversations/none')).toContain('x-request-id')
    expect(await read('/api/conversations/count', {}, 'PUT')).toContain('allow')
  })
})

interface Key {
  readonly id: string
  readonly key: string
  readonly org_id: string | null
}

describe.each(Object.keys(STORES))('API keys over %s', (name) => {
  const session = { 'X-Session-API-Key': 'one' }
  const open = async (): Promise<Client> => {
    const store = STORES[name]?.() ?? memoryStore()
    await store.createConversation({ id: 'c' })
    return clientOver(store, { keys: ['one'] })
  }
  const create = <T = Key>(client: Client, body: object, headers = {}): Promise<Answer<T>> =>
    client.send<T>('/api/keys', {
      method: 'POST',
      headers: { ...session, ...headers },
      body: JSON.stringify(body),
    })

  it('are returned once, listed without the key, and stored as a hash', async () => {
    const client = await open()
    const { body: first } = await create(client, { name: 'first' })
    await create(client, { name: 'second' })
    expect(first).toMatchObject({
      name: 'first',
      last_used_at: null,
      not_before: null,
      expires_at: null,
      org_id: null,
    })
    expect(first.key).toMatch(/^sk-colloquy-[A-Za-z0-9]{43}$/)
    const { body: list } = await client.send<readonly { name: string }[]>('/api/keys', { headers: session })
    expect(list.map((key) => key.name)).toEqual(['second', 'first'])
    expect(JSON.stringify(list)).not.toContain(first.key)
    const { items } = await client.engine.store.listItems('api-keys')
    expect(items).toHaveLength(2)
    expect(JSON.stringify(items)).not.toContain(first.key.slice(12))
  })

  it('are valid in every process until they are deleted', async () => {
    const client = await open()
    const other = await clientOver(client.engine.store, { keys: ['one'] })
    const { body } = await create(client, { name: 'n' })
    const headers = { 'X-Session-API-Key': body.key }
    expect([await statusOf(client, headers), await statusOf(other, headers)]).toEqual([200, 200])
    expect(await statusOf(client, { Cookie: `api_key=${body.key}` })).toBe(200)
    expect(await statusOf(client, { 'X-Session-API-Key': `${body.key}x` })).toBe(401)
    const { body: used } = await client.send<readonly object[]>('/api/keys', { headers: session })
    expect(used).toMatchObject([{ last_used_at: expect.any(String) }])
    const gone = await client.send(`/api/keys/${body.id}`, { method: 'DELETE', headers: session })
    expect(gone).toMatchObject({ status: 200, body: { success: true } })
    expect([await statusOf(other, headers), await statusOf(client, headers)]).toEqual([401, 401])
    expect(await statusOf(client, session, 'DELETE', `/api/keys/${body.id}`)).toBe(404)
  })

  it('cannot manage keys, and `/api/keys/current` describes them', async () => {
    const client = await open()
    const { body } = await create(client, { name: 'n', org_id: 'o' })
    const headers = { 'X-Session-API-Key': body.key }
    expect((await create(client, { name: 'more' }, headers)).status).toBe(403)
    expect(await statusOf(client, headers, 'GET', '/api/keys')).toBe(403)
    expect(await statusOf(client, headers, 'DELETE', `/api/keys/${body.id}`)).toBe(403)
    const current = await client.send('/api/keys/current', { headers })
    expect(current.body).toEqual({
      id: body.id,
      name: 'n',
      org_id: 'o',
      bound_org_id: 'o',
      user_id: null,
      auth_type: 'api_key',
    })
    expect(await statusOf(client, session, 'GET', '/api/keys/current')).toBe(400)
  })

  it('cannot be created with an invalid X-Org-Id header', async () => {
    const client = await open()
    for (const org of ['', 'o'.repeat(201)]) {
      const { status, body } = await create<object>(client, { name: 'n' }, { 'X-Org-Id': org })
      expect({ status, body }).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['header', 'x-org-id'] }] },
      })
    }
  })

  it('leave no stored item when they are removed', async () => {
    const client = await open()
    const { body } = await create(client, { name: 'n' })
    expect(await statusOf(client, { 'X-Session-API-Key': body.key })).toBe(200)
    await client.service.keys.remove(body.id)
    expect((await client.engine.store.listItems('api-keys')).items).toEqual([])
  })

  it('bind to the organization in the body, or else in the header, and reject another one', async () => {
    const client = await open()
    const acme = { 'X-Org-Id': 'acme' }
    const keys = await Promise.all(
      [{ org_id: 'other' }, {}, { org_id: null }].map(
        async (more) => (await create(client, { name: 'n', ...more }, acme)).body,
      ),
    )
    expect(keys.map(({ org_id }) => org_id)).toEqual(['other', 'acme', null])
    const status = (key: Key, headers = {}): Promise<number> =>
      statusOf(client, { 'X-Session-API-Key': key.key, ...headers })
    for (const [index, key] of keys.entries()) {
      expect(await status(key)).toBe(200)
      expect(await status(key, acme)).toBe(index === 0 ? 403 : 200)
    }
  })

  it.each<[string, object, readonly (string | number)[]]>([
    ['no name', {}, ['body', 'name']],
    ['an empty name', { name: '' }, ['body', 'name']],
    ['a name that is too long', { name: 'x'.repeat(256) }, ['body', 'name']],
    ['an unknown field', { name: 'n', admin: true }, ['body', 'admin']],
    ['an invalid time', { name: 'n', not_before: 'soon' }, ['body', 'not_before']],
    ['an expiry in the past', { name: 'n', expires_at: '2001-01-01T00:00:00Z' }, ['body', 'expires_at']],
    [
      'an expiry before not_before',
      { name: 'n', not_before: '2999-01-02T00:00:00Z', expires_at: '2999-01-01T00:00:00Z' },
      ['body', 'expires_at'],
    ],
    [
      'an expiry equal to not_before',
      { name: 'n', not_before: '2999-01-01T00:00:00Z', expires_at: '2999-01-01T00:00:00Z' },
      ['body', 'expires_at'],
    ],
  ])('cannot be created with %s', async (_what, body, loc) => {
    const answer = await create<{ detail: readonly { loc: unknown }[] }>(await open(), body)
    expect([answer.status, answer.body.detail[0]?.loc]).toEqual([422, loc])
  })

  it('can be created with dates, as searches accept them', async () => {
    const { status, body } = await create<Record<string, unknown>>(await open(), {
      name: 'n',
      not_before: '2999-01-01',
      expires_at: '2999-01-02T00:00:00+02:00',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      not_before: '2999-01-01T00:00:00.000Z',
      expires_at: '2999-01-01T22:00:00.000Z',
    })
  })

  it('are valid from not_before until just before expires_at, to the millisecond', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const keys = apiKeys(STORES[name]?.() ?? memoryStore(), () => now)
    const setTime = (text: string): void => void (now = Date.parse(text))
    const { key } = await keys.create({
      name: 'n',
      not_before: '2026-01-02T00:00:00.000Z',
      expires_at: '2026-01-03T00:00:00.000Z',
      org_id: null,
    })
    const valid: boolean[] = []
    for (const time of [
      '01T00:00:00Z',
      '01T23:59:59.999Z',
      '02T00:00:00Z',
      '02T23:59:59.999Z',
      '03T00:00:00Z',
      '02T12:00:00Z',
    ]) {
      setTime(`2026-01-${time}`)
      valid.push((await keys.find(key)) !== null)
    }
    expect(valid).toEqual([false, false, true, true, false, true])
    // A rejected request does not count as use.
    expect(await keys.list()).toMatchObject([{ last_used_at: '2026-01-02T23:59:59.999Z' }])
  })
})

const header = (text: string) => ({ text, from: 'header' }) as const

describe('`identifier`', () => {
  it('returns session, API key or open access, and null for an unknown key', async () => {
    const info = {
      id: 'k',
      name: 'n',
      created_at: '',
      last_used_at: null,
      not_before: null,
      expires_at: null,
      org_id: 'o',
    }
    const identify = identifier(['s'], { find: async (text) => (text === 'a' ? info : null) })
    expect(await identify(null)).toBeNull()
    expect(await identify(header('s'))).toEqual({ type: 'session' })
    expect(await identify(header('a'))).toEqual({ type: 'api_key', key: info })
    expect(await identify(header('x'))).toBeNull()
    await expect(identify(header('a'), 'p')).rejects.toThrow(HttpProblem)
    expect(await identifier([], null)(null)).toEqual({ type: 'open' })
  })

  it('keeps the keys that it was given, even if the caller clears its list', async () => {
    const keys = ['s']
    const identify = identifier(keys, null)
    keys.length = 0
    expect([await identify(null), await identify(header('s'))]).toEqual([null, { type: 'session' }])
  })
})
