import * as fc from 'fast-check'
import { isColloquyError } from '../../event/errors.ts'
import { EVENT_KINDS } from '../../event/kinds.ts'
import type { Fact, Quarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { anyEvent } from '../event.ts'
import { equal, holds, rejects, rejectsAll, rejectsEach } from './assert.ts'
import { alsoInTwoProcesses, type Check, generated, it, test } from './check.ts'
import { after, begin, idsOf, leaf, pause, pauses, pluck, say, storable, update } from './facts.ts'
import { deriveEventId } from '../../event/ids.ts'
import { parseInstant } from '../../event/time.ts'
import { reduce, replay } from '../../state/reduce.ts'
import { initialState, type State } from '../../state/state.ts'
import { hostileLog } from '../hostile-log.ts'
import { finds } from './pages.ts'

const WRITERS = 8

/**
 * Appends from several writers that expect the same version. Returns the number of successful appends; fails
 * if a writer gets an error other than `version_conflict`.
 */
async function race(store: Store, other: Store, id: string, version: number): Promise<number> {
  const outcomes = await Promise.allSettled(
    Array.from({ length: WRITERS }, (_, i) =>
      (i % 2 === 0 ? store : other).append(id, [pause(`v${version}w${i}`)], {
        expected: version === 0 && i % 2 === 0 ? 'none' : version,
      }),
    ),
  )
  const losers = outcomes.filter((outcome) => outcome.status === 'rejected')
  for (const { reason } of losers) {
    const { data } = await rejects('version_conflict', 'a losing writer', () => Promise.reject(reason))
    equal(data['version'], version + 1, 'the version in the error data')
  }
  return outcomes.length - losers.length
}

async function racesHaveOneWinner(store: Store, other: Store): Promise<void> {
  const id = await begin(store, 'c')
  for (let version = 0; version < 6; version += 1) {
    const winners = await race(store, other, id, version)
    equal(winners, 1, `winners among ${WRITERS} writers that expect version ${version}`)
  }
  equal(pluck(await store.read(id), 'seq'), [0, 1, 2, 3, 4, 5], 'positions')
}

/** Checks that concurrent appends without an expected version are all in the log, and create no branch. */
async function allLandInLine(store: Store, other: Store): Promise<void> {
  const id = await begin(store, 'c')
  const rounds = 6
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, i) => {
      for (let round = 0; round < rounds; round += 1) {
        const { events } = await (i % 2 === 0 ? store : other).append(id, [
          pause(`w${i}r${round}a`),
          pause(`w${i}r${round}b`),
        ])
        equal(events.length, 2, 'number of returned events')
      }
    }),
  )
  const events = await store.read(id)
  const positions = [...Array(WRITERS * rounds * 2).keys()]
  equal(pluck(events, 'seq'), positions, 'positions of acknowledged events')
  for (const [i, event] of events.entries()) {
    equal(event.parentId, events[i - 1]?.id ?? null, `the parent at position ${i}`)
    if (i % 2 === 1) equal(event.id, events[i - 1]?.id?.replace('a', 'b'), 'the second event of a batch')
  }
  equal((await store.getConversation(id))?.headId, events.at(-1)?.id, 'HEAD')
}

