/** Server-sent events are the same stream as sockets, resumed by `Last-Event-ID`. */

import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { scriptedAgent } from './scripted-agent.ts'
import {
  failingStore,
  note,
  notes,
  SECRET,
  type LiveFixture,
  type LiveFixtureOptions,
  liveFixtureOfTest,
} from './live-fixture.ts'

let fixture: LiveFixture

const begin = async (options: LiveFixtureOptions = {}): Promise<LiveFixture> =>
  (fixture = await liveFixtureOfTest(options))

const ends: (() => void)[] = []

afterEach(() => {
  for (const end of ends.splice(0)) end()
})

interface Sent {
  readonly id: number
  readonly data: {
    readonly kind: string
    readonly id?: string
    readonly key?: string
    readonly code?: string
  }
}

interface Reader {
  readonly response: IncomingMessage
  readonly sent: readonly Sent[]
  readonly text: () => string
  readonly find: (fits: (sent: Sent) => boolean) => Promise<Sent>
  /** Resolves when the server ends it: cleanly or cut off. */
  readonly ended: Promise<'end' | 'cut'>
}

/** Listens like a browser's EventSource. */
async function listenTo(
  id: string,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<Reader> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const requests = httpRequest(
    `${fixture.server.url}/api/conversations/${id}/events/stream${query}`,
    { headers },
    resolve,
  )
  requests.on('error', reject)
  requests.end()
  const response = await promise
  ends.push(() => response.destroy())
  const sent: Sent[] = []
  const waiting = new Set<() => void>()
  let text = ''
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    rest += chunk
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, index, data] = /^id: (-?\d+)(?:;\S+)?\ndata: (.*)$/.exec(block) ?? []
      if (data !== undefined) sent.push({ id: Number(index), data: JSON.parse(data) as Sent['data'] })
    }
    for (const check of waiting) check()
  })
  const ended = Promise.withResolvers<'end' | 'cut'>()
  response.on('end', () => ended.resolve('end'))
  response.on('error', () => ended.resolve('cut'))
  return {
    response,
    sent,
    text: () => text,
    ended: ended.promise,
    find: (fits) =>
      new Promise((result) => {
        const check = (): void => {
          const one = sent.find(fits)
          if (one === undefined) return
          waiting.delete(check)
          result(one)
        }
        waiting.add(check)
        check()
      }),
  }
}

const ids = ({ sent }: Reader): (string | undefined)[] =>
  sent.flatMap(({ data }) => (data.kind === 'MessageEvent' ? [data.id] : []))

