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
import { spyStore, wrapStore } from './stores.ts'

const thinks = (reasoning_content: string): Event => ({ kind: 'StreamingDeltaEvent', reasoning_content })
const delta = (content: string): Event => ({ kind: 'StreamingDeltaEvent', content })

/** Milliseconds in which at least one poll happens, if polling is active. */
const POLL_WAIT = 1_200

/** Returns the received text once it equals `expected`, or after five minutes. */
async function receivedText(conversation: Conversation, expected: string): Promise<string> {
  let text = ''
  try {
    for await (const item of conversation.subscribe({ signal: AbortSignal.timeout(300_000) })) {
      if (item.type === 'delta') text += item.event.content ?? ''
      if (text === expected) break
    }
  } catch {
    // The assertion compares the text.
  }
  return text
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
  const conversation = await one.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  const end = gate()
  const running = conversation.run(async function* ({ publish }) {
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
  expect(await receivedText(read, 'Hello')).toBe('Hello')
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
  const conversation = await one.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  const reading = new AbortController()
  const reader = (async () => {
    for await (const item of (await two.open('c')).subscribe({ signal: reading.signal }))
      if (item.type === 'delta') items.push('a delta')
  })().catch(() => undefined)
  await conversation.run(async function* ({ publish }) {
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

/** Streams only reasoning, until its signal is aborted. */
const thinksOn: Step = async function* ({ publish, signal }) {
  publish(thinks('hm'))
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  yield []
}

/** Counts polls for shared replies during a wait. */
async function counted() {
  let polls = 0
  const store = spyStore(memoryStore(), (method) => {
    if (method === 'getItem') polls += 1
  })
  const engine = createEngine({ store, shareReplies: true })
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  const countPolls = async (): Promise<number> => {
    polls = 0
    await sleep(POLL_WAIT)
    return polls
  }
  return { store, engine, conversation, countPolls }
}

it.each(['its own engine', 'another engine'])(
  'polling ends when %s interrupts a reply that has only reasoning',
  async (who) => {
    const { store, engine, conversation, countPolls } = await counted()
    const other = createEngine({ store, shareReplies: true })
    const running = conversation.run(thinksOn)
    await conversation.waitFor('running')
    await sleep(0)
    expect(await countPolls()).toBeGreaterThan(0)
    await (who === 'another engine' ? await other.open('c') : conversation).interrupt()
    await running
    // A request made before the end may still arrive.
    await countPolls()
    expect(await countPolls()).toBe(0)
    await Promise.all([engine.close(), other.close()])
  },
)

it('polling ends when the engine is closed', async () => {
  const { engine, conversation, countPolls } = await counted()
  for await (const { type } of conversation.subscribe()) {
    if (type !== 'caught_up') continue
    conversation.publish(delta('of no run'))
    break
  }
  expect(await countPolls()).toBeGreaterThan(0)
  await engine.close()
  await countPolls()
  expect(await countPolls()).toBe(0)
})

it('delete() can be repeated after a failed cleanup, and keeps a recreated conversation', async () => {
  const inner = memoryStore()
  const cleanup = gate()
  let beforeRead = cleanup.pass
  const store = wrapStore(inner, {
    async getItem(collection, id) {
      await beforeRead()
      return inner.getItem(collection, id)
    },
  })
  const engine = createEngine({ store, shareReplies: true })
  await (await engine.create({ id: 'c' })).sendMessage('old')
  const deleting = engine.delete('c')
  await cleanup.reached
  const again = await engine.openOrCreate('c')
  await again.sendMessage('new')
  const waiting = again.waitFor('finished')
  cleanup.open()
  expect(await deleting).toBe(true)
  await again.run(() => [says('Hi')])
  expect((await waiting).log.entries.length).toBe(3)

  beforeRead = () => Promise.reject(new Error('away'))
  await expect(engine.delete('c')).rejects.toThrow('away')
  let reads = 0
  beforeRead = async () => void (reads += 1)
  expect(await engine.delete('c')).toBe(false)
  expect(reads).toBe(1)
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
