/** A service over PostgreSQL in a process of its own, to be killed: a database and a webhook go in; its address is printed. */

import { hasCode } from '../../src/event/errors.ts'
import { serve } from '../../src/service/node/serve.ts'
import { scriptedAgent } from '../../src/service/scripted-agent.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'

const [, , database = '', webhook = '', secret = ''] = process.argv

const { url } = await serve({
  store: postgresStore({ url: database }),
  port: 0,
  agent: scriptedAgent(),
  run: { leaseTtl: 2_500 },
  // Who is not given the machine for so long loses its run to another one.
  onFailure: (error) => void (hasCode(error, 'lease_lost') || console.error(error)),
  controlPlane: { staleAfter: 900 },
  webhooks: [{ id: 'hook', url: webhook, secret, from: 'start', retryDelay: 50, maxRetryDelay: 200 }],
  webhookDispatcher: { leaseTtl: 900, pollInterval: 200 },
})
process.stdout.write(`${url}\n`)
