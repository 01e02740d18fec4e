/** Subscriptions deliver every event after a position once and in order, also to slow and reconnecting readers (law B). */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { SubscriptionItem } from '../../src/conversation/subscribe.ts'
import { loadLine } from '../../src/event/load.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { backends } from './backends.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

const pause = (id: string): Event => ({ kind: 'PauseEvent', id })
const delta = (content: string): Event => ({ kind: 'StreamingDeltaEvent', content })

/** Items of a subscription until `isEnough`. */
async function collect(
  conversation: Conversation,
  options: Parameters<Conversation['subscribe']>[0],
  isEnough: (items: readonly SubscriptionItem[]) => boolean,
  pace: () => Promise<unknown> = async () => undefined,
): Promise<SubscriptionItem[]> {
  const items: SubscriptionItem[] = []
  for await (const item of conversation.subscribe(options)) {
    items.push(item)
    if (isEnough(items)) break
    await pace()
  }
  return items
}

const seqs = (items: readonly SubscriptionItem[]): number[] =>
  items.flatMap((item) => (item.type === 'event' ? [item.seq] : []))
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)
const isCaughtUp = (items: readonly SubscriptionItem[]): boolean => items.at(-1)?.type === 'caught_up'

/** Resolves once `count` subscriptions have caught up: later events are live. */
function catchingUp(count = 1) {
  const all = Promise.withResolvers<void>()
  let remaining = count
  return {
    done: all.promise,
    until:
      (isEnough: (items: readonly SubscriptionItem[]) => boolean) => (items: readonly SubscriptionItem[]) => {
        if (isCaughtUp(items) && (remaining -= 1) === 0) all.resolve()
        return isEnough(items)
      },
  }
}

async function fresh(events: number): Promise<{ engine: Engine; conversation: Conversation }> {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create({ id: 'c' })
  if (events > 0) await conversation.append(range(0, events).map((n) => pause(`e${n}`)))
  return { engine, conversation }
}

describe.each(BACKENDS.names)('subscribers over %s', (name) => {
  it('receive each event once and in order from several engines, slow or reconnecting', async () => {
    const backend = await BACKENDS.make(name)
    const stores = [backend.open(), backend.open(), backend.open()]
    const engines = stores.map((store) => createEngine({ store }))
    const [first, second, reading] = engines as [Engine, Engine, Engine]
    const created = await first.create({ id: 'c' })
    // The readers that start at position 3 or 9 need these events.
    await created.append(range(0, 10).map((n) => pause(`first${n}`)))
    const total = 400
    const writing = [first, second].map(async (engine, writer) => {
      const conversation = await engine.open('c')
      for (let n = 0; n < total / 8; n += 1) {
        const batch = range(0, 1 + ((n * 5 + writer) % 7)).map((i) => pause(`w${writer}.${n}.${i}`))
        await conversation.append(batch)
        if (n % 5 === writer) await sleep(Math.random() * 3)
      }
    })
    const stop = new AbortController()
    const seen: number[][] = []
    const reader = async (engine: Engine, start: number, kind: number): Promise<void> => {
      const received: number[] = []
      seen.push(received)
      const conversation = await engine.open('c')
      let after = start
      let patience = 15
      while (!stop.signal.aborted) {
        const before = after
        // Some readers reconnect after a few events each time.
        const visit = kind === 2 ? AbortSignal.any([stop.signal, AbortSignal.timeout(patience)]) : stop.signal
        for await (const item of conversation.subscribe({ after, signal: visit })) {
          if (item.type !== 'event') continue
          received.push(item.seq)
          after = item.seq
          if (kind === 1 && item.seq % 16 === 0) await sleep(1)
        }
        // A busy machine may need more time for the first event.
        patience = after === before ? 2 * patience : 15
      }
    }
    const readers = [
      reader(reading, -1, 0),
      reader(reading, 9, 1),
      reader(reading, -1, 2),
      reader(first, -1, 2),
      reader(second, 3, 0),
    ]
    await Promise.all(writing)
    const conversation = await reading.open('c')
    const { length } = (await conversation.state()).log.entries
    const starts = [0, 10, 0, 0, 4]
    const until = Date.now() + 300_000
    while (seen.some((received, i) => received.length < length - (starts[i] ?? 0)) && Date.now() < until)
      await sleep(5)
    stop.abort()
    await Promise.all(readers)
    for (const [i, received] of seen.entries())
      expect(received, `reader ${i}`).toEqual(range(starts[i] ?? 0, length))
    await Promise.all(engines.map((engine) => engine.close()))
    await Promise.all(stores.map((store) => store.close()))
  })

  it('receive a log that is longer than a page and partly evicted', async () => {
    const backend = await BACKENDS.make(name)
    const store = backend.open()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    for (let n = 0; n < 5; n += 1) await conversation.append(range(0, 450).map((i) => pause(`${n}.${i}`)))
    const whole = await collect(conversation, {}, isCaughtUp)
    expect(seqs(whole)).toEqual(range(0, 2_250))
    const ids = whole.flatMap((item) => (item.type === 'event' ? [item.id] : []))
    expect(ids).toEqual(range(0, 5).flatMap((n) => range(0, 450).map((i) => `${n}.${i}`)))
    expect(seqs(await collect(conversation, { after: 2_000 }, isCaughtUp))).toEqual(range(2_001, 2_250))
    // HEAD was not in the view when bodies were evicted, so its body is gone too.
    const countEvicted = async () => (await conversation.state()).log.index.columns?.length ?? 0
    await expect.poll(countEvicted).toBeGreaterThan(0)
    const evictedCount = await countEvicted()
    const [head] = await collect(conversation, { after: evictedCount - 2 }, (items) => items.length === 1)
    expect(head).toMatchObject({ type: 'event', seq: evictedCount - 1, fact: { kind: 'PauseEvent' } })
    await engine.close()
    await store.close()
  })
})