describe('server-sent events', () => {
  it('contain the events of a socket, each with its position as the id', async () => {
    await begin({ agent: scriptedAgent(['One two.']) })
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 3))
    const reader = await listenTo('c', '?resend_mode=all')
    expect(reader.response.statusCode).toBe(200)
    expect(reader.response.headers['content-type']).toBe('text/event-stream')
    await reader.find(({ data }) => data.key === 'caught_up')
    expect(reader.sent.map(({ id, data }) => [id, data.key ?? data.id])).toEqual([
      [-1, 'full_state'],
      [0, 'n0'],
      [1, 'n1'],
      [2, 'n2'],
      [2, 'caught_up'],
    ])
    await conversation.append(note('n3'))
    expect((await reader.find(({ data }) => data.id === 'n3')).id).toBe(3)
    const body = JSON.stringify({ content: [{ text: 'Hi' }], run: true })
    await fetch(`${fixture.server.url}/api/conversations/c/events`, { method: 'POST', body })
    await reader.find(
      ({ data }) => data.key === 'execution_status' && 'value' in data && data.value === 'finished',
    )
    const texts = reader.sent.flatMap(({ data }) => ('content' in data ? [data.content] : []))
    expect(texts.join('')).toBe('One two.')
  })

  it('continue after Last-Event-ID, whatever the query contains', async () => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 100))
    for (const query of [
      '?resend_mode=all&format=event',
      '?after_event_id=n3',
      '?after=3&after_event_id=n3',
    ]) {
      const reader = await listenTo('c', query, { 'last-event-id': '89' })
      await reader.find(({ data }) => data.key === 'caught_up')
      expect(ids(reader)).toEqual(notes(90, 10).map(({ id }) => id))
      expect(reader.sent[0]?.id).toBe(89)
    }
  })

  it('continue with exactly the remaining events after each reconnect', async () => {
    await begin()
    const conversation = await fixture.conversation()
    const seen: (string | undefined)[] = []
    let last = -1
    for (let index = 0; index < 300; index += 60) {
      const reader = await listenTo('c', '', { 'last-event-id': String(last) })
      await conversation.append(notes(index, 60))
      await reader.find(({ id }) => id >= last + 40)
      reader.response.destroy()
      const events = reader.sent.filter(({ data }) => data.kind === 'MessageEvent')
      seen.push(...events.map(({ data }) => data.id))
      last = events.at(-1)?.id ?? last
    }
    const reader = await listenTo('c', '', { 'last-event-id': String(last) })
    await reader.find(({ data }) => data.key === 'caught_up')
    expect([...seen, ...ids(reader)]).toEqual(notes(0, 300).map(({ id }) => id))
  })

  it.each([
    ['nobody', '', {}, 404],
    ['c', '?after=-2', {}, 422],
    ['c', '?resend_mode=since', {}, 422],
    ['c', '?format=xml', {}, 422],
    ['c', '', { 'last-event-id': 'x' }, 422],
    ['c', '', { 'last-event-id': '1e400' }, 422],
    ['c', '', { 'x-session-api-key': 'wrong' }, 401],
  ])('%s%s with %j gets %i and holds no slot', async (id, query, headers, status) => {
    await begin({ keys: ['right'] })
    await fixture.conversation()
    const reader = await listenTo(id, query, { 'x-session-api-key': 'right', ...headers })
    expect(reader.response.statusCode).toBe(status)
    expect(fixture.service.live.size).toBe(0)
  })

  it.each([
    ['?after=7', {}],
    ['?after_event_id=nothing', {}],
    ['', { 'last-event-id': '12' }],
  ])('begin with a reset if the event of %s %j is not in the log (law B3)', async (query, headers) => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 2))
    const reader = await listenTo('c', query, headers)
    await reader.find(({ data }) => data.key === 'caught_up')
    expect(reader.sent.map(({ id, data }) => [id, data.key ?? data.id])).toEqual([
      [-1, 'reset'],
      [-1, 'full_state'],
      [0, 'n0'],
      [1, 'n1'],
      [1, 'caught_up'],
    ])
  })

  it('get 429 beyond the limit, until a reader leaves', async () => {
    await begin({ live: { maxPerConversation: 1 } })
    await fixture.conversation()
    const reader = await listenTo('c')
    await reader.find(({ data }) => data.key === 'caught_up')
    expect((await listenTo('c')).response.statusCode).toBe(429)
    reader.response.destroy()
    await expect.poll(() => fixture.service.live.size).toBe(0)
    expect((await listenTo('c')).response.statusCode).toBe(200)
  })

  it('hold no slot for a HEAD request or a client that leaves at once', async () => {
    await begin()
    await fixture.conversation()
    const address = `${fixture.server.url}/api/conversations/c/events/stream`
    expect((await fetch(address, { method: 'HEAD' })).status).toBe(200)
    expect(fixture.service.live.size).toBe(0)
    for (let index = 0; index < 30; index += 1) {
      const requests = httpRequest(address)
      requests.on('error', () => undefined)
      requests.on('response', (response) => response.destroy())
      requests.end()
      await new Promise((resolve) => setTimeout(resolve, index % 3))
      requests.destroy()
    }
    await expect.poll(() => fixture.service.live.size).toBe(0)
    await fixture.server.close()
    expect(fixture.service.live.size).toBe(0)
  })

  it('contain heartbeats as comments', async () => {
    await begin({ live: { heartbeatInterval: 10 } })
    await fixture.conversation()
    const reader = await listenTo('c')
    await expect.poll(() => reader.text()).toContain(': beat\n\n')
    expect(reader.sent.map(({ data }) => data.key)).toEqual(['full_state', 'caught_up'])
  })

  it('end when the server closes or the conversation is deleted', async () => {
    await begin()
    const conversation = await fixture.conversation()
    await fixture.conversation('d')
    const deleted = await listenTo('c')
    await deleted.find(({ data }) => data.key === 'caught_up')
    await conversation.delete()
    expect(await deleted.ended).toBe('end')
    expect(deleted.sent.at(-1)?.data).toMatchObject({
      kind: 'ServerErrorEvent',
      code: 'unknown_conversation',
    })
    const reader = await listenTo('d')
    await reader.find(({ data }) => data.key === 'caught_up')
    const closing = fixture.server.close()
    expect(await reader.ended).toBe('end')
    await closing
  })

  it('are cut off for a stalled reader, which delays no other', async () => {
    const printed = (['debug', 'error', 'info', 'log', 'warn'] as const).map((name) =>
      vi.spyOn(console, name),
    )
    await begin({ live: { writeTimeout: 3_000 } })
    const conversation = await fixture.conversation()
    const stalled = await listenTo('c')
    const other = await listenTo('c')
    for (const reader of [stalled, other]) await reader.find(({ data }) => data.key === 'caught_up')
    stalled.response.pause()
    const text = 'x'.repeat(50_000)
    for (let index = 0; index < 400; index += 20) await conversation.append(notes(index, 20, text))
    await other.find(({ data }) => data.id === 'n399')
    expect(ids(stalled)).not.toContain('n399')
    await expect.poll(() => fixture.service.live.size).toBe(1)
    stalled.response.resume()
    expect(await stalled.ended).toBe('cut')
    const seen = ids(stalled)
    expect(seen).toEqual(notes(0, seen.length).map(({ id }) => id))
    const again = await listenTo('c', '', { 'last-event-id': String(seen.length - 1) })
    await again.find(({ data }) => data.id === 'n399')
    expect([...seen, ...ids(again)]).toEqual(notes(0, 400).map(({ id }) => id))
    // The service has its own log, so the HTTP library must not print anything.
    expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([])
    for (const spy of printed) spy.mockRestore()
  })

  it('end with an error without details when the store fails permanently', async () => {
    const failing = failingStore()
    await begin({ store: failing.store })
    const conversation = await fixture.conversation()
    const reader = await listenTo('c')
    await reader.find(({ data }) => data.key === 'caught_up')
    failing.fails = true
    await conversation.append({ kind: 'PauseEvent' })
    expect(await reader.ended).toBe('end')
    failing.fails = false
    expect(reader.sent.at(-1)?.data).toMatchObject({ kind: 'ServerErrorEvent', code: 'InternalError' })
    expect(reader.text()).not.toContain(SECRET)
    expect(fixture.failures).toHaveLength(1)
  })
})
