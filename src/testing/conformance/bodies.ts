/** Checks of what a store must be able to keep: big bodies, any Unicode, odd ids (design D19), any decoded event. */

import * as fc from 'fast-check'
import type { JsonValue } from '../../event/shapes.ts'
import { anyEvent } from '../event.ts'
import { equal, holds } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, pause, say, storable, update } from './facts.ts'
import { searchAll } from './pages.ts'

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

const textIn = (fact: unknown): string | undefined =>
  (fact as ReturnType<typeof say>).llm_message.content
    ?.map((part) => ('text' in part ? part.text : ''))
    .join('')

export const BODIES_KEPT: readonly Check[] = [
  {
    name: 'bodies: ten mebibytes are returned whole',
    large: true,
    async run({ store }) {
      const id = await begin(store, 'c')
      const text = '0123456789abcdef'.repeat(10 * 65_536)
      await store.append(id, [pause('a'), say('big', text), pause('b')])
      holds(textIn((await store.get(id, 'big'))?.fact) === text, 'get returned another text')
      const isSame = textIn((await store.read(id, { from: 1, limit: 1 }))[0]?.fact) === text
      holds(isSame, 'read returned another text')
      const { items } = await store.search({ conversationId: id, text: 'F0123', limit: 1 })
      equal(idsOf(items), ['big'], 'what its text finds')
      holds(textIn(items[0]?.fact) === text, 'search returned another text')
      equal((await store.append(id, [say('big', text)])).version, 3, 'the version when it is appended again')
    },
  },
  {
    name: 'bodies: Unicode text is returned unchanged, including lone surrogates and NUL',
    async run({ store }) {
      const id = await begin(store, 'c')
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
    },
  },
  {
    name: 'bodies: nested as deep as an event may be',
    async run({ store }) {
      const id = await begin(store, 'c')
      let value: JsonValue = 'deep'
      for (let i = 0; i < 500; i += 1) value = i % 2 === 0 ? [value] : { a: value }
      await store.append(id, [update('u', 'k', value)])
      const body = JSON.stringify((await store.get(id, 'u'))?.fact)
      equal(body, JSON.stringify(update('u', 'k', value)), 'the body')
    },
  },
  {
    name: 'bodies: decodable events are returned unchanged',
    async run({ store, runsOf }) {
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
    },
  },
  {
    name: 'ids: every legal id is another, for events, parents and conversations',
    async run({ store }) {
      const id = await begin(store, 'c')
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
    },
  },
]
