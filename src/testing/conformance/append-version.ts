/** Checks of append: the expected version, alone and with several writers at once. */

import { hasCode } from '../../event/errors.ts'
import type { PauseEvent } from '../../event/types.ts'
import type { Store } from '../../store/contract/store.ts'
import { equal, holds, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, pause, pauses, pluck, say } from './facts.ts'

const WRITERS = 8

const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

const lost = (id: string): PauseEvent => pause(id, { parent_id: 'nowhere' })

/** Every writer expects the same version. Returns the number of winners; fails on any other outcome. */
async function race(stores: readonly Store[], id: string, version: number): Promise<number> {
  const outcomes = await Promise.allSettled(
    Array.from({ length: WRITERS }, (_, i) =>
      (stores[i % stores.length] as Store).append(id, [pause(`v${version}w${i}`)], {
        expected: version === 0 && i % 2 === 0 ? 'none' : version,
      }),
    ),
  )
  const lost = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  for (const error of lost) {
    const isConflict = hasCode(error, 'version_conflict')
    holds(isConflict, `a writer that lost should get version_conflict, not ${String(error)}`)
    if (hasCode(error, 'version_conflict'))
      equal(error.data['version'], version + 1, 'the version in its data')
  }
  return outcomes.length - lost.length
}

async function racesHaveOneWinner(stores: readonly Store[], id: string): Promise<void> {
  for (let version = 0; version < 6; version += 1) {
    const winners = await race(stores, id, version)
    equal(winners, 1, `winners of ${WRITERS} writers who all expected version ${version}`)
  }
  const events = await (stores[0] as Store).read(id)
  equal(pluck(events, 'seq'), [0, 1, 2, 3, 4, 5], 'positions')
}

/** Every writer accepts any version; no append is lost, and none creates a branch. */
async function allLandInLine(stores: readonly Store[], id: string): Promise<void> {
  const rounds = 6
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, i) => {
      const store = stores[i % stores.length] as Store
      for (let round = 0; round < rounds; round += 1) {
        const { events } = await store.append(id, [pause(`w${i}r${round}a`), pause(`w${i}r${round}b`)])
        equal(events.length, 2, 'events that an append returns')
      }
    }),
  )
  const events = await (stores[0] as Store).read(id)
  const positions = [...Array(WRITERS * rounds * 2).keys()]
  equal(pluck(events, 'seq'), positions, 'positions of all that was acknowledged')
  for (const [i, event] of events.entries()) {
    const what = `the parent of position ${i}: the one before, for no writer meant to fork`
    equal(event.parentId, events[i - 1]?.id ?? null, what)
    if (i % 2 === 1) equal(event.id, events[i - 1]?.id?.replace('a', 'b'), 'a batch stays together')
  }
  equal((await (stores[0] as Store).getConversation(id))?.headId, events.at(-1)?.id, 'HEAD')
}

