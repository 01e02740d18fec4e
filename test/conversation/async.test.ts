/** Concurrent work on a list stops at an error, and reads each item only when it starts. */

import { expect, it, vi } from 'vitest'
import { eventResponse, mapConcurrent, pause } from '../../src/conversation/async.ts'

const numbers = (length: number): number[] => Array.from({ length }, (_, index) => index)

it.each([1, 3])('mapConcurrent() with limit %i starts no item after an error', async (limit) => {
  let calls = 0
  const work = async (): Promise<never> => {
    calls += 1
    throw new Error('broken')
  }
  await expect(mapConcurrent(numbers(100), limit, work)).rejects.toThrow('broken')
  // Other items would start in later turns of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 10))
  expect(calls).toBe(limit)
})

it('mapConcurrent() reads each of 100,000 items once, and only when it starts the item', async () => {
  const limit = 4
  const list = numbers(100_000)
  let reads = 0
  let ended = 0
  let maxActive = 0
  const counted = new Proxy(list, {
    get(target, key) {
      if (typeof key === 'string' && key !== 'length' && Object.hasOwn(target, key)) {
        reads += 1
        maxActive = Math.max(maxActive, reads - ended)
      }
      return Reflect.get(target, key)
    },
  })
  const doubled = await mapConcurrent(counted, limit, async (item) => {
    ended += 1
    return item * 2
  })
  expect(doubled).toEqual(list.map((item) => item * 2))
  expect(reads).toBe(100_000)
  // Removing the head of a queue for each item would take quadratic time.
  expect(maxActive).toBeLessThanOrEqual(limit)
})

it('pause() accepts a time that has passed, without a warning', async () => {
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  await pause(-0.5, new AbortController().signal)
  // A warning is emitted in a later turn of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 10))
  process.off('warning', note)
  expect(warnings).toEqual([])
})

it('eventResponse() sends comments while there is no event, but none to a reader that does not read', async () => {
  vi.useFakeTimers()
  try {
    const { promise, resolve } = Promise.withResolvers<void>()
    const events = async function* () {
      yield { index: 0 }
      await promise
      yield { index: 1 }
    }
    const { body } = eventResponse(events, undefined, '[DONE]')
    await vi.advanceTimersByTimeAsync(60_000)
    const reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toBe('data: {"index":0}\n\n')
    for (let count = 0; count < 3; count += 1) {
      const next = reader.read()
      await vi.advanceTimersByTimeAsync(9_000)
      expect((await next).value).toBe(': beat\n\n')
    }
    resolve()
    const rest: string[] = []
    for (let next = await reader.read(); !next.done; next = await reader.read()) rest.push(next.value)
    expect(rest.join('')).toMatch(/^(: beat\n\n)*data: \{"index":1\}\n\ndata: \[DONE\]\n\n$/)
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
