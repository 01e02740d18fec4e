import * as fc from 'fast-check'
import { checkOptionNames } from '../event/check-value.ts'

/** A clock for tests, which advances only when it is read, or by `advance`. */
export interface TestClock {
  /** Returns microseconds since 1970, increasing at each call. Pass this function as the engine's `clock`. */
  readonly micros: () => bigint
  readonly advance: (milliseconds: number) => void
}

/**
 * Returns a clock for tests. It starts at an instant (default: 1 January 2026) and advances by a millisecond
 * each time it is read.
 * @example
 * const clock = testClock('2026-01-01T00:00:00Z')
 * const first = clock.micros()
 * clock.advance(999)
 * clock.micros() - first // 1000000n
 */
export function testClock(start = '2026-01-01T00:00:00Z'): TestClock {
  let now = BigInt(Date.parse(start)) * 1000n
  return {
    micros: () => (now += 1000n),
    advance: (milliseconds) => {
      now += BigInt(Math.round(milliseconds * 1000))
    },
  }
}

/**
 * Returns a function that returns ids, for the engine's `newId`. Equal seeds produce equal ids.
 * @example
 * const newId = testIds('a')
 * newId() // 'a-1'
 * newId() // 'a-2'
 */
export function testIds(seed: string | number): () => string {
  let count = 0
  return () => `${seed}-${(count += 1)}`
}

/**
 * Returns fast-check's scheduler. The seed decides the order in which promises continue. In a property, use
 * `fc.scheduler()` instead, so that fast-check can shrink the order.
 * @example
 * const output = []
 * const scheduler = testScheduler(1)
 * for (const name of ['a', 'b']) scheduler.schedule(Promise.resolve(), name).then(() => output.push(name))
 * await scheduler.waitIdle()
 * output.toSorted() // ['a', 'b']
 */
export function testScheduler(seed: number): fc.Scheduler {
  return fc.sample(fc.scheduler(), { seed, numRuns: 1 })[0] as fc.Scheduler
}

/** Options of `scheduled`. */
export interface ScheduledOptions {
  /** Names of methods that `scheduled` does not delay. Default: none. */
  readonly atOnce?: ReadonlySet<string>
  readonly onCall?: (method: string, args: readonly unknown[], result: unknown) => void
}

/**
 * Wraps an object so that each call of a method, and each result, waits for its turn. Tests use this to order
 * concurrent calls.
 * @param turn returns a promise that resolves when the call or result with this label may continue
 * @example
 * const scheduler = testScheduler(1)
 * const turn = (label) => scheduler.schedule(Promise.resolve(), label)
 * const store = scheduled(memoryStore(), turn, { atOnce: new Set(['close']) })
 * const made = store.createConversation({ id: 'c' })
 * await scheduler.waitIdle()
 * const { id } = await made
 */
export function scheduled<T extends object>(
  target: T,
  turn: (label: string) => Promise<unknown>,
  options: ScheduledOptions = {},
): T {
  checkOptionNames(options, 'atOnce onCall')
  const { atOnce = new Set(), onCall: report } = options
  return new Proxy(target, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name)
      if (typeof value !== 'function') return value
      if (atOnce.has(String(name))) return value.bind(object)
      return async (...args: readonly unknown[]) => {
        await turn(String(name))
        try {
          const result: unknown = await Reflect.apply(value, object, args)
          report?.(String(name), args, result)
          return result
        } finally {
          await turn(`${String(name)} done`)
        }
      }
    },
  })
}
