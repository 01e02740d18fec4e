import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { collectionsOf } from '../../src/service/webhooks/delivery-cursor.ts'
import { WebhookDispatcher } from '../../src/service/webhooks/dispatcher.ts'
import type { ItemChange } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import { QUICK, webhookFixture, ids, once } from './webhook-fixture.ts'
import { SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

const fixture = webhookFixture()
const { append, startWebhook } = fixture

describe('webhook delivery', () => {
  it('repeats a failed message with the same id until the receiver accepts it', async () => {
    await fixture.engine.create({ id: 'a' })
    await append('a', 0, 3)
    fixture.receiver.answers.push(200, 500, 400, 429, 302)
    const failures: string[] = []
    startWebhook({}, { onFailure: (error) => failures.push(String(error)) })
    await until(() => fixture.receiver.events('a').length === 3)
    const tries = fixture.receiver.all.filter(({ path }) => path === '/events/a')
    expect(tries.map(({ answered }) => answered)).toEqual([500, 400, 429, 302, 200])
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1)
    expect(failures).toHaveLength(4)
    expect(failures[0]).toContain('500')
  })

  it('times out, and repeats the same message although the log has grown', async () => {
    await fixture.engine.create({ id: 'a' })
    await append('a', 0, 3)
    const hangs = (): boolean => fixture.receiver.all.some(({ answered }) => answered === 'hangs')
    fixture.receiver.always = (path) => (path === '/events/a' && !hangs() ? 'hang' : null)
    startWebhook({ timeout: 100 })
    await until(hangs)
    await append('a', 3, 6)
    // On a busy machine a response can be too late, too.
    await until(() => once(fixture.receiver.events('a')).length === 6)
    expect(once(fixture.receiver.events('a'))).toEqual(ids(0, 6))
    const [hung, again] = fixture.receiver.all.filter(({ path }) => path === '/events/a')
    expect(again?.id).toBe(hung?.id)
    expect(again?.body).toEqual(hung?.body)
  })

  it('continues with other conversations while the receiver rejects one', async () => {
    for (const id of ['bad', 'good']) {
      await fixture.engine.create({ id })
      await append(id, 0, 5)
    }
    fixture.receiver.always = (path) => (path === '/events/bad' ? 400 : null)
    startWebhook({ concurrency: 1 })
    await until(() => fixture.receiver.events('good').length === 5)
    await until(() => fixture.receiver.all.filter(({ path }) => path === '/events/bad').length > 2)
    fixture.receiver.always = () => null
    await until(() => fixture.receiver.events('bad').length === 5)
    expect(fixture.receiver.events('bad')).toEqual(ids(0, 5))
  })

  it('uses at most half of its concurrency for retries that hang', async () => {
    const wedged = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']
    for (const id of [...wedged, 'good']) await fixture.engine.create({ id })
    const quick = { concurrency: 4, retryDelay: 1, maxRetryDelay: 1 }
    const first = startWebhook(quick)
    const created = (): number => fixture.receiver.accepted('/conversations').length
    await until(() => created() === 7)
    // Requests of the first may be answered after it is closed, so the second uses another path.
    fixture.receiver.always = (path) =>
      !/\/w\d$/.test(path) ? null : path.startsWith('/second') ? 'hang' : 500
    for (const id of wedged) await append(id, 0, 1)
    const { failing } = collectionsOf('hook')
    await until(async () => (await fixture.engine.store.listItems(failing)).items.length === 6)
    await first.close()
    const hanging = (): number => fixture.receiver.all.filter(({ answered }) => answered === 'hangs').length
    const url = `${fixture.receiver.url}/second`
    startWebhook({ ...quick, url, timeout: 600_000 }, { leaseTtl: 600_000 })
    await until(() => hanging() >= 2)
    for (let round = 0; round < 5; round += 1) {
      await append('good', round, round + 1)
      await until(() => fixture.receiver.accepted('/second/events/good').length === round + 1)
    }
    expect(hanging()).toBe(2)
  })

  it.each([300, 2_000, 10_000])(
    'splits batches for a receiver that accepts %d bytes, and keeps the order',
    async (limit) => {
      await fixture.engine.create({ id: 'c' })
      await fixture.append('c', 0, 40)
      const failures: unknown[] = []
      fixture.receiver.always = (path, bytes) => (path.startsWith('/events') && bytes > limit ? 413 : null)
      const webhook = { kinds: ['MessageEvent'], maxBatchEvents: 32 } as const
      fixture.startWebhook(webhook, { onFailure: (error) => failures.push(error) })
      await until(() => fixture.receiver.events('c').length >= 40)
      expect(fixture.receiver.events('c')).toEqual(ids(0, 40))
      expect(failures).toEqual([])
      // The size at most doubles after a batch that fits, so at most every second request is rejected.
      const rejected = fixture.receiver.all.filter(({ answered }) => answered === 413)
      expect(rejected.length).toBeLessThanOrEqual(fixture.receiver.all.length - rejected.length + 5)
    },
  )

  it('reports a failure and retries when the receiver answers 413 to a single event', async () => {
    await fixture.engine.create({ id: 'c' })
    await fixture.append('c', 0, 5)
    const failures: unknown[] = []
    fixture.receiver.always = (path) => (path.startsWith('/events') ? 413 : null)
    fixture.startWebhook({}, { onFailure: (error) => failures.push(error) })
    await until(() => failures.length > 1)
    expect(String(failures[0])).toContain('413')
    fixture.receiver.always = () => null
    await until(() => fixture.receiver.events('c').length >= 5)
    expect(fixture.receiver.events('c')).toEqual(ids(0, 5))
  })

  it('is not delayed by another webhook whose receiver hangs', async () => {
    fixture.receiver.always = (path) => (path.startsWith('/wedged') ? 'hang' : null)
    const quick = { id: 'quick', url: fixture.receiver.url, secret: SECRET, from: 'start' } as const
    const wedged = { ...quick, id: 'wedged', url: `${fixture.receiver.url}/wedged` }
    for (const id of ['a', 'b', 'c']) {
      await fixture.engine.create({ id })
      await append(id, 0, 5)
    }
    const both = new WebhookDispatcher(fixture.engine, [wedged, quick], QUICK)
    both.start()
    fixture.ends.push(() => both.close())
    await until(() => ['a', 'b', 'c'].every((id) => fixture.receiver.events(id).length === 5))
    expect(fixture.receiver.all.some(({ path }) => path.startsWith('/wedged'))).toBe(true)
  })

  it('counts a message as delivered although the response body never ends', async () => {
    fixture.receiver.always = () => 'flood'
    await fixture.engine.create({ id: 'a' })
    await append('a', 0, 20)
    startWebhook({ maxBatchEvents: 2, timeout: 60_000 })
    await until(() => fixture.receiver.events('a').length === 20)
    expect(fixture.receiver.events('a')).toEqual(ids(0, 20))
  })

  it('sends all events after the receiver restarts', async () => {
    await fixture.engine.create({ id: 'a' })
    startWebhook({ maxBatchEvents: 4 })
    await append('a', 0, 10)
    await until(() => fixture.receiver.events('a').length > 0)
    await fixture.receiver.stop()
    await append('a', 10, 40)
    await new Promise((resolve) => setTimeout(resolve, 150))
    await fixture.receiver.start()
    await until(() => once(fixture.receiver.events('a')).length === 40)
    expect(once(fixture.receiver.events('a'))).toEqual(ids(0, 40))
  })
})

