/** Checks of `replaceEvents`: bodies are exchanged, and the log around them stays. */

import type { Fact } from '../../event/quarantine.ts'
import type { Store } from '../../store/contract/store.ts'
import { equal, rejects } from './assert.ts'
import type { Check, Trial } from './check.ts'
import { begin, pause, say } from './facts.ts'

type Replace = NonNullable<Store['replaceEvents']>

/** A check of a store that can replace bodies; nothing is asked of any other. */
const check = (name: string, run: (trial: Trial, replace: Replace) => Promise<void>): Check => ({
  name: `replace: ${name}`,
  async run(trial) {
    const { store } = trial
    if (store.replaceEvents !== undefined) await run(trial, store.replaceEvents.bind(store))
  },
})

const factsIn = async (store: Store, id: string): Promise<readonly Fact[]> =>
  (await store.read(id)).map(({ fact }) => fact)

const short = (fact: Fact, text: string): Fact =>
  ({ ...say(String(fact.id), text), ...placeOf(fact) }) as Fact

const LARGE = 'x'.repeat(70_000)

export const REPLACING: readonly Check[] = [
  check('bodies are exchanged, and all else of the log and the record stays', async ({ store }, replace) => {
    await begin(store, 'c', [say('a', 'alpha'), say('b', 'beta'), pause('p')])
    await store.saveSnapshot('c', [{ part: 0, bytes: new Uint8Array([1]) }])
    const before = await store.getConversation('c')
    const { next } = await store.feed({ from: 'end' })
    const [a, b, p] = await factsIn(store, 'c')
    const gamma = {
      ...say('a', 'gamma'),
      parent_id: a?.parent_id,
      timestamp: (a as { timestamp?: string }).timestamp,
    }
    const after = JSON.parse(JSON.stringify(gamma)) as Fact
    await replace('c', [{ before: a as Fact, after }])
    equal(await factsIn(store, 'c'), [after, b, p], 'the log')
    equal((await store.get('c', 'a'))?.fact, after, 'the event by its id')
    equal(await store.getConversation('c'), before, 'the record')
    equal((await store.feed({ after: next })).items, [], 'the feed')
    equal(await store.loadSnapshot('c'), [], 'the snapshot')
    const result = async (text: string): Promise<unknown> =>
      (await store.search({ conversationId: 'c', text })).items.map(({ id }) => id)
    equal([await result('alpha'), await result('gamma')], [[], ['a']], 'what a search finds')
    equal((await store.append('c', [after])).version, 3, 'an append of the new body again')
    await rejects('id_conflict', 'an append of the old body', () => store.append('c', [say('a', 'alpha')]))
  }),
  check('long strings go with the last body that has them', async ({ store }, replace) => {
    await begin(store, 'c', [say('a', LARGE), say('b', LARGE)])
    const [a, b] = (await factsIn(store, 'c')) as [Fact, Fact]
    const blobs = async (): Promise<unknown> => {
      const { blobs: count, events, unused, damaged, missing } = await store.auditBlobs()
      return [count, events, unused, damaged, missing]
    }
    const [count] = (await blobs()) as [number]
    await replace('c', [{ before: a, after: short(a, 'short') }])
    if (count > 0) equal(await blobs(), [1, 1, [], [], []], 'blobs while one has it')
    await replace('c', [{ before: b, after: short(b, 'short') }])
    if (count > 0) equal(await blobs(), [0, 0, [], [], []], 'blobs without any')
    await replace('c', [{ before: short(a, 'short'), after: a }])
    if (count > 0) equal(await blobs(), [1, 1, [], [], []], 'blobs of a new body')
    equal(await factsIn(store, 'c'), [a, short(b, 'short')], 'the log')
  }),
  check('nothing is replaced where one of the bodies cannot be', async ({ store }, replace) => {
    await begin(store, 'c', [say('a', 'alpha'), say('b', 'beta')])
    const [a, b] = (await factsIn(store, 'c')) as [Fact, Fact]
    const other = { ...a, ...say('a', 'other'), ...placeOf(a) } as Fact
    const fine = { before: a, after: other }
    const wrong: readonly (readonly [string, Fact, unknown])[] = [
      ['version_conflict', { ...say('b', 'not this') } as Fact, { ...say('b', 'x') }],
      ['unknown_event', pause('no'), pause('no')],
      ['invalid_argument', b, { ...b, id: 'c' }],
      ['invalid_argument', b, { ...b, parent_id: 'elsewhere' }],
      ['invalid_argument', b, { ...b, timestamp: '2000-01-01T00:00:00Z' }],
      ['invalid_argument', b, pause('b')],
      ['invalid_argument', a, other],
      ['invalid_event', b, null],
      ['invalid_event', b, { ...b, kind: 'Nonsense' }],
    ]
    for (const [code, before, after] of wrong)
      await rejects(code as 'unknown_event', `${code} ${JSON.stringify(after)}`, () =>
        replace('c', [fine, { before, after: after as Fact }]),
      )
    await rejects('unknown_conversation', 'an unknown conversation', () => replace('d', [fine]))
    equal(await factsIn(store, 'c'), [a, b], 'the log after them all')
    await replace('c', [])
  }),
]

const placeOf = ({ parent_id, timestamp }: { parent_id?: string | null; timestamp?: string }): object => ({
  ...(parent_id !== undefined && { parent_id }),
  ...(timestamp !== undefined && { timestamp }),
})
