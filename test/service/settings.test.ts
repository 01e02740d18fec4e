/** Profiles and settings: kept over a restart, sealed in the store, and never told with a secret, whatever goes wrong. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { ServiceOptions } from '../../src/service/index.ts'
import { recordsOf } from '../../src/service/records/records.ts'
import { merge } from '../../src/service/settings/merge.ts'
import { MASK } from '../../src/service/settings/secrets.ts'
import { validateLlm } from '../../src/service/settings/validate.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type Answer, type Client, clientOver, STORES } from './client.ts'

const KEY = 'sk-proj-"very"/secret+key=='
const SECRET = 'what profiles are sealed with'
const LLM = { model: 'gpt-x', api_key: KEY, base_url: 'http://user:pw@127.0.0.1:9/v1', temperature: 0.5 }

let client: Client
const ends: (() => Promise<unknown> | void)[] = []

async function begin(
  store: Store = memoryStore(),
  options: Omit<ServiceOptions, 'engine'> = { secret: SECRET },
): Promise<void> {
  client = await clientOver(store, options)
  const { engine } = client
  ends.push(() => engine.close())
}

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

type Json = Record<string, unknown>
const send = (method: string, path: string, body?: unknown): Promise<Answer<Json>> =>
  client.send<Json>(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
const profile = (name: string, rest = ''): string => `/api/profiles/${name}${rest}`

/** Everything that a store holds of a service's records, as text. */
async function stored(store: Store): Promise<string> {
  const { items } = await store.listConversations()
  const logs = await Promise.all(items.map(({ id }) => store.read(id)))
  return JSON.stringify([items, logs.map((log) => log.map(({ fact }) => fact))])
}

describe.each(Object.entries(STORES))('profiles, over %s', (_, make) => {
  it('are kept sealed over a restart, told without their keys, and open to the embedder', async () => {
    const store = make()
    await begin(store)
    expect((await send('POST', profile('one'), { llm: LLM })).status).toBe(201)
    const { body } = await send('GET', profile('one'))
    expect(body).toEqual({
      name: 'one',
      config: { model: 'gpt-x', api_key: null, base_url: 'http://127.0.0.1:9/v1', temperature: 0.5 },
      api_key_set: true,
    })
    expect((await send('GET', '/api/profiles')).body).toEqual({
      profiles: [{ name: 'one', model: 'gpt-x', base_url: 'http://127.0.0.1:9/v1', api_key_set: true }],
      active_profile: null,
    })
    expect(await stored(store)).not.toContain('very')
    expect(await stored(store)).not.toContain('gpt-x')
    await begin(store)
    expect(await client.service.profiles.find('one')).toEqual({ name: 'one', llm: LLM })
    // The mask, or a change without the key, must not put anything in the key's place.
    await send('POST', profile('one'), { llm: { ...LLM, api_key: '**********', temperature: 1 } })
    expect((await client.service.profiles.get('one')).llm).toEqual({ ...LLM, temperature: 1 })
    await send('POST', profile('two'), { llm: LLM, include_secrets: false })
    expect((await send('GET', profile('two'))).body).toMatchObject({ api_key_set: false })
  })

  it('sealed with another secret are not opened', async () => {
    const store = make()
    await begin(store)
    await send('POST', profile('one'), { llm: LLM })
    for (const options of [{ secret: 'another one' }, {}]) {
      await begin(store, options)
      expect((await send('GET', profile('one'))).status).toBe(409)
    }
    // What was sealed for one profile is nothing in the place of another.
    type Profiles = { readonly profiles: readonly (readonly [string, object])[] }
    await recordsOf<Profiles>(store, 'profiles').update('profiles', (kept) => ({
      profiles: ['one', 'two'].map((name) => [name, kept?.profiles[0]?.[1] ?? {}]),
    }))
    await begin(store)
    expect((await send('GET', profile('one'))).status).toBe(200)
    expect((await send('GET', profile('two'))).status).toBe(409)
  })

  it('may be fifty, and no more, however many come at once', async () => {
    await begin(make())
    const many = await Promise.all(
      Array.from({ length: 55 }, (_, at) => send('POST', profile(`p${at}`), { llm: { model: 'm' } })),
    )
    const statuses = many.map(({ status }) => status)
    expect([
      statuses.filter((one) => one === 201).length,
      statuses.filter((one) => one === 409).length,
    ]).toEqual([50, 5])
    const there = many.findIndex(({ status }) => status === 201)
    expect((await send('POST', profile(`p${there}`), { llm: { model: 'n' } })).status).toBe(201)
    expect((await send('DELETE', profile(`p${there}`))).status).toBe(200)
    expect((await send('DELETE', profile(`p${there}`))).status).toBe(200)
    expect((await send('POST', profile('new'), { llm: { model: 'm' } })).status).toBe(201)
    expect((await send('POST', profile('newer'), { llm: { model: 'm' } })).status).toBe(409)
  })
})

