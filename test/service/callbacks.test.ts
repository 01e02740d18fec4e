/** Webhooks over real HTTP: everything in the log arrives, in order, whatever the receiver and the sender go through. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { Callbacks, type CallbacksOptions } from '../../src/service/callbacks/callbacks.ts'
import { signWebhook, verifyWebhook } from '../../src/service/callbacks/sign.ts'
import { waitBefore, type WebhookOptions } from '../../src/service/callbacks/webhook.ts'
import { memoryStore } from '../../src/store/memory.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { agent, user } from '../build.ts'
import { STORES } from './client.ts'
import { Receiver, SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

let receiver: Receiver
let engine: Engine
const ends: (() => Promise<unknown> | void)[] = []

const QUICK: CallbacksOptions = { poll: 15, sweep: 60, lease: 300 }

function callbacks(webhook: Partial<WebhookOptions> = {}, options: CallbacksOptions = {}): Callbacks {
  const made = new Callbacks(
    engine,
    [{ id: 'hook', url: receiver.url, secret: SECRET, retry: 20, maxRetry: 100, from: 'start', ...webhook }],
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
    callbacks({ batch: 10 })
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
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(receiver.all.length).toBe(before)
  })

  it('begins with what comes from now on, unless told otherwise, and goes on where it was', async () => {
    engine = createEngine({ store: make() })
    await engine.create({ id: 'old' })
    await append('old', 0, 5)
    const first = callbacks({ from: 'now' })
    await until(async () => (await engine.store.getConversation('colloquy:webhooks'))?.version === 2)
    await append('old', 5, 7)
    await engine.create({ id: 'new' })
    await append('new', 0, 3)
    await until(() => receiver.events('old').length === 2 && receiver.events('new').length === 3)
    await first.close()
    await append('old', 7, 9)
    await append('new', 3, 4)
    callbacks({ from: 'now' })
    await until(() => receiver.events('old').length === 4 && receiver.events('new').length === 4)
    expect([receiver.events('old'), receiver.events('new')]).toEqual([ids(5, 9), ids(0, 4)])
  })
})

describe('what is sent', () => {
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
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(receiver.events('a/b c')).toEqual(['u1', 'g1'])
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
    callbacks({ batchBytes: 2_000 })
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

  it('goes away and comes back misses nothing', async () => {
    await engine.create({ id: 'a' })
    callbacks({ batch: 4 })
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
    const many = [callbacks({ batch: 3 }), callbacks({ batch: 3 }), callbacks({ batch: 3 })]
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

  it('that are killed and started again lose nothing, and keep the order', async () => {
    const place = mkdtempSync(join(tmpdir(), 'colloquy-callbacks-'))
    const file = join(place, 'store.db')
    const store = sqliteStore({ file })
    const own = createEngine({ store })
    const names = ['a', 'b', 'c']
    for (const id of names) await own.create({ id })
    const script = `
import { createEngine } from '${new URL('../../src/conversation/engine.ts', import.meta.url).href}'
import { createService } from '${new URL('../../src/service/index.ts', import.meta.url).href}'
import { sqliteStore } from '${new URL('../../src/store/sqlite/index.ts', import.meta.url).href}'
const service = createService({
  engine: createEngine({ store: sqliteStore({ file: process.argv[1] }) }),
  webhooks: [{ id: 'hook', url: process.argv[2], secret: '${SECRET}', retry: 20, maxRetry: 100, batch: 5, from: 'start' }],
  callbacks: { poll: 10, sweep: 100, lease: 200 },
})
service.callbacks.start()
setInterval(() => undefined, 1000)
`
    const start = () =>
      spawn(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script, file, receiver.url],
        { stdio: 'inherit' },
      )
    let child = start()
    let total = 0
    let kills = 0
    for (let round = 0; round < 12; round += 1) {
      for (const id of names) {
        const conversation = await own.open(id)
        await conversation.append(ids(total, total + 10).map((one) => user(one)))
      }
      total += 10
      if (round % 3 === 2) {
        const before = receiver.all.length
        await until(() => receiver.all.length > before + 1)
        child.kill('SIGKILL')
        await until(() => child.signalCode !== null)
        kills += 1
        child = start()
      }
    }
    try {
      await until(() => names.every((id) => once(receiver.events(id)).length === total), 60_000)
    } finally {
      child.kill('SIGKILL')
    }
    expect(kills).toBe(4)
    for (const id of names) {
      expect(once(receiver.events(id))).toEqual(ids(0, total))
      // After a kill the last message may come again; nothing before it does.
      const places = receiver.events(id).map((one) => Number(one.slice(1)))
      expect(places.every((now, at) => at === 0 || now > (places[at - 1] ?? 0) - 6)).toBe(true)
    }
    await own.close()
    await store.close()
    rmSync(place, { recursive: true, force: true })
  })
})

describe('a webhook', () => {
  it.each([
    [{ url: 'ftp://x/' }, /http/],
    [{ url: 'http://a:b@x/' }, /user/],
    [{ url: 'nonsense' }, /http/],
    [{ secret: 'short' }, /16/],
    [{ batch: 0 }, /batch/],
    [{ timeout: Number.NaN }, /timeout/],
    [{ id: '' }, /id/],
  ])('%j is refused', (wrong, message) => {
    expect(() => new Callbacks(engine, [{ url: receiver.url, secret: SECRET, ...wrong }])).toThrow(message)
  })

  it('is named once', () => {
    const hook = { url: receiver.url, secret: SECRET }
    expect(() => new Callbacks(engine, [hook, hook])).toThrow(/one id/)
  })

  it('is tried again after longer and longer, within bounds, and not always the same', () => {
    const waits = Array.from({ length: 200 }, (_, at) => waitBefore({ retry: 10, maxRetry: 1_000 }, at + 1))
    expect(waits.every((wait, at) => wait >= mostAfter(at + 1) / 2 && wait <= mostAfter(at + 1))).toBe(true)
    expect(new Set(waits.slice(50)).size).toBeGreaterThan(100)
  })
})

const mostAfter = (tries: number): number => Math.min(1_000, 10 * 2 ** (tries - 1))
