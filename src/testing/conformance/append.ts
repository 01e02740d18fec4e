import * as fc from 'fast-check'
import { isColloquyError } from '../../event/errors.ts'
import { EVENT_KINDS } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { anyEvent } from '../event.ts'
import { equal, holds, rejects, rejectsAll, rejectsEach } from './assert.ts'
import { alsoInTwoProcesses, type Check, generated, it, test } from './check.ts'
import { after, begin, idsOf, leaf, pause, pauses, pluck, say, storable, update } from './facts.ts'

const WRITERS = 8

/**
 * Appends from several writers that expect the same version. Returns the number of winners; fails if a writer
 * gets an error other than `version_conflict`.
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

/** Checks that, if writers expect any version, all appends are in the log and no append creates a branch. */
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
    [
      'append: exactly one of many writers with the same expected version wins',
      'append: exactly one of many writers in two processes with the same expected version wins',
    ],
    racesHaveOneWinner,
  ),
  ...alsoInTwoProcesses(
    [
      'append: concurrent writers without an expected version all succeed, on one branch',
      'append: concurrent writers of two processes without an expected version all succeed, on one branch',
    ],
    allLandInLine,
  ),
  it('append: the same event from many concurrent writers is appended once', async (store, id) => {
    const all = await Promise.all(Array.from({ length: WRITERS }, () => store.append(id, pauses(3))))
    for (const { events, version } of all) {
      equal([version, events.map(({ seq }) => seq)], [3, [0, 1, 2]], 'version and positions of a result')
    }
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
    // The parent of `move0` is b, because HEAD was b when it was appended.
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
