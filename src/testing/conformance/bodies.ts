import * as fc from 'fast-check'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { anyEvent } from '../event.ts'
import { equal, holds, rejects } from './assert.ts'
import { type Check, generated, it, large, type Trial } from './check.ts'
import { begin, idsOf, pause, pluck, say, storable, update } from './facts.ts'
import { finds, searchAll } from './pages.ts'

type Replace = NonNullable<Store['replaceEvents']>

const check = (name: string, run: (trial: Trial, replace: Replace) => Promise<void>): Check => ({
  name: `replace: ${name}`,
  async run(trial) {
    const { store } = trial
    if (store.replaceEvents !== undefined) await run(trial, store.replaceEvents.bind(store))
  },
})

const factsIn = async (store: Store, id: string): Promise<readonly Fact[]> =>
  (await store.read(id)).map(({ fact }) => fact)

const withText = (fact: Fact, text: string): Fact =>
  ({ ...fact, llm_message: { role: 'user', content: [{ text }] } }) as Fact

const LARGE = 'x'.repeat(70_000)

export const REPLACING: readonly Check[] = [
  check(
    'replaces bodies, and leaves the rest of the log and the record unchanged',
    async ({ store }, replace) => {
      await begin(store, 'c', [say('a', 'alpha'), say('b', 'beta'), pause('p')])
      await store.saveSnapshot('c', [{ part: 0, bytes: new Uint8Array([1]) }])
      const before = await store.getConversation('c')
      const { next } = await store.feed({ from: 'end' })
      const [a, b, p] = (await factsIn(store, 'c')) as [Fact, Fact, Fact]
      const after = withText(a, 'gamma')
      await replace('c', [{ before: a, after }])
      equal(await factsIn(store, 'c'), [after, b, p], 'the log')
      equal((await store.get('c', 'a'))?.fact, after, 'the event by its id')
      equal(await store.getConversation('c'), before, 'the record')
      equal((await store.feed({ after: next })).items, [], 'the feed')
      equal(await store.loadSnapshot('c'), [], 'the snapshot')
      await finds(store, { conversationId: 'c', text: 'alpha' }, [])
      await finds(store, { conversationId: 'c', text: 'gamma' }, ['a'])
      equal((await store.append('c', [after])).version, 3, 'an append of the new body again')
      await rejects('id_conflict', 'an append of the old body', () => store.append('c', [say('a', 'alpha')]))
    },
  ),
  check('deletes a long string with the last body that contains it', async ({ store }, replace) => {
    await begin(store, 'c', [say('a', LARGE), say('b', LARGE)])
    const [a, b] = (await factsIn(store, 'c')) as [Fact, Fact]
    const [shortA, shortB] = [withText(a, 'short'), withText(b, 'short')]
    const hasBlobs = (await store.auditBlobs()).blobs > 0
    const changes = [
      { before: a, after: shortA, users: 1 },
      { before: b, after: shortB, users: 0 },
      { before: shortA, after: a, users: 1 },
    ]
    for (const { before, after, users } of changes) {
      await replace('c', [{ before, after }])
      const { blobs, events, unused, damaged, missing } = await store.auditBlobs()
      const audit = [blobs, events, unused, damaged, missing]
      if (hasBlobs) equal(audit, [users, users, [], [], []], `the audit with ${users} such events`)
    }
    equal(await factsIn(store, 'c'), [a, shortB], 'the log')
  }),
  check('replaces nothing if one of the bodies cannot be replaced', async ({ store }, replace) => {
    await begin(store, 'c', [say('a', 'alpha'), say('b', 'beta')])
    const [a, b] = (await factsIn(store, 'c')) as [Fact, Fact]
    const other = withText(a, 'other')
    const valid = { before: a, after: other }
    const invalid: readonly (readonly [string, Fact, unknown])[] = [
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
    for (const [code, before, after] of invalid)
      await rejects(code as 'unknown_event', `${code} ${JSON.stringify(after)}`, () =>
        replace('c', [valid, { before, after: after as Fact }]),
      )
    await rejects('unknown_conversation', 'an unknown conversation', () => replace('d', [valid]))
    equal(await factsIn(store, 'c'), [a, b], 'the log afterwards')
    await replace('c', [])
  }),
]

const ODD_TEXTS = Object.values({
  invalid: ['\u0000', 'a\u0000b', '\ud800', 'x\udfff\ud83dy', '\ufeff\ufffe\uffff\ufffd'],
  marks: ['😀 e\u0301 é \u202eright to left', '\u2028\u2029\u0085\u007f\t\r\n'],
  syntax: ['\\u0000 \\ " \' % _ ? $1 :a @a {} <a>', ''],
}).flat()

/** Ids that a database may confuse or misread (design D19). Each key is the reason. */
const ODD_IDS: readonly string[] = Object.values({
  caseAccentsAndWidth: ['a', 'A', 'a ', ' a', 'á', 'a\u0301', 'ａ', 'ß', 'ss', 'ı', 'I', 'i', 'İ'],
  syntax: ['%', '_', '\\', "'", '"', '?', '$1', '--', ';', '/', '..'],
  unicode: ['😀', '\ufffd', '\uffff', '\u202e', '\u00a0'],
  values: ['null', '0', '00', '0.0', '1e3', '__proto__', 'constructor', 'toString'],
  ownNames: ['__root', 'root__', 'a-summary', 'derived-0-0'],
  length: ['x'.repeat(200), '😀'.repeat(200)],
}).flat()

const textOfFact = (fact: unknown): string | undefined =>
  (fact as ReturnType<typeof say>).llm_message.content
    ?.map((part) => ('text' in part ? part.text : ''))
    .join('')

export const BODIES_KEPT: readonly Check[] = [
  large('bodies: ten mebibytes are returned whole', async (store) => {
    const text = '0123456789abcdef'.repeat(10 * 65_536)
    const id = await begin(store, 'c', [pause('a'), say('big', text), pause('b')])
    const { items } = await store.search({ conversationId: id, text: 'F0123', limit: 1 })
    equal(idsOf(items), ['big'], 'events found by text')
    const [event] = await store.read(id, { from: 1, limit: 1 })
    const results = { search: items[0], read: event, get: await store.get(id, 'big') }
    for (const [name, result] of Object.entries(results))
      holds(textOfFact(result?.fact) === text, `${name} returned a different text`)
  }),
  it('bodies: Unicode text is returned unchanged, including lone surrogates and NUL', async (store, id) => {
    const value: JsonValue = Object.fromEntries(ODD_TEXTS.map((text) => [text, [text]]))
    const facts = [
      update('u', 'k', value),
      ...ODD_TEXTS.map((text, i) => say(`m${i}`, text, { sender: text, timestamp: text })),
    ]
    const input = await store.append(id, facts)
    const stored = await store.read(id)
    equal(stored, input.events, 'events from read and from append')
    for (const [i, { fact }] of stored.entries()) {
      const { parent_id: _, ...rest } = fact as typeof fact & { readonly parent_id?: string }
      equal(JSON.stringify(rest), JSON.stringify(facts[i]), 'a body')
    }
    equal((await store.append(id, facts)).version, facts.length, 'the version after a repeated append')
  }),
  it('bodies: an event of the maximum depth is returned unchanged', async (store, id) => {
    let value: JsonValue = 'deep'
    for (let i = 0; i < 500; i += 1) value = i % 2 === 0 ? [value] : { a: value }
    await store.append(id, [update('u', 'k', value)])
    const body = JSON.stringify((await store.get(id, 'u'))?.fact)
    equal(body, JSON.stringify(update('u', 'k', value)), 'the body')
  }),
  generated(
    'bodies: decodable events are returned unchanged',
    20,
    fc.array(anyEvent(), { maxLength: 30, size: 'max' }),
    async (store, id, events) => {
      const facts = storable(events)
      await store.append(id, facts, { mode: 'import', expected: 'none' })
      const texts = (await factsIn(store, id)).map((fact) => JSON.stringify(fact))
      const expected = facts.map((fact) => JSON.stringify(fact))
      equal(texts, expected, 'bodies')
    },
  ),
  it('ids: legal ids are distinct, for events, parents and conversations', async (store, id) => {
    const parents = [null, ...ODD_IDS.slice(0, -1)]
    const facts = ODD_IDS.map((one, i) => pause(one, { parent_id: parents[i] ?? null }))
    const { events } = await store.append(id, facts)
    equal(idsOf(events), ODD_IDS, 'ids of the appended events')
    equal(await store.getMany(id, ODD_IDS), events, 'events by id')
    equal(pluck(events, 'seq'), [...ODD_IDS.keys()], 'positions')
    equal(pluck(events, 'parentId'), parents, 'parents')
    const path = ODD_IDS.slice(0, ODD_IDS.indexOf('😀') + 1)
    equal(idsOf(await searchAll(store, { conversationId: id, leafId: '😀', limit: 5 })), path, 'the path')
    for (const [i, one] of ODD_IDS.entries()) {
      await store.createConversation({ id: one, title: `t${i}` })
      await store.append(one, [pause(one)])
    }
    for (const [i, one] of ODD_IDS.entries()) {
      equal((await store.getConversation(one))?.title, `t${i}`, `the record of ${JSON.stringify(one)}`)
      equal(idsOf(await store.read(one)), [one], `the log of ${JSON.stringify(one)}`)
    }
  }),
]
