/** Checks of what a store must be able to keep: big bodies, any Unicode, odd ids (design D19), any decoded event. */

import * as fc from 'fast-check'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { anyEvent } from '../event.ts'
import { equal, holds, rejects } from './assert.ts'
import { type Check, it, large, test, type Trial } from './check.ts'
import { begin, idsOf, pause, say, storable, update } from './facts.ts'
import { searchAll } from './pages.ts'

type Replace = NonNullable<Store['replaceEvents']>

/** A check of a store that can replace bodies; any other store passes. */
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
  ({ ...say(String(fact.id), text), ...placementOf(fact) }) as Fact

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
    const other = { ...a, ...say('a', 'other'), ...placementOf(a) } as Fact
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

const placementOf = ({
  parent_id,
  timestamp,
}: {
  parent_id?: string | null
  timestamp?: string
}): object => ({
  ...(parent_id !== undefined && { parent_id }),
  ...(timestamp !== undefined && { timestamp }),
})

const ODD_TEXTS = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff\ud83dy',
  '😀 e\u0301 é \u202eright to left',
  '\ufeff\ufffe\uffff\ufffd',
  '\u2028\u2029\u0085\u007f\t\r\n',
  '\\u0000 \\ " \' % _ ? $1 :a @a {} <a>',
  '',
]

const ODD_IDS = [
  'a',
  'A',
  'a ',
  ' a',
  'á',
  'a\u0301',
  'ａ',
  'ß',
  'ss',
  'ı',
  'I',
  'i',
  'İ',
  '😀',
  '\ufffd',
  '\uffff',
  '%',
  '_',
  '\\',
  "'",
  '"',
  '?',
  '$1',
  '--',
  ';',
  'null',
  '0',
  '00',
  '0.0',
  '1e3',
  '__proto__',
  'constructor',
  'toString',
  '__root',
  'root__',
  '\u202e',
  '\u00a0',
  '/',
  '..',
  'x'.repeat(200),
  '😀'.repeat(200),
  'a-summary',
  'derived-0-0',
] as const

const textOfFact = (fact: unknown): string | undefined =>
  (fact as ReturnType<typeof say>).llm_message.content
    ?.map((part) => ('text' in part ? part.text : ''))
    .join('')

export const BODIES_KEPT: readonly Check[] = [
  large('bodies: ten mebibytes are returned whole', async (store) => {
    const id = await begin(store, 'c')
    const text = '0123456789abcdef'.repeat(10 * 65_536)
    await store.append(id, [pause('a'), say('big', text), pause('b')])
    holds(textOfFact((await store.get(id, 'big'))?.fact) === text, 'get returned another text')
    const isSame = textOfFact((await store.read(id, { from: 1, limit: 1 }))[0]?.fact) === text
    holds(isSame, 'read returned another text')
    const { items } = await store.search({ conversationId: id, text: 'F0123', limit: 1 })
    equal(idsOf(items), ['big'], 'what its text finds')
    holds(textOfFact(items[0]?.fact) === text, 'search returned another text')
  }),
  it('bodies: Unicode text is returned unchanged, including lone surrogates and NUL', async (store, id) => {
    const value: JsonValue = Object.fromEntries(ODD_TEXTS.map((text) => [text, [text]]))
    const facts = [
      update('u', 'k', value),
      ...ODD_TEXTS.map((text, i) => say(`m${i}`, text, { sender: text, timestamp: text })),
    ]
    const input = await store.append(id, facts)
    const stored = await store.read(id)
    equal(stored, input.events, 'as read and as appended')
    for (const [i, { fact }] of stored.entries()) {
      const { parent_id: _, ...rest } = fact as typeof fact & { readonly parent_id?: string }
      equal(JSON.stringify(rest), JSON.stringify(facts[i]), 'a body')
    }
    equal((await store.append(id, facts)).version, facts.length, 'the version when they are appended again')
  }),
  it('bodies: nested as deep as an event may be', async (store, id) => {
    let value: JsonValue = 'deep'
    for (let i = 0; i < 500; i += 1) value = i % 2 === 0 ? [value] : { a: value }
    await store.append(id, [update('u', 'k', value)])
    const body = JSON.stringify((await store.get(id, 'u'))?.fact)
    equal(body, JSON.stringify(update('u', 'k', value)), 'the body')
  }),
  test('bodies: decodable events are returned unchanged', async (store, { runsOf }) => {
    let runs = 0
    const property = fc.asyncProperty(
      fc.array(anyEvent(), { maxLength: 30, size: 'max' }),
      async (events) => {
        const id = await begin(store, `c${(runs += 1)}`)
        const facts = storable(events)
        await store.append(id, facts, { mode: 'import', expected: 'none' })
        const texts = (await store.read(id)).map(({ fact }) => JSON.stringify(fact))
        const expected = facts.map((fact) => JSON.stringify(fact))
        equal(texts, expected, 'bodies')
      },
    )
    await fc.assert(property, { numRuns: runsOf(20) })
  }),
  it('ids: every legal id is another, for events, parents and conversations', async (store, id) => {
    const facts = ODD_IDS.map((ownId, i) =>
      pause(ownId, i === 0 ? {} : { parent_id: ODD_IDS[i - 1] as string }),
    )
    const { events } = await store.append(id, facts)
    equal(idsOf(events), [...ODD_IDS], 'ids as appended')
    const result = await store.getMany(id, ODD_IDS)
    const positions = result.map((event) => event?.seq ?? null)
    equal(positions, [...ODD_IDS.keys()], 'positions by id')
    const parents = result.map((event) => event?.parentId ?? null)
    equal(parents, [null, ...ODD_IDS.slice(0, -1)], 'parents')
    const path = idsOf(await searchAll(store, { conversationId: id, leafId: '😀', limit: 5 }))
    equal(path, ODD_IDS.slice(0, ODD_IDS.indexOf('😀') + 1), 'the path to one')
    for (const ownId of ODD_IDS.slice(0, 24)) {
      if (ownId === 'c') continue
      await store.createConversation({ id: ownId, title: `t${ODD_IDS.indexOf(ownId)}` })
      await store.append(ownId, [pause(ownId)])
    }
    for (const ownId of ODD_IDS.slice(0, 24)) {
      const record = await store.getConversation(ownId)
      equal(record?.title, `t${ODD_IDS.indexOf(ownId)}`, `the record of ${JSON.stringify(ownId)}`)
      equal(idsOf(await store.read(ownId)), [ownId], `the log of ${JSON.stringify(ownId)}`)
    }
  }),
]
