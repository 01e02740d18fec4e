/** A service over PostgreSQL in a process of its own, to be killed: a database and a webhook go in; its address is printed. */

import { serve } from '../../src/service/node/serve.ts'
import { scriptedAgent } from '../../src/service/scripted-agent.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'

const [, , database = '', webhook = '', secret = ''] = process.argv

const { url } = await serve({
  store: postgresStore({ url: database }),
  port: 0,
  agent: scriptedAgent(),
  run: { leaseTtl: 900 },
  controlPlane: { staleAfter: 900 },
  webhooks: [{ id: 'hook', url: webhook, secret, from: 'start', retryDelay: 50, maxRetryDelay: 200 }],
  webhookDispatcher: { leaseTtl: 900, pollInterval: 200 },
})
process.stdout.write(`${url}\n`)
