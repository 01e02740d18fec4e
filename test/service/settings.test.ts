import { describe, expect, it } from 'vitest'
import { merge } from '../../src/service/settings/settings-schema.ts'
import { MASK } from '../../src/service/mask-secrets.ts'
import { STORES } from './client.ts'
import { KEY, LLM, recordingStore, profile, settingsFixture, type Json } from './settings-fixture.ts'

const fixture = settingsFixture()
const { begin, send } = fixture

describe.each(Object.entries(STORES))('settings over %s', (_, make) => {
  it('are merged, shown masked and stored sealed', async () => {
    const { store, writtenText: input } = recordingStore(make())
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
      misc_settings: { deep: { mcp: { headers: { Authorization: '**********', Accept: '**********' } } } },
      llm_api_key_is_set: true,
      active_profile: null,
      active_agent_profile_id: null,
    })
    expect(input()).toContain('"sealed"')
    expect(input()).not.toContain('very')
    await begin(store)
    expect((await fixture.client.service.settings.read()).agent_settings).toEqual({
      llm: { model: 'm', api_key: KEY },
      tools: ['c'],
    })
  })

  it('keep a secret that is sent back masked, also in lists and URLs', async () => {
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
    expect((await fixture.client.service.settings.read()).misc_settings).toEqual({
      servers: [...misc.servers.toReversed(), { name: 'c', token: 'c' }],
      hook: misc.hook,
    })
    // Identical entries are matched by order while their number stays the same.
    const alike = {
      keys: [{ token: 'first' }, { token: 'second' }, 'https://me:pw@host/', 'https://you@host/'],
    }
    await send('PATCH', '/api/settings', { misc_settings_diff: alike })
    const masked = (await send('GET', '/api/settings')).body['misc_settings'] as { keys: object[] }
    expect(masked.keys).toEqual([{ token: MASK }, { token: MASK }, 'https://host/', 'https://host/'])
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: masked })).status).toBe(200)
    expect((await fixture.client.service.settings.read()).misc_settings['keys']).toEqual(alike.keys)
    const fewer = { keys: masked.keys.slice(1) }
    expect((await send('PATCH', '/api/settings', { misc_settings_diff: fewer })).status).toBe(400)
    // The masked secret's entry is ambiguous, so it must go to neither.
    const renamed = { servers: [{ name: 'd', token: '**********' }] }
    const refused = await send('PATCH', '/api/settings', { misc_settings_diff: renamed })
    expect([refused.status, JSON.stringify(refused.body).includes('token of')]).toEqual([400, false])
  })

  it('lose no concurrent change', async () => {
    await begin(make())
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        send('PATCH', '/api/settings', { misc_settings_diff: { [`k${index}`]: index } }),
      ),
    )
    expect(Object.keys((await fixture.client.service.settings.read()).misc_settings)).toHaveLength(20)
  })

  it('load the LLM of the activated profile, with the changes of the same request', async () => {
    await begin(make())
    await send('POST', profile('a'), { llm: LLM })
    const change = async (body: object): Promise<unknown[]> => {
      const { status } = await send('PATCH', '/api/settings', body)
      const { agent_settings, active_profile } = await fixture.client.service.settings.read()
      return [status, agent_settings['llm'], active_profile]
    }
    expect(await change({ active_profile: 'a' })).toEqual([200, LLM, 'a'])
    expect(await change({ active_profile: null })).toEqual([200, LLM, null])
    expect(await change({ active_profile: 'a', agent_settings_diff: { llm: { model: 'own' } } })).toEqual([
      200,
      { ...LLM, model: 'own' },
      'a',
    ])
    // Removing the model in the same request does not count as passing one.
    const loaded = await change({ active_profile: 'a', agent_settings_diff: { llm: null } })
    expect(loaded).toEqual([200, LLM, 'a'])
    expect((await change({ active_profile: 'b' }))[0]).toBe(404)
    expect((await change({}))[0]).toBe(400)
  })
})

it('`merge` treats `__proto__` and `constructor` as plain fields', () => {
  const diff = JSON.parse(
    '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
  )
  const merged = merge({}, diff)
  expect(({} as Json)['polluted']).toBeUndefined()
  expect(Object.keys(merged)).toEqual(['__proto__', 'constructor'])
})
