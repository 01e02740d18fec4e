import { describe, expect, it } from 'vitest'
import { recordsOf } from '../../src/service/records.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { STORES } from './client.ts'
import { KEY, LLM, recordingStore, profile, SECRET, settingsFixture } from './settings-fixture.ts'

const fixture = settingsFixture()
const { begin, send } = fixture

describe.each(Object.entries(STORES))('profiles over %s', (_, make) => {
  it('are stored sealed, shown without their keys, and readable after a restart', async () => {
    const { store, writtenText: input } = recordingStore(make())
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
    expect(input()).toContain('"sealed"')
    expect(input()).not.toContain('very')
    expect(input()).not.toContain('gpt-x')
    await begin(store)
    expect(await fixture.client.service.profiles.get('one')).toEqual(LLM)
    // Neither the mask nor a change without the key overwrites the key.
    await send('POST', profile('one'), { llm: { ...LLM, api_key: '**********', temperature: 1 } })
    expect(await fixture.client.service.profiles.get('one')).toEqual({ ...LLM, temperature: 1 })
    await send('POST', profile('two'), { llm: LLM, include_secrets: false })
    expect((await send('GET', profile('two'))).body).toMatchObject({ api_key_set: false })
  })

  it('cannot be opened with another secret or in another place', async () => {
    const store = make()
    await begin(store)
    await send('POST', profile('one'), { llm: LLM })
    for (const options of [{ secret: 'another one' }, {}]) {
      await begin(store, options)
      expect((await send('GET', profile('one'))).status).toBe(409)
    }
    // Values sealed in one place cannot be opened in another.
    const sealed = await recordsOf(store, 'profiles').find('profiles')
    await recordsOf(store, 'agent-profiles').update('agent-profiles', () => sealed?.record)
    await begin(store)
    expect((await send('GET', profile('one'))).status).toBe(200)
    expect((await send('GET', '/api/agent-profiles')).status).toBe(409)
  })

  it('are limited to 50, also for concurrent creates', async () => {
    await begin(make())
    const creates = await Promise.all(
      Array.from({ length: 55 }, (_, index) => send('POST', profile(`p${index}`), { llm: { model: 'm' } })),
    )
    const statuses = creates.map(({ status }) => status)
    expect([
      statuses.filter((one) => one === 201).length,
      statuses.filter((one) => one === 409).length,
    ]).toEqual([50, 5])
    const created = creates.findIndex(({ status }) => status === 201)
    expect((await send('POST', profile(`p${created}`), { llm: { model: 'n' } })).status).toBe(201)
    expect((await send('DELETE', profile(`p${created}`))).status).toBe(200)
    expect((await send('DELETE', profile(`p${created}`))).status).toBe(200)
    expect((await send('POST', profile('new'), { llm: { model: 'm' } })).status).toBe(201)
    expect((await send('POST', profile('newer'), { llm: { model: 'm' } })).status).toBe(409)
  })
})

describe('profiles', () => {
  it('can be renamed and activated, and the settings follow', async () => {
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
    expect(await fixture.client.service.profiles.get('c')).toEqual(LLM)
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
    ['a key in an object', { llm: { model: 'm', api_key: { of: KEY } } }],
    ['a key instead of a number', { llm: { model: 'm', temperature: KEY } }],
    ['a key as the name of a field', { llm: { model: 'm', [KEY]: 1 } }],
    ['a key next to the LLM', { llm: { model: 'm' }, [KEY]: KEY }],
    ['a key instead of the body', KEY],
  ])('return no key in the error for %s', async (_, body) => {
    await begin()
    for (const rest of ['', '/validate']) {
      const { status, body: report } = await send('POST', profile('a', rest), body)
      expect(status).toBe(422)
      expect(JSON.stringify(report)).not.toContain('very')
    }
    const { status, body: report } = await send('PATCH', '/api/settings', { agent_settings_diff: KEY })
    expect([status, JSON.stringify(report).includes('very')]).toEqual([422, false])
  })

  it('lose no concurrent change', async () => {
    await begin()
    for (let round = 0; round < 20; round += 1) {
      await send('POST', profile('a'), { llm: LLM })
      await Promise.all([
        send('POST', profile('a'), { llm: { ...LLM, api_key: 'a newer key' } }),
        send('POST', profile('a'), { llm: { ...LLM, api_key: '**********', temperature: 1 } }),
      ])
      expect((await fixture.client.service.profiles.get('a'))['api_key']).toBe('a newer key')
      const [renamed, saved] = await Promise.all([
        send('POST', profile('a', '/rename'), { new_name: 'b' }),
        send('POST', profile('a'), { llm: { model: 'saved' } }),
      ])
      expect([renamed.status, saved.status]).toEqual([200, 201])
      const all = await fixture.client.service.profiles.all()
      const models = Array.from(all.values(), (llm) => llm['model'])
      expect(models).toContain('saved')
      await send('DELETE', profile('a'))
      await send('DELETE', profile('b'))
    }
  })

  it('are not active when they are deleted or renamed during their activation', async () => {
    await begin()
    for (const last of ['DELETE', 'POST'] as const) {
      await send('POST', profile('a'), { llm: LLM })
      await Promise.all([
        send('POST', profile('a', '/activate')),
        last === 'DELETE'
          ? send('DELETE', profile('a'))
          : send('POST', profile('a', '/rename'), { new_name: 'b' }),
      ])
      const { active_profile } = await fixture.client.service.settings.read()
      expect([null, 'b']).toContain(active_profile)
    }
  })

  it('leave no key in logs or errors, also a key that is sent as a name', async () => {
    const lines: unknown[] = []
    await begin(memoryStore(), { secret: SECRET, log: (line) => void lines.push(line) })
    const key = 'sk-proj-very-secret-key'
    await send('POST', profile('a'), { llm: { ...LLM, api_key: key } })
    await send('PATCH', '/api/settings', { active_profile: 'a' })
    await send('POST', profile('a', '/validate'), {})
    const report = [
      await send('PATCH', '/api/settings', { active_profile: key }),
      await send('POST', profile('a', '/rename'), { new_name: `${key}!` }),
      await send('POST', profile('a', '/rename'), { new_name: [key] }),
      await send('GET', profile(`${key}%20`)),
    ]
    expect(report.map(({ status }) => status)).toEqual([404, 422, 422, 422])
    expect((await send('GET', profile(key))).body).toEqual({ detail: 'Profile not found.' })
    expect(JSON.stringify(report.map(({ body }) => body))).not.toContain('very')
    expect(lines.length).toBeGreaterThan(5)
    expect(JSON.stringify(lines.slice(0, 4))).not.toContain('very')
  })

  it('reject invalid names, and accept valid ones', async () => {
    await begin()
    for (const name of ['.x', '-x', 'x'.repeat(65), 'a%2Fb', 'a%20b', '%00', '..%2Fb']) {
      expect((await send('POST', profile(name), { llm: { model: 'm' } })).status).toBe(422)
    }
    for (const name of ['x', '9', 'a.b_c-d', 'x'.repeat(64)]) {
      expect((await send('POST', profile(name), { llm: { model: 'm' } })).status).toBe(201)
    }
  })

  it('cannot contain keys when the service has no secret', async () => {
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

it('names from object prototypes are unknown MCP servers', async () => {
  await begin()
  const { body } = await send('POST', '/api/agent-profiles/draft/materialize', {
    profile: { mcp_server_refs: ['__proto__', 'constructor'] },
  })
  expect(body).toMatchObject({
    valid: false,
    resolved_mcp_servers: [],
    dangling_mcp_server_refs: ['__proto__', 'constructor'],
  })
})
