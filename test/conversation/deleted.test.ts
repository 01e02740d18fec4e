/** Another process deletes and recreates a conversation: a notified process works with the new one. */

import { afterAll, describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { user } from '../build.ts'
import { parties, party } from './engines.ts'
import { places } from './places.ts'
import { says } from './script.ts'

/** Events with the same ids and times whatever the word; only their text differs. */
const saying = (word: string, count: number, from = 0): Event[] =>
  Array.from({ length: count }, (_, n) => ({
    ...user(`e${from + n}`, `${word} ${from + n}`),
    timestamp: '2026-01-01T00:00:00Z',
  }))

const PLACES = places()
afterAll(() => PLACES.remove())

describe.each(PLACES.names)('a conversation that another engine deletes, over %s', (name) => {
  it('fails pending calls with unknown_conversation, and has only new events when recreated', async () => {
    const [{ engine, conversation: one, end }, { engine: other, end: endTwo }] = await parties(
      await PLACES.make(name),
    )
    await one.append(user('a'))
    const reading = (async () => {
      for await (const _ of one.subscribe());
    })()
    const waiting = one.waitFor('finished')
    // Every waiting call is notified.
    const over = Promise.allSettled([reading, waiting])
    await one.state()
    await other.delete('c')
    for (const { reason } of (await over) as PromiseRejectedResult[])
      expect(reason).toMatchObject({ code: 'unknown_conversation' })
    expect(engine.size).toBe(0)
    const { id } = await other.create({ id: 'c' })
    await (await other.open(id)).append(user('b'))
    const again = await engine.openOrCreate('c')
    expect((await again.waitFor('idle')).log.head?.id).toBe('b')
    const seen: string[] = []
    for await (const item of again.subscribe()) {
      if (item.type === 'caught_up') break
      if (item.type === 'event') seen.push(item.id ?? '')
    }
    expect(seen).toEqual(['b'])
    expect((await again.run(() => [says('Hi')])).status).toBe('finished')
    await end()
    await endTwo()
  })

  it('is read as it is now after a recreation with the same event ids', async () => {
    const [{ conversation: one, end }, { engine, end: endTwo }] = await parties(await PLACES.make(name))
    await one.append(saying('old', 2))
    await one.append({ kind: 'ConversationStateUpdateEvent', id: 'u', key: 'max_iterations', value: 7 })
    expect(JSON.stringify(await one.messages())).toContain('old 0')
    await engine.delete('c')
    const other = await engine.create({ id: 'c' })
    await other.append(saying('new', 2))
    await other.append({ kind: 'ConversationStateUpdateEvent', id: 'u', key: 'max_iterations', value: 8 })
    expect(await one.messages()).toEqual(await other.messages())
    expect((await one.state()).header).toEqual((await other.state()).header)
    await end()
    await endTwo()
  })

  it('is not opened from the snapshot of the deleted log after a recreation', async () => {
    const backend = await PLACES.make(name)
    const [{ conversation: one, store, end }, { engine, end: endTwo }] = await parties(backend)
    await one.append(saying('old', 900))
    await engine.delete('c')
    const other = await engine.create({ id: 'c' })
    await other.append(saying('new', 900))
    // It is not notified, and saves a snapshot of its old state.
    await one.append(saying('more', 200, 900))
    await end()
    expect(await store.loadSnapshot('c').catch(() => 'closed')).not.toEqual([])
    const fresh = await party(backend)
    const messages = JSON.stringify(await fresh.conversation.messages())
    expect([messages.includes('old'), messages.includes('new 0'), messages.includes('more 1099')]).toEqual([
      false,
      true,
      true,
    ])
    await fresh.end()
    await endTwo()
  })
})
