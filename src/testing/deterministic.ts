/** What makes a run the same each time: a clock, ids, and who goes on when several could. */

import * as fc from 'fast-check'

/** A clock that advances only when it is read or told to. */
export interface TestClock {
  /** Microseconds since 1970, for the engine's option `clock`; each reading is later than the one before. */
  readonly micros: () => bigint
  readonly advance: (milliseconds: number) => void
}

/**
 * A clock for tests, from an instant on (default: the first of January 2026), one millisecond for each reading.
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
 * Ids for tests, as the engine's option `newId` has it: the same ones for the same seed, and others for another.
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
 * Decides by a seed which of the promises that wait for it goes on next: fast-check's scheduler, for a test that is no
 * property. In a property take `fc.scheduler()`, which shrinks.
 * @example
 * const said = []
 * const scheduler = testScheduler(1)
 * for (const name of ['a', 'b']) scheduler.schedule(Promise.resolve(), name).then(() => said.push(name))
 * await scheduler.waitIdle()
 * said.toSorted() // ['a', 'b']
 */
export function testScheduler(seed: number): fc.Scheduler {
  const [scheduler] = fc.sample(fc.scheduler(), { seed, numRuns: 1 })
  if (scheduler === undefined) throw new Error('fast-check has drawn no scheduler')
  return scheduler
}

export interface ScheduledOptions {
  /** Methods that are called at once. Default: none. */
  readonly atOnce?: ReadonlySet<string>
  /** Called with each call and its result. */
  readonly told?: (method: string, args: readonly unknown[], result: unknown) => void
}

/**
 * The same object, as a store is one, with every method waiting for its turn before it is called and before its result
 * is known, so that a test decides in which order concurrent calls are made.
 * @param turn resolves when the call of that label may go on
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
  { atOnce = new Set(), told }: ScheduledOptions = {},
): T {
  return new Proxy(target, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name)
      if (typeof value !== 'function') return value
      if (atOnce.has(String(name))) return value.bind(object)
      return async (...args: readonly unknown[]) => {
        await turn(String(name))
        try {
          const result: unknown = await Reflect.apply(value, object, args)
          told?.(String(name), args, result)
          return result
        } finally {
          await turn(`${String(name)} done`)
        }
      }
    },
  })
}