export const APPEND_VERSION: readonly Check[] = [
  it('append: an append with another expected version is rejected', async (store, id) => {
    equal((await store.append(id, [pause('a')], { expected: 'none' })).version, 1, 'the first version')
    equal((await store.append(id, [pause('b')], { expected: 1 })).version, 2, 'the second version')
    equal((await store.append(id, [pause('c')], { expected: 'any' })).version, 3, 'the third version')
    for (const expected of ['none', 0, 2, 4] as const) {
      const call = () => store.append(id, [pause('d'), pause('e')], { expected })
      const error = await rejects('version_conflict', `expecting ${expected} at version 3`, call)
      equal(error.data['version'], 3, 'the current version in the error data')
    }
    equal(idsOf(await store.read(id)), ['a', 'b', 'c'], 'the log after the conflicts')
    const other = await begin(store, 'd')
    equal((await store.append(other, [pause('a')], { expected: 0 })).version, 1, 'the first version of d')
  }),
  it('append: an invalid expected version is invalid_argument', async (store, id) => {
    await rejectsEach('invalid_argument', [-1, 0.5, Number.NaN, 'some' as 'any'], (expected) =>
      store.append(id, [pause('a')], { expected }),
    )
  }),
  ...alsoInTwoProcesses(
    'append: exactly one of many writers with the same expected version wins',
    'append: exactly one of many writers in two processes with the same expected version wins',
    racesHaveOneWinner,
  ),
  ...alsoInTwoProcesses(
    'append: concurrent writers without an expected version all succeed, on one branch',
    'append: concurrent writers of two processes without an expected version all succeed, on one branch',
    allLandInLine,
  ),
  it('append: the same event from many concurrent writers is appended once', async (store, id) => {
    const all = await Promise.all(Array.from({ length: WRITERS }, () => store.append(id, pauses(3))))
    for (const { events, version } of all)
      equal([version, events.map(({ seq }) => seq)], [3, [0, 1, 2]], 'version and positions of a result')
    equal((await store.read(id)).length, 3, 'the length of the log')
  }),
  test('append: of concurrent appends, only the invalid ones are rejected', async (store) => {
    const [id, other] = [await begin(store, 'c', [pause('a')]), await begin(store, 'd')]
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, i) => {
        const orphan = pause(`n${i}`, { parent_id: 'nowhere' })
        const rejected = {
          version_conflict: () => store.append(id, pauses(2, `v${i}-`), { expected: 0 }),
          unknown_parent: () => store.append(id, [pause(`u${i}`), orphan]),
          id_conflict: () => store.append(id, [pause(`i${i}`), say('a', 'x')]),
          unknown_conversation: () => store.append('nowhere', [pause('p')]),
        }
        await Promise.all([
          store.append(id, pauses(2, `s${i}-`)),
          rejectsAll(rejected),
          store.append(other, pauses(2, `o${i}-`)),
        ])
      }),
    )
    for (const [one, length] of [
      [id, 1 + 2 * WRITERS],
      [other, 2 * WRITERS],
    ] as const) {
      const events = await store.read(one)
      equal(events.length, length, `the length of ${one}`)
      const isIntact = events.every((event) => event.id === 'a' || /^[so]/.test(event.id ?? ''))
      holds(isIntact, 'the log has events of a rejected append')
      equal((await store.getConversation(one))?.headId, events.at(-1)?.id, `HEAD of ${one}`)
    }
  }),
  it('append: a decision on a log that was deleted and recreated since is version_conflict', async (store, id) => {
    const { createdAt } = (await store.getConversation(id)) ?? { createdAt: '' }
    await store.append(id, pauses(2), { expected: 'none', createdAt })
    await store.append(id, pauses(1, 'x'), { expected: 2, createdAt })
    await store.deleteConversation(id)
    await after(2)
    await begin(store, 'c')
    await store.append(id, pauses(3, 'y'))
    await rejectsEach('version_conflict', [{ expected: 3, createdAt }, { createdAt }], (options) =>
      store.append(id, pauses(1, 'z'), options),
    )
    const now = (await store.getConversation(id))?.createdAt ?? ''
    equal((await store.append(id, pauses(1, 'z'), { expected: 3, createdAt: now })).version, 4, 'version')
  }),
  it('append: a concurrent reader sees all of a batch or nothing', async (store, id) => {
    const reads = { remaining: 12 }
    const write = async (): Promise<void> => {
      for (let i = 0; i < 300 && reads.remaining > 0; i += 1) {
        await store.append(id, pauses(5, `b${i}-`))
        await after(0)
      }
    }
    const readAll = async (): Promise<void> => {
      for (; reads.remaining > 0; reads.remaining -= 1) {
        // Without this wait, reads of an in-memory store would never let the writer run.
        await after(0)
        const events = await store.read(id)
        const { version = 0, headId = null } = (await store.getConversation(id)) ?? {}
        const count = await store.count({ conversationId: id })
        const remainders = [events.length % 5, version % 5, count % 5]
        equal(remainders, [0, 0, 0], 'events, version and count modulo the batch size 5')
        holds(version >= events.length, 'the version is less than the number of events')
        holds(headId === null || headId.endsWith('-4'), `HEAD is in the middle of a batch: ${headId}`)
      }
    }
    await Promise.all([write(), readAll()])
  }),
]

const USER_MESSAGE = { kind: 'MessageEvent', id: 'x', source: 'user' }
const llm = (content: unknown): object => ({ ...USER_MESSAGE, llm_message: { role: 'user', content } })

/** Facts with a missing or invalid field. Stores need these fields to find events or to build the tree. */
const MALFORMED: readonly object[] = [
  USER_MESSAGE,
  { ...USER_MESSAGE, llm_message: null },
  { ...USER_MESSAGE, llm_message: [] },
  llm('text'),
  llm([null]),
  llm(['text']),
  llm([{ text: 7 }]),
  { ...say('x', 'a'), extended_content: [7] },
  { ...say('x', 'a'), source: undefined },
  { ...pause('x'), source: 'a,b c' },
  { ...pause('x'), source: 7 },
  { ...pause('x'), id: 7 },
  { ...pause('x'), id: null },
  { ...pause('x'), parent_id: 7 },
  { ...pause('x'), timestamp: 7 },
  { quarantined: true, id: 'x' },
]

