import fc from 'fast-check'
import type { Fact } from '../../event/quarantine.ts'
import type { AppendOptions, Store } from '../../store/contract/store.ts'
import { equal, holds, rejects, rejectsAll } from './assert.ts'
import { type Check, forAll, type OwnRows, type Trial } from './check.ts'
import { begin, idsOf, pause, pauses, say } from './facts.ts'

type Within = NonNullable<AppendOptions['within']>

const READER = 'reader'

const storedIds = async (store: Store, id: string): Promise<(string | null)[]> => idsOf(await store.read(id))

async function rowsIn(store: Store, rows: OwnRows, prefix: string): Promise<string[]> {
  const matches: string[] = []
  const keep = (list: readonly string[]): void => {
    for (const text of list) if (text.startsWith(prefix)) matches.push(text.slice(prefix.length))
  }
  const within: Within = (tx) => {
    const list = rows.list(tx)
    return 'then' in list ? list.then(keep) : keep(list)
  }
  if ((await store.getConversation(READER)) === null) await begin(store, READER)
  await store.append(READER, [pause(crypto.randomUUID())], { within })
  return matches.toSorted()
}

const failing =
  (rows: OwnRows, text: string, error: Error): Within =>
  (tx) => {
    const inserted = rows.insert(tx, text)
    if (typeof inserted === 'object' && inserted !== null && 'then' in inserted)
      return Promise.resolve(inserted).then(() => Promise.reject(error))
    throw error
  }

async function refuses({ store }: Trial): Promise<void> {
  await begin(store, 'c')
  let called = false
  const within = (): void => void (called = true)
  const error = await rejects('invalid_argument', 'within', () => store.append('c', [pause('a')], { within }))
  equal([error.data['field'], called, await storedIds(store, 'c')], ['within', false, []], 'the rejection')
}

const check = (name: string, run: (trial: Trial, rows: OwnRows, prefix: string) => Promise<void>): Check => ({
  name: `within: ${name}`,
  run: (trial) => (trial.rows === null ? refuses(trial) : run(trial, trial.rows, crypto.randomUUID())),
})

export const OWN_ROWS: readonly Check[] = [
  check(
    'rows are committed with new events, but not with events that the log already has',
    async ({ store }, rows, prefix) => {
      await begin(store, 'c')
      const calls: string[] = []
      const within: Within = (tx, { events, version }) => {
        calls.push(`${events.map(({ id, seq }) => `${id} ${seq}`).join()} of ${version}`)
        return rows.insert(tx, `${prefix}${version}`)
      }
      await store.append('c', pauses(2), { within })
      await store.append('c', [pause('c')], { within })
      await store.append('c', [pause('c')], { within })
      await store.append('c', [], { within })
      await store.append('c', [pause('c'), pause('d')], { within })
      equal(calls, ['p0 0,p1 1 of 2', 'c 2 of 3', 'c 2,d 3 of 4'], 'calls of within')
      equal(await rowsIn(store, rows, prefix), ['2', '3', '4'], 'the rows')
      equal(await storedIds(store, 'c'), ['p0', 'p1', 'c', 'd'], 'the events')
    },
  ),
  check(
    'if `within` throws, neither events nor rows are stored, and later appends succeed',
    async ({ store }, rows, prefix) => {
      const thrown = new Error('no')
      const before = await store.createConversation({ id: 'c' })
      const throwing = (): never => {
        throw thrown
      }
      for (const within of [throwing, failing(rows, `${prefix}after`, thrown)]) {
        const [outcome] = await Promise.allSettled([store.append('c', pauses(2), { within })])
        holds(outcome.status === 'rejected' && outcome.reason === thrown, 'the thrown error is lost')
        equal(await store.getConversation('c'), before, 'the record')
        equal(await storedIds(store, 'c'), [], 'the log')
      }
      const within = 'x' as unknown as Within
      await rejects('invalid_argument', 'not a function', () => store.append('c', [pause('x')], { within }))
      equal(await rowsIn(store, rows, prefix), [], 'the rows')
      await store.append('c', [pause('a')], { createdAt: before.createdAt })
      equal(await storedIds(store, 'c'), ['a'], 'events afterwards')
    },
  ),
  check('a rejected append does not call `within`', async ({ store }, rows, prefix) => {
    await begin(store, 'c', [pause('a')])
    const within: Within = (tx) => rows.insert(tx, `${prefix}refused`)
    const append = (fact: Fact, options: AppendOptions = {}) =>
      store.append('c', [fact], { ...options, within })
    await rejectsAll({
      version_conflict: () => append(pause('b'), { expected: 0 }),
      id_conflict: () => append(say('a', 'other')),
      unknown_parent: () => append(pause('b', { parent_id: 'no' })),
      lease_lost: () => append(pause('b'), { lease: { owner: 'o', generation: 1 } }),
      unknown_conversation: () => store.append('d', [pause('b')], { within }),
    })
    equal([await rowsIn(store, rows, prefix), await storedIds(store, 'c')], [[], ['a']], 'rows and events')
  }),
  check('rows and events agree under concurrent appends, some of which fail', async (trial, rows, prefix) => {
    const { store, runsOf } = trial
    const kind = fc.constantFrom('plain', 'rows', 'throws', 'rejects')
    const attempts = fc.array(kind, { minLength: 1, maxLength: 12 })
    const error = new Error('no')
    let run = 0
    await forAll(attempts, runsOf(20), async (kinds) => {
      const id = await begin(store, `c${(run += 1)}`)
      const outcomes = await Promise.allSettled(
        kinds.map((kind, nth) => {
          const text = `${prefix}${id} ${nth}`
          const insert = (tx: unknown): unknown => rows.insert(tx, text)
          const options = {
            plain: {},
            rows: { within: insert },
            throws: { within: failing(rows, text, error) },
            // A store whose transactions are synchronous refuses the promise.
            rejects: {
              within: (tx: unknown) => Promise.resolve(insert(tx)).then(() => Promise.reject(error)),
            },
          }
          return store.append(id, [pause(String(nth))], options[kind])
        }),
      )
      const indices = [...kinds.keys()].map(String)
      const stored = indices.filter((nth) => ['plain', 'rows'].includes(kinds[Number(nth)] ?? '')).toSorted()
      const withRow = indices.filter((nth) => kinds[Number(nth)] === 'rows').toSorted()
      const fulfilled = indices.filter((nth) => outcomes[Number(nth)]?.status === 'fulfilled')
      equal(fulfilled.toSorted(), stored, 'acknowledged appends')
      equal((await storedIds(store, id)).toSorted(), stored, 'events')
      equal(await rowsIn(store, rows, `${prefix}${id} `), withRow, 'rows')
    })
  }),
]
