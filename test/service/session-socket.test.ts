import { expect, it } from 'vitest'
import { CLOSE } from '../../src/service/live/server-frames.ts'
import { scriptedAgent } from './scripted-agent.ts'
import {
  type Client,
  note,
  notes,
  type LiveFixture,
  liveFixtureOfTest,
  type LiveFixtureOptions,
} from './live-fixture.ts'

interface SessionFrame {
  readonly type: string
  readonly seq?: number
  readonly item_id?: string
  readonly order?: number
  readonly kind?: string
  readonly content?: string
  readonly reason?: string
  readonly code?: string
  readonly event?: {
    readonly id?: string
    readonly kind?: string
    readonly key?: string
    readonly source?: string
  }
}

let fixture: LiveFixture
const begin = async (options: LiveFixtureOptions = {}) => {
  fixture = await liveFixtureOfTest(options)
  return fixture.conversation()
}
const connect = (after_seq?: number | string, id = 'c', more: object = {}): Client =>
  fixture.connect(id, {
    protocol: 'session',
    ...(after_seq !== undefined && { query: { after_seq } }),
    ...more,
  })
const framesOf = ({ frames }: Client): SessionFrame[] =>
  frames.map((text) => JSON.parse(text) as SessionFrame)
const brief = (client: Client): string[] => framesOf(client).map(({ type, seq }) => `${type}${seq ?? ''}`)
const message = { role: 'user', content: [{ type: 'text', text: 'Hello you' }] }

it('a session begins with a sync, the events after the cursor, and a snapshot', async () => {
  const conversation = await begin()
  const empty = connect()
  await empty.count(2)
  expect(empty.frames[0]).toBe('{"type":"sync"}')
  await conversation.append(notes(0, 5))
  for (const [after, sync, rest] of [
    [undefined, { type: 'sync', through_seq: 4 }, []],
    [-1, { type: 'sync', from_seq: -1, through_seq: 4 }, [0, 1, 2, 3, 4]],
    [-7, { type: 'sync', from_seq: -7, through_seq: 4 }, [0, 1, 2, 3, 4]],
    [2, { type: 'sync', from_seq: 2, through_seq: 4 }, [3, 4]],
    [4, { type: 'sync', from_seq: 4, through_seq: 4 }, []],
  ] as const) {
    const client = connect(after)
    await client.find<SessionFrame>(({ type }) => type === 'transient')
    const [first, ...others] = framesOf(client)
    expect(first).toEqual(sync)
    expect(others.slice(0, -1).map(({ type, seq, event }) => [type, seq, event?.id])).toEqual(
      rest.map((seq) => ['durable', seq, `n${seq}`]),
    )
    expect(others.at(-1)).toMatchObject({ type: 'transient', event: { key: 'full_state' } })
    expect(others.at(-1)).not.toHaveProperty('seq')
  }
  await conversation.append(note('n5'))
  await empty.find<SessionFrame>(({ seq }) => seq === 5)
  expect(brief(empty)).toEqual(['sync', 'transient', ...[0, 1, 2, 3, 4, 5].map((seq) => `durable${seq}`)])
})

it('a session gets each event once, and all of them for a cursor beyond the log', async () => {
  const conversation = await begin()
  const writing = (async () => {
    for (let index = 0; index < 100; index += 10) await conversation.append(notes(index, 10))
  })()
  const client = connect(-1)
  await writing
  await client.find<SessionFrame>(({ seq }) => seq === 99)
  expect(framesOf(client).flatMap(({ seq }) => seq ?? [])).toEqual(
    Array.from({ length: 100 }, (_, index) => index),
  )
  const beyond = connect(1_000)
  await beyond.find<SessionFrame>(({ type }) => type === 'transient')
  expect(framesOf(beyond)[0]).toEqual({ type: 'sync', from_seq: -1, through_seq: 99 })
  expect(framesOf(beyond).flatMap(({ seq }) => seq ?? [])).toHaveLength(100)
})