function nested(levels: number, wrap: (value: object, level: number) => object): object {
  let value: object = Object.freeze({})
  for (let level = 1; level < levels; level += 1) value = wrap(value, level)
  return value
}

const listed = (value: object, level: number): object => (level % 2 === 0 ? [value] : { value })
const frozen = (value: object): object => Object.freeze([value])

/** An event in which one field is missing or has another value. */
const mutated: fc.Arbitrary<Fact> = fc
  .tuple(anyEvent(), fc.nat(), fc.option(fc.jsonValue({ maxDepth: 2 })))
  .map(([event, index, value]) => {
    const fields = Object.keys(event)
    const field = fields[index % fields.length] as string
    const result: Record<string, unknown> = { ...event, [field]: value, id: 'x' }
    if (value === null && field !== 'id') delete result[field]
    return result as object as Fact
  })

export const APPEND_SHAPE: readonly Check[] = [
  it('append: an event without its required fields is invalid_event, and concurrent appends succeed', async (store, id) => {
    const modes = ['live', 'import'] as const
    for (const [i, malformed] of MALFORMED.entries()) {
      const input = malformed as Fact
      await Promise.all([
        store.append(id, [pause(`a${i}`)]),
        ...modes.map((mode) =>
          rejects('invalid_event', JSON.stringify(input), () => store.append(id, [input], { mode })),
        ),
        store.append(id, [say(`b${i}`, 'word')]),
      ])
    }
    const kinds = EVENT_KINDS
    equal((await store.getConversation(id))?.version, 2 * MALFORMED.length, 'the version')
    equal(await store.count({ conversationId: id, kinds }), 2 * MALFORMED.length, 'number of events')
    equal(await store.count({ conversationId: id, text: 'word' }), MALFORMED.length, 'number of messages')
  }),
  it('append: an event that is nested too deep, or is not JSON, is invalid_event', async (store, id) => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const deep = [512, 20_000].flatMap((levels) => [nested(levels, listed), nested(levels, frozen)])
    const values: readonly unknown[] = [...deep, cycle, 7n]
    for (const [i, value] of values.entries()) {
      const input = update('u', 'k', null) as object
      const what = `value ${i}`
      await rejects('invalid_event', what, () => store.append(id, [{ ...input, value } as Fact]))
      const whole = Object.freeze({ ...input, value }) as Fact
      await rejects('invalid_event', what, () => store.append(id, [pause('p'), whole], { mode: 'import' }))
    }
    equal(await store.read(id), [], 'the log')
  }),
  generated(
    'append: a mutated event is stored and found, or rejected with an error of the contract',
    100,
    mutated,
    async (store, id, input) => {
      const stored = await store.append(id, [input], { mode: 'import' }).catch((error: unknown) => {
        holds(isColloquyError(error), `an append failed with ${String(error)}`)
        return null
      })
      if (stored === null || storable([input]).length === 0) return
      const again = await store.append(id, [input], { mode: 'import' })
      equal(again.version, 1, 'the version after a repeated append')
      const page = await store.search({ conversationId: id, kinds: EVENT_KINDS })
      equal(idsOf(page.items), ['x'], 'events found by kind')
    },
  ),
]

const parentsOf = (events: readonly StoredEvent[]): string[] =>
  events.map(({ parentId, fact }) => `${parentId}, ${(fact as Event).parent_id}`)

