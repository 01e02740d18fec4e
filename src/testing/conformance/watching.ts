import type { Store } from '../../store/contract/store.ts'
import { equal } from './assert.ts'
import { alsoInTwoProcesses, type Check, test, type Trial } from './check.ts'
import { begin, pause, pauses } from './facts.ts'

/**
 * Watches a conversation (null: all conversations), and calls `look` at each notification until `look`
 * returns true.
 */
async function leadsTo(
  { watchTimeout }: Trial,
  watching: Store,
  id: string | null,
  what: string,
  look: (changed: string | undefined) => Promise<boolean>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = new Error(`no notification of ${what} within ${watchTimeout} ms`)
  const timer = setTimeout(() => reject(late), watchTimeout)
  const unwatch = watching.watch(id, (changed) => {
    look(changed).then((isThere) => isThere && resolve(), reject)
  })
  try {
    await promise
  } finally {
    clearTimeout(timer)
    unwatch()
    unwatch()
  }
}

async function isWoken(watching: Store, writing: Store, trial: Trial): Promise<void> {
  const id = await begin(writing, 'c')
  const events = pauses(3)
  const areThere = async (): Promise<boolean> => (await watching.read(id)).length === events.length
  const woken = leadsTo(trial, watching, id, 'every event', areThere)
  await Promise.all([woken, ...events.map((event) => writing.append(id, [event]))])
}

async function areAllWoken(store: Store, trial: Trial): Promise<void> {
  const ids = [await begin(store, 'c'), await begin(store, 'd')]
  const seen = new Set<string>()
  const areThere = async (changed?: string): Promise<boolean> => {
    for (const id of changed === undefined ? ids : [changed])
      if ((await store.read(id)).length > 0) seen.add(id)
    return seen.size === ids.length
  }
  const woken = leadsTo(trial, store, null, 'every event', areThere)
  await Promise.all([woken, ...ids.map((id) => store.append(id, [pause('a')]))])
}

/** Watches a conversation while another store deletes it and creates it again with a log of equal length. */
async function followsDeletion(watching: Store, writing: Store, trial: Trial): Promise<void> {
  const id = await begin(writing, 'c')
  const isGone = async (): Promise<boolean> => (await watching.getConversation(id)) === null
  const showsOnly = (eventId: string) => async (): Promise<boolean> => {
    const events = (await isGone()) ? [] : await watching.read(id).catch(() => [])
    return events.length === 1 && events[0]?.id === eventId
  }
  const recreate = async (): Promise<void> => {
    await writing.deleteConversation(id)
    await begin(writing, id, [pause('new')])
  }
  // A separate watch, so that the store polls continuously.
  const unwatch = watching.watch(id, () => undefined)
  for (const [what, look, write] of [
    ['the first event', showsOnly('old'), () => writing.append(id, [pause('old')])],
    ['the recreated event', showsOnly('new'), recreate],
    ['the end of the conversation', isGone, () => writing.deleteConversation(id)],
  ] as const)
    await Promise.all([leadsTo(trial, watching, id, what, look), write()])
  unwatch()
}

export const WATCHING: readonly Check[] = [
  ...alsoInTwoProcesses(
    'watch: an append notifies the watchers of the conversation',
    'watch: an append in another process notifies the watchers',
    isWoken,
  ),
  ...alsoInTwoProcesses(
    'watch: a deletion, and recreation with the same id, notify the watchers',
    'watch: a deletion in another process, and recreation with the same id, notify the watchers',
    followsDeletion,
  ),
  test('watch: an append to any conversation notifies a watcher of all conversations', areAllWoken),
  test('watch: a conversation can have several watchers before it exists, each ended separately', async (store, trial) => {
    let woken = 0
    const endFirst = store.watch('é 😀', () => (woken += 1))
    const endSecond = store.watch('é 😀', () => endSecond())
    const third = leadsTo(trial, store, 'é 😀', 'the third watcher', async () => true)
    endFirst()
    await begin(store, 'é 😀', [pause('a')])
    await third
    equal(woken, 0, 'notifications of an ended watch')
  }),
]