describe('a subscription', () => {
  it('yields caught_up once, after the existing events', async () => {
    const { engine, conversation } = await fresh(3)
    const live = catchingUp()
    const reading = collect(
      conversation,
      {},
      live.until((items) => seqs(items).length === 5),
    )
    await live.done
    await conversation.append([pause('x'), pause('y')])
    const items = await reading
    expect(
      items.map((item) =>
        item.type === 'event' ? item.id : `${item.type} ${item.type === 'caught_up' ? item.seq : ''}`,
      ),
    ).toEqual(['e0', 'e1', 'e2', 'caught_up 2', 'x', 'y'])
    const [, , , marker] = await collect(conversation, { after: 1 }, isCaughtUp)
    expect(marker).toEqual({ type: 'caught_up', seq: 4 })
    await engine.close()
  })

  it('catches up at once with an empty log, and resets if it is ahead of the log (law B3)', async () => {
    const { engine, conversation } = await fresh(0)
    expect(await collect(conversation, {}, isCaughtUp)).toEqual([{ type: 'caught_up', seq: -1 }])
    await conversation.append(range(0, 2).map((n) => pause(`e${n}`)))
    const ahead = await collect(conversation, { after: 2 }, isCaughtUp)
    expect(ahead.map((item) => [item.type, 'seq' in item ? item.seq : null])).toEqual([
      ['reset', null],
      ['event', 0],
      ['event', 1],
      ['caught_up', 1],
    ])
    await engine.close()
  })

  it('yields the deltas of a reply from its start, each before the events that follow it', async () => {
    const { engine, conversation } = await fresh(1)
    // Without a reader or a run, this delta is discarded.
    conversation.publish(delta('So '))
    const live = catchingUp()
    const reading = collect(
      conversation,
      { after: 0 },
      live.until((items) => seqs(items).length === 2),
    )
    await live.done
    conversation.publish(delta('He'))
    conversation.publish(delta('llo'))
    await conversation.append(pause('a'))
    conversation.publish(delta('again'))
    await conversation.append(pause('b'))
    const messages = (await reading).map((item) =>
      item.type === 'delta' ? item.event.content : item.type === 'event' ? item.id : item.type,
    )
    expect(messages).toEqual(['caught_up', 'Hello', 'a', 'again', 'b'])
    expect(() => conversation.publish(pause('p'))).toThrow(/Append it instead/)
    await expect(conversation.append(delta('x'))).rejects.toThrow(/Publish it instead/)
    await engine.close()
  })

  it('yields all deltas to a slow reader, each before the events that follow it', async () => {
    const { engine, conversation } = await fresh(0)
    const gate = Promise.withResolvers<void>()
    const live = catchingUp()
    const reading = collect(
      conversation,
      {},
      live.until((items) => seqs(items).length === 300),
      () => gate.promise,
    )
    await live.done
    for (let n = 0; n < 300; n += 1) {
      for (let i = 0; i < 3; i += 1) conversation.publish(delta(`${n}.${i} `))
      // The writer never waits for the reader.
      await conversation.append(pause(`e${n}`))
    }
    gate.resolve()
    const input = (await reading).flatMap((item) =>
      item.type === 'delta' ? [item.event.content] : item.type === 'event' ? [item.id] : [],
    )
    expect(input).toEqual(range(0, 300).flatMap((n) => [`${n}.0 ${n}.1 ${n}.2 `, `e${n}`]))
    await engine.close()
  })

  it('ends on an abort or when the engine closes, and fails if its conversation is deleted', async () => {
    const { engine, conversation } = await fresh(2)
    const stop = new AbortController()
    const live = catchingUp(3)
    const never = live.until(() => false)
    const aborted = collect(conversation, { signal: stop.signal }, never)
    const closed = collect(conversation, {}, never)
    const other = await engine.create({ id: 'd' })
    const deleted = collect(other, {}, never).then(
      () => 'ended',
      (error: Error) => error.message,
    )
    await live.done
    stop.abort()
    expect(seqs(await aborted)).toEqual([0, 1])
    await other.delete()
    expect(await deleted).toMatch(/Unknown conversation "d"/)
    await engine.close()
    expect(seqs(await closed)).toEqual([0, 1])
    await expect(collect(conversation, {}, isCaughtUp)).rejects.toThrow(/closed/)
  })

  it.each([-2, 1.5, Number.NaN])('rejects position %s', async (after) => {
    const { engine, conversation } = await fresh(1)
    await expect(collect(conversation, { after }, isCaughtUp)).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await engine.close()
  })

  it('leaves no watch on the store', async () => {
    let watches = 0
    const plain = memoryStore()
    const store: Store = {
      ...plain,
      watch(id, wake) {
        watches += 1
        const end = plain.watch(id, wake)
        return () => {
          watches -= 1
          end()
        }
      },
    }
    const engine = createEngine({ store })
    const conversation = await engine.create()
    await conversation.append(pause('a'))
    const live = catchingUp(2)
    const isEnough = live.until((items) => seqs(items).length === 2)
    const both = [1, 2].map(() => collect(conversation, {}, isEnough))
    await live.done
    expect(watches).toBe(1)
    await conversation.append(pause('b'))
    await Promise.all(both)
    expect(watches).toBe(0)
    await engine.close()
  })

  it('fails with the error of the store, and the next one continues after the last position', async () => {
    const plain = memoryStore()
    let reads = 0
    const store: Store = {
      ...plain,
      async read(id, options) {
        reads += 1
        if (reads === 3) throw new Error('the store is away')
        return plain.read(id, options)
      },
    }
    await plain.createConversation({ id: 'c' })
    await plain.append(
      'c',
      range(0, 3_000).map((n) => ({ kind: 'PauseEvent', id: `e${n}` })),
    )
    const engine = createEngine({ store })
    const conversation = await engine.open('c')
    const seen: number[] = []
    let failures = 0
    for (let after = -1; seen.length < 3_000;) {
      try {
        for await (const item of conversation.subscribe({ after })) {
          if (item.type !== 'event') break
          seen.push(item.seq)
          after = item.seq
        }
      } catch {
        failures += 1
      }
    }
    expect(failures).toBe(1)
    expect(seen).toEqual(range(0, 3_000))
    await engine.close()
  })
})

