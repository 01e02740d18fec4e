/** Commits that wait for a hanging store fail together after one time limit. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { ColloquyError, type ErrorCode } from '../../src/event/errors.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { action, observe, user } from '../build.ts'
import { wrapStore } from './stores.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** A conversation whose store fails each append with `code` after `duration` milliseconds, until `recover`. */
async function failing(code: ErrorCode, duration: number) {
  const inner = memoryStore()
  let fails = false
  let attempts = 0
  const store = wrapStore(inner, {
    async append(id, facts, options) {
      if (!fails) return inner.append(id, facts, options)
      attempts += 1
      await new Promise((resolve) => setTimeout(resolve, 5))
      vi.advanceTimersByTime(duration)
      throw new ColloquyError(code, 'The store does not respond.')
    },
  })
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  await conversation.append(user('before'))
  fails = true
  return { conversation, engine, attempts: () => attempts, recover: () => void (fails = false) }
}

const COMMITS: Record<string, (conversation: Conversation, index: number) => Promise<unknown>> = {
  messages: (conversation, index) => conversation.sendMessage(`m${index}`),
  'messages with a key': (conversation, index) => conversation.sendMessage('m', { key: `k${index}` }),
  'events with an expected version': (conversation, index) =>
    conversation.append(user(`m${index}`), { expected: 1 }),
  pauses: (conversation) => conversation.pause(),
  'moves of HEAD': (conversation) => conversation.navigate(null),
  'different changes': (conversation, index) =>
    index % 2 === 0 ? conversation.pause() : conversation.sendMessage(`m${index}`),
}

describe.each(Object.entries(COMMITS))('concurrent %s', (_, call) => {
  const several = (conversation: Conversation, count: number) =>
    Promise.allSettled(Array.from({ length: count }, (_one, index) => call(conversation, index)))

  it.each([
    ['store_busy', 2],
    ['store_busy', 30],
    ['store_unavailable', 5],
  ] as const)('fail with %s after one time limit when %i of them wait', async (code, count) => {
    const { conversation, engine, attempts, recover } = await failing(code, 5_000)
    for (const result of await several(conversation, count))
      expect(result).toMatchObject({ status: 'rejected', reason: { code } })
    expect(attempts()).toBe(1)
    // A later commit has its own time limit.
    await expect(call(conversation, 0)).rejects.toMatchObject({ code })
    expect(attempts()).toBe(2)
    recover()
    await call(conversation, 0)
    expect((await conversation.state()).log.entries.length).toBeGreaterThan(1)
    await engine.close()
  })

  it.each([
    ['store_busy', 10],
    ['store_full', 5_000],
    ['store_read_only', 5_000],
  ] as const)('are each tried if the store fails with %s after %i ms', async (code, duration) => {
    const { conversation, engine, attempts } = await failing(code, duration)
    await several(conversation, 3)
    expect(attempts()).toBe(3)
    await engine.close()
  })
})

it('state() is not affected while commits wait for the store', async () => {
  const { conversation, engine } = await failing('store_busy', 5_000)
  const writes = Promise.allSettled([conversation.sendMessage('a'), conversation.sendMessage('b')])
  expect((await conversation.state()).log.entries.length).toBe(1)
  await writes
  await engine.close()
})

it('an abort during an outage is logged once the store responds', async () => {
  const inner = memoryStore()
  const stop = new AbortController()
  let hangs = false
  const store = wrapStore(inner, {
    async append(id, facts, options) {
      if (!hangs) return inner.append(id, facts, options)
      hangs = false
      stop.abort()
      await new Promise((resolve) => setTimeout(resolve, 5))
      vi.advanceTimersByTime(5_000)
      throw new ColloquyError('store_busy', 'The store does not respond.')
    },
  })
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  await conversation.append(user('before'))
  const call = action('a')
  await expect(
    conversation.run(
      async function* () {
        yield call
        hangs = true
        yield observe('o', call)
      },
      { signal: stop.signal },
    ),
  ).rejects.toMatchObject({ code: 'store_busy' })
  const kinds = (await inner.read('c')).map(({ fact }) => ('kind' in fact ? fact.kind : null))
  expect(kinds.slice(-2)).toEqual(['AgentErrorEvent', 'InterruptEvent'])
  expect((await inner.getConversation('c'))?.status).toBe('paused')
  await engine.close()
})