describe('webhook dispatchers', () => {
  it('deliver each event once and in order, and a remaining one continues when the others close', async () => {
    await fixture.engine.create({ id: 'a' })
    // Another dispatcher continues after a part of this time.
    const many = [1, 2, 3].map(() => startWebhook({ maxBatchEvents: 3 }, { leaseTtl: 3_000 }))
    for (let index = 0; index < 60; index += 5) {
      await append('a', index, index + 5)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(() => fixture.receiver.events('a').length >= 60)
    expect(fixture.receiver.events('a')).toEqual(ids(0, 60))
    // The delivering dispatcher closes; another continues.
    for (const one of many.slice(0, 2)) await one.close()
    await append('a', 60, 70)
    await until(() => once(fixture.receiver.events('a')).length === 70)
    expect(once(fixture.receiver.events('a'))).toEqual(ids(0, 70))
  })

  it('write cursors and failures only with an expected version', async () => {
    const { store } = fixture.engine
    const written: (readonly ItemChange[])[] = []
    const changeItems: Store['changeItems'] = (changes) => {
      written.push(changes)
      return store.changeItems(changes)
    }
    fixture.engine = createEngine({ store: wrapStore(store, { changeItems }) })
    await fixture.engine.create({ id: 'a' })
    await append('a', 0, 5)
    const dispatcher = startWebhook({ maxBatchEvents: 2 })
    await until(() => fixture.receiver.events('a').length === 5)
    await fixture.engine.delete('a')
    await until(() => fixture.receiver.all.find(({ type }) => type === 'conversation.deleted'))
    await dispatcher.close()
    const { cursors, failing } = collectionsOf('hook')
    const deliveryChanges = written.flat().filter(({ collection }) => [cursors, failing].includes(collection))
    expect(deliveryChanges.length).toBeGreaterThan(3)
    for (const { expected } of deliveryChanges) expect(expected).not.toBe(undefined)
  })
})
