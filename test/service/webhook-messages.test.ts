import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { WebhookDispatcher } from '../../src/service/webhooks/dispatcher.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { signWebhook, verifyWebhook } from '../../src/service/webhooks/sign.ts'
import { addressOf } from '../../src/service/webhooks/webhook-options.ts'
import { agent, user } from '../build.ts'
import { QUICK, webhookFixture, ids } from './webhook-fixture.ts'
import { killable } from './killable-store.ts'
import { SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

const fixture = webhookFixture()
const { append, startWebhook } = fixture

describe('webhook messages', () => {
  it('keep their id and events after a crash, although the log has grown', async () => {
    await fixture.engine.create({ id: 'a' })
    await append('a', 0, 3)
    fixture.receiver.answers.push(200, 'lose')
    const first = startWebhook({ retryDelay: 300, maxRetryDelay: 300 })
    await until(() => fixture.receiver.all.length === 2)
    await first.close()
    await append('a', 3, 5)
    startWebhook()
    await until(() => fixture.receiver.events('a').length === 5)
    const messages = fixture.receiver.all.filter(({ path }) => path === '/events/a')
    expect(messages.map(({ sequence }) => sequence)).toEqual(['0-2', '0-2', '3-4'])
    expect(messages[1]?.id).toBe(messages[0]?.id)
  })

  it('report a deletion when the receiver may have got the creation before a crash', async () => {
    await fixture.engine.create({ id: 'a' })
    fixture.receiver.answers.push('lose')
    // A killed process saves nothing more; a closed one still may.
    const faults = killable(fixture.engine.store)
    const killed = createEngine({ store: faults.store })
    const first = new WebhookDispatcher(
      killed,
      [
        {
          id: 'hook',
          url: fixture.receiver.url,
          secret: SECRET,
          from: 'start',
          retryDelay: 300,
          maxRetryDelay: 300,
        },
      ],
      QUICK,
    )
    first.start()
    await until(() => fixture.receiver.all.length === 1)
    faults.dieAfter(0)
    await first.close()
    await killed.close().catch(() => undefined)
    await fixture.engine.delete('a')
    startWebhook()
    await until(() => fixture.receiver.all.length === 2)
    expect(fixture.receiver.all.map(({ type }) => type)).toEqual([
      'conversation.created',
      'conversation.deleted',
    ])
  })

  it('report each recreation of an id as a new conversation', async () => {
    startWebhook()
    for (const round of [0, 1, 2]) {
      if (round > 0) await fixture.engine.delete('a')
      await fixture.engine.create({ id: 'a' })
      await append('a', 10 * round, 10 * round + 2)
      await until(() => fixture.receiver.events('a').length === 2 * (round + 1))
      await new Promise((resolve) => setTimeout(resolve, 3))
    }
    const types = fixture.receiver
      .accepted('/conversations')
      .map(({ type }) => type.slice('conversation.'.length))
    expect(types.filter((type) => type !== 'updated')).toEqual([
      'created',
      'deleted',
      'created',
      'deleted',
      'created',
    ])
    const ids = fixture.receiver.all.filter(({ type }) => type !== 'conversation.updated').map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('go to encoded paths below the webhook URL for any conversation id', async () => {
    for (const id of ['..', 'a?b#c', 'ä/\u{1F600}', '0f8fad5b-d9cb-469f-a165-70867728950e']) {
      await fixture.engine.create({ id })
      await (await fixture.engine.open(id)).append([user('u')])
    }
    startWebhook({
      url: `${fixture.receiver.url}/?token=t`,
      headers: { 'Content-Type': 'text/plain', 'Webhook-Id': 'mine' },
    })
    await until(() => fixture.receiver.all.length >= 8)
    expect(
      fixture.receiver.all
        .map(({ path }) => path)
        .filter((path) => path.startsWith('/events'))
        .toSorted(),
    ).toEqual([
      '/events/%2E%2E?token=t',
      '/events/0f8fad5bd9cb469fa16570867728950e?token=t',
      '/events/a?b#c?token=t',
      '/events/ä/\u{1F600}?token=t',
    ])
    const { href } = addressOf({ url: 'https://h/a/?t=1#x' }, '/conversations')
    expect(href).toBe('https://h/a/conversations?t=1')
  })

  it('contain only events of the requested kinds, with encrypted content set to null', async () => {
    await fixture.engine.create({ id: 'a/b c' })
    const conversation = await fixture.engine.open('a/b c')
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
    startWebhook({ kinds: ['MessageEvent'], headers: { 'x-of-mine': '1' } })
    await until(() => fixture.receiver.events('a/b c').length === 2)
    await conversation.append(user('u2'))
    await until(() => fixture.receiver.events('a/b c').includes('u2'))
    expect(fixture.receiver.events('a/b c')).toEqual(['u1', 'g1', 'u2'])
    expect(JSON.stringify(fixture.receiver.all)).not.toContain('gAAAsecret')
    expect(JSON.stringify(fixture.receiver.all)).toContain('"encrypted_content":null')
    expect(new Set(fixture.receiver.all.map(({ path }) => path))).toEqual(
      new Set(['/conversations', '/events/a/b c']),
    )
  })

  it('stay below maxBatchBytes unless a single event is larger', async () => {
    await fixture.engine.create({ id: 'a' })
    const conversation = await fixture.engine.open('a')
    for (const [index, size] of [10, 400, 5_000, 10, 10, 10, 700, 700].entries()) {
      await conversation.append(user(`e${index}`, 'x'.repeat(size)))
    }
    startWebhook({ maxBatchBytes: 2_000 })
    await until(() => fixture.receiver.events('a').length === 8)
    expect(fixture.receiver.events('a')).toEqual(ids(0, 8))
    for (const { body, bytes } of fixture.receiver.accepted('/events/a')) {
      expect(bytes <= 2_000 || (body as unknown[]).length === 1).toBe(true)
    }
    expect(fixture.receiver.accepted('/events/a').length).toBeLessThan(8)
  })

  it('are signed as in Standard Webhooks, and changed or old ones fail verification', async () => {
    // The example of the specification.
    const headers = await signWebhook(
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330,
      '{"test": 2432232314}',
    )
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
    const body = '[1]'
    const signed = await signWebhook(SECRET, 'm1', 1_000, body)
    const check = (change: Record<string, string>, input = body, now = 1_000): Promise<boolean> =>
      verifyWebhook(SECRET, { ...signed, ...change }, input, { now })
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

  it('accepts the headers of a web request and of a Node request', async () => {
    const signed = await signWebhook(SECRET, 'm1', 1_000, '[1]')
    const { headers } = new Request('http://localhost/', { headers: { ...signed } })
    const incoming: IncomingHttpHeaders = { ...signed, 'set-cookie': ['a=1', 'b=2'] }
    // The class of another package, such as undici.
    const foreign = new Map(Object.entries(signed)) as unknown as Headers
    const inputs = [headers, incoming, foreign, new Headers(), {}]
    const results = inputs.map((input) => verifyWebhook(SECRET, input, '[1]', { now: 1_000 }))
    expect(await Promise.all(results)).toEqual([true, true, true, false, false])
  })
})
