import { describe, expect, it } from 'vitest'
import { MASK } from '../../src/service/mask-secrets.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { KEY, profile, SECRET, settingsFixture, type Json } from './settings-fixture.ts'

const fixture = settingsFixture()
const { begin, send } = fixture

const refused = (loc: readonly string[]) => ({
  detail: [
    {
      type: 'value_error',
      loc: ['body', ...loc],
      msg: expect.stringContaining('belongs to another address'),
    },
  ],
})

const saveAgent = (acp: Json) => send('POST', '/api/agent-profiles/a', { acp })

describe('a stored secret', () => {
  const AT = 'https://api.example/v1'
  const base = { model: 'm', api_key: KEY, base_url: AT, extra_headers: { 'X-Team': 'a' } }
  const stored = { ...base, api_key: MASK }
  const elsewhere: readonly [what: string, llm: Json][] = [
    ['another address', { ...stored, base_url: 'https://evil.example/v1' }],
    ['no address', { model: 'm', api_key: MASK, extra_headers: base.extra_headers }],
    ['a null address', { ...stored, base_url: null }],
    ['another header', { ...stored, extra_headers: { 'X-Team': 'a', 'X-Forward-To': 'evil.example' } }],
    ['an address in the body', { ...stored, litellm_extra_body: { api_base: 'https://evil.example' } }],
    ['a proxy in the body', { ...stored, litellm_extra_body: { deep: [{ proxy: 'evil.example' }] } }],
  ]

  it.each(elsewhere)('cannot be kept in a profile with %s', async (_, llm) => {
    const requests: Json[] = []
    await begin(memoryStore(), { secret: SECRET, askLlm: async (one) => void requests.push(one) })
    await send('POST', profile('a'), { llm: base })
    const { status, body } = await send('POST', profile('a'), { llm })
    expect([status, body]).toEqual([422, refused(['llm', 'api_key'])])
    await send('POST', profile('a', '/validate'))
    expect(requests).toEqual([base])
    // A new key may go anywhere, and the key can be removed.
    expect((await send('POST', profile('a'), { llm: { ...llm, api_key: 'another' } })).status).toBe(201)
    expect((await send('POST', profile('a'), { llm: { ...llm, api_key: null } })).status).toBe(201)
  })

  it.each(elsewhere)('cannot be kept in an agent profile with %s', async (_, llm) => {
    await begin()
    await saveAgent(base)
    const moves = llm['base_url'] === undefined ? { ...llm, base_url: null } : llm
    const { status, body } = await saveAgent(moves)
    expect([status, body]).toEqual([422, refused(['acp', 'api_key'])])
    expect((await saveAgent({ ...stored, model: 'n' })).status).toBe(201)
    expect((await saveAgent({ ...moves, api_key: 'another' })).status).toBe(201)
  })

  it.each(elsewhere)('cannot be kept in the settings with %s', async (_, llm) => {
    await begin()
    await send('PATCH', '/api/settings', { agent_settings_diff: { llm: base } })
    const { api_key: _masked, ...rest } = llm
    const moves = llm['base_url'] === undefined ? { ...rest, base_url: null } : rest
    for (const diff of [{ ...moves, api_key: MASK }, moves]) {
      const { status, body } = await send('PATCH', '/api/settings', { agent_settings_diff: { llm: diff } })
      expect([status, body]).toEqual([422, refused(['agent_settings_diff', 'llm', 'api_key'])])
    }
    expect((await fixture.client.service.settings.read()).agent_settings).toEqual({ llm: base })
    const { status } = await send('PATCH', '/api/settings', {
      agent_settings_diff: { llm: { ...moves, api_key: KEY } },
    })
    expect(status).toBe(200)
  })

  it('cannot be kept in a header with another URL, but other servers can change', async () => {
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

  it('is left out, not masked, with the header X-Expose-Secrets', async () => {
    await begin()
    const settings = { llm: { ...base, base_url: 'https://h/?key=k' }, list: [{ token: 't' }, 1] }
    await send('PATCH', '/api/settings', {
      agent_settings_diff: settings,
      misc_settings_diff: { a: { token: 't', b: 1 } },
    })
    for (const value of ['plaintext', 'encrypted', 'x']) {
      const { status, body } = await fixture.client.send<Json>('/api/settings', {
        headers: { 'X-Expose-Secrets': value },
      })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        agent_settings: { llm: { model: 'm' } },
        misc_settings: { a: { b: 1 } },
        llm_api_key_is_set: true,
      })
      expect(JSON.stringify(body)).not.toMatch(/\*{3}|very|X-Team/)
    }
  })
})
