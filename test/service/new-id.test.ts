import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newConversationId } from '../../src/service/conversations/find-conversation.ts'

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

it('a new id is a UUID of version 7 that sorts after all earlier ids', () => {
  let before = ''
  let now = Date.now()
  const steps = fc.tuple(fc.integer({ min: -5_000, max: 5_000 }), fc.constantFrom(1, 3, 5_000))
  fc.assert(
    fc.property(steps, ([by, times]) => {
      now += by
      for (let i = 0; i < times; i += 1) {
        const id = newConversationId(now)
        expect(id).toMatch(V7)
        expect(id > before).toBe(true)
        before = id
      }
      return true
    }),
    { numRuns: 30 },
  )
})

it('a new id begins with the time in milliseconds', () => {
  const now = Date.now() + 10_000_000
  expect(Number.parseInt(newConversationId(now).replace('-', '').slice(0, 12), 16)).toBe(now)
})
