import { afterEach, beforeEach, expect } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { collectionsOf } from '../../src/service/webhooks/delivery-cursor.ts'
import { WebhookDispatcher, type WebhookDispatcherOptions } from '../../src/service/webhooks/dispatcher.ts'
import type { WebhookOptions } from '../../src/service/webhooks/webhook-options.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { user } from '../build.ts'
import { Receiver, SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

/** Leases long enough for a busy machine. */
export const QUICK: WebhookDispatcherOptions = { pollInterval: 15, leaseTtl: 60_000 }

export interface WebhookFixture {
  /** Has a memory store. A test may replace the engine before it starts webhooks. */
  engine: Engine
  receiver: Receiver
  /** Called after the test, in reverse order. */
  readonly ends: (() => Promise<unknown> | void)[]
  /** Starts a webhook. */
  readonly startWebhook: (
    webhook?: Partial<WebhookOptions>,
    options?: WebhookDispatcherOptions,
  ) => WebhookDispatcher
  readonly append: (id: string, from: number, to: number) => Promise<void>
  /** Resolves when the webhook has recorded which conversations already exist. */
  readonly hasBegun: () => Promise<unknown>
}

export function webhookFixture(): WebhookFixture {
  const fixture: WebhookFixture = {
    engine: createEngine({ store: memoryStore() }),
    receiver: new Receiver(),
    ends: [],
    startWebhook(webhook = {}, options = {}) {
      const { receiver, engine, ends } = fixture
      const hook = { id: 'hook', url: receiver.url, secret: SECRET, retryDelay: 20, maxRetryDelay: 100 }
      const dispatcher = new WebhookDispatcher(engine, [{ ...hook, from: 'start', ...webhook }], {
        ...QUICK,
        ...options,
      })
      dispatcher.start()
      ends.push(() => dispatcher.close())
      return dispatcher
    },
    async append(id, from, to) {
      const conversation = await fixture.engine.open(id)
      await conversation.append(ids(from, to).map((one) => user(one)))
    },
    hasBegun: () =>
      until(async () => {
        const { items } = await fixture.engine.store.listItems(collectionsOf('hook').start)
        return items.some(({ body }) => body['isDone'] === true)
      }),
  }
  beforeEach(async () => {
    fixture.receiver = await new Receiver().start()
    fixture.engine = createEngine({ store: memoryStore() })
  })
  afterEach(async () => {
    const { receiver, engine, ends } = fixture
    for (const end of ends.splice(0).toReversed()) await end()
    await engine.close()
    expect(receiver.forged).toBe(0)
    await receiver.stop()
  })
  return fixture
}

export const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `e${from + index}`)

/** Removes repeated ids. */
export const once = (list: readonly string[]): string[] => [...new Set(list)]
