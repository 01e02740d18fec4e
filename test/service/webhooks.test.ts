import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/index.ts'
import { WebhookDispatcher } from '../../src/service/webhooks/dispatcher.ts'
import { delayAfter } from '../../src/conversation/async.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { user } from '../build.ts'
import { QUICK, webhookFixture, ids, once } from './webhook-fixture.ts'
import { wrapStore } from '../conversation/stores.ts'
import { STORES } from './client.ts'
import { SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

const fixture = webhookFixture()
const { append, startWebhook, hasBegun } = fixture

describe.each(Object.entries(STORES))('webhook delivery over %s', (_, make) => {
  it('sends all events in order and in batches, and each change of the conversation', async () => {
    fixture.engine = createEngine({ store: make() })
    await fixture.engine.create({ id: 'a', title: 'A' })
    await append('a', 0, 25)
    startWebhook({ maxBatchEvents: 10 })
    await until(() => fixture.receiver.events('a').length === 25)
    expect(fixture.receiver.events('a')).toEqual(ids(0, 25))
    expect(
      fixture.receiver.all.slice(0, 4).map(({ path, type, sequence }) => `${path} ${type}${sequence}`),
    ).toEqual(['/conversations conversation.created', '/events/a 0-9', '/events/a 10-19', '/events/a 20-24'])
    await fixture.engine.store.updateConversation('a', { title: 'B', public: true })
    const report = await until(() =>
      fixture.receiver
        .accepted('/conversations')
        .find(({ body }) => (body as { title: string }).title === 'B'),
    )
    expect(report.type).toBe('conversation.updated')
    const { fetch } = createService({ engine: fixture.engine })
    const shown = await fetch(new Request('http://localhost/api/conversations/a'))
    expect(report.body).toEqual(await shown.json())
    await append('a', 25, 30)
    await (await fixture.engine.open('a')).pause()
    await until(() =>
      fixture.receiver
        .accepted('/conversations')
        .some(({ body }) => (body as { execution_status: string }).execution_status === 'paused'),
    )
    expect(fixture.receiver.events('a').slice(0, 30)).toEqual(ids(0, 30))
    await (await fixture.engine.open('a')).delete()
    const last = await until(() => fixture.receiver.all.find(({ type }) => type === 'conversation.deleted'))
    expect(last.body).toEqual({ id: 'a', execution_status: 'deleting' })
    const before = fixture.receiver.all.length
    // Two later sweeps would send messages about the deleted conversation first.
    for (const id of ['y', 'z']) {
      await fixture.engine.create({ id })
      await until(() =>
        fixture.receiver.accepted('/conversations').some(({ body }) => (body as { id: string }).id === id),
      )
    }
    const after = fixture.receiver.all.slice(before).map(({ body }) => (body as { id: string }).id)
    expect(after.toSorted()).toEqual(['y', 'z'])
  })

  it('starts with new events for `from: now`, and a second dispatcher resumes there', async () => {
    fixture.engine = createEngine({ store: make() })
    await fixture.engine.create({ id: 'old' })
    await append('old', 0, 5)
    // A conversation created in the same millisecond counts as new.
    const createdAt = Date.now()
    await until(() => Date.now() > createdAt + 10)
    const first = startWebhook({ from: 'now' })
    await hasBegun()
    await append('old', 5, 7)
    await fixture.engine.create({ id: 'new' })
    await append('new', 0, 3)
    await until(
      () => fixture.receiver.events('old').length === 2 && fixture.receiver.events('new').length === 3,
    )
    await first.close()
    await append('old', 7, 9)
    await append('new', 3, 4)
    startWebhook({ from: 'now' })
    // Messages in flight when the first was closed are sent again.
    const names = ['old', 'new']
    await until(() => names.every((id) => once(fixture.receiver.events(id)).length === 4))
    expect(names.map((id) => once(fixture.receiver.events(id)))).toEqual([ids(5, 9), ids(0, 4)])
  })
})

/** The engine's store with another list function. */
const withList = (listConversations: Store['listConversations']): Store =>
  wrapStore(fixture.engine.store, { listConversations })

describe('a webhook with `from: now`', () => {
  it('gets whole logs of conversations created during its start, also if its process dies', async () => {
    const { store } = fixture.engine
    await fixture.engine.create({ id: 'old' })
    await append('old', 0, 5)
    await new Promise((resolve) => setTimeout(resolve, 3))
    const creatingEngine = fixture.engine
    let lives = 0
    const list: Store['listConversations'] = async (query) => {
      if (query?.createdAtGte === undefined) return store.listConversations(query)
      lives += 1
      const id = `during${lives}`
      await creatingEngine.create({ id })
      await (await creatingEngine.open(id)).append([user(`${id}-1`), user(`${id}-2`)])
      if (lives < 3) throw new ColloquyError('store_closed', 'The process died.', {})
      return store.listConversations(query)
    }
    for (let life = 1; life <= 3; life += 1) {
      fixture.engine = createEngine({ store: withList(list) })
      startWebhook({ from: 'now' })
      await until(() => lives === life)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(() => [1, 2, 3].every((life) => fixture.receiver.events(`during${life}`).length === 2))
    await append('old', 5, 6)
    await until(() => fixture.receiver.events('old').length > 0)
    expect(fixture.receiver.events('old')).toEqual(['e5'])
    expect([1, 2, 3].map((life) => fixture.receiver.events(`during${life}`))).toEqual(
      [1, 2, 3].map((life) => [`during${life}-1`, `during${life}-2`]),
    )
    await creatingEngine.close()
  })

  it('does not delay other webhooks while its start hangs', async () => {
    await fixture.engine.create({ id: 'a' })
    await append('a', 0, 3)
    const { store } = fixture.engine
    const never = Promise.withResolvers<never>()
    let hasListed = false
    fixture.engine = createEngine({
      store: withList(async (query) => {
        if (query?.createdAtGte === undefined) return store.listConversations(query)
        hasListed = true
        return never.promise
      }),
    })
    const slow = { id: 'slow', url: `${fixture.receiver.url}/slow`, secret: SECRET }
    const quick = { id: 'quick', url: fixture.receiver.url, secret: SECRET, from: 'start' } as const
    const both = new WebhookDispatcher(fixture.engine, [slow, quick], QUICK)
    both.start()
    fixture.ends.push(
      () => both.close(),
      () => never.reject(new ColloquyError('store_closed', 'It is over.', {})),
    )
    await until(() => fixture.receiver.events('a').length === 3)
    expect(hasListed).toBe(true)
  })
})

describe('`WebhookDispatcher`', () => {
  it.each([
    [{ url: 'ftp://x/' }, /http/],
    [{ url: 'http://a:b@x/' }, /user/],
    [{ url: 'nonsense' }, /http/],
    [{ secret: 'short' }, /16/],
    [{ maxBatchEvents: 0 }, /maxBatchEvents/],
    [{ timeout: Number.NaN }, /timeout/],
    [{ id: '' }, /id/],
    [{ maxRetryDelay: 2 ** 31 }, /maxRetry/],
    [{ headers: { 'a b': 'c' } }, /valid HTTP names and values/],
    [{ url: 'https://h/x?token=sesame', secret: 'short' }, /^(?!.*sesame)/],
  ])('rejects %j', (wrong, message) => {
    expect(
      () => new WebhookDispatcher(fixture.engine, [{ url: fixture.receiver.url, secret: SECRET, ...wrong }]),
    ).toThrow(message)
  })

  it('rejects two webhooks with the same id', () => {
    const hook = { url: fixture.receiver.url, secret: SECRET }
    expect(() => new WebhookDispatcher(fixture.engine, [hook, hook])).toThrow(/same id/)
  })

  it('doubles its retry delay up to the maximum, with random jitter', () => {
    const waits = Array.from({ length: 200 }, (_, index) =>
      delayAfter(index + 1, { retryDelay: 10, maxRetryDelay: 1_000 }),
    )
    expect(
      waits.every((wait, index) => wait >= maxDelayAfter(index + 1) / 2 && wait <= maxDelayAfter(index + 1)),
    ).toBe(true)
    expect(new Set(waits.slice(50)).size).toBeGreaterThan(100)
  })
})

const maxDelayAfter = (tries: number): number => Math.min(1_000, 10 * 2 ** (tries - 1))
