/** Listeners receive each notification once, even if others throw, leave, or add and remove listeners. */

import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Listeners } from '../../src/conversation/async.ts'

/** Errors of listeners, which are reported to the process only. */
const thrown: unknown[] = []
const note = (error: unknown): void => void thrown.push(error)
let others: NodeJS.UnhandledRejectionListener[] = []

beforeEach(() => {
  others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
})

afterEach(() => {
  process.off('unhandledRejection', note)
  for (const other of others) process.on('unhandledRejection', other)
})

/** A listener's reaction. */
const deed = fc.oneof(
  fc.constant({ does: 'nothing' as const }),
  fc.constant({ does: 'throw' as const }),
  fc.record({ does: fc.constant('remove' as const), which: fc.nat(7) }),
  fc.constant({ does: 'add' as const }),
)

it('each listener is notified once and in order, even if others throw, leave or join', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(deed, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 4 }),
      async (deeds, pieces) => {
        thrown.length = 0
        const listeners = new Listeners<number>()
        const heard: string[] = []
        const removals: (() => void)[] = []
        deeds.forEach((each, n) => {
          const listener = (news: number): void => {
            heard.push(`${n} ${news}`)
            if (each.does === 'throw') throw new Error(`${n} ${news}`)
            if (each.does === 'remove') removals[each.which]?.()
            if (each.does === 'add') listeners.add((later) => heard.push(`${n}+${news} ${later}`))
          }
          removals.push(listeners.add(listener))
        })
        const expected: string[] = []
        const errors: string[] = []
        const known: { name: string; deed?: (typeof deeds)[number] }[] = deeds.map((each, n) => ({
          name: `${n}`,
          deed: each,
        }))
        const removed = new Set<string>()
        for (let news = 0; news < pieces; news += 1) {
          for (const { name, deed: does } of known.slice()) {
            if (removed.has(name)) continue
            expected.push(`${name} ${news}`)
            if (does?.does === 'throw') errors.push(`${name} ${news}`)
            if (does?.does === 'remove') removed.add(`${does.which}`)
            if (does?.does === 'add') known.push({ name: `${name}+${news}` })
          }
          listeners.tell(news)
        }
        expect(heard).toEqual(expected)
        // Unhandled rejections are reported after the microtasks.
        await new Promise((resolve) => setImmediate(resolve))
        expect(thrown.map((error) => (error as Error).message)).toEqual(errors)
      },
    ),
  )
})

it('a listener that is added twice is notified twice, and each removal removes one', () => {
  const listeners = new Listeners<string>()
  const heard: string[] = []
  const listener = (news: string): void => void heard.push(news)
  const [first, second] = [listeners.add(listener), listeners.add(listener)]
  listeners.tell('both')
  first()
  first()
  listeners.tell('one')
  second()
  listeners.tell('none')
  expect(heard).toEqual(['both', 'both', 'one'])
})
