/**
 * A service in its own process, with a channel for operations that HTTP lacks: `node
 * bench/service/child.ts CONFIG`.
 */

import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/index.ts'
import { listen } from '../../src/service/node/server.ts'
import { type Location, openStore } from './fill.ts'

export interface ChildConfig {
  readonly database: Location
  /** Webhook URL, or null. */
  readonly webhook: string | null
  /** Whether the service follows the feed. */
  readonly followsFeed: boolean
}

/** Operations that the parent requests over the channel. */
export type OperationName = 'claim' | 'cpu' | 'follow' | 'list by parent' | 'memory'

/** Message of the child: first its addresses and start time, then the result of each operation. */
export type ChildMessage =
  | { readonly url: string; readonly trivial: string; readonly started: number }
  | { readonly value: number }

const send = (text: ChildMessage): void => void process.send?.(text)

const config = JSON.parse(process.argv[2] ?? '{}') as ChildConfig
const store = openStore(config.database)
const engine = createEngine({ store })
const service = createService({
  engine,
  ...(config.webhook !== null && {
    webhooks: [{ url: config.webhook, secret: 'a secret for the bench', id: 'bench' }],
    webhookDispatcher: { pollInterval: 20 },
  }),
})
await store.listConversations({ limit: 1 })
await service.controlPlane.start()
service.webhookDispatcher.start()
service.lostRuns.start()
const server = await listen({ fetch: service.fetch, port: 0 })
const trivial = await listen({ fetch: () => Response.json({ text: 'x' }), port: 0 })
await (await fetch(`${server.url}/api/conversations/search?limit=1`)).text()
send({ url: server.url, trivial: trivial.url, started: performance.now() })

const waiting = new Map<string, () => void>()
if (config.followsFeed)
  await engine.follow({ name: 'bench', from: 'now', pollInterval: 10 }, (items) => {
    for (const item of items) if ('id' in item && typeof item.id === 'string') waiting.get(item.id)?.()
  })

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const OPERATIONS: Readonly<Record<OperationName, () => Promise<number>>> = {
  // Claimed items are due again at once.
  claim: () => timed(() => store.claimItems('bench', { ttl: 1, limit: 10 })),
  /** Microseconds since the start of the process. */
  async cpu() {
    const { user, system } = process.cpuUsage()
    return user + system
  },
  'list by parent': () => timed(() => store.listConversations({ parentConversationId: 'c0', limit: 10 })),
  follow: () =>
    timed(async () => {
      const id = crypto.randomUUID()
      const appended = new Promise<void>((resolve) => waiting.set(id, resolve))
      await store.append('c5', [{ kind: 'PauseEvent', id }])
      await appended
      waiting.delete(id)
    }),
  async memory() {
    for (let turn = 0; turn < 4; turn += 1) {
      globalThis.gc?.()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return process.memoryUsage().rss / 2 ** 20
  },
}

process.on('message', async (operation: OperationName) => send({ value: await OPERATIONS[operation]() }))
process.on('disconnect', () => process.exit())