describe('profiles', () => {
  it('are renamed and activated, and the settings follow', async () => {
    await begin()
    await send('POST', profile('a'), { llm: LLM })
    await send('POST', profile('b'), { llm: { model: 'other' } })
    expect((await send('POST', profile('a', '/activate'))).body).toMatchObject({
      name: 'a',
      llm_applied: true,
    })
    expect((await send('POST', profile('a', '/rename'), { new_name: 'b' })).status).toBe(409)
    expect((await send('POST', profile('a', '/rename'), { new_name: 'c' })).status).toBe(200)
    expect((await send('POST', profile('a', '/rename'), { new_name: 'd' })).status).toBe(404)
    expect((await client.service.profiles.get('c')).llm).toEqual(LLM)
    expect((await send('GET', '/api/settings')).body).toMatchObject({
      active_profile: 'c',
      llm_api_key_is_set: true,
    })
    await send('DELETE', profile('c'))
    expect((await send('GET', '/api/settings')).body).toMatchObject({
      active_profile: null,
      llm_api_key_is_set: true,
    })
    expect((await send('POST', profile('c', '/activate'))).status).toBe(404)
  })

  it.each([
    ['a key that is no text', { llm: { model: 'm', api_key: { of: KEY } } }],
    ['a key in the place of a number', { llm: { model: 'm', temperature: KEY } }],
    ['a key as a field', { llm: { model: 'm', [KEY]: 1 } }],
    ['a key beside the model', { llm: { model: 'm' }, [KEY]: KEY }],
    ['a key instead of all', KEY],
  ])('never say again what was given: %s', async (_, body) => {
    await begin()
    for (const rest of ['', '/validate']) {
      const { status, body: told } = await send('POST', profile('a', rest), body)
      expect(status).toBe(422)
      expect(JSON.stringify(told)).not.toContain('very')
    }
    const { status, body: told } = await send('PATCH', '/api/settings', { agent_settings_diff: KEY })
    expect([status, JSON.stringify(told).includes('very')]).toEqual([422, false])
  })

  it('lose no change of several at once', async () => {
    await begin()
    for (let round = 0; round < 20; round += 1) {
      await send('POST', profile('a'), { llm: LLM })
      await Promise.all([
        send('POST', profile('a'), { llm: { ...LLM, api_key: 'a newer key' } }),
        send('POST', profile('a'), { llm: { ...LLM, api_key: '**********', temperature: 1 } }),
      ])
      expect((await client.service.profiles.get('a')).llm['api_key']).toBe('a newer key')
      const [renamed, saved] = await Promise.all([
        send('POST', profile('a', '/rename'), { new_name: 'b' }),
        send('POST', profile('a'), { llm: { model: 'saved' } }),
      ])
      expect([renamed.status, saved.status]).toEqual([200, 201])
      const models = (await client.service.profiles.all()).map(({ llm }) => llm['model'])
      expect(models).toContain('saved')
      await send('DELETE', profile('a'))
      await send('DELETE', profile('b'))
    }
  })

  it('that go in the moment in which they are activated are not active', async () => {
    await begin()
    for (const last of ['DELETE', 'POST'] as const) {
      await send('POST', profile('a'), { llm: LLM })
      await Promise.all([
        send('POST', profile('a', '/activate')),
        last === 'DELETE'
          ? send('DELETE', profile('a'))
          : send('POST', profile('a', '/rename'), { new_name: 'b' }),
      ])
      const { active_profile } = await client.service.settings.read()
      expect([null, 'b']).toContain(active_profile)
    }
  })

  it('say nothing of a key in logs, nor of one that is given as a name', async () => {
    const lines: unknown[] = []
    await begin(memoryStore(), { secret: SECRET, log: (line) => void lines.push(line) })
    const key = 'sk-proj-very-secret-key'
    await send('POST', profile('a'), { llm: { ...LLM, api_key: key } })
    await send('PATCH', '/api/settings', { active_profile: 'a' })
    await send('POST', profile('a', '/validate'), {})
    const told = [
      await send('PATCH', '/api/settings', { active_profile: key }),
      await send('POST', profile('a', '/rename'), { new_name: `${key}!` }),
      await send('POST', profile('a', '/rename'), { new_name: [key] }),
      await send('GET', profile(`${key}%20`)),
    ]
    expect(told.map(({ status }) => status)).toEqual([404, 422, 422, 422])
    expect((await send('GET', profile(key))).body).toEqual({ detail: 'There is no profile of this name.' })
    expect(JSON.stringify(told.map(({ body }) => body))).not.toContain('very')
    expect(lines.length).toBeGreaterThan(5)
    expect(JSON.stringify(lines.slice(0, 4))).not.toContain('very')
  })

  it('have names that are names', async () => {
    await begin()
    for (const name of ['.x', '-x', 'x'.repeat(65), 'a%2Fb', 'a%20b', '%00', '..%2Fb']) {
      expect((await send('POST', profile(name), { llm: { model: 'm' } })).status).toBe(422)
    }
    for (const name of ['x', '9', 'a.b_c-d', 'x'.repeat(64)]) {
      expect((await send('POST', profile(name), { llm: { model: 'm' } })).status).toBe(201)
    }
  })

  it('with keys are refused where nothing seals them', async () => {
    await begin(memoryStore(), {})
    const { status, body } = await send('POST', profile('a'), { llm: LLM })
    expect([status, JSON.stringify(body).includes('very')]).toEqual([409, false])
    expect((await send('POST', profile('a'), { llm: { model: 'm' } })).status).toBe(201)
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: { github_token: 'x' } })).status).toBe(
      409,
    )
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: { max_tokens: 5 } })).status).toBe(200)
  })
})

