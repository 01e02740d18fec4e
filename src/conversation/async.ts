import { checkSignal, MAX_DELAY } from '../event/check-value.ts'

export type RunInOrder = <T>(work: () => Promise<T>) => Promise<T>

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
  const entries = list.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, list.length) }, worker))
  return results
}

/** Calls a function when a signal is aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  signal?.addEventListener('abort', call, { once: true })
  return () => signal?.removeEventListener('abort', call)
}

/**
 * Returns the work's result, or null when the signal is aborted first. The work is then abandoned, and any
 * later error of the work is ignored.
 */
export async function orAborted<T>(work: PromiseLike<T> | T, signal: AbortSignal): Promise<T | null> {
  const aborted = Promise.withResolvers<null>()
  const end = onAbort(signal, () => aborted.resolve(null))
  if (signal.aborted) aborted.resolve(null)
  try {
    return await Promise.race([work, aborted.promise])
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    end()
  }
}

export async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), milliseconds)
  return Promise.race([work.then(() => true), timeout]).finally(() => clearTimeout(timer))
}

export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.min(Math.max(milliseconds, 0), MAX_DELAY))
  await orAborted(promise, signal)
  clearTimeout(timer)
}

/** Lets a Node process exit before the timer fires. */
export const unref = (timer: unknown): void => (timer as { readonly unref?: () => void }).unref?.()

const DELAY = 4

export const backOff = (losses: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * DELAY * Math.min(losses, 25)))

export function delayAfter(
  failures: number,
  { retryDelay, maxRetryDelay }: { readonly retryDelay: number; readonly maxRetryDelay: number },
): number {
  const delay = Math.min(maxRetryDelay, retryDelay * 2 ** Math.min(failures - 1, 30))
  return delay / 2 + Math.random() * (delay / 2)
}

/**
 * Starts a generator, and aborts the generator's signal when `return` is called. Otherwise, a `return` during
 * a `next` would wait for the next item.
 */
export function returnable<T>(
  signal: AbortSignal | undefined,
  begin: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  checkSignal(signal)
  const ended = new AbortController()
  const items = begin(AbortSignal.any(signal === undefined ? [ended.signal] : [signal, ended.signal]))
  const end = items.return.bind(items)
  items.return = (value) => {
    ended.abort()
    return end(value)
  }
  return items
}

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Tells proxies not to buffer.
  'x-accel-buffering': 'no',
} as const

/** Milliseconds between comments in a silent stream. Proxies close idle connections; Bun does after 10 seconds. */
const HEARTBEAT_INTERVAL = 5_000

/**
 * Returns a response that sends each event as JSON, and comments while there is no event. If the client
 * disconnects, the signal of the generator that `eventsUntil` returned is aborted, and the generator ends.
 * @param end text that is sent after the last event
 */
export function eventResponse(
  eventsUntil: (signal: AbortSignal) => AsyncGenerator<object, void, undefined>,
  signal: AbortSignal | undefined,
  end: string | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const events = returnable(signal, eventsUntil)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const heartbeats = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': beat\n\n'))
      }, HEARTBEAT_INTERVAL)
      unref(heartbeats)
      const { done, value } = await events.next().finally(() => clearInterval(heartbeats))
      const data = done === true ? end : JSON.stringify(value)
      if (data !== null) controller.enqueue(encoder.encode(`data: ${data}\n\n`))
      if (done === true) controller.close()
    },
    async cancel() {
      await events.return()
    },
  })
  return new Response(body, { headers: { ...EVENT_STREAM_HEADERS, ...headers } })
}

/** Adds a value to a key's set. Returns a function that removes the value, and also the set if it is empty. */
export function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): () => void {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set.add(value))
  return () => {
    set.delete(value)
    if (set.size === 0 && sets.get(key) === set) sets.delete(key)
  }
}

export class Listeners<T> {
  readonly #listeners = new Set<{ readonly call: (news: T) => void }>()

  /** Adds a listener, even a duplicate. Returns a function that removes this listener. O(1). */
  add(call: (news: T) => void): () => void {
    const listener = { call }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(news: T): void {
    const listeners = [...this.#listeners]
    for (const listener of listeners) {
      if (!this.#listeners.has(listener)) continue
      try {
        listener.call(news)
      } catch (error) {
        void Promise.reject(error)
      }
    }
  }
}
