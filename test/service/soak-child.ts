/**
 * A service to be killed. Arguments: a PostgreSQL database, a webhook and a sandbox folder. Prints its
 * address.
 */

import { hasCode } from '../../src/event/errors.ts'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import { serve } from '../../src/service/node/server.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'

const [, , database = '', webhook = '', secret = '', directory = ''] = process.argv

/** Makes a call that needs approval, then replies that it is done. */
const asking = scriptedAgent(
  Array.from({ length: 20_000 }, (_, index) => (index % 2 === 0 ? { calls: [{ tool: 'echo' }] } : 'Done.')),
)
const echoing = scriptedAgent()

const { url } = await serve({
  store: postgresStore({ url: database }),
  port: 0,
  agent: (conversation) => (conversation.id.startsWith('ask') ? asking : echoing)(),
  run: { leaseTtl: 2_500 },
  // A process that is starved for too long loses its run to another.
  onFailure: (error) => void (hasCode(error, 'lease_lost') || console.error(error)),
  controlPlane: {
    staleAfter: 1_500,
    maxSandboxes: 1_000,
    provider: processSandboxes({
      directory,
      specs: [{ id: 'sleeper', command: ['/bin/sleep', '100000'] }],
      killTimeout: 100,
    }),
  },
  webhooks: [{ id: 'hook', url: webhook, secret, from: 'start', retryDelay: 50, maxRetryDelay: 200 }],
  webhookDispatcher: { leaseTtl: 2_500, pollInterval: 200 },
})
process.stdout.write(`${url}\n`)
