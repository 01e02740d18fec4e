/**
 * `colloquy serve --agent`: the module's step replies; a module without a step is rejected before serving.
 */

import { expect, it } from 'vitest'
import { startServer } from './start-server.ts'
import { colloquy, folder } from './run-command.ts'

const STEP = `async function* () {
  const llm_message = { role: 'assistant', content: [{ text: 'Of my own.' }] }
  yield { kind: 'MessageEvent', source: 'agent', llm_message }
}`

it.each([
  ['a named export', `export const step = ${STEP}`],
  ['the default export', `export default ${STEP}`],
])('serve --agent runs the step of %s', async (_, code) => {
  const path = folder({ 'agent.mjs': code })
  const { url, stop } = await startServer(['--agent', 'agent.mjs'], { cwd: path() })
  const started = await fetch(`${url}/api/v1/app-conversations/stream-start`, {
    method: 'POST',
    body: JSON.stringify({ initial_message: { content: [{ text: 'Hello' }] } }),
  })
  const task = ((await started.json()) as { app_conversation_id: string }[]).at(-1)
  const search = `${url}/api/v1/conversation/${task?.app_conversation_id}/events/search`
  await expect.poll(async () => (await fetch(search)).text()).toContain('Of my own.')
  expect((await stop('SIGTERM')).out).toContain('its agent is agent.mjs')
})

it.each([
  ['no.mjs', null, /no\.mjs: cannot be loaded/],
  ['bad.mjs', 'export const a = 1', /exports no step/],
  ['thrown.mjs', 'throw new Error("no key")', /cannot be loaded: no key/],
])('serve --agent rejects %s', async (name, code, message) => {
  const path = folder(code === null ? {} : { [name]: code })
  const { code: exit, err } = await colloquy([
    'serve',
    '--port',
    '0',
    '--db',
    path('a.db'),
    '--agent',
    path(name),
  ])
  expect(exit).toBe(1)
  expect(err).toMatch(message)
})
