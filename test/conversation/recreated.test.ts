/** Another engine deletes and recreates a conversation: an engine that had it open works with the new one. */

import { afterAll, describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { user } from '../build.ts'
import { openEngines, openEngine } from './engines.ts'
import { backends } from './backends.ts'
import { says } from './script.ts'

/** Events whose ids and timestamps do not depend on the text. */
const messagesWith = (word: string, count: number, from = 0): Event[] =>
  Array.from({ length: count }, (_, n) => ({
    ...user(`e${from + n}`, `${word} ${from + n}`),
    timestamp: '2026-01-01T00:00:00Z',
  }))

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

describe.each(BACKENDS.names)('a conversation that another engine deletes, over %s', (name) => {
  it('fails pending calls with unknown_conversation, and has only new events when recreated', async () => {
    const [{ engine, conversation: one, close }, { engine: other, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
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
    await close()
    await closeTwo()
  })

  it('is read as it is now after a recreation with the same event ids', async () => {
    const [{ conversation: one, close }, { engine, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    await one.append(messagesWith('old', 2))
    await one.append({ kind: 'ConversationStateUpdateEvent', id: 'u', key: 'max_iterations', value: 7 })
    expect(JSON.stringify(await one.messages())).toContain('old 0')
    await engine.delete('c')
    const other = await engine.create({ id: 'c' })
    await other.append(messagesWith('new', 2))
    await other.append({ kind: 'ConversationStateUpdateEvent', id: 'u', key: 'max_iterations', value: 8 })
    expect(await one.messages()).toEqual(await other.messages())
    expect((await one.state()).header).toEqual((await other.state()).header)
    await close()
    await closeTwo()
  })

  it('is not opened from the snapshot of the deleted log after a recreation', async () => {
    const backend = await BACKENDS.make(name)
    const [{ conversation: one, store, close }, { engine, close: closeTwo }] = await openEngines(backend)
    await one.append(messagesWith('old', 900))
    await engine.delete('c')
    const other = await engine.create({ id: 'c' })
    await other.append(messagesWith('new', 900))
    // This engine has not noticed the recreation, and saves a snapshot of its state.
    await one.append(messagesWith('more', 200, 900))
    await close()
    expect(await store.loadSnapshot('c').catch(() => 'closed')).not.toEqual([])
    const fresh = await openEngine(backend)
    const messages = JSON.stringify(await fresh.conversation.messages())
    expect([messages.includes('old'), messages.includes('new 0'), messages.includes('more 1099')]).toEqual([
      false,
      true,
      true,
    ])
    await fresh.close()
    await closeTwo()
  })
})