const refused = (loc: readonly string[]) => ({
  detail: [{ type: 'value_error', loc: ['body', ...loc], msg: expect.stringContaining('give it anew') }],
})

describe('a stored secret goes only where it was stored for', () => {
  const AT = 'https://api.example/v1'
  const base = { model: 'm', api_key: KEY, base_url: AT, extra_headers: { 'X-Team': 'a' } }
  const kept = { ...base, api_key: MASK }
  const elsewhere: readonly [what: string, llm: Json][] = [
    ['another address', { ...kept, base_url: 'https://evil.example/v1' }],
    ['no address', { model: 'm', api_key: MASK, extra_headers: base.extra_headers }],
    ['null for an address', { ...kept, base_url: null }],
    ['another header', { ...kept, extra_headers: { 'X-Team': 'a', 'X-Forward-To': 'evil.example' } }],
    ['an address in the body', { ...kept, litellm_extra_body: { api_base: 'https://evil.example' } }],
    ['a proxy in the body', { ...kept, litellm_extra_body: { deep: [{ proxy: 'evil.example' }] } }],
  ]

  it.each(elsewhere)('in a profile: %s', async (_, llm) => {
    const asked: Json[] = []
    await begin(memoryStore(), { secret: SECRET, askLlm: async (one) => void asked.push(one) })
    await send('POST', profile('a'), { llm: base })
    const { status, body } = await send('POST', profile('a'), { llm })
    expect([status, body]).toEqual([422, refused(['llm', 'api_key'])])
    await send('POST', profile('a', '/validate'))
    expect(asked).toEqual([base])
    // Given anew, it may go anywhere; and taken away.
    expect((await send('POST', profile('a'), { llm: { ...llm, api_key: 'another' } })).status).toBe(201)
    expect((await send('POST', profile('a'), { llm: { ...llm, api_key: null } })).status).toBe(201)
  })

  it.each(elsewhere)('in the settings: %s', async (_, llm) => {
    await begin()
    await send('PATCH', '/api/settings', { agent_settings_diff: { llm: base } })
    const { api_key: _masked, ...rest } = llm
    const moves = llm['base_url'] === undefined ? { ...rest, base_url: null } : rest
    for (const diff of [{ ...moves, api_key: MASK }, moves]) {
      const { status, body } = await send('PATCH', '/api/settings', { agent_settings_diff: { llm: diff } })
      expect([status, body]).toEqual([422, refused(['agent_settings_diff', 'llm', 'api_key'])])
    }
    expect((await client.service.settings.read()).agent_settings).toEqual({ llm: base })
    const { status } = await send('PATCH', '/api/settings', {
      agent_settings_diff: { llm: { ...moves, api_key: KEY } },
    })
    expect(status).toBe(200)
  })

  it('a header goes as little as a key, and its neighbours in a group stay free', async () => {
    await begin()
    const server = { url: 'https://a.example', headers: { Authorization: KEY } }
    await send('PATCH', '/api/settings', {
      misc_settings_diff: { mcp: { a: server, b: server }, git_token: 'g' },
    })
    const change = (mcp: Json) => send('PATCH', '/api/settings', { misc_settings_diff: { mcp } })
    expect((await change({ a: { url: 'https://evil.example' } })).status).toBe(422)
    expect((await change({ c: { url: 'https://c.example' } })).status).toBe(200)
    expect(
      (await change({ a: { url: 'https://c.example', headers: { Authorization: 'new' } } })).status,
    ).toBe(200)
    expect((await change({ b: null })).status).toBe(200)
  })

  it('nobody who says that he will use secrets is given masks', async () => {
    await begin()
    const settings = { llm: { ...base, base_url: 'https://h/?key=k' }, list: [{ token: 't' }, 1] }
    await send('PATCH', '/api/settings', {
      agent_settings_diff: settings,
      misc_settings_diff: { a: { token: 't', b: 1 } },
    })
    for (const value of ['plaintext', 'encrypted', 'x']) {
      const { status, body } = await client.send<Json>('/api/settings', {
        headers: { 'X-Expose-Secrets': value },
      })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        agent_settings: { llm: { model: 'm', extra_headers: { 'X-Team': 'a' } } },
        misc_settings: { a: { b: 1 } },
        llm_api_key_is_set: true,
      })
      expect(JSON.stringify(body)).not.toMatch(/\*{3}|very/)
    }
  })
})

