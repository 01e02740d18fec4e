import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { STORES } from './client.ts'
import { BASE, begin, client, endAll, ID } from './control-fixture.ts'

afterEach(endAll)

const create = (): Promise<{ readonly status: number }> =>
  client.post('/api/conversations', { conversation_id: ID })

/** A request, and whether it returns an existing conversation. */
const order = fc.oneof(
  fc.record({ do: fc.constant('create' as const), index: fc.option(fc.nat(2)) }),
  fc.record({ do: fc.constantFrom('start' as const, 'fork' as const, 'fork wrongly' as const) }),
)

describe.each(Object.entries(STORES))('the quota over %s', (_, make) => {
  it('counts each conversation once, and not a repeated create', async () => {
    const property = fc.asyncProperty(
      fc.array(order, { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      async (orders, perDay) => {
        await begin(make(), undefined, { quota: { perDay } })
        expect((await create()).status).toBe(201)
        const existing = new Set<number>()
        let remaining = perDay - 1
        for (const one of orders) {
          if (one.do === 'create') {
            const exists = one.index !== null && existing.has(one.index)
            const named = one.index === null ? {} : { conversation_id: `named ${one.index}` }
            const { status } = await client.post('/api/conversations', named)
            expect([one, status]).toEqual([one, exists ? 200 : remaining > 0 ? 201 : 429])
            if (status === 201) remaining -= 1
            if (status === 201 && one.index !== null) existing.add(one.index)
          } else if (one.do === 'start') {
            const { status } = await client.post(BASE)
            expect([one, status]).toEqual([one, remaining > 0 ? 200 : 429])
            if (status === 200) remaining -= 1
          } else {
            const wrong = one.do === 'fork wrongly' ? { from_event_id: 'none' } : {}
            const { status } = await client.post(`/api/conversations/${ID}/fork`, wrong)
            expect([one, status]).toEqual([one, remaining === 0 ? 429 : one.do === 'fork' ? 201 : 404])
            if (status === 201) remaining -= 1
          }
        }
        await endAll()
      },
    )
    await fc.assert(property, { numRuns: 25 })
  })

  it('counts concurrent creates of one id once', async () => {
    await begin(make(), undefined, { quota: { perDay: 3 } })
    const statuses = (await Promise.all([create(), create(), create()])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 200, 201])
    expect((await client.post('/api/conversations')).status).toBe(201)
    expect((await client.post('/api/conversations')).status).toBe(201)
    expect([(await client.post('/api/conversations')).status, (await create()).status]).toEqual([429, 200])
  })
})
