/** Queues, concurrency limits, pauses and listeners. */

import { EventEmitter } from 'eventemitter3'

/** Runs a task when it is its turn, and returns its result. */
export type RunInOrder = <T>(work: () => Promise<T>) => Promise<T>

/** Runs tasks in order: each begins when the one before it has ended, whether it failed or not. */
export function serialQueue(): RunInOrder {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

export function limitConcurrency(limit: number): RunInOrder {
  let free = limit
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}

export async function mapConcurrent<T, R>(
  list: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < list.length; index = next++)
      results[index] = await work(list[index] as T)
  }
  await Promise.all(Array.from({ length: Math.min(limit, list.length) }, worker))
  return results
}

/** Waits; never rejects. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  const timer = setTimeout(end, milliseconds)
  signal.addEventListener('abort', end, { once: true })
  await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', end)
}

const DELAY = 4

export const backOff = (losses: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * DELAY * Math.min(losses, 25)))

/** A set of callbacks. */
export class Listeners<T> {
  readonly #emitter = new EventEmitter<'news'>()

  /**
   * Adds a listener, even a duplicate; returns its removal. An error of a listener becomes an unhandled
   * rejection, and the others are still called. O(listeners) to remove.
   */
  add(call: (news: T) => void): () => void {
    let listens = true
    const guarded = (news: T): void => {
      // An emitter still calls what was removed while it was calling.
      if (!listens) return
      try {
        call(news)
      } catch (error) {
        void Promise.reject(error)
      }
    }
    this.#emitter.on('news', guarded)
    return () => {
      listens = false
      this.#emitter.off('news', guarded)
    }
  }

  /** Calls all listeners; those added meanwhile are called the next time. Never throws. O(listeners). */
  tell(news: T): void {
    this.#emitter.emit('news', news)
  }
}
