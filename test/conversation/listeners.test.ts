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
const reaction = fc.oneof(
  fc.constant({ type: 'nothing' as const }),
  fc.constant({ type: 'throw' as const }),
  fc.record({ type: fc.constant('remove' as const), which: fc.nat(7) }),
  fc.constant({ type: 'add' as const }),
)

it('each listener is notified once and in order, even if others throw, leave or join', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(reaction, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 4 }),
      async (reactions, count) => {
        thrown.length = 0
        const listeners = new Listeners<number>()
        const received: string[] = []
        const removals: (() => void)[] = []
        reactions.forEach((each, n) => {
          const listener = (notification: number): void => {
            received.push(`${n} ${notification}`)
            if (each.type === 'throw') throw new Error(`${n} ${notification}`)
            if (each.type === 'remove') removals[each.which]?.()
            if (each.type === 'add') listeners.add((later) => received.push(`${n}+${notification} ${later}`))
          }
          removals.push(listeners.add(listener))
        })
        const expected: string[] = []
        const errors: string[] = []
        const known: { name: string; reaction?: (typeof reactions)[number] }[] = reactions.map((each, n) => ({
          name: `${n}`,
          reaction: each,
        }))
        const removed = new Set<string>()
        for (let notification = 0; notification < count; notification += 1) {
          for (const { name, reaction } of known.slice()) {
            if (removed.has(name)) continue
            expected.push(`${name} ${notification}`)
            if (reaction?.type === 'throw') errors.push(`${name} ${notification}`)
            if (reaction?.type === 'remove') removed.add(`${reaction.which}`)
            if (reaction?.type === 'add') known.push({ name: `${name}+${notification}` })
          }
          listeners.tell(notification)
        }
        expect(received).toEqual(expected)
        // Unhandled rejections are reported after the microtasks.
        await new Promise((resolve) => setImmediate(resolve))
        expect(thrown.map((error) => (error as Error).message)).toEqual(errors)
      },
    ),
  )
})

it('a listener that is added twice is notified twice, and each removal removes one', () => {
  const listeners = new Listeners<string>()
  const received: string[] = []
  const listener = (notification: string): void => void received.push(notification)
  const [first, second] = [listeners.add(listener), listeners.add(listener)]
  listeners.tell('both')
  first()
  first()
  listeners.tell('one')
  second()
  listeners.tell('none')
  expect(received).toEqual(['both', 'both', 'one'])
})
