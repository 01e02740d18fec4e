/** The interface's client against a service on a port. */

import { expect, it } from 'vitest'
import { scriptedAgent } from '../service/scripted-agent.ts'
import { bodyOf, serverClient } from '../../src/testing/server/index.ts'
import { worldOfTest } from '../service/live-world.ts'

it('creates, says, listens, follows, searches, forks, navigates and deletes', async () => {
  const here = await worldOfTest({ agent: scriptedAgent(['Good morning.']), keys: ['right'] })
  const client = serverClient({ url: here.server.url, apiKey: 'right' })
  const { id, execution_status } = bodyOf(await client.create({ conversation_id: 'c' }))
  expect([id, execution_status]).toEqual(['c', 'idle'])
  const socket = client.connect(id)
  await socket.find(({ type }) => type === 'caught_up')
  bodyOf(await client.say(id, 'Hello', { key: 'k' }))
  bodyOf(await client.say(id, 'Hello', { key: 'k' }))
  await socket.find(({ event }) => event.key === 'execution_status' && event.value === 'finished')
  const live = socket.frames.flatMap(({ type, event }) => (type === 'event' ? [event.id] : []))
  expect((await client.events(id, { limit: 2 })).map((event) => event.id)).toEqual(live)
  expect(bodyOf(await client.count(id, { kind: 'MessageEvent' }))).toBe(2)
  const followed: (string | undefined)[] = []
  for await (const { type, event } of client.follow(id)) {
    if (type === 'event') followed.push(event.id)
    if (followed.length === live.length) break
  }
  expect(followed).toEqual(live)
  const first = live[0] ?? ''
  expect(bodyOf(await client.event(id, first)).id).toBe(first)
  expect(bodyOf(await client.navigate(id, null)).leaf_event_id).toBeNull()
  expect(bodyOf(await client.fork(id)).id).not.toBe(id)
  expect((await client.run('nobody')).status).toBe(404)
  expect((await client.respond(id, true)).status).toBe(409)
  bodyOf(await client.delete(id))
  expect((await socket.closed).code).toBe(4004)
  await expect(client.follow(id).next()).rejects.toThrow('4004')
  expect((await serverClient({ url: here.server.url }).get(id)).status).toBe(401)
})
