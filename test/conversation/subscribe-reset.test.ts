/** Readers whose log was replaced are notified, whatever their position, and then receive the new log (law B3). */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { SubscriptionItem } from '../../src/conversation/subscribe.ts'
import { pause } from '../build.ts'
import { failoverStore } from './failover-store.ts'

type Step =
  | { readonly type: 'append'; readonly count: number; readonly by: 'reader' | 'other' }
  | {
      readonly type: 'fail'
      readonly part: number
      readonly wakes: boolean
      readonly cuts: boolean
      readonly count: number
    }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    type: fc.constant('append' as const),
    count: fc.integer({ min: 1, max: 4 }),
    by: fc.constantFrom('reader' as const, 'other' as const),
  }),
  fc.record({
    type: fc.constant('fail' as const),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    wakes: fc.boolean(),
    /** Whether the reader disconnects first and later resumes from its position. */
    cuts: fc.boolean(),
    /** Events another process appends before anyone reads. */
    count: fc.integer({ min: 0, max: 6 }),
  }),
)

it('readers receive the log in order after failovers, with a reset if they lost events', async () => {
  let resets = 0
  let lost = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.nat(3), async (steps, ahead) => {
      const { store, failOver } = await failoverStore()
      let created = 0
      const events = (count: number) => Array.from({ length: count }, () => pause(`e${(created += 1)}`))
      const engine = createEngine({ store })
      const conversation = await engine.open('c')
      const stop = new AbortController()
      let seen: string[] = []
      let seenAt = ahead - 1
      let cut = new AbortController()
      let joined: Promise<void> = Promise.resolve()
      const listener: { onItem?: () => void } = {}
      const receive = (item: SubscriptionItem): void => {
        if (item.type === 'reset') {
          seen = []
          seenAt = -1
          resets += 1
        }
        if (item.type === 'event') {
          // No gaps, no duplicates.
          expect(item.seq).toBe(seenAt + 1)
          seenAt = item.seq
          seen.push(item.id ?? '')
        }
        listener.onItem?.()
      }
      const reading = (async () => {
        while (!stop.signal.aborted) {
          const signal = AbortSignal.any([stop.signal, cut.signal])
          const afterId = seen.at(-1)
          for await (const item of conversation.subscribe({
            after: seenAt,
            ...(afterId !== undefined && { afterId }),
            signal,
          }))
            receive(item)
          await joined
        }
      })()
      for (const each of steps) {
        if (each.type === 'append') {
          if (each.by === 'reader') await conversation.append(events(each.count))
          else await store.append('c', events(each.count))
          continue
        }
        const { version = 0 } = (await store.getConversation('c')) ?? {}
        const length = Math.floor(version * each.part)
        lost += length < version ? 1 : 0
        const { promise, resolve: joinAgain } = Promise.withResolvers<void>()
        if (each.cuts) {
          joined = promise
          cut.abort()
          cut = new AbortController()
        }
        await failOver(length, each.wakes)
        if (each.count > 0) await store.append('c', events(each.count))
        joinAgain()
      }
      // The next append wakes the other readers. The log is then longer than every start position.
      await store.append('c', events(5))
      const log = (await store.read('c')).map(({ id }) => id ?? '')
      const hasArrived = (): boolean => seen.at(-1) === log.at(-1)
      const arrived = new Promise<void>((resolve) => {
        listener.onItem = () => void (hasArrived() && resolve())
        listener.onItem()
      })
      await Promise.race([arrived, reading])
      expect(seen).toEqual(log.slice(log.length - seen.length))
      expect(seenAt).toBe(log.length - 1)
      // A reader from the start has the whole log.
      if (ahead === 0) expect(seen).toEqual(log)
      stop.abort()
      await reading
      await engine.close()
    }),
    { numRuns: 100 },
  )
  expect(lost).toBeGreaterThan(30)
  // Timing decides how many readers poll before the log outgrows their position.
  expect(resets).toBeGreaterThan(0)
})
