import * as fc from 'fast-check'
import { deriveEventId } from '../../event/ids.ts'
import type { Fact, Quarantined } from '../../event/quarantine.ts'
import { parseInstant } from '../../event/time.ts'
import type { Event } from '../../event/types.ts'
import { reduce, replay } from '../../state/reduce.ts'
import { initialState, type State } from '../../state/state.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { hostileLog } from '../hostile-log.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, generated, it, test } from './check.ts'
import { begin, idsOf, leaf, pause, pauses, pluck, say, storable, update } from './facts.ts'
import { finds } from './pages.ts'

const IMPORT = { mode: 'import' } as const

const broken = (raw: string, id?: string): Quarantined => ({
  quarantined: true,
  raw,
  issues: [{ loc: ['kind'], msg: 'Unknown kind of event.', type: 'union_tag_invalid' }],
  ...(id === undefined ? {} : { id, parent_id: null, event_kind: 'Later' }),
})

function isReplay(events: readonly StoredEvent[], { log }: State): void {
  const expected = [...log.entries].map(({ seq, id, parent, inTree, timestamp }) => {
    const time = timestamp === null ? 0n : (parseInstant(timestamp) as bigint)
    return { seq, id, parentId: parent?.id ?? null, inTree, time: String(time) }
  })
  const actual = events.map(({ seq, id, parentId, inTree, time }) => ({ seq, id, parentId, inTree, time }))
  equal(actual, expected, 'the log')
}

