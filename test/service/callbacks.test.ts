/** Webhooks over real HTTP: everything in the log arrives, in order, whatever the receiver and the sender go through. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { digestOf } from '../../src/service/webhooks/payloads.ts'
import { collectionsOf } from '../../src/service/webhooks/delivery-cursor.ts'
import { WebhookDispatcher, type WebhookDispatcherOptions } from '../../src/service/webhooks/dispatcher.ts'
import { signWebhook, verifyWebhook } from '../../src/service/webhooks/sign.ts'
import { addressOf, waitBefore, type WebhookOptions } from '../../src/service/webhooks/webhook.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { ItemChange } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { agent, user } from '../build.ts'
import { STORES } from './client.ts'
import { mortal } from './mortal-store.ts'
import { Receiver, SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

let receiver: Receiver
let engine: Engine
const ends: (() => Promise<unknown> | void)[] = []

const QUICK: WebhookDispatcherOptions = { pollInterval: 15, leaseTtl: 300 }

function callbacks(
  webhook: Partial<WebhookOptions> = {},
  options: WebhookDispatcherOptions = {},
): WebhookDispatcher {
  const made = new WebhookDispatcher(
    engine,
    [
      {
        id: 'hook',
        url: receiver.url,
        secret: SECRET,
        retryDelay: 20,
        maxRetryDelay: 100,
        from: 'start',
        ...webhook,
      },
    ],
    { ...QUICK, ...options },
  )
  made.start()
  ends.push(() => made.close())
  return made
}

const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `e${from + at}`)
const append = async (id: string, from: number, to: number): Promise<void> => {
  const conversation = await engine.open(id)
  await conversation.append(ids(from, to).map((one) => user(one)))
}
/** Resolves when the webhook has written down what was there before it. */
const hasBegun = (): Promise<unknown> =>
  until(async () => {
    const { items } = await engine.store.listItems('webhooks')
    return items.some(({ body }) => body['done'] === true)
  })
/** Ids without what was repeated. */
const once = (list: readonly string[]): string[] => [...new Set(list)]

beforeEach(async () => {
  receiver = await new Receiver().start()
  engine = createEngine({ store: memoryStore() })
})

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
  await engine.close()
  expect(receiver.forged).toBe(0)
  await receiver.stop()
})

describe.each(Object.entries(STORES))('delivering, over %s', (_, make) => {
  it('tells of all events in order, in bounded batches, and of the conversation before, between and after', async () => {
    engine = createEngine({ store: make() })
    await engine.create({ id: 'a', title: 'A' })
    await append('a', 0, 25)
    callbacks({ maxBatchEvents: 10 })
    await until(() => receiver.events('a').length === 25)
    expect(receiver.events('a')).toEqual(ids(0, 25))
    expect(receiver.all.slice(0, 4).map(({ path, type, sequence }) => `${path} ${type}${sequence}`)).toEqual([
      '/conversations conversation.created',
      '/events/a 0-9',
      '/events/a 10-19',
      '/events/a 20-24',
    ])
    await engine.store.updateConversation('a', { title: 'B', public: true })
    const told = await until(() =>
      receiver.taken('/conversations').find(({ body }) => (body as { title: string }).title === 'B'),
    )
    expect(told.type).toBe('conversation.updated')
    await append('a', 25, 30)
    await (await engine.open('a')).pause()
    await until(() =>
      receiver
        .taken('/conversations')
        .some(({ body }) => (body as { execution_status: string }).execution_status === 'paused'),
    )
    expect(receiver.events('a').slice(0, 30)).toEqual(ids(0, 30))
    await (await engine.open('a')).delete()
    const last = await until(() => receiver.all.find(({ type }) => type === 'conversation.deleted'))
    expect(last.body).toEqual({ id: 'a', execution_status: 'deleting' })
    const before = receiver.all.length
    // Whatever else there was to say of it would be said before what comes now has been swept twice.
    for (const id of ['y', 'z']) {
      await engine.create({ id })
      await until(() =>
        receiver.taken('/conversations').some(({ body }) => (body as { id: string }).id === id),
      )
    }
    const after = receiver.all.slice(before).map(({ body }) => (body as { id: string }).id)
    expect(after.toSorted()).toEqual(['y', 'z'])
  })

  it('begins with what comes from now on, unless told otherwise, and goes on where it was', async () => {
    engine = createEngine({ store: make() })
    await engine.create({ id: 'old' })
    await append('old', 0, 5)
    // What is created in the same millisecond counts as new.
    const made = Date.now()
    await until(() => Date.now() > made + 10)
    const first = callbacks({ from: 'now' })
    await hasBegun()
    await append('old', 5, 7)
    await engine.create({ id: 'new' })
    await append('new', 0, 3)
    await until(() => receiver.events('old').length === 2 && receiver.events('new').length === 3)
    await first.close()
    await append('old', 7, 9)
    await append('new', 3, 4)
    callbacks({ from: 'now' })
    // What was on its way when the first was closed is sent again.
    const names = ['old', 'new']
    await until(() => names.every((id) => once(receiver.events(id)).length === 4))
    expect(names.map((id) => once(receiver.events(id)))).toEqual([ids(5, 9), ids(0, 4)])
  })
})

