/** Checks of `within`: the caller's own rows in the transaction of an append. */

import fc from 'fast-check'
import type { AppendOptions, Store } from '../../store/contract/store.ts'
import { equal, rejects } from './assert.ts'
import type { Check, OwnRows, Trial } from './check.ts'
import { begin, idsOf as idsOfEvents, pause, pauses, say } from './facts.ts'

type Within = NonNullable<AppendOptions['within']>

const READER = 'reader'

const storedIds = async (store: Store, id: string): Promise<(string | null)[]> =>
  idsOfEvents(await store.read(id))

async function rowsIn(store: Store, rows: OwnRows, prefix: string): Promise<string[]> {
  let matches: readonly string[] = []
  const keep = (list: readonly string[]): void => {
    matches = list
  }
  const within: Within = (tx) => {
    const list = rows.list(tx)
    return 'then' in list ? list.then(keep) : keep(list)
  }
  if ((await store.getConversation(READER)) === null) await begin(store, READER)
  await store.append(READER, [pause(crypto.randomUUID())], { within })
  return matches
    .filter((text) => text.startsWith(prefix))
    .map((text) => text.slice(prefix.length))
    .toSorted()
}

async function refuses({ store }: Trial): Promise<void> {
  await begin(store, 'c')
  let called = false
  const within = (): void => void (called = true)
  const error = await rejects('invalid_argument', 'rows', () => store.append('c', [pause('a')], { within }))
  equal([error.data['field'], called, await storedIds(store, 'c')], ['within', false, []], 'after it')
}

const check = (name: string, run: (trial: Trial, rows: OwnRows, prefix: string) => Promise<void>): Check => ({
  name: `within: ${name}`,
  run: (trial) => (trial.rows === null ? refuses(trial) : run(trial, trial.rows, crypto.randomUUID())),
})

export const OWN_ROWS: readonly Check[] = [
  check(
    'rows are committed with new events, and not again with known ones',
    async ({ store }, rows, prefix) => {
      await begin(store, 'c')
      const seen: string[] = []
      const within: Within = (tx, { events, version }) => {
        seen.push(`${events.map(({ id, seq }) => `${id} ${seq}`).join()} of ${version}`)
        return rows.insert(tx, `${prefix}${version}`)
      }
      await store.append('c', pauses(2), { within })
      await store.append('c', [pause('c')], { within })
      await store.append('c', [pause('c')], { within })
      await store.append('c', [], { within })
      await store.append('c', [pause('c'), pause('d')], { within })
      equal(seen, ['p0 0,p1 1 of 2', 'c 2 of 3', 'c 2,d 3 of 4'], 'what the work was given')
      equal(await rowsIn(store, rows, prefix), ['2', '3', '4'], 'the rows')
      equal(await storedIds(store, 'c'), ['p0', 'p1', 'c', 'd'], 'the events')
    },
  ),
  check(
    'what throws leaves neither events nor rows, and the log goes on',
    async ({ store }, rows, prefix) => {
      const before = await store.createConversation({ id: 'c' })
      const thrown = new Error('no')
      for (const [nth, within] of Object.values({
        before: () => {
          throw thrown
        },
        after: (tx: unknown) => {
          const inserted = rows.insert(tx, `${prefix}after`)
          if (typeof (inserted as Promise<unknown> | undefined)?.then === 'function')
            return (inserted as Promise<unknown>).then(() => Promise.reject(thrown))
          throw thrown
        },
      }).entries()) {
        const outcome = await store.append('c', pauses(2), { within }).then(
          () => null,
          (error: unknown) => error,
        )
        equal(outcome === thrown, true, `the error of attempt ${nth}`)
        equal(
          [await store.getConversation('c'), await storedIds(store, 'c')],
          [before, []],
          'the conversation',
        )
      }
      await rejects('invalid_argument', 'what is no function', () =>
        store.append('c', [pause('x')], { within: 'x' as unknown as Within }),
      )
      equal(await rowsIn(store, rows, prefix), [], 'the rows')
      await store.append('c', [pause('a')], { createdAt: before.createdAt })
      equal(await storedIds(store, 'c'), ['a'], 'events afterwards')
    },
  ),
  check('no work is done for an append that is refused', async ({ store }, rows, prefix) => {
    await begin(store, 'c')
    await store.append('c', [pause('a')])
    const within: Within = (tx) => rows.insert(tx, `${prefix}refused`)
    const refused: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['version_conflict', () => store.append('c', [pause('b')], { within, expected: 0 })],
      ['id_conflict', () => store.append('c', [say('a', 'other')], { within })],
      ['unknown_parent', () => store.append('c', [pause('b', { parent_id: 'no' })], { within })],
      ['lease_lost', () => store.append('c', [pause('b')], { within, lease: { owner: 'o', generation: 1 } })],
      ['unknown_conversation', () => store.append('d', [pause('b')], { within })],
    ]
    for (const [code, append] of refused) await rejects(code as 'id_conflict', code, append)
    equal([await rowsIn(store, rows, prefix), await storedIds(store, 'c')], [[], ['a']], 'rows and events')
  }),
  check('rows and events agree, whatever fails beside them, at once', async (trial, rows, prefix) => {
    const { store, runsOf } = trial
    const attempts = fc.array(fc.constantFrom('plain', 'rows', 'throws'), { minLength: 1, maxLength: 12 })
    let run = 0
    await fc.assert(
      fc.asyncProperty(attempts, async (kinds) => {
        const id = `c${(run += 1)}`
        await begin(store, id)
        const outcomes = await Promise.allSettled(
          kinds.map((kind, nth) => {
            const within: Within = (tx) => {
              const inserted = rows.insert(tx, `${prefix}${id} ${nth}`)
              if (kind !== 'throws') return inserted
              return Promise.resolve(inserted).then(() => Promise.reject(new Error('no')))
            }
            return store.append(id, [pause(`e${nth}`)], kind === 'plain' ? {} : { within })
          }),
        )
        const succeeded = outcomes.map(({ status }) => status === 'fulfilled')
        const expected = kinds.map((kind) => kind !== 'throws')
        equal(succeeded, expected, 'outcomes')
        const nths = (is: (kind: string) => boolean): string[] =>
          kinds.flatMap((kind, nth) => (is(kind) ? [String(nth)] : []))
        const events = (await storedIds(store, id)).map((one) => String(one).slice(1)).toSorted()
        equal(events, nths((kind) => kind !== 'throws').toSorted(), 'events')
        const ownId = (await rowsIn(store, rows, `${prefix}${id} `)).toSorted()
        equal(ownId, nths((kind) => kind === 'rows').toSorted(), 'rows')
      }),
      { numRuns: runsOf(20) },
    )
  }),
]