export const APPEND_IMPORT: readonly Check[] = [
  it('import: bodies are unchanged, an unknown parent becomes HEAD, and a move to an unknown event is ignored', async (store, id) => {
    const facts: readonly Event[] = [
      pause('a'),
      pause('b', { parent_id: 'nowhere' }),
      leaf('u', 'nowhere'),
      pause('d', { parent_id: null }),
      leaf('v', null),
      pause('e'),
    ]
    const { events, headId } = await store.append(id, facts, IMPORT)
    equal(pluck(events, 'fact'), facts, 'bodies')
    equal(pluck(events, 'parentId'), [null, 'a', 'b', 'b', 'd', null], 'parentId fields')
    equal(headId, 'e', 'HEAD')
  }),
  it('import: an event without an id gets a derived one; without a time, that of the event before', async (store, id) => {
    const facts: readonly Event[] = [
      { kind: 'PauseEvent' },
      pause('b', { timestamp: '2026-01-01T00:00:01.000001Z' }),
      { kind: 'InterruptEvent', timestamp: 'yesterday' },
    ]
    const { events } = await store.append(id, facts, IMPORT)
    const ids = [deriveEventId(id, 0, facts[0] as Event), 'b', deriveEventId(id, 2, facts[2] as Event)]
    equal(idsOf(events), ids, 'ids')
    equal(pluck(events, 'time'), ['0', '1767225601000001', '1767225601000001'], 'times')
    equal((await store.get(id, ids[2] as string))?.fact, facts[2], 'the body by its derived id')
  }),
  it('import: an event with a known id is outside of the tree, even if it is equal', async (store, id) => {
    const facts = [pause('a'), say('a', 'other'), pause('b'), pause('b')]
    const { events, version } = await store.append(id, facts, { ...IMPORT, expected: 'none' })
    equal(version, 4, 'the version')
    equal(pluck(events, 'inTree'), [true, false, true, false], 'inTree fields')
    equal(pluck(events, 'parentId'), [null, null, 'a', null], 'parents')
    equal((await store.get(id, 'a'))?.seq, 0, 'the position of event a')
    await finds(store, { conversationId: id }, ['a', 'b'])
  }),
  it('import: a quarantined line is stored unchanged, and is in the tree if its id is readable', async (store, id) => {
    const lines = [broken('{nonsense \u0000\ud800'), broken('{"id":"q"}', 'q')]
    const facts = [pause('a'), ...lines, pause('b')]
    const { events, headId } = await store.append(id, facts, IMPORT)
    equal(pluck(events, 'fact'), facts, 'facts')
    equal(pluck(events, 'inTree'), [true, false, true, true], 'inTree fields')
    equal(idsOf(events), ['a', null, 'q', 'b'], 'ids')
    equal([events[3]?.parentId, headId], ['q', 'b'], 'the parent of the last event, and HEAD')
    equal(pluck(await store.read(id), 'fact'), facts, 'facts from read')
    equal((await store.get(id, 'q'))?.fact, facts[2], 'a quarantined line, by id')
    for (const more of [{}, { leafId: 'b' }]) await finds(store, { conversationId: id, ...more }, ['a', 'b'])
  }),
  it('import: a repeated import changes nothing, and an interrupted import continues', async (store, id) => {
    const withoutId: Event = { kind: 'PauseEvent' }
    const facts = [withoutId, pause('a'), broken('x'), say('a', 'other'), withoutId, pause('z')]
    await store.append(id, facts.slice(0, 4), { ...IMPORT, expected: 'none' })
    const before = await store.read(id)
    const again = await store.append(id, facts.slice(0, 4), { ...IMPORT, expected: 0 })
    equal(again, { events: before, version: 4, headId: 'a' }, 'the result of a repeated import')
    const rest = await store.append(id, facts.slice(2), { ...IMPORT, expected: 2 })
    equal([rest.version, pluck(rest.events, 'seq')], [6, [2, 3, 4, 5]], 'the version and positions')
    isReplay(await store.read(id), replay(facts, { conversationId: id }))
    const conflicts = [
      { batch: [...facts.slice(0, 3), pause('other')], expected: 'none' },
      { batch: [pause('after a gap')], expected: 8 },
    ] as const
    await rejectsEach('version_conflict', conflicts, ({ batch, expected }) =>
      store.append(id, batch, { ...IMPORT, expected }),
    )
    equal((await store.getConversation(id))?.version, 6, 'the version after the conflicts')
  }),
  test('import: at any version, known events are not appended again', async (store) => {
    const id = await begin(store, 'c', [pause('a'), pause('b')])
    const { events, version } = await store.append(id, [pause('a'), say('b', 'other'), pause('d')], IMPORT)
    equal([version, pluck(events, 'seq')], [4, [0, 2, 3]], 'the version and positions')
    equal(pluck(events, 'inTree'), [true, false, true], 'inTree fields')
  }),
  test('import: a timestamp without a zone is read in the zone of the conversation', async (store) => {
    await store.createConversation({ id: 'c', timeZone: 'America/New_York' })
    const instants = {
      '2026-01-15T12:00:00.000001': '2026-01-15T17:00:00.000001Z',
      '2026-07-15T12:00:00': '2026-07-15T16:00:00Z',
      '2026-07-15T12:00:00Z': '2026-07-15T12:00:00Z',
    }
    const facts = Object.keys(instants).map((timestamp, i) => pause(`p${i}`, { timestamp }))
    const { events } = await store.append('c', facts, IMPORT)
    const expected = Object.values(instants).map((instant) => String(parseInstant(instant)))
    equal(pluck(events, 'time'), expected, 'times')
    await finds(store, { conversationId: 'c' }, ['p0', 'p2', 'p1'])
  }),
  generated(
    'import: every log, in batches of any size, equals its replay',
    25,
    fc.tuple(hostileLog(), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })),
    async (store, id, [log, sizes]) => {
      const facts = storable(log)
      let state = initialState({ conversationId: id })
      let index = 0
      for (let i = 0; index < facts.length; i += 1) {
        const batch = facts.slice(index, index + (sizes[i % sizes.length] as number))
        const done = await store.append(id, batch, { ...IMPORT, expected: index })
        equal(pluck(done.events, 'fact'), batch, 'bodies')
        index += batch.length
        state = batch.reduce(reduce, state)
        equal(done.headId, state.log.head?.id ?? null, `HEAD after ${index} facts`)
      }
      const headId = state.log.head?.id ?? null
      const events = await store.read(id)
      isReplay(events, state)
      equal((await store.getConversation(id))?.headId, headId, 'HEAD')
      const again = await store.append(id, facts, { ...IMPORT, expected: 'none' })
      equal(again, { events, version: facts.length, headId }, 'the result of a repeated import')
      const expected = Math.min(3, facts.length)
      const rest = await store.append(id, facts.slice(3), { ...IMPORT, expected })
      equal(rest.version, facts.length, 'the version after a partial repetition')
    },
  ),
]

const action: Event = {
  kind: 'ActionEvent',
  id: 'a',
  thought: [{ text: 'look' }],
  tool_name: 'ls',
  tool_call_id: 'c1',
  tool_call: { id: 'c1', name: 'ls', arguments: '{}', origin: 'completion' },
  llm_response_id: 'r1',
}

const recorded = (reply: object): Event[] => [
  { ...action, tool_call: { ...action.tool_call, ...reply } },
  {
    kind: 'MessageEvent',
    id: 'm',
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: 'hi' }], ...reply },
  },
]

