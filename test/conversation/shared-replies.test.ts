/** Replies shared through the store: which readers receive them, and when polling stops. */

import { redactingStore } from '../../src/context/redaction/store.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { SharedReplies } from '../../src/conversation/shared-replies.ts'
import { Replies } from '../../src/conversation/streamed.ts'
import type { Event } from '../../src/event/types.ts'
import { initialState } from '../../src/state/state.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { gate, says } from './script.ts'
import { heardStore, wrapStore } from './stores.ts'

const thinks = (reasoning_content: string): Event => ({ kind: 'StreamingDeltaEvent', reasoning_content })
const delta = (content: string): Event => ({ kind: 'StreamingDeltaEvent', content })

/** Waits long enough that a poll would show. */
const LOOKS = 1_200

/** Returns the text once `words` has arrived, or what arrived within five minutes. */
async function hears(conversation: Conversation, words: string): Promise<string> {
  let heard = ''
  try {
    for await (const item of conversation.subscribe({ signal: AbortSignal.timeout(300_000) })) {
      if (item.type === 'delta') heard += item.event.content ?? ''
      if (heard === words) break
    }
  } catch {
    // The assertion compares the text.
  }
  return heard
}

it.each([
  ['no run', false],
  ['a run that waits for the lease', true],
])('a reader in an engine with %s receives the streamed text', async (_, waits) => {
  const store = memoryStore()
  const [one, two] = [
    createEngine({ store, shareReplies: true }),
    createEngine({ store, shareReplies: true }),
  ]
  const made = await one.create({ id: 'c' })
  await made.sendMessage('Hi')
  const end = gate()
  const running = made.run(async function* ({ publish }) {
    publish(delta('Hello'))
    await end.pass()
    yield says('Hello')
  })
  await end.reached
  const read = await two.open('c')
  let waiting: Promise<unknown> = Promise.resolve()
  if (waits) {
    await read.sendMessage('And?')
    waiting = read.run(() => [says('Later')], { wait: true })
  }
  expect(await hears(read, 'Hello')).toBe('Hello')
  end.open()
  await Promise.all([running, waiting])
  await Promise.all([one.close(), two.close()])
})

it('a redacting store shares no streamed text', async () => {
  const bare = memoryStore()
  const items: string[] = []
  const recording = wrapStore(bare, {
    async changeItems(changes) {
      items.push(JSON.stringify(changes))
      return bare.changeItems(changes)
    },
  })
  const store = redactingStore(recording, redactionRules({ secrets: ['open-sesame'] }))
  const [one, two] = [
    createEngine({ store, shareReplies: true }),
    createEngine({ store, shareReplies: true }),
  ]
  const made = await one.create({ id: 'c' })
  await made.sendMessage('Hi')
  const reading = new AbortController()
  const reader = (async () => {
    for await (const item of (await two.open('c')).subscribe({ signal: reading.signal }))
      if (item.type === 'delta') items.push('a delta')
  })().catch(() => undefined)
  await made.run(async function* ({ publish }) {
    for (let n = 0; n < 5; n += 1) {
      publish(delta('The word is open-sesame.'))
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    yield says('The word is open-sesame.')
  })
  reading.abort()
  await reader
  expect(items.filter((item) => item.includes('sesame') || item.includes('delta'))).toEqual([])
  expect(JSON.stringify(await bare.read('c'))).not.toContain('open-sesame')
  await Promise.all([one.close(), two.close()])
})

/** Only thinks, until it is stopped. */
const thinksOn: Step = async function* ({ publish, signal }) {
  publish(thinks('hm'))
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  yield []
}

/** Counts requests for shared replies during a wait. */
async function counted() {
  let requestCount = 0
  const store = heardStore(memoryStore(), (method) => {
    if (method === 'getItem') requestCount += 1
  })
  const engine = createEngine({ store, shareReplies: true })
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  const looks = async (): Promise<number> => {
    requestCount = 0
    await sleep(LOOKS)
    return requestCount
  }
  return { store, engine, conversation, looks }
}

it.each(['its own engine', 'another engine'])(
  'polling ends when %s interrupts a reply that has only reasoning',
  async (who) => {
    const { store, engine, conversation, looks } = await counted()
    const other = createEngine({ store, shareReplies: true })
    const running = conversation.run(thinksOn)
    await conversation.waitFor('running')
    await sleep(0)
    expect(await looks()).toBeGreaterThan(0)
    await (who === 'another engine' ? await other.open('c') : conversation).interrupt()
    await running
    // A request made before the end may still arrive.
    await looks()
    expect(await looks()).toBe(0)
    await Promise.all([engine.close(), other.close()])
  },
)

it('polling ends when the engine is closed', async () => {
  const { engine, conversation, looks } = await counted()
  for await (const { type } of conversation.subscribe()) {
    if (type !== 'caught_up') continue
    conversation.publish(delta('of no run'))
    break
  }
  expect(await looks()).toBeGreaterThan(0)
  await engine.close()
  await looks()
  expect(await looks()).toBe(0)
})

it('delete() can be repeated after a failed cleanup, and keeps a recreated conversation', async () => {
  const inner = memoryStore()
  const looks = gate()
  let look = looks.pass
  const store = wrapStore(inner, {
    async getItem(collection, id) {
      await look()
      return inner.getItem(collection, id)
    },
  })
  const engine = createEngine({ store, shareReplies: true })
  await (await engine.create({ id: 'c' })).sendMessage('old')
  const deleting = engine.delete('c')
  await looks.reached
  const again = await engine.openOrCreate('c')
  await again.sendMessage('new')
  const waiting = again.waitFor('finished')
  looks.open()
  expect(await deleting).toBe(true)
  await again.run(() => [says('Hi')])
  expect((await waiting).log.entries.length).toBe(3)

  look = () => Promise.reject(new Error('away'))
  await expect(engine.delete('c')).rejects.toThrow('away')
  let looked = 0
  look = async () => void (looked += 1)
  expect(await engine.delete('c')).toBe(false)
  expect(looked).toBe(1)
  await engine.close()
})

it('only one poll is scheduled, even if a reader returns during a poll', async () => {
  const planned = new Set<() => void>()
  const shared = new SharedReplies({
    items: memoryStore(),
    id: 'c',
    replies: new Replies(() => initialState()),
    isElsewhere: () => true,
    isClosing: () => false,
    schedule(work) {
      planned.add(work)
      return () => planned.delete(work)
    },
    open: new Set(),
  })
  const leave = shared.listen()
  expect(planned.size).toBe(1)
  for (const work of planned) {
    planned.delete(work)
    work()
  }
  leave()
  const leaveAgain = shared.listen()
  await shared.poll()
  await sleep(0)
  expect(planned.size).toBe(1)
  leaveAgain()
  expect(planned.size).toBe(0)
})