/** A provider that does as it is told, and says the key again wherever it can. */
async function provider(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server: Server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`
}

describe('validating', () => {
  it.each([
    [200, true, null],
    [429, true, null],
    [401, false, 'AuthenticationError'],
    [403, false, 'PermissionDeniedError'],
    [404, false, 'NotFoundError'],
    [400, false, 'BadRequestError'],
    [503, false, 'ServiceUnavailableError'],
    [302, false, 'APIError'],
  ])('a provider that answers %i', async (status, valid, type) => {
    await begin()
    const seen: unknown[] = []
    const base_url = await provider(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += String(chunk)
      seen.push([request.url, request.headers.authorization, JSON.parse(text)])
      response.writeHead(status, { location: `/${encodeURIComponent(KEY)}` })
      response.end(
        JSON.stringify(status === 200 ? { choices: [] } : { error: `Incorrect API key provided: ${KEY}` }),
      )
    })
    const { status: answered, body } = await send('POST', profile('x', '/validate'), {
      llm: { ...LLM, base_url },
    })
    expect([answered, body['valid'], (body['error'] as Json | null)?.['type'] ?? null]).toEqual([
      200,
      valid,
      type,
    ])
    expect(JSON.stringify(body)).not.toContain('very')
    expect(seen).toEqual([
      ['/v1/chat/completions', `Bearer ${KEY}`, expect.objectContaining({ model: 'gpt-x', max_tokens: 1 })],
    ])
  })

  it.each([
    ['{}'],
    ['null'],
    ['<html>It works!</html>'],
    [`{"choices":"${KEY}"}`],
    [''],
    [`{"choices":[],"more":"${'x'.repeat(2 ** 18)}"}`],
  ])('what is no model, though it answers 200 with %.30s', async (reply) => {
    await begin()
    const base_url = await provider((_request, response) => void response.end(reply))
    const { body } = await send('POST', profile('x', '/validate'), { llm: { ...LLM, base_url } })
    expect(body).toEqual({
      valid: false,
      error: { type: 'APIError', message: expect.stringContaining('no choices') },
    })
    expect(JSON.stringify(body)).not.toContain('very')
  })

  it('a provider that never answers counts as right, one that is not there does not', async () => {
    await begin(memoryStore(), {
      secret: SECRET,
      askLlm: (_llm, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
    })
    expect(await validateLlm(LLM, () => new Promise(() => undefined), 30)).toEqual({
      valid: true,
      error: null,
    })
    await begin()
    for (const [base_url, type] of [
      ['http://127.0.0.1:9/', 'APIConnectionError'],
      [LLM.base_url, 'BadRequestError'],
      ['file:///etc/passwd', 'BadRequestError'],
      [undefined, 'BadRequestError'],
    ]) {
      const { body } = await send('POST', profile('x', '/validate'), {
        llm: { model: 'm', api_key: KEY, base_url },
      })
      expect(body).toMatchObject({ valid: false, error: { type } })
      expect(JSON.stringify(body)).not.toContain('very')
    }
  })

  it('masks the key in whatever an own way of asking throws, in every form', async () => {
    const forms = [KEY, encodeURIComponent(KEY), JSON.stringify({ KEY }), btoa(KEY), `Bearer ${KEY}`]
    await begin(memoryStore(), {
      secret: SECRET,
      askLlm: async () => {
        throw Object.assign(new Error(`refused: ${forms.join(' , ')}`), { name: `Bad${KEY}` })
      },
    })
    const { status, body } = await send('POST', profile('x', '/validate'), { llm: LLM })
    expect(status).toBe(200)
    for (const form of ['very', btoa(KEY).slice(0, 12), encodeURIComponent(KEY)])
      expect(JSON.stringify(body)).not.toContain(form)
    expect(JSON.stringify(body)).toContain('refused')
  })

  it.each<[string, string]>([
    ['first and last characters', `${KEY.slice(0, 9)}****${KEY.slice(-9)}`],
    ['small letters of an escape', encodeURIComponent(KEY).toLowerCase()],
    ['two escapes around each other', JSON.stringify(JSON.stringify(KEY))],
    [
      'letters by their numbers',
      [...KEY].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join(''),
    ],
    ['basic credentials', `Basic ${btoa(`user:${KEY}`)}`],
    ['base64 for URLs', btoa(`{"k":"${KEY}"}`).replaceAll('+', '-').replaceAll('/', '_')],
    ['base64 in base64', btoa(btoa(KEY))],
    ['hexadecimal', Buffer.from(KEY).toString('hex')],
    ['hexadecimal with signs between', [...Buffer.from(KEY)].map((byte) => byte.toString(16)).join(':')],
    ['hexadecimal behind another digit', `f${Buffer.from(KEY).toString('hex')}`],
    ['hexadecimal with more between', [...Buffer.from(KEY)].map((byte) => byte.toString(16)).join(', ')],
    ['capitals', KEY.toUpperCase()],
    ['backwards', [...KEY].toReversed().join('')],
    ['an end that is cut off', `${'.'.repeat(490)}${KEY}`],
    ['the password of the address', 'user s3same'],
    ['a key in the address', 'a-key-in-a-query'],
    ['a short key', 'zq7'],
  ])('tells nothing of a key in %s', async (_, form) => {
    const llm = {
      ...LLM,
      base_url: 'https://user:s3same@host/?api_key=a-key-in-a-query',
      aws_session_token: 'zq7',
    }
    const { error } = await validateLlm(llm, async () => {
      throw new Error(`refused: ${form} .`)
    })
    const told = `${error?.message} ${error?.message.toLowerCase()}`
    for (const size of [6, 12]) {
      for (let at = 0; at + size <= form.length; at += 1) {
        const part = form.slice(at, at + size)
        if (!/^[.*\s]|[.*\s]$|user|crede/.test(part)) expect(told).not.toContain(part)
      }
    }
    expect(told).not.toContain('zq7')
  })

  it('tells what holds no key', async () => {
    const { error } = await validateLlm(LLM, async () => {
      throw new TypeError('There is no model of this name.')
    })
    expect(error).toEqual({ type: 'TypeError', message: 'There is no model of this name.' })
  })

  it('takes a key out beside one that is short but for its white space', async () => {
    const { error } = await validateLlm({ ...LLM, aws_session_token: '   zq7   ' }, async () => {
      throw new Error(`refused: ${KEY} .`)
    })
    expect(error?.message).toBe('refused: [redacted] .')
  })

  it('takes the kept profile when nothing is given', async () => {
    const asked: unknown[] = []
    await begin(memoryStore(), { secret: SECRET, askLlm: async (llm) => void asked.push(llm) })
    await send('POST', profile('a'), { llm: LLM })
    expect((await send('POST', profile('a', '/validate'))).body).toEqual({ valid: true, error: null })
    expect(asked).toEqual([LLM])
    expect((await send('POST', profile('b', '/validate'))).status).toBe(404)
  })
})

describe.each(Object.entries(STORES))('settings, over %s', (_, make) => {
  it('are merged, masked and kept', async () => {
    const store = make()
    await begin(store)
    expect((await send('GET', '/api/settings')).body).toEqual({
      agent_settings: {},
      conversation_settings: {},
      misc_settings: {},
      llm_api_key_is_set: false,
      active_profile: null,
      active_agent_profile_id: null,
    })
    await send('PATCH', '/api/settings', {
      agent_settings_diff: { llm: { model: 'm', api_key: KEY, max_output_tokens: 9 }, tools: ['a', 'b'] },
      misc_settings_diff: { deep: { mcp: { headers: { Authorization: KEY, Accept: 'x' } } } },
    })
    const { body } = await send('PATCH', '/api/settings', {
      agent_settings_diff: { llm: { api_key: '**********', max_output_tokens: null }, tools: ['c'] },
      conversation_settings_diff: { max_iterations: 5 },
    })
    expect(body).toEqual({
      agent_settings: { llm: { model: 'm', api_key: '**********' }, tools: ['c'] },
      conversation_settings: { max_iterations: 5 },
      misc_settings: { deep: { mcp: { headers: { Authorization: '**********', Accept: 'x' } } } },
      llm_api_key_is_set: true,
      active_profile: null,
      active_agent_profile_id: null,
    })
    expect(await stored(store)).not.toContain('very')
    await begin(store)
    expect((await client.service.settings.read()).agent_settings).toEqual({
      llm: { model: 'm', api_key: KEY },
      tools: ['c'],
    })
  })

  it('keep what is given as it was shown, also in lists and addresses', async () => {
    await begin(make())
    const misc = {
      servers: [
        { name: 'a', token: 'token of a' },
        { name: 'b', token: 'token of b' },
      ],
      hook: 'https://me:pw@host/x?y=1&sig=5ecret',
    }
    await send('PATCH', '/api/settings', { misc_settings_diff: misc })
    const { body } = await send('GET', '/api/settings')
    const shown = body['misc_settings'] as { servers: object[]; hook: string }
    expect(shown).toEqual({
      servers: [
        { name: 'a', token: '**********' },
        { name: 'b', token: '**********' },
      ],
      hook: 'https://host/x?y=1&sig=**********',
    })
    const again = { ...shown, servers: [...shown.servers.toReversed(), { name: 'c', token: 'c' }] }
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: again })).status).toBe(200)
    expect((await client.service.settings.read()).misc_settings).toEqual({
      servers: [...misc.servers.toReversed(), { name: 'c', token: 'c' }],
      hook: misc.hook,
    })
    // Entries that look alike are told apart by their order, for as long as there are as many of them.
    const alike = {
      keys: [{ token: 'first' }, { token: 'second' }, 'https://me:pw@host/', 'https://you@host/'],
    }
    await send('PATCH', '/api/settings', { misc_settings_diff: alike })
    const masked = (await send('GET', '/api/settings')).body['misc_settings'] as { keys: object[] }
    expect(masked.keys).toEqual([{ token: MASK }, { token: MASK }, 'https://host/', 'https://host/'])
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: masked })).status).toBe(200)
    expect((await client.service.settings.read()).misc_settings['keys']).toEqual(alike.keys)
    const fewer = { keys: masked.keys.slice(1) }
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: fewer })).status).toBe(400)
    // Whose the masked secret was cannot be told: it must become nobody's.
    const renamed = { servers: [{ name: 'd', token: '**********' }] }
    const refused = await send('PATCH', '/api/settings', { misc_settings_diff: renamed })
    expect([refused.status, JSON.stringify(refused.body).includes('token of')]).toEqual([400, false])
  })

  it('lose no change of several at once', async () => {
    await begin(make())
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        send('PATCH', '/api/settings', { misc_settings_diff: { [`k${at}`]: at } }),
      ),
    )
    expect(Object.keys((await client.service.settings.read()).misc_settings)).toHaveLength(20)
  })

  it('load the model of the active profile, unless another is given', async () => {
    await begin(make())
    await send('POST', profile('a'), { llm: LLM })
    const change = async (body: object): Promise<unknown[]> => {
      const { status } = await send('PATCH', '/api/settings', body)
      const { agent_settings, active_profile } = await client.service.settings.read()
      return [status, agent_settings['llm'], active_profile]
    }
    expect(await change({ active_profile: 'a' })).toEqual([200, LLM, 'a'])
    expect(await change({ active_profile: null })).toEqual([200, LLM, null])
    expect(await change({ active_profile: 'a', agent_settings_diff: { llm: { model: 'own' } } })).toEqual([
      200,
      { ...LLM, model: 'own' },
      'a',
    ])
    // A model that is taken away is none that is given.
    const loaded = await change({ active_profile: 'a', agent_settings_diff: { llm: null } })
    expect(loaded).toEqual([200, LLM, 'a'])
    expect((await change({ active_profile: 'b' }))[0]).toBe(404)
    expect((await change({}))[0]).toBe(400)
  })
})

it('merging takes no shortcut by names of the language', () => {
  const diff = JSON.parse(
    '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
  )
  const merged = merge({}, diff)
  expect(({} as Json)['polluted']).toBeUndefined()
  expect(Object.keys(merged)).toEqual(['__proto__', 'constructor'])
})