function spoil(value: unknown): void {
  try {
    ;(value as { llm_message: { content: unknown[] } }).llm_message.content.push({ text: 'three' })
  } catch {
    // The value is frozen, which protects the store as well as a copy would.
  }
}

export const APPEND_IDS: readonly Check[] = [
  it('append: positions have no gaps from 0, and the version is their count', async (store, id) => {
    const first = await store.append(id, pauses(3))
    const second = await store.append(id, [pause('q')])
    equal([first.version, second.version], [3, 4], 'the versions after three and four events')
    equal(pluck([...first.events, ...second.events], 'seq'), [0, 1, 2, 3], 'positions')
    equal(second.events[0]?.conversationId, id, 'the conversation of a stored event')
    equal((await store.getConversation(id))?.version, 4, 'the version in the record')
  }),
  it('append: a body is returned unchanged, with its nulls and the order of its fields', async (store, id) => {
    const input: Event = {
      value: { b: [null, 0.1, -1e21, true, ''], a: { '': {}, ['__proto__']: 1 } },
      parent_id: '__root__',
      kind: 'ConversationStateUpdateEvent',
      timestamp: '2026-01-01 00:00:00.1+0100',
      id: 'u',
      key: 'k',
    }
    const withNull: Event = { ...action, action: null, parent_id: '__root__' }
    const { events } = await store.append(id, [input, withNull])
    for (const [event, other] of [events, await store.read(id)]) {
      equal(JSON.stringify(event?.fact), JSON.stringify(input), 'the text of a body')
      equal(other?.fact, withNull, 'a body with a null')
    }
  }),
  test('append: an empty batch changes nothing', async (store) => {
    const id = await begin(store, 'c', pauses(2))
    const result = await store.append(id, [], { expected: 7 })
    equal(result, { events: [], version: 2, headId: 'p1' }, 'the result')
  }),
  test('append: ids are compared before the expected version', async (store) => {
    const id = await begin(store, 'c', [say('m', 'one'), pause('p')])
    const known = { events: [await store.get(id, 'm')], version: 2, headId: 'p' }
    for (const expected of ['any', 'none', 0, 1, 99] as const)
      equal(await store.append(id, [say('m', 'one')], { expected }), known, `result with ${expected}`)
    equal((await store.read(id)).length, 2, 'the length of the log')
    // The expected version is wrong too, but ids are compared first.
    const batches = [[say('m', 'two')], [pause('new'), say('m', 'two')]]
    await rejectsEach('id_conflict', batches, (batch) => store.append(id, batch, { expected: 0 }))
  }),
  test('append: an event is the same if only the record of its reply differs', async (store) => {
    const first = recorded({ reply: { after: 'p' } })
    const id = await begin(store, 'c', [pause('p'), ...first])
    for (const reply of [{}, { reply: { after: 'q', model: 'x' } }, { reply: null }]) {
      const { version } = await store.append(id, recorded(reply))
      equal(version, 3, `the version after ${JSON.stringify(reply)}`)
    }
    const stored = await store.read(id)
    const hasRecord = stored.map(({ fact }) => JSON.stringify(fact).includes('"after":"p"'))
    equal(hasRecord, [false, true, true], 'which events have the reply record')
  }),
  test('append: the comparison ignores omitted fields, a null parent, defaults and the order of fields', async (store) => {
    const stamped = say('m', 'one', { timestamp: '2026-01-01T00:00:00Z' })
    const id = await begin(store, 'c', [pause('p'), stamped, action])
    const { timestamp, ...unstamped } = stamped
    const reordered = Object.fromEntries(Object.entries(stamped).toReversed()) as typeof stamped
    const same: readonly Event[] = [
      unstamped,
      { ...stamped, parent_id: null },
      { ...stamped, parent_id: 'p' },
      { ...stamped, activated_skills: [], extended_content: [] },
      say('m', 'one', {
        llm_message: { content: [{ cache_prompt: false, text: 'one', type: 'text' }], role: 'user' },
      }),
      reordered,
      { ...action, source: 'agent', security_risk: 'UNKNOWN', thinking_blocks: [], summary: null },
    ]
    for (const event of same) {
      equal((await store.append(id, [event])).version, 3, `version after ${JSON.stringify(event)}`)
    }
    const others: readonly Event[] = [
      { ...stamped, timestamp: `${timestamp}0` },
      { ...stamped, parent_id: '__root__' },
      { ...stamped, source: 'agent' },
      { ...stamped, sender: 'someone' },
      { ...action, security_risk: 'LOW' },
      pause('m'),
    ]
    const append = (event: Event) => store.append(id, [event])
    await rejectsEach('id_conflict', others, append, (event) => ({ id: event.id }))
  }),
  test('append: a batch is appended completely or not at all', async (store) => {
    const id = await begin(store, 'c', [say('m', 'one')])
    const before = await store.getConversation(id)
    const bad: readonly (readonly [Parameters<typeof rejects>[0], Fact])[] = [
      ['id_conflict', say('m', 'two')],
      ['unknown_parent', pause('x', { parent_id: 'nowhere' })],
      ['unknown_event', update('x', 'leaf_event_id', 'nowhere')],
      ['transient_event', { kind: 'StreamingDeltaEvent', id: 'x', content: 'a' }],
      ['invalid_id', pause('')],
      ['invalid_event', { kind: 'NoSuchEvent', id: 'x' } as object as Fact],
      ['invalid_event', null as unknown as Fact],
      ['invalid_event', 'PauseEvent' as unknown as Fact],
    ]
    for (const [code, fact] of bad) {
      await rejects(code, 'a batch', () => store.append(id, [pause('n1'), pause('n2'), fact, pause('n3')]))
      equal(await store.getMany(id, ['n1', 'n2', 'n3']), [null, null, null], `events after ${code}`)
      equal(await store.getConversation(id), before, `the record after ${code}`)
    }
    equal((await store.append(id, [pause('n1')])).version, 2, 'the version afterwards')
  }),
  it('append: an event twice in a batch is appended once, and two bodies with one id are id_conflict', async (store, id) => {
    const { events, version } = await store.append(id, [pause('p'), say('m', 'one'), pause('p')])
    equal([version, idsOf(events)], [2, ['p', 'm', 'p']], 'version and ids')
    equal(events[2], events[0], 'the repeated event')
    await rejects('id_conflict', 'equal ids', () => store.append(id, [pause('q'), say('q', 'one')]))
    equal(await store.get(id, 'q'), null, 'the rejected event')
  }),
  test('append: a batch can contain known and new events, in order', async (store) => {
    const id = await begin(store, 'c', [pause('a'), pause('b')])
    const facts = ['b', 'c', 'a', 'd'].map((one) => pause(one))
    const { events, version } = await store.append(id, facts, { expected: 2 })
    equal([version, idsOf(events)], [4, ['b', 'c', 'a', 'd']], 'version and ids')
    equal(pluck(events, 'seq'), [1, 2, 0, 3], 'positions')
    const many = await store.append(id, pauses(3000))
    equal([many.version, many.events.length, many.headId], [3004, 3000, 'p2999'], 'a batch of 3,000')
    equal(pluck(await store.read(id, { limit: 4000 }), 'seq'), [...Array(3004).keys()], 'positions')
  }),
  it('append: an event must have a legal id', async (store, id) => {
    const invalid = ['', '__root__', 'a\u0000b', 'a\nb', '\ud800', 'x'.repeat(201)].map((one) => pause(one))
    const facts: readonly Event[] = [{ kind: 'PauseEvent' }, ...invalid]
    await rejectsEach('invalid_id', facts, (fact) => store.append(id, [fact]))
    equal((await store.append(id, [pause('x'.repeat(200))])).version, 1, 'version with the longest id')
  }),
  it('append: a StreamingDeltaEvent is rejected, also by an import', async (store, id) => {
    const delta: Fact = { kind: 'StreamingDeltaEvent', id: 'd', content: 'a' }
    const error = await rejects('transient_event', 'a live append', () => store.append(id, [delta]))
    holds(/publish/i.test(error.message), `the error should recommend to publish it: ${error.message}`)
    await rejects('transient_event', 'an import', () => store.append(id, [delta], { mode: 'import' }))
  }),
  it('append: later changes of the arguments and of results do not change the store', async (store, id) => {
    const content = [{ text: 'one' }]
    const input = say('m', '', { llm_message: { role: 'user', content } })
    const { events } = await store.append(id, [input])
    content.push({ text: 'two' })
    spoil(events[0]?.fact)
    spoil((await store.get(id, 'm'))?.fact)
    spoil((await store.search({ conversationId: id })).items[0]?.fact)
    const stored = (await store.read(id)).map(({ fact }) => (fact as typeof input).llm_message.content)
    equal(stored, [[{ text: 'one' }]], 'the content')
  }),
]
