/** Queues, pauses and listeners. */

import { EventEmitter } from 'eventemitter3'

/** Begins a work when it is its turn, and gives what it gives. */
export type RunInOrder = <T>(work: () => Promise<T>) => Promise<T>

/** A row of its own: each work begins when the one before it has ended, however it did. */
export function serialQueue(): RunInOrder {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

/** At most so many works at once; the others wait in line. */
export function limitConcurrency(most: number): RunInOrder {
  let free = most
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

/** Gives the results of a work on each of a list, in its order; at most so many are under way at once. */
export async function mapConcurrent<T, R>(
  list: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < list.length; at = next++) results[at] = await work(list[at] as T)
  }
  await Promise.all(Array.from({ length: Math.min(most, list.length) }, worker))
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

/** Up to so many milliseconds, more with each loss. */
const DELAY = 4

/** Waits a little, by chance. @param losses how many races were lost in a row */
export const backOff = (losses: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * DELAY * Math.min(losses, 25)))

/** A set of callbacks. */
export class Listeners<T> {
  readonly #emitter = new EventEmitter<'news'>()

  /**
   * Adds one, also when it was added before; returns what removes it, at once. What it throws becomes a rejection that
   * nothing handles, as of any callback that nothing waits for. O(listeners) to remove.
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

  /** Calls all that there are; those added by them hear the next news. Never throws. O(listeners). */
  tell(news: T): void {
    this.#emitter.emit('news', news)
  }
}
