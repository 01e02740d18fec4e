/** A conversation that another process deletes and makes anew: a process that was told so works with the new one. */

import { afterAll, describe, expect, it } from 'vitest'
import { user } from '../build.ts'
import { parties } from './engines.ts'
import { places } from './places.ts'
import { says } from './script.ts'

const PLACES = places()
afterAll(() => PLACES.remove())

describe.each(PLACES.names)('over %s', (name) => {
  it('nothing of one that was found deleted is left under its id', async () => {
    const [{ engine, conversation: one, end }, { engine: other, end: endTwo }] = await parties(
      await PLACES.make(name),
    )
    await one.append(user('a'))
    const reading = (async () => {
      for await (const _ of one.subscribe());
    })()
    const waiting = one.waitFor('finished')
    // All that wait are told.
    const over = Promise.allSettled([reading, waiting])
    await one.state()
    await other.delete('c')
    for (const { reason } of (await over) as PromiseRejectedResult[])
      expect(reason).toMatchObject({ code: 'unknown_conversation' })
    expect(engine.size).toBe(0)
    const { id } = await other.create({ id: 'c' })
    await (await other.open(id)).append(user('b'))
    const again = await engine.openOrCreate('c')
    expect((await again.waitFor('idle', { signal: AbortSignal.timeout(10_000) })).log.head?.id).toBe('b')
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
})
