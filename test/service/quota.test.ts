import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { STORES } from './client.ts'
import { BASE, begin, client, endAll, ID } from './control-world.ts'

afterEach(endAll)

const create = (): Promise<{ readonly status: number }> =>
  client.post('/api/conversations', { conversation_id: ID })

/** A request, and whether it returns an existing conversation. */
const order = fc.oneof(
  fc.record({ do: fc.constant('create' as const), at: fc.option(fc.nat(2)) }),
  fc.record({ do: fc.constantFrom('start' as const, 'fork' as const, 'fork wrongly' as const) }),
)

describe.each(Object.entries(STORES))('over %s', (_, make) => {
  it('is taken from once by each conversation, and a creation may be repeated', async () => {
    const property = fc.asyncProperty(
      fc.array(order, { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      async (orders, perDay) => {
        await begin(make(), undefined, { quota: { perDay } })
        expect((await create()).status).toBe(201)
        const there = new Set<number>()
        let remaining = perDay - 1
        for (const one of orders) {
          if (one.do === 'create') {
            const isThere = one.at !== null && there.has(one.at)
            const named = one.at === null ? {} : { conversation_id: `named ${one.at}` }
            const { status } = await client.post('/api/conversations', named)
            expect([one, status]).toEqual([one, isThere ? 200 : remaining > 0 ? 201 : 429])
            if (status === 201) remaining -= 1
            if (status === 201 && one.at !== null) there.add(one.at)
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

  it('does not count those who create one at once twice', async () => {
    await begin(make(), undefined, { quota: { perDay: 3 } })
    const statuses = (await Promise.all([create(), create(), create()])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 200, 201])
    expect((await client.post('/api/conversations')).status).toBe(201)
    expect((await client.post('/api/conversations')).status).toBe(201)
    expect([(await client.post('/api/conversations')).status, (await create()).status]).toEqual([429, 200])
  })
})