export const APPEND_TREE: readonly Check[] = [
  it('tree: an event without a parent follows HEAD, and its body names HEAD', async (store, id) => {
    const facts = [pause('a'), pause('b', { parent_id: null }), say('m', 'x')]
    const { events, headId } = await store.append(id, facts)
    equal(parentsOf(events), ['null, undefined', 'a, a', 'b, b'], 'parentId and parent_id fields')
    equal(headId, 'm', 'HEAD')
    const next = await store.append(id, [pause('d')])
    equal(parentsOf(next.events), ['m, m'], 'the parent in the next append')
    equal(await store.get(id, 'd'), next.events[0], 'the event as stored')
    equal((await store.getConversation(id))?.headId, 'd', 'HEAD in the record')
  }),
  test('tree: a parent can be any earlier event; `__root__` makes a root', async (store) => {
    const id = await begin(store, 'c', [pause('a'), pause('b')])
    const { events, headId } = await store.append(id, [
      pause('c', { parent_id: 'a' }),
      pause('d', { parent_id: '__root__' }),
      pause('e', { parent_id: 'c' }),
      pause('f'),
    ])
    equal(parentsOf(events), ['a, a', 'null, __root__', 'c, c', 'e, e'], 'parentId and parent_id fields')
    equal([events.every(({ inTree }) => inTree), headId], [true, 'f'], 'inTree of all, and HEAD')
  }),
  test('tree: an unknown or later parent, or the event itself, is unknown_parent', async (store) => {
    const id = await begin(store, 'c', [pause('a')])
    await begin(store, 'd', [pause('there')])
    await rejectsEach(
      'unknown_parent',
      ['nowhere', 'there', 'b', 'later', '', 'a\u0000', '\ud800', 'x'.repeat(300)],
      (parent) => store.append(id, [pause('b', { parent_id: parent }), pause('later')]),
      (parentId) => ({ parentId }),
    )
    equal((await store.getConversation(id))?.version, 1, 'the version afterwards')
  }),
  test('tree: a state update never becomes HEAD, but can be named as a parent', async (store) => {
    const id = await begin(store, 'c', [pause('a')])
    const done = await store.append(id, [
      update('u', 'execution_status', 'running'),
      pause('b'),
      update('v', 'title', null, { parent_id: 'u' }),
      pause('d', { parent_id: 'v' }),
    ])
    equal(pluck(done.events, 'parentId'), ['a', 'a', 'u', 'v'], 'parents')
    equal(done.headId, 'd', 'HEAD')
  }),
  test('tree: leaf_event_id moves HEAD to an event, or from a state update to its nearest ancestor that can be HEAD', async (store) => {
    const id = await begin(store, 'c', [pause('a'), update('u', 'k', 1), pause('b')])
    await store.append(id, [update('v', 'k', 2, { parent_id: 'u' })])
    const moves = ['a', 'b', 'u', 'b', 'v']
    for (const [i, target] of moves.entries()) {
      const { headId } = await store.append(id, [leaf(`move${i}`, target)])
      const expected = target === 'b' ? 'b' : 'a'
      equal(headId, expected, `HEAD after a move to ${target}`)
      equal((await store.getConversation(id))?.headId, expected, 'HEAD in the record')
    }
    const back = await store.append(id, [leaf('m', 'b'), leaf('n', 'move0'), pause('z'), leaf('o', 'z')])
    // The parent of `move0` is b, because HEAD was b when `move0` was appended.
    const actual = [back.events[2]?.parentId, back.headId]
    equal(actual, ['b', 'z'], 'a parent within the batch of a move, and HEAD')
  }),
  test('tree: leaf_event_id null empties HEAD, and the next event is a root', async (store) => {
    const id = await begin(store, 'c', [pause('a')])
    const moved = await store.append(id, [leaf('move', null)])
    equal([moved.headId, (await store.getConversation(id))?.headId], [null, null], 'HEAD, twice')
    const root = await store.append(id, [update('u', 'k', 1), pause('b'), pause('d')])
    equal(parentsOf(root.events), ['null, __root__', 'null, __root__', 'b, b'], 'parents')
    const head = (await store.append(id, [leaf('w', 'u')])).headId
    equal(head, null, 'HEAD after a move to a root state update')
  }),
  test('tree: leaf_event_id of an unknown event is unknown_event', async (store) => {
    const id = await begin(store, 'c', [pause('a')])
    const without: Event = { kind: 'ConversationStateUpdateEvent', id: 'x', key: 'leaf_event_id' }
    const targets = ['nowhere', 'x', 7, ['a'], '', 'a\u0000', '\ud800', 'a-summary']
    const moves = [without, ...targets.map((target) => leaf('x', target))]
    await rejectsEach('unknown_event', moves, (move) => store.append(id, [move]))
    equal((await store.getConversation(id))?.headId, 'a', 'HEAD afterwards')
    const head = (await store.append(id, [update('x', 'leaf', 'nowhere')])).headId
    equal(head, 'a', 'HEAD after an update of another key')
  }),
  test('tree: each append continues at HEAD, on all branches', async (store) => {
    const id = await begin(store, 'c', [pause('root')])
    for (let i = 0; i < 12; i += 1) {
      const above = i % 3 === 0 ? 'root' : `b${i - 1}`
      await store.append(id, [leaf(`back${i}`, above), pause(`b${i}`), pause(`t${i}`)])
      const [branch, next] = await store.getMany(id, [`b${i}`, `t${i}`])
      equal([branch?.parentId, next?.parentId], [above, `b${i}`], 'parents on the branch')
    }
  }),
]

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
    for (const event of same)
      equal((await store.append(id, [event])).version, 3, `version after ${JSON.stringify(event)}`)
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
