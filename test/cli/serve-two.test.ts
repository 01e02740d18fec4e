/** Two services as processes over one PostgreSQL database: what is said to one is heard at the other, and nothing is done twice. */

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Event } from '../../src/event/types.ts'
import { type TestDatabase, testDatabase } from '../postgres/database.ts'
import { Receiver, SECRET } from '../service/receiver.ts'
import { served } from './served.ts'
import { folder } from './world.ts'

let database: TestDatabase
const receiver = new Receiver()

beforeAll(async () => {
  await receiver.start()
  database = await testDatabase()
})

afterAll(async () => {
  await receiver.stop()
  await database.drop()
})

const ROUNDS = 6

/** The ids of the events of the log, in the order in which a socket was given them. */
function heard(url: string): readonly string[] {
  const ids: string[] = []
  const socket = new WebSocket(`${url.replace('http', 'ws')}/sockets/events/c?format=envelope&after=-1`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (data) => {
    const { type, event } = JSON.parse(String(data)) as { type: string; event: { id: string } }
    if (type === 'event') ids.push(event.id)
  })
  return ids
}

it('hear of each other, run a conversation once, and tell a webhook of each event once', async () => {
  const place = folder({
    'config.json': JSON.stringify({
      webhooks: [{ url: receiver.url, secret: SECRET, retry_delay: 20, max_retry_delay: 40 }],
    }),
  })
  const start = () => served(['--db', database.url, '--config', place('config.json')])
  const services = await Promise.all([start(), start()])
  const post = async (at: number, path: string, body: object) => {
    const url = `${services[at % 2]?.url}/api/conversations${path}`
    return (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status
  }
  const info = async (at: number) =>
    (await (await fetch(`${services[at]?.url}/api/conversations/c`)).json()) as Record<string, unknown>
  expect(await post(0, '', { conversation_id: 'c' })).toBe(201)
  expect(await post(1, '', { conversation_id: 'c' })).toBe(200)
  const [first, second] = services.map(({ url }) => heard(url)) as [readonly string[], readonly string[]]

  // Both are asked to run one message at the same time: one does.
  expect(await post(0, '/c/events', { content: [{ text: 'once' }] })).toBe(200)
  const begun = await Promise.all([post(0, '/c/run', {}), post(1, '/c/run', {})])
  expect(begun).toContain(200)
  await expect.poll(async () => (await info(1))['execution_status']).toBe('finished')
  const events = async (): Promise<readonly Event[]> => {
    const page = await fetch(`${services[1]?.url}/api/conversations/c/events/search?kind=MessageEvent`)
    return ((await page.json()) as { items: readonly Event[] }).items
  }
  const answers = (await events()).filter(({ source }) => source === 'agent').length
  expect(answers).toBeGreaterThan(0)
  expect(answers).toBeLessThanOrEqual(begun.filter((status) => status === 200).length)

  // The receiver fails now and then.
  receiver.answers.push(500, 200, 'lose')
  for (let round = 0; round < ROUNDS; round += 1) {
    const said = [0, 1].map((at) => post(at, '/c/events', { content: [{ text: `${round}` }], run: true }))
    expect(await Promise.all(said)).toEqual([200, 200])
  }
  await expect
    .poll(async () => {
      const states = await Promise.all([info(0), info(1)])
      const counts = states.map((state) => state['event_count'])
      const same = [...counts, first.length, second.length, new Set(receiver.events('c')).size]
      return [new Set(same).size, states[0]?.['execution_status']]
    })
    .toEqual([1, 'finished'])
  expect(first).toEqual(second)
  expect(new Set(first).size).toBe(first.length)
  // What was lost on the way back came again under its id; nothing else came twice.
  const ids = new Map(receiver.taken('/events/c').map(({ id, body }) => [id, body as { id: string }[]]))
  expect([...ids.values()].flat().map(({ id }) => id)).toEqual(first)
  expect(receiver.taken('/events/c')).toHaveLength(ids.size)
  expect(receiver.all.filter(({ answered }) => answered === 'lost')).toHaveLength(1)
  expect(receiver.forged).toBe(0)
  // The last of the users' words is answered.
  const sources = (await events()).map(({ source }) => source)
  expect(sources.lastIndexOf('agent')).toBeGreaterThan(sources.lastIndexOf('user'))
  for (const service of services) expect((await service.stop('SIGTERM')).code).toBe(0)
})
