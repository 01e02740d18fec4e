import { equal, holds, rejects, rejectsEach } from './assert.ts'
import type { Lease } from '../../store/contract/store.ts'
import { type Check, it, test } from './check.ts'
import { after, begin, granted, SORTED_IDS, idsOf, LONG, pause, pluck, SHORT } from './facts.ts'

const sortLeases = (leases: readonly Lease[]): Lease[] =>
  SORTED_IDS.flatMap((id) => leases.find(({ conversationId }) => conversationId === id) ?? [])

export const LEASES: readonly Check[] = [
  it('lease: it has one owner at a time; a renewal extends it and keeps the generation', async (store, id) => {
    equal(await store.getLease(id), null, 'the lease before a claim')
    const first = await granted(store, id, 'me', LONG)
    equal([first.conversationId, first.owner], [id, 'me'], 'the lease')
    equal(await store.acquireLease(id, 'you', LONG), null, 'the claim of another owner')
    equal(await store.getLease(id), first, 'the lease as stored')
    const renewed = await granted(store, id, 'me', 2 * LONG)
    equal(renewed.generation, first.generation, 'the generation of a renewal')
    holds(renewed.expiresAt >= first.expiresAt + LONG, 'a renewal did not extend the lease')
    equal(await store.getLease(id), renewed, 'the renewal as stored')
    await granted(store, await begin(store, 'd'), 'you', LONG)
  }),
  it('lease: exactly one of many concurrent claims wins', async (store, id) => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, i) => store.acquireLease(id, `owner${i}`, LONG)),
    )
    const leases = all.filter((lease) => lease !== null)
    equal(leases.length, 1, 'number of granted leases')
    equal(await store.getLease(id), leases[0], 'the lease as stored')
  }),
  it('lease: after it expires, anyone can claim it, with a higher generation', async (store, id) => {
    const first = await granted(store, id, 'me', SHORT)
    await after(2 * SHORT)
    equal(await store.getLease(id), first, 'the expired lease')
    const second = await granted(store, id, 'you', SHORT)
    holds(second.generation > first.generation, 'a takeover did not raise the generation')
    await after(2 * SHORT)
    const third = await granted(store, id, 'you', LONG)
    holds(third.generation > second.generation, 'a claim after expiry did not raise the generation')
    equal(await store.acquireLease(id, 'me', LONG), null, 'a claim of a held lease')
  }),
  it('lease: releasing ends it, the next one has a higher generation, and an old one cannot be released', async (store, id) => {
    const append = (lease: Lease) => store.append(id, [pause('a')], { lease })
    const first = await granted(store, id, 'me', SHORT)
    await after(2 * SHORT)
    const second = await granted(store, id, 'me', LONG)
    await rejects('lease_lost', 'an append under an old lease', () => append(first))
    equal(await store.releaseLease(first), false, 'releasing an old lease')
    equal(await store.releaseLease({ ...second, owner: 'you' }), false, 'releasing a lease of another owner')
    equal(await store.getLease(id), second, 'the lease afterwards')
    const releases = [await store.releaseLease(second), await store.releaseLease(second)]
    equal(releases, [true, false], 'releasing the lease twice')
    equal(await store.getLease(id), null, 'the released lease')
    await rejects('lease_lost', 'an append under a released lease', () => append(second))
    const third = await granted(store, id, 'you', LONG)
    holds(third.generation > second.generation, 'the next lease has no higher generation')
  }),
  it('lease: an append under an old lease is lease_lost, and writes nothing', async (store, id) => {
    const append = (event: string, lease?: Pick<Lease, 'owner' | 'generation'>) =>
      store.append(id, [pause(event)], lease === undefined ? {} : { lease })
    const unknown = { owner: 'me', generation: 1 }
    await rejects('lease_lost', 'an append under an unknown lease', () => append('x', unknown))
    const mine = await granted(store, id, 'me', SHORT)
    equal((await append('a', mine)).version, 1, 'the version under a held lease')
    await after(2 * SHORT)
    equal((await append('b', mine)).version, 2, 'the version under an expired lease')
    const yours = await granted(store, id, 'you', LONG)
    await rejects('lease_lost', 'an old lease', () => append('x', mine))
    await rejects('lease_lost', 'another owner', () => append('x', { ...yours, owner: 'me' }))
    const owners = [undefined, null, '', 'a\u0000', '\ud800'] as string[]
    await rejectsEach('lease_lost', owners, (owner) => append('x', { ...yours, owner }))
    const generations = [undefined, null, 0.5, -(2 ** 40), 2 ** 31, 2 ** 40] as number[]
    await rejectsEach('lease_lost', generations, (generation) => append('x', { ...yours, generation }))
    equal((await append('d', yours)).version, 3, 'the version under the new lease')
    equal((await append('e')).version, 4, 'the version without a lease')
    equal(idsOf(await store.read(id)), ['a', 'b', 'd', 'e'], 'the log')
  }),
  test('lease: an append checks ids before the version, and the version before the lease', async (store) => {
    const id = await begin(store, 'c', [pause('a')])
    const lease = { owner: 'me', generation: 99 }
    equal((await store.append(id, [pause('a')], { lease, expected: 9 })).version, 1, 'the same version')
    const append = (expected: number) =>
      store.append(id, [pause('b', { parent_id: 'nowhere' })], { lease, expected })
    await rejects('version_conflict', 'a stale version and a lost lease', () => append(9))
    await rejects('lease_lost', 'a lost lease and an unknown parent', () => append(1))
  }),
  it('lease: an invalid lease is an error, and an unknown one returns false', async (store, id) => {
    await rejects('unknown_conversation', 'an unknown conversation', () =>
      store.acquireLease('d', 'me', LONG),
    )
    await rejectsEach('invalid_id', ['', 'a\u0000', '\ud800'], (owner) => store.acquireLease(id, owner, LONG))
    await rejectsEach('invalid_argument', [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY], (ttl) =>
      store.acquireLease(id, 'me', ttl),
    )
    equal(await store.getLease('d'), null, 'the lease of an unknown conversation')
    const unknown = { conversationId: 'd', owner: 'me', generation: 1, expiresAt: 0 }
    for (const lease of [unknown, { ...unknown, conversationId: id }])
      equal(await store.releaseLease(lease), false, 'releasing an unknown lease')
  }),
  test('lease: unreleased and expired leases are listed in order of their ids', async (store) => {
    const live: Lease[] = []
    const expired: Lease[] = []
    for (const [i, id] of ['b', 'B', 'a', 'a b', 'é', '\uffee', '\u{1f600}'].entries()) {
      const [ttl, leases] = i % 2 === 0 ? [SHORT, expired] : [LONG, live]
      leases.push(await granted(store, await begin(store, id), `owner ${i}`, ttl))
    }
    for (const id of ['never claimed', 'released', 'deleted']) await begin(store, id)
    holds(await store.releaseLease(await granted(store, 'released', 'me', LONG)), 'a release failed')
    await granted(store, 'deleted', 'me', SHORT)
    await store.deleteConversation('deleted')
    await after(2 * SHORT)
    equal(await store.listLeases(), sortLeases([...live, ...expired]), 'all leases')
    equal(await store.listLeases({ expired: false }), sortLeases([...live, ...expired]), 'unreleased leases')
    equal(await store.listLeases({ expired: true }), sortLeases(expired), 'expired leases')
    for (const query of [{}, { expired: true }]) {
      const paged: Lease[] = []
      for (let page: Lease[] = [], last: string | undefined; ; last = page.at(-1)?.conversationId) {
        page = await store.listLeases({ ...query, limit: 2, ...(last !== undefined && { after: last }) })
        paged.push(...page)
        if (page.length < 2) break
      }
      equal(paged, await store.listLeases(query), 'leases in pages of two')
    }
    const claimed = await granted(store, 'b', 'another', LONG)
    equal(await store.listLeases({ after: 'a b', limit: 1 }), [claimed], 'a claimed expired lease')
    const ids = pluck(await store.listLeases({ expired: true }), 'conversationId')
    equal(ids, ['a', 'é', '\u{1f600}'], 'ids of expired leases')
  }),
  it('lease: lists contain a lease of the maximum duration', async (store, id) => {
    const other = await begin(store, 'd')
    await granted(store, id, 'me', Number.MAX_SAFE_INTEGER)
    await granted(store, other, 'you', LONG)
    const idsIn = async (expired: boolean): Promise<string[]> =>
      (await store.listLeases({ expired })).map(({ conversationId }) => conversationId)
    equal(await idsIn(false), [id, other], 'ids of unreleased leases')
    equal(await idsIn(true), [], 'ids of expired leases')
  }),
  it('lease: an invalid list query is invalid_argument', async (store, id) => {
    await store.acquireLease(id, 'me', LONG)
    await rejectsEach('invalid_argument', [0, -1, 0.5, 101, Number.NaN], (limit) =>
      store.listLeases({ limit }),
    )
    await rejectsEach('invalid_argument', ['', 'a\u0000', '\ud800'], (position) =>
      store.listLeases({ after: position }),
    )
    equal((await store.listLeases({ after: 'a', limit: 100 })).length, 1, 'leases on the largest page')
  }),
]