/** The store of the engine, with a list of its own. */
function withList(list: Store['listConversations']): Store {
  return new Proxy(engine.store, {
    get(target, name) {
      const value: unknown = name === 'listConversations' ? list : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe('a webhook that begins with now', () => {
  it('is told of conversations created while it begins as a whole, also when its process dies meanwhile', async () => {
    const { store } = engine
    await engine.create({ id: 'old' })
    await append('old', 0, 5)
    await new Promise((resolve) => setTimeout(resolve, 3))
    const own = engine
    let lives = 0
    const list: Store['listConversations'] = async (query) => {
      if (query?.createdAtGte === undefined) return store.listConversations(query)
      lives += 1
      const id = `during${lives}`
      await own.create({ id })
      await (await own.open(id)).append([user(`${id}-1`), user(`${id}-2`)])
      if (lives < 3) throw new ColloquyError('store_closed', 'The process died.', {})
      return store.listConversations(query)
    }
    for (let life = 1; life <= 3; life += 1) {
      engine = createEngine({ store: withList(list) })
      callbacks({ from: 'now' })
      await until(() => lives === life)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(() => [1, 2, 3].every((life) => receiver.events(`during${life}`).length === 2))
    await append('old', 5, 6)
    await until(() => receiver.events('old').length > 0)
    expect(receiver.events('old')).toEqual(['e5'])
    expect([1, 2, 3].map((life) => receiver.events(`during${life}`))).toEqual(
      [1, 2, 3].map((life) => [`during${life}-1`, `during${life}-2`]),
    )
    await own.close()
  })

  it('delays no other webhook', async () => {
    await engine.create({ id: 'a' })
    await append('a', 0, 3)
    const { store } = engine
    const never = Promise.withResolvers<never>()
    let asked = false
    engine = createEngine({
      store: withList(async (query) => {
        if (query?.createdAtGte === undefined) return store.listConversations(query)
        asked = true
        return never.promise
      }),
    })
    const slow = { id: 'slow', url: `${receiver.url}/slow`, secret: SECRET }
    const quick = { id: 'quick', url: receiver.url, secret: SECRET, from: 'start' } as const
    const both = new WebhookDispatcher(engine, [slow, quick], QUICK)
    both.start()
    ends.push(
      () => both.close(),
      () => never.reject(new ColloquyError('store_closed', 'It is over.', {})),
    )
    await until(() => receiver.events('a').length === 3)
    expect(asked).toBe(true)
  })
})

describe('what is sent', () => {
  it('is the same message after a crash, however many events there are by then', async () => {
    await engine.create({ id: 'a' })
    await append('a', 0, 3)
    receiver.answers.push(200, 'lose')
    const first = callbacks({ retryDelay: 300, maxRetryDelay: 300 })
    await until(() => receiver.all.length === 2)
    await first.close()
    await append('a', 3, 5)
    callbacks()
    await until(() => receiver.events('a').length === 5)
    const messages = receiver.all.filter(({ path }) => path === '/events/a')
    expect(messages.map(({ sequence }) => sequence)).toEqual(['0-2', '0-2', '3-4'])
    expect(messages[1]?.id).toBe(messages[0]?.id)
  })

  it('tells of a deletion where the creation may have been heard of before a crash', async () => {
    await engine.create({ id: 'a' })
    receiver.answers.push('lose')
    // One that is killed keeps nothing more, while one that is closed still may.
    const own = mortal(engine.store)
    const killed = createEngine({ store: own.store })
    const first = new WebhookDispatcher(
      killed,
      [
        {
          id: 'hook',
          url: receiver.url,
          secret: SECRET,
          from: 'start',
          retryDelay: 300,
          maxRetryDelay: 300,
        },
      ],
      QUICK,
    )
    first.start()
    await until(() => receiver.all.length === 1)
    own.dieAfter(0)
    await first.close()
    await killed.close().catch(() => undefined)
    await engine.delete('a')
    callbacks()
    await until(() => receiver.all.length === 2)
    expect(receiver.all.map(({ type }) => type)).toEqual(['conversation.created', 'conversation.deleted'])
  })

  it('tells a conversation from an earlier one with its id', async () => {
    callbacks()
    for (const round of [0, 1, 2]) {
      if (round > 0) await engine.delete('a')
      await engine.create({ id: 'a' })
      await append('a', 10 * round, 10 * round + 2)
      await until(() => receiver.events('a').length === 2 * (round + 1))
      await new Promise((resolve) => setTimeout(resolve, 3))
    }
    const types = receiver.taken('/conversations').map(({ type }) => type.slice('conversation.'.length))
    expect(types.filter((type) => type !== 'updated')).toEqual([
      'created',
      'deleted',
      'created',
      'deleted',
      'created',
    ])
    const ids = receiver.all.filter(({ type }) => type !== 'conversation.updated').map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('goes below the path of the URL, whatever an id looks like, with the headers of the webhook', async () => {
    for (const id of ['..', 'a?b#c', 'ä/\u{1F600}']) {
      await engine.create({ id })
      await (await engine.open(id)).append([user('u')])
    }
    callbacks({
      url: `${receiver.url}/?token=t`,
      headers: { 'Content-Type': 'text/plain', 'Webhook-Id': 'mine' },
    })
    await until(() => receiver.all.length >= 6)
    expect(
      receiver.all
        .map(({ path }) => path)
        .filter((path) => path.startsWith('/events'))
        .toSorted(),
    ).toEqual(['/events/%2E%2E?token=t', '/events/a?b#c?token=t', '/events/ä/\u{1F600}?token=t'])
    const { href } = addressOf({ url: 'https://h/a/?t=1#x' }, '/conversations')
    expect(href).toBe('https://h/a/conversations?t=1')
  })

  it('holds no secret, no delta, nothing of other kinds than wanted, and nothing of the service itself', async () => {
    await engine.create({ id: 'a/b c' })
    const conversation = await engine.open('a/b c')
    const llm_message = {
      role: 'assistant',
      content: [{ type: 'text', text: 'g1' }],
      responses_reasoning_item: { id: 'r', encrypted_content: 'gAAAsecret' },
    } as const
    await conversation.append([
      user('u1'),
      agent('g1', [], { llm_message }),
      { kind: 'PauseEvent', id: 'p1' },
    ])
    conversation.publish({ kind: 'StreamingDeltaEvent', source: 'agent', content: 'x' })
    callbacks({ kinds: ['MessageEvent'], headers: { 'x-of-mine': '1' } })
    await until(() => receiver.events('a/b c').length === 2)
    await conversation.append(user('u2'))
    await until(() => receiver.events('a/b c').includes('u2'))
    expect(receiver.events('a/b c')).toEqual(['u1', 'g1', 'u2'])
    expect(JSON.stringify(receiver.all)).not.toContain('gAAAsecret')
    expect(JSON.stringify(receiver.all)).toContain('"encrypted_content":null')
    expect(new Set(receiver.all.map(({ path }) => path))).toEqual(
      new Set(['/conversations', '/events/a/b c']),
    )
  })

  it('is bounded in bytes, unless one event alone is larger', async () => {
    await engine.create({ id: 'a' })
    const conversation = await engine.open('a')
    for (const [at, size] of [10, 400, 5_000, 10, 10, 10, 700, 700].entries()) {
      await conversation.append(user(`e${at}`, 'x'.repeat(size)))
    }
    callbacks({ maxBatchBytes: 2_000 })
    await until(() => receiver.events('a').length === 8)
    expect(receiver.events('a')).toEqual(ids(0, 8))
    for (const { body, bytes } of receiver.taken('/events/a')) {
      expect(bytes <= 2_000 || (body as unknown[]).length === 1).toBe(true)
    }
    expect(receiver.taken('/events/a').length).toBeLessThan(8)
  })

  it('is signed by the Standard Webhooks rules', async () => {
    // From the specification's own example.
    const headers = await signWebhook(
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330,
      '{"test": 2432232314}',
    )
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
    const body = '[1]'
    const signed = await signWebhook(SECRET, 'm1', 1_000, body)
    const check = (change: Record<string, string>, given = body, now = 1_000): Promise<boolean> =>
      verifyWebhook(SECRET, { ...signed, ...change }, given, { now })
    expect(
      await Promise.all([
        check({}),
        check({ 'webhook-signature': `v1,AAAA ${signed['webhook-signature']}` }),
        check({}, '[2]'),
        check({ 'webhook-id': 'm2' }),
        check({ 'webhook-timestamp': '1001' }),
        check({}, body, 1_301),
        check({ 'webhook-signature': '' }),
        check({ 'webhook-signature': 'v1,%%%' }),
        verifyWebhook('another secret, as long', signed, body, { now: 1_000 }),
      ]),
    ).toEqual([true, true, false, false, false, false, false, false, false])
  })
})

describe('a receiver that', () => {
  it('fails is told again, later each time, with the same id, until it takes it', async () => {
    await engine.create({ id: 'a' })
    await append('a', 0, 3)
    receiver.answers.push(200, 500, 400, 429, 302)
    const failures: string[] = []
    callbacks({}, { onFailure: (error) => failures.push(String(error)) })
    await until(() => receiver.events('a').length === 3)
    const tries = receiver.all.filter(({ path }) => path === '/events/a')
    expect(tries.map(({ answered }) => answered)).toEqual([500, 400, 429, 302, 200])
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1)
    expect(failures).toHaveLength(4)
    expect(failures[0]).toContain('500')
  })

  it('hangs is given up, and told again what it was told, though there is more by then', async () => {
    await engine.create({ id: 'a' })
    await append('a', 0, 3)
    receiver.answers.push(200, 'hang')
    callbacks({ timeout: 100 })
    await until(() => receiver.all.some(({ answered }) => answered === 'hangs'))
    await append('a', 3, 6)
    await until(() => receiver.events('a').length === 6)
    expect(receiver.events('a')).toEqual(ids(0, 6))
    const [hung, again] = receiver.all.filter(({ path }) => path === '/events/a')
    expect(again?.id).toBe(hung?.id)
    expect(again?.body).toEqual(hung?.body)
  })

  it('refuses one conversation holds up no other', async () => {
    for (const id of ['bad', 'good']) {
      await engine.create({ id })
      await append(id, 0, 5)
    }
    receiver.always = (path) => (path === '/events/bad' ? 400 : null)
    callbacks({ concurrency: 1 })
    await until(() => receiver.events('good').length === 5)
    await until(() => receiver.all.filter(({ path }) => path === '/events/bad').length > 2)
    receiver.always = () => null
    await until(() => receiver.events('bad').length === 5)
    expect(receiver.events('bad')).toEqual(ids(0, 5))
  })

  it('hangs for what it refused before leaves half of the requests to the others', async () => {
    const wedged = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']
    for (const id of [...wedged, 'good']) await engine.create({ id })
    const quick = { concurrency: 4, retryDelay: 1, maxRetryDelay: 1 }
    const first = callbacks(quick)
    const created = (): number => receiver.taken('/conversations').length
    await until(() => created() === 7)
    // What the first had asked for may be answered when it is closed: the second asks elsewhere.
    receiver.always = (path) => (!/\/w\d$/.test(path) ? null : path.startsWith('/second') ? 'hang' : 500)
    for (const id of wedged) await append(id, 0, 1)
    const { failing } = collectionsOf('hook')
    await until(async () => (await engine.store.listItems(failing)).items.length === 6)
    await first.close()
    const hanging = (): number => receiver.all.filter(({ answered }) => answered === 'hangs').length
    const url = `${receiver.url}/second`
    callbacks({ ...quick, url, timeout: 600_000 }, { leaseTtl: 600_000 })
    await until(() => hanging() >= 2)
    for (let round = 0; round < 5; round += 1) {
      await append('good', round, round + 1)
      await until(() => receiver.taken('/second/events/good').length === round + 1)
    }
    expect(hanging()).toBe(2)
  })

  it('hangs for good delays no other webhook', async () => {
    receiver.always = (path) => (path.startsWith('/wedged') ? 'hang' : null)
    const quick = { id: 'quick', url: receiver.url, secret: SECRET, from: 'start' } as const
    const wedged = { ...quick, id: 'wedged', url: `${receiver.url}/wedged` }
    for (const id of ['a', 'b', 'c']) {
      await engine.create({ id })
      await append(id, 0, 5)
    }
    const both = new WebhookDispatcher(engine, [wedged, quick], QUICK)
    both.start()
    ends.push(() => both.close())
    await until(() => ['a', 'b', 'c'].every((id) => receiver.events(id).length === 5))
    expect(receiver.all.some(({ path }) => path.startsWith('/wedged'))).toBe(true)
  })

  it('answers without end has taken what it was sent', async () => {
    receiver.always = () => 'flood'
    await engine.create({ id: 'a' })
    await append('a', 0, 20)
    callbacks({ maxBatchEvents: 2, timeout: 60_000 })
    await until(() => receiver.events('a').length === 20)
    expect(receiver.events('a')).toEqual(ids(0, 20))
  })

  it('goes away and comes back misses nothing', async () => {
    await engine.create({ id: 'a' })
    callbacks({ maxBatchEvents: 4 })
    await append('a', 0, 10)
    await until(() => receiver.events('a').length > 0)
    await receiver.stop()
    await append('a', 10, 40)
    await new Promise((resolve) => setTimeout(resolve, 150))
    await receiver.start()
    await until(() => once(receiver.events('a')).length === 40)
    expect(once(receiver.events('a'))).toEqual(ids(0, 40))
  })
})

describe('senders', () => {
  it('deliver one at a time, however many there are', async () => {
    await engine.create({ id: 'a' })
    const many = [
      callbacks({ maxBatchEvents: 3 }),
      callbacks({ maxBatchEvents: 3 }),
      callbacks({ maxBatchEvents: 3 }),
    ]
    for (let at = 0; at < 60; at += 5) {
      await append('a', at, at + 5)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(() => receiver.events('a').length >= 60)
    expect(receiver.events('a')).toEqual(ids(0, 60))
    // The one that delivers goes; another takes over.
    for (const one of many.slice(0, 2)) await one.close()
    await append('a', 60, 70)
    await until(() => once(receiver.events('a')).length === 70)
    expect(once(receiver.events('a'))).toEqual(ids(0, 70))
  })

  it('write how far they have come only under what they have claimed', async () => {
    const { store } = engine
    const written: (readonly ItemChange[])[] = []
    const watched: Store['changeItems'] = (changes) => {
      written.push(changes)
      return store.changeItems(changes)
    }
    engine = createEngine({
      store: new Proxy(store, {
        get(target, name) {
          const value: unknown = name === 'changeItems' ? watched : Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
    })
    await engine.create({ id: 'a' })
    await append('a', 0, 5)
    const sender = callbacks({ maxBatchEvents: 2 })
    await until(() => receiver.events('a').length === 5)
    await engine.delete('a')
    await until(() => receiver.all.find(({ type }) => type === 'conversation.deleted'))
    await sender.close()
    const { cursors, failing } = collectionsOf('hook')
    const own = written.flat().filter(({ collection }) => [cursors, failing].includes(collection))
    expect(own.length).toBeGreaterThan(3)
    for (const { expected } of own) expect(expected).not.toBe(undefined)
  })

  it('take over what an earlier version had sent, and send the rest', async () => {
    const { store } = engine
    for (const [id, count] of [
      ['behind', 3],
      ['sent', 2],
      ['new', 1],
    ] as const) {
      await engine.create({ id })
      await append(id, 0, count)
    }
    const { cursors, failing, news } = collectionsOf('hook')
    const told = async (id: string, next: number) => {
      const record = await store.getConversation(id)
      const [born, digest] = record === null ? ['2026-01-01', ''] : [record.createdAt, digestOf(record)]
      const body = { born, next, until: null, digest, status: 'idle' }
      return { collection: cursors, id, put: { body } }
    }
    const begun = { since: '2026-01-01T00:00:00.000Z', done: true }
    await store.changeItems([
      { collection: 'webhooks', id: 'hook', put: { body: begun } },
      await told('behind', 1),
      await told('sent', 2),
      await told('gone', 4),
    ])
    callbacks({ from: 'now' })
    const isBegun = async () => (await store.getItem('webhooks', 'hook'))?.body['follows'] === true
    const left = async () => {
      const lists = await Promise.all([cursors, failing, news].map((name) => store.listItems(name)))
      return lists.flatMap(({ items }) => items)
    }
    await until(async () => (await isBegun()) && (await left()).every(({ dueAt }) => dueAt === null))
    expect(receiver.all.map(({ path, type, sequence }) => `${path} ${type}${sequence}`).toSorted()).toEqual([
      '/conversations conversation.created',
      '/conversations conversation.deleted',
      '/events/behind 1-2',
      '/events/new 0-0',
    ])
    expect((await left()).map(({ id }) => id).toSorted()).toEqual(['behind', 'new', 'sent'])
  })
})

describe('a webhook', () => {
  it.each([
    [{ url: 'ftp://x/' }, /http/],
    [{ url: 'http://a:b@x/' }, /user/],
    [{ url: 'nonsense' }, /http/],
    [{ secret: 'short' }, /16/],
    [{ maxBatchEvents: 0 }, /maxBatchEvents/],
    [{ timeout: Number.NaN }, /timeout/],
    [{ id: '' }, /id/],
    [{ maxRetryDelay: 2 ** 31 }, /maxRetry/],
    [{ headers: { 'a b': 'c' } }, /headers/],
    [{ url: 'https://h/x?token=sesame', secret: 'short' }, /^(?!.*sesame)/],
  ])('%j is refused', (wrong, message) => {
    expect(() => new WebhookDispatcher(engine, [{ url: receiver.url, secret: SECRET, ...wrong }])).toThrow(
      message,
    )
  })

  it('is named once', () => {
    const hook = { url: receiver.url, secret: SECRET }
    expect(() => new WebhookDispatcher(engine, [hook, hook])).toThrow(/one id/)
  })

  it('is tried again after longer and longer, within bounds, and not always the same', () => {
    const waits = Array.from({ length: 200 }, (_, at) =>
      waitBefore({ retryDelay: 10, maxRetryDelay: 1_000 }, at + 1),
    )
    expect(waits.every((wait, at) => wait >= mostAfter(at + 1) / 2 && wait <= mostAfter(at + 1))).toBe(true)
    expect(new Set(waits.slice(50)).size).toBeGreaterThan(100)
  })
})

const mostAfter = (tries: number): number => Math.min(1_000, 10 * 2 ** (tries - 1))