it('continues after any item whose position and id it receives, even a line without an id', async () => {
  const { engine, conversation } = await fresh(1)
  await engine.store.append('c', [loadLine('{"kind":').fact], { mode: 'import' })
  await conversation.append(pause('last'))
  const items = await collect(conversation, {}, isCaughtUp)
  expect(items.map((item) => (item.type === 'event' ? item.id : item.type))).toEqual([
    'e0',
    null,
    'last',
    'caught_up',
  ])
  for (const { seq: after, id: afterId } of items.filter((item) => item.type === 'event'))
    expect(seqs(await collect(conversation, { after, afterId }, isCaughtUp))).toEqual(range(after + 1, 3))
  const fromStart = await collect(conversation, { after: -1, afterId: null }, isCaughtUp)
  expect(fromStart[0]).toMatchObject({ type: 'event', seq: 0 })
  await engine.close()
})

/** Does what `ReadableStream.from` does, which browsers lack. */
function streamOf(items: AsyncIterable<unknown>): ReadableStream<unknown> {
  const iterator = items[Symbol.asyncIterator]()
  return new ReadableStream<unknown>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

it('streams of items can be cancelled while they wait for an item', async () => {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create()
  await conversation.sendMessage('Hello')
  const asked = Promise.withResolvers<void>()
  const reply = Promise.withResolvers<void>()
  const run = conversation.run(async function* () {
    asked.resolve()
    await reply.promise
    yield {
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: { role: 'assistant', content: [{ text: 'Hi' }] },
    }
  })
  await asked.promise
  for (const items of [conversation.subscribe({ after: 1 }), conversation.subscribeTree(), run]) {
    const reader = streamOf(items).getReader()
    let reads = 0
    const read = async (): Promise<void> => {
      const { done } = await reader.read()
      reads += 1
      if (!done) await read()
    }
    const reading = read()
    await sleep(50)
    const before = reads
    await reader.cancel()
    await reading
    expect(reads).toBe(before + 1)
  }
  reply.resolve()
  expect((await run).status).toBe('finished')
  await engine.close()
})
