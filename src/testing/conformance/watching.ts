import type { Store, Unwatch } from '../../store/contract/store.ts'
import { equal } from './assert.ts'
import { alsoInTwoProcesses, type Check, test, type Trial } from './check.ts'
import { begin, pause } from './facts.ts'

function wait(
  watchTimeout: number,
  what: string,
  start: (end: (error?: unknown) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what}, after ${watchTimeout} ms`)), watchTimeout)
    start((error) => {
      clearTimeout(timer)
      if (error === undefined) resolve()
      else reject(error instanceof Error ? error : new Error(String(error)))
    })
  })
}

async function isWoken(watching: Store, writing: Store, { watchTimeout }: Trial): Promise<void> {
  const id = await begin(writing, 'c')
  const ids = ['a', 'b', 'd']
  const ends: Unwatch[] = []
  const woken = wait(watchTimeout, 'the watch did not lead to every event', (end) => {
    const wake = (): void => {
      watching.read(id).then((events) => events.length === ids.length && end(), end)
    }
    ends.push(watching.watch(id, wake))
  })
  await Promise.all([woken, ...ids.map((ownId) => writing.append(id, [pause(ownId)]))])
  for (const unwatch of [...ends, ...ends]) unwatch()
}

async function areAllWoken(store: Store, { watchTimeout }: Trial): Promise<void> {
  const ids = [await begin(store, 'c'), await begin(store, 'd')]
  const result = new Set<string>()
  const ends: Unwatch[] = []
  const woken = wait(watchTimeout, 'the watch of all did not lead to every event', (end) => {
    const look = async (id?: string): Promise<void> => {
      for (const one of id === undefined ? ids : [id])
        for (const event of await store.read(one)) result.add(`${one} ${event.id}`)
      if (result.size === ids.length) end()
    }
    ends.push(store.watch(null, (id) => void look(id).catch(end)))
  })
  await Promise.all([woken, ...ids.map((id) => store.append(id, [pause('a')]))])
  for (const unwatch of [...ends, ...ends]) unwatch()
}

async function leadsTo(
  watchTimeout: number,
  watching: Store,
  what: string,
  look: () => Promise<boolean>,
): Promise<void> {
  const ends: Unwatch[] = []
  await wait(watchTimeout, `the watch did not lead to ${what}`, (end) => {
    const wake = (): void => void look().then((shows) => shows && end(), end)
    ends.push(watching.watch('c', wake))
  })
  for (const unwatch of ends) unwatch()
}

/** Watches a conversation while another store deletes it and creates one of equal length. */
async function followsDeletion(watching: Store, writing: Store, { watchTimeout }: Trial): Promise<void> {
  const id = await begin(writing, 'c')
  const showsOnly = (ownValue: string) => async (): Promise<boolean> => {
    const events =
      (await watching.getConversation(id)) === null ? [] : await watching.read(id).catch(() => [])
    return events.length === 1 && events[0]?.id === ownValue
  }
  const isGone = async (): Promise<boolean> => (await watching.getConversation(id)) === null
  // A separate watch, so that the store polls continuously.
  const unwatch = watching.watch(id, () => undefined)
  await Promise.all([
    leadsTo(watchTimeout, watching, 'the first event', showsOnly('old')),
    writing.append(id, [pause('old')]),
  ])
  const again = async (): Promise<void> => {
    await writing.deleteConversation(id)
    await begin(writing, id, [pause('new')])
  }
  await Promise.all([leadsTo(watchTimeout, watching, 'the recreated event', showsOnly('new')), again()])
  await Promise.all([
    leadsTo(watchTimeout, watching, 'the end of the conversation', isGone),
    writing.deleteConversation(id),
  ])
  unwatch()
}

export const WATCHING: readonly Check[] = [
  ...alsoInTwoProcesses(
    [
      'watch: an append wakes the watches of the conversation',
      'watch: an append in another process wakes as well',
    ],
    isWoken,
  ),
  ...alsoInTwoProcesses(
    [
      'watch: a deletion wakes, and so does recreation under the id',
      'watch: a deletion in another process wakes, and so does recreation under the id',
    ],
    followsDeletion,
  ),
  test('watch: an append to any conversation wakes who watches all of them', areAllWoken),
  test('watch: several watches, of a conversation that is yet to be, each ended by itself', async (store, {
    watchTimeout,
  }) => {
    let woken = 0
    const endFirst = store.watch('é 😀', () => (woken += 1))
    const second = wait(watchTimeout, 'the second watch was not woken', (end) => {
      const endSecond = store.watch('é 😀', () => {
        end()
        endSecond()
      })
    })
    endFirst()
    await begin(store, 'é 😀', [pause('a')])
    await second
    equal(woken, 0, 'wakes of a watch that was ended')
  }),
]