export const APPEND_VERSION: readonly Check[] = [
  {
    name: 'append: with an expected version only where the log has it',
    async run({ store }) {
      const id = await begin(store, 'c')
      equal((await store.append(id, [pause('a')], { expected: 'none' })).version, 1, 'none, for an empty log')
      equal((await store.append(id, [pause('b')], { expected: 1 })).version, 2, 'exactly that')
      equal((await store.append(id, [pause('c')], { expected: 'any' })).version, 3, 'any')
      for (const expected of ['none', 0, 2, 4] as const) {
        const call = () => store.append(id, [pause('d'), pause('e')], { expected })
        const error = await rejects('version_conflict', `${expected} where there are 3`, call)
        equal(error.data['version'], 3, 'the real version in data.version')
      }
      equal(idsOf(await store.read(id)), ['a', 'b', 'c'], 'the log after all conflicts')
      const other = await begin(store, 'd')
      equal((await store.append(other, [pause('a')], { expected: 0 })).version, 1, '0, for an empty log')
    },
  },
  {
    name: 'append: an invalid expected version is invalid_argument',
    async run({ store }) {
      const id = await begin(store, 'c')
      for (const expected of [-1, 0.5, Number.NaN, 'some' as 'any']) {
        await rejects('invalid_argument', String(expected), () =>
          store.append(id, [pause('a')], { expected }),
        )
      }
    },
  },
  {
    name: 'append: of many writers with one expected version exactly one wins',
    run: async ({ store }) => racesHaveOneWinner([store], await begin(store, 'c')),
  },
  {
    name: 'append: of many writers in two processes with one expected version exactly one wins',
    reopens: true,
    run: async ({ store, reopen }) => racesHaveOneWinner([store, await reopen()], await begin(store, 'c')),
  },
  {
    name: 'append: writers who expect no version all land, in one line',
    run: async ({ store }) => allLandInLine([store], await begin(store, 'c')),
  },
  {
    name: 'append: writers in two processes who expect no version all land, in one line',
    reopens: true,
    run: async ({ store, reopen }) => allLandInLine([store, await reopen()], await begin(store, 'c')),
  },
  {
    name: 'append: the same event from many writers at once is appended once',
    async run({ store }) {
      const id = await begin(store, 'c')
      const all = await Promise.all(Array.from({ length: WRITERS }, () => store.append(id, pauses(3))))
      for (const { events, version } of all) {
        equal([version, events.map(({ seq }) => seq)], [3, [0, 1, 2]], 'what every one of them gets')
      }
      equal((await store.read(id)).length, 3, 'the length of the log')
    },
  },
  {
    name: 'append: of many at once each one is rejected alone, and all others are appended',
    async run({ store }) {
      const [id, other] = [await begin(store, 'c', [pause('a')]), await begin(store, 'd')]
      await Promise.all(
        Array.from({ length: WRITERS }, async (_, i) => {
          const all = [
            rejects('version_conflict', 'a version', () =>
              store.append(id, pauses(2, `v${i}-`), { expected: 0 }),
            ),
            store.append(id, pauses(2, `s${i}-`)),
            rejects('unknown_parent', 'a parent', () => store.append(id, [pause(`u${i}`), lost(`n${i}`)])),
            rejects('id_conflict', 'another body', () => store.append(id, [pause(`i${i}`), say('a', 'x')])),
            store.append(other, pauses(2, `o${i}-`)),
            rejects('unknown_conversation', 'a conversation', () => store.append('nowhere', [pause('p')])),
          ]
          await Promise.all(all)
        }),
      )
      for (const [one, length] of [
        [id, 1 + 2 * WRITERS],
        [other, 2 * WRITERS],
      ] as const) {
        const events = await store.read(one)
        equal(events.length, length, `the length of ${one}`)
        const isIntact = events.every((event) => event.id === 'a' || /^[so]/.test(event.id ?? ''))
        holds(isIntact, 'a rejected append left events')
        equal((await store.getConversation(one))?.headId, events.at(-1)?.id, `HEAD of ${one}`)
      }
    },
  },
  {
    name: 'append: a decision on a log that was deleted and created again since is version_conflict',
    async run({ store }) {
      const id = await begin(store, 'c')
      const { createdAt } = (await store.getConversation(id)) ?? { createdAt: '' }
      await store.append(id, pauses(2), { expected: 'none', createdAt })
      await store.append(id, pauses(1, 'x'), { expected: 2, createdAt })
      await store.deleteConversation(id)
      await new Promise((resolve) => setTimeout(resolve, 2))
      await begin(store, 'c')
      await store.append(id, pauses(3, 'y'))
      for (const options of [{ expected: 3, createdAt }, { createdAt }])
        await rejects('version_conflict', 'another log', () => store.append(id, pauses(1, 'z'), options))
      const now = (await store.getConversation(id))?.createdAt ?? ''
      equal((await store.append(id, pauses(1, 'z'), { expected: 3, createdAt: now })).version, 4, 'version')
    },
  },
  {
    name: 'append: a reader meanwhile sees all of a batch or nothing',
    async run({ store }) {
      const id = await begin(store, 'c')
      const looks = { left: 12 }
      const write = async (): Promise<void> => {
        for (let i = 0; i < 300 && looks.left > 0; i += 1) {
          await store.append(id, pauses(5, `b${i}-`))
          await nextTurn()
        }
      }
      const look = async (): Promise<void> => {
        for (; looks.left > 0; looks.left -= 1) {
          // A store in memory is done within one turn, and would leave the writer none.
          await nextTurn()
          const events = await store.read(id)
          const { version = 0, headId = null } = (await store.getConversation(id)) ?? {}
          const count = await store.count({ conversationId: id })
          const remainders = [events.length % 5, version % 5, count % 5]
          equal(remainders, [0, 0, 0], 'events over when all are in batches of 5')
          holds(version >= events.length, 'the record is behind the log')
          holds(headId === null || headId.endsWith('-4'), `HEAD is in the middle of a batch: ${headId}`)
        }
      }
      await Promise.all([write(), look()])
    },
  },
]
