/**
 * Reads all writes through the store's feed, a follower, subscriptions, and sockets of the services. A reader
 * resumes after any failure, and starts again after a reset.
 */

import { WebSocket } from 'ws'
import { createEngine } from '../../src/conversation/engine.ts'
import { shardOf } from '../../src/store/kit/feed.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { retry, emit, sleep, work } from './rounds.ts'

const [url = '', key = '', ...services] = process.argv.slice(2)
const store = postgresStore({ url })
const engine = createEngine({ store })

/** Milliseconds between polls of the feed, and before a reconnect. */
const PAUSE = 200

/** Subscribed conversations of a round, by their writers' names. */
const SUBSCRIBED = ['engine-a1', 'engine-b1', 'service-1']
const LISTENED = services.map((_, index) => `service-${index + 1}`)

/** One reader's view of a conversation: the id at each position, and events out of order. */
class Received {
  readonly ids = new Map<number, string>()
  last = -1
  readonly disorder: string[] = []

  /** Id of the last event, or an empty string. */
  get lastId(): string {
    return this.ids.get(this.last) ?? ''
  }

  /** @param isOnce whether duplicates are errors */
  take(seq: number, id: string, isOnce: boolean): void {
    const before = this.ids.get(seq)
    if (isOnce ? seq <= this.last : before !== undefined && before !== id)
      this.disorder.push(`${id} at ${seq} behind ${this.last}`)
    this.ids.set(seq, id)
    this.last = Math.max(this.last, seq)
  }
}

const seen = new Map<string, Received>()
let resets = 0

function of(reader: string, conversation: string): Received {
  const name = `${reader} ${conversation}`
  const result = seen.get(name) ?? new Received()
  seen.set(name, result)
  return result
}

function reset(reader: string, of: (conversation: string) => boolean): void {
  resets += 1
  for (const name of seen.keys()) {
    const [who, conversation = ''] = name.split(' ')
    if (who === reader && of(conversation)) seen.delete(name)
  }
}

/** The follower's position is in the database, so it fails over too. */
async function follow(): Promise<void> {
  await engine.follow({ name: 'reader' }, (items) => {
    for (const item of items) {
      if (item.type === 'reset') reset('follower', (id) => shardOf(id) === item.shard)
      if (item.type === 'event') of('follower', item.conversationId).take(item.seq, item.id ?? '', false)
    }
  })
}

async function followFeed(): Promise<void> {
  let after: string | undefined
  for (;;) {
    const page = await retry(() => store.feed(after === undefined ? {} : { after }))
    if (page.reset) reset('feed', () => true)
    for (const item of page.items) {
      if (item.type === 'event')
        of('feed', item.conversationId).take(item.event.seq, item.event.id ?? '', false)
    }
    after = page.next
    if (!page.more) await sleep(PAUSE)
  }
}

async function subscribe(id: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await retry(async () => {
      if (signal.aborted) return
      const conversation = await engine.open(id)
      const { last: after, lastId: afterId } = of('engine', id)
      for await (const item of conversation.subscribe({ after, ...(afterId && { afterId }), signal })) {
        if (item.type === 'reset') reset('engine', (one) => one === id)
        if (item.type === 'event') of('engine', id).take(item.seq, item.id ?? '', true)
      }
    })
  }
}

interface Envelope {
  readonly type: string
  readonly position: number
  readonly event: { readonly id?: string }
}

async function listen(service: string, id: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { last, lastId } = of('socket', id)
    const query = new URLSearchParams({
      format: 'envelope',
      after: String(last),
      ...(lastId && { after_event_id: lastId }),
    })
    const path = `${service.replace('http', 'ws')}/sockets/events/${id}?${query}`
    const socket = new WebSocket(path, { headers: { 'x-session-api-key': key }, handshakeTimeout: 5_000 })
    const end = (): void => socket.terminate()
    signal.addEventListener('abort', end)
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const { type, position, event } = JSON.parse(String(data)) as Envelope
        if (type === 'reset') reset('socket', (one) => one === id)
        if (type === 'event') of('socket', id).take(position, event.id ?? '', true)
      })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
    })
    signal.removeEventListener('abort', end)
    await sleep(PAUSE)
  }
}

void followFeed()
void retry(follow)
let reading = new AbortController()

await work(
  [
    {
      async begin(round) {
        reading.abort()
        reading = new AbortController()
        const { signal } = reading
        for (const name of seen.keys()) if (!name.includes(` r${round}-`)) seen.delete(name)
        for (const name of SUBSCRIBED) void subscribe(`r${round}-${name}`, signal)
        for (const [index, name] of LISTENED.entries())
          void listen(services[(index + 1) % services.length] ?? '', `r${round}-${name}`, signal)
      },
      work: async () => undefined,
    },
  ],
  async (line) => {
    const round = line.split(' ')[1]
    const names = [...seen].filter(([name]) => name.includes(` r${round}-`))
    emit(
      'seen',
      Object.fromEntries(names.map(([name, { ids }]) => [name, [...ids]])),
      names.flatMap(([name, { disorder }]) => disorder.map((event) => `${name}: ${event}`)),
      resets,
    )
  },
)
