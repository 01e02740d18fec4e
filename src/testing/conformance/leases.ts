import { equal, holds, rejects, rejectsEach } from './assert.ts'
import type { Lease } from '../../store/contract/store.ts'
import { type Check, it, test } from './check.ts'
import { after, begin, granted, idsOf, LONG, pause, pluck, SHORT } from './facts.ts'

/** Ids in the order of code points. In UTF-16 order, the last two would be exchanged. */
const IDS = ['B', 'a', 'a b', 'b', 'é', '\uffee', '\u{1f600}']

const sortLeases = (leases: readonly Lease[]): Lease[] =>
  IDS.flatMap((id) => leases.find(({ conversationId }) => conversationId === id) ?? [])

export const LEASES: readonly Check[] = [
  it('lease: it has one owner at a time; a renewal extends it and keeps the generation', async (store, id) => {
    equal(await store.getLease(id), null, 'before any')
    const first = await granted(store, id, 'me', LONG)
    equal([first.conversationId, first.owner], [id, 'me'], 'the lease')
    equal(await store.acquireLease(id, 'you', LONG), null, 'another owner')
    equal(await store.getLease(id), first, 'the lease as stored')
    const renewed = await granted(store, id, 'me', 2 * LONG)
    equal(renewed.generation, first.generation, 'the generation of a renewal')
    holds(renewed.expiresAt >= first.expiresAt + LONG, 'a renewal should move the end')
    equal(await store.getLease(id), renewed, 'the renewal as stored')
    await granted(store, await begin(store, 'd'), 'you', LONG)
  }),
  it('lease: exactly one of many concurrent claims wins', async (store, id) => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, i) => store.acquireLease(id, `owner${i}`, LONG)),
    )
    const got = all.filter((lease) => lease !== null)
    equal(got.length, 1, 'leases given')
    equal(await store.getLease(id), got[0], 'the lease as stored')
  }),
  it('lease: after it expires, anyone can claim it, with a higher generation', async (store, id) => {
    const first = await granted(store, id, 'me', SHORT)
    await after(2 * SHORT)
    equal(await store.getLease(id), first, 'the latest, though it has run out')
    const second = await granted(store, id, 'you', SHORT)
    holds(second.generation > first.generation, 'a takeover should raise the generation')
    await after(2 * SHORT)
    const third = await granted(store, id, 'you', LONG)
    holds(third.generation > second.generation, 'so should a new start after the end')
    equal(await store.acquireLease(id, 'me', LONG), null, 'the first owner, while it is held')
  }),
  it('lease: releasing ends it, the next one has a higher generation, and an old one cannot be released', async (store, id) => {
    const append = (lease: Lease) => store.append(id, [pause('a')], { lease })
    const first = await granted(store, id, 'me', SHORT)
    await after(2 * SHORT)
    const second = await granted(store, id, 'me', LONG)
    await rejects('lease_lost', 'an append under an old one', () => append(first))
    equal(await store.releaseLease(first), false, 'an old one')
    equal(await store.releaseLease({ ...second, owner: 'you' }), false, 'of another owner')
    equal(await store.getLease(id), second, 'the lease after that')
    const releases = [await store.releaseLease(second), await store.releaseLease(second)]
    equal(releases, [true, false], 'the latest, twice')
    equal(await store.getLease(id), null, 'the lease after that')
    await rejects('lease_lost', 'an append under it', () => append(second))
    const third = await granted(store, id, 'you', LONG)
    holds(third.generation > second.generation, 'the next one should have a higher generation')
  }),
  it('lease: an append under an old lease is lease_lost, and writes nothing', async (store, id) => {
    const append = (event: string, lease?: Pick<Lease, 'owner' | 'generation'>) =>
      store.append(id, [pause(event)], lease === undefined ? {} : { lease })
    const none = { owner: 'me', generation: 1 }
    await rejects('lease_lost', 'without any lease', () => append('x', none))
    const mine = await granted(store, id, 'me', SHORT)
    equal((await append('a', mine)).version, 1, 'under the latest')
    await after(2 * SHORT)
    equal((await append('b', mine)).version, 2, 'under the latest, which has run out')
    const yours = await granted(store, id, 'you', LONG)
    await rejects('lease_lost', 'after a takeover', () => append('x', mine))
    await rejects('lease_lost', 'of another owner', () => append('x', { ...yours, owner: 'me' }))
    const owners = [undefined, null, '', 'a\u0000', '\ud800'] as string[]
    await rejectsEach('lease_lost', owners, (owner) => append('x', { ...yours, owner }))
    const generations = [undefined, null, 0.5, -(2 ** 40), 2 ** 31, 2 ** 40] as number[]
    await rejectsEach('lease_lost', generations, (generation) => append('x', { ...yours, generation }))
    equal((await append('d', yours)).version, 3, 'under the new one')
    equal((await append('e')).version, 4, 'under none, as users append')
    equal(idsOf(await store.read(id)), ['a', 'b', 'd', 'e'], 'the log')
  }),
  test('lease: an append checks ids before the version, and the version before the lease', async (store) => {
    const id = await begin(store, 'c', [pause('a')])
    const lease = { owner: 'me', generation: 99 }
    equal((await store.append(id, [pause('a')], { lease, expected: 9 })).version, 1, 'a known event')
    const append = (expected: number) =>
      store.append(id, [pause('b', { parent_id: 'nowhere' })], { lease, expected })
    await rejects('version_conflict', 'a wrong version, and what follows', () => append(9))
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
    const none = { conversationId: 'd', owner: 'me', generation: 1, expiresAt: 0 }
    for (const lease of [none, { ...none, conversationId: id }])
      equal(await store.releaseLease(lease), false, 'giving back none')
  }),
  test('lease: unreleased and expired leases are listed in order of their ids', async (store) => {
    const live: Lease[] = []
    const expired: Lease[] = []
    for (const [i, id] of ['b', 'B', 'a', 'a b', 'é', '\uffee', '\u{1f600}'].entries()) {
      const [ttl, leases] = i % 2 === 0 ? [SHORT, expired] : [LONG, live]
      leases.push(await granted(store, await begin(store, id), `owner ${i}`, ttl))
    }
    for (const id of ['never taken', 'given back', 'deleted']) await begin(store, id)
    holds(await store.releaseLease(await granted(store, 'given back', 'me', LONG)), 'it is not returned')
    await granted(store, 'deleted', 'me', SHORT)
    await store.deleteConversation('deleted')
    await after(2 * SHORT)
    equal(await store.listLeases(), sortLeases([...live, ...expired]), 'all')
    equal(await store.listLeases({ expired: false }), sortLeases([...live, ...expired]), 'expired or not')
    equal(await store.listLeases({ expired: true }), sortLeases(expired), 'those that have expired')
    for (const query of [{}, { expired: true }]) {
      const paged: Lease[] = []
      for (let page: Lease[] = [], last: string | undefined; ; last = page.at(-1)?.conversationId) {
        page = await store.listLeases({ ...query, limit: 2, ...(last !== undefined && { after: last }) })
        paged.push(...page)
        if (page.length < 2) break
      }
      equal(paged, await store.listLeases(query), 'in pages of two')
    }
    const taken = await granted(store, 'b', 'another', LONG)
    equal(await store.listLeases({ after: 'a b', limit: 1 }), [taken], 'one that expired and was claimed')
    const lapsed = pluck(await store.listLeases({ expired: true }), 'conversationId')
    equal(lapsed, ['a', 'é', '\u{1f600}'], 'those that have expired by then')
  }),
  it('lease: lists contain a lease of the maximum duration', async (store, id) => {
    const other = await begin(store, 'd')
    await granted(store, id, 'me', Number.MAX_SAFE_INTEGER)
    await granted(store, other, 'you', LONG)
    const idsIn = async (expired: boolean): Promise<string[]> =>
      (await store.listLeases({ expired })).map(({ conversationId }) => conversationId)
    equal(await idsIn(false), [id, other], 'leases that were not returned')
    equal(await idsIn(true), [], 'those that have expired')
  }),
  it('lease: an invalid list query is invalid_argument', async (store, id) => {
    await store.acquireLease(id, 'me', LONG)
    await rejectsEach('invalid_argument', [0, -1, 0.5, 101, Number.NaN], (limit) =>
      store.listLeases({ limit }),
    )
    await rejectsEach('invalid_argument', ['', 'a\u0000', '\ud800'], (position) =>
      store.listLeases({ after: position }),
    )
    equal((await store.listLeases({ after: 'a', limit: 100 })).length, 1, 'the most that a page holds')
  }),
]