it('a session shows a reply in progress as one item, which ends before its event', async () => {
  await begin({
    agent: (conversation) =>
      async function* (input) {
        yield* scriptedAgent(['One two'])(conversation)(input) as AsyncIterable<never>
      },
  })
  const client = connect()
  await client.count(2)
  client.send({ ...message, run: false, extra: 1 })
  await client.find<SessionFrame>(({ type, event }) => type === 'durable' && event?.source === 'agent')
  await client.find<SessionFrame>(
    ({ type, event }) => type === 'transient' && event?.key === 'full_state' && client.frames.length > 4,
  )
  const frames = framesOf(client)
  const items = frames.filter(({ item_id }) => item_id !== undefined)
  expect(new Set(items.map(({ item_id }) => item_id)).size).toBe(1)
  expect(items.map(({ type }) => type)).toEqual([
    'item_started',
    ...items.slice(1, -1).map(() => 'delta'),
    'item_aborted',
  ])
  expect(items.slice(1, -1).map(({ order }) => order)).toEqual(items.slice(1, -1).map((_, index) => index))
  expect(items.map(({ content = '' }) => content).join('')).toBe('One two')
  expect(items.at(-1)).toMatchObject({ reason: 'replaced' })
  expect(frames[frames.findIndex(({ type }) => type === 'item_aborted') + 1]).toMatchObject({
    type: 'durable',
    event: { kind: 'MessageEvent', source: 'agent' },
  })
  const again = connect(-1)
  await again.find<SessionFrame>(({ type }) => type === 'transient')
  expect(framesOf(again).filter(({ item_id }) => item_id !== undefined)).toEqual([])
})

it('a session reports invalid frames, appends none of them, and stays open', async () => {
  const conversation = await begin()
  const client = connect()
  await client.count(2)
  const bad: readonly (readonly [unknown, string])[] = [
    [{ content: 'x' }, 'ValidationError'],
    [[1, 2], 'ValidationError'],
    ['no json', 'JSONDecodeError'],
    ['{"role":"user","content":[{"text":1e999}]}', 'JSONDecodeError'],
    [{ role: 'assistant', content: message.content }, 'ValidationError'],
    [{ role: 'user', content: [] }, 'ValidationError'],
  ]
  for (const [sent] of bad) client.send(sent)
  client.send({ type: 'auth', session_api_key: 'x' })
  client.socket.send(Buffer.from('{}'))
  await client.count(2 + bad.length + 1)
  expect(
    framesOf(client)
      .slice(2)
      .map(({ type, code }) => `${type} ${code}`),
  ).toEqual([...bad.map(([, code]) => `error ${code}`), 'error InvalidFrame'])
  expect((await conversation.record()).version).toBe(0)
  client.send(message)
  await client.find<SessionFrame>(({ seq }) => seq === 0)
})

const closeOf = async (client: Client) => (await client.closed).code

it('a session closes with a code for a wrong key, id, cursor or an event that is too large', async () => {
  const conversation = await begin({ keys: ['secret'] })
  const auth = { headers: { 'x-session-api-key': 'secret' } }
  expect(await closeOf(connect(undefined, 'c', { first: { type: 'auth', session_api_key: 'no' } }))).toBe(
    4001,
  )
  expect(await closeOf(connect(undefined, 'c', { first: message }))).toBe(4001)
  expect(await closeOf(connect(undefined, 'nobody', auth))).toBe(CLOSE.unknown)
  for (const cursor of ['x', '1.5', '', '9'.repeat(400)])
    expect([cursor, await closeOf(connect(cursor, 'c', auth))]).toEqual([cursor, CLOSE.badRequest])
  expect(
    await closeOf(fixture.connect('c', { protocol: 'session', query: { format: 'envelope' }, ...auth })),
  ).toBe(4400)
  await conversation.append([note('small'), note('large', 'x'.repeat(5 * 2 ** 20)), note('after')])
  const client = connect(-1, 'c', auth)
  expect(await client.closed).toEqual({ code: 1013, reason: 'frame_too_large' })
  expect(brief(client)).toEqual(['sync', 'durable0'])
  const behind = connect(1, 'c', auth)
  await behind.find<SessionFrame>(({ seq }) => seq === 2)
  await conversation.delete()
  expect(await closeOf(behind)).toBe(CLOSE.unknown)
})
