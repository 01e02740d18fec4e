/** Measures the costs of a service: `npm run bench:service -- --help`. */

import { parseArgs } from 'node:util'
import { orUsage } from '../test/usage.ts'

const HELP = `Usage: npm run bench:service -- [options]

Without options: pages of events over HTTP, compared with the bare store and a trivial route.

  --conversations N,…   costs of a service with N conversations, compared with the first N; exits with 1
                        when a cost is more than 1.5 times as high, or memory grows by more than 64 MB
  --posts               messages per second into PostgreSQL, compared with a trivial route
  --adapter NAME        sqlite or postgres; may be repeated (default: both)
  --no-webhooks         sends no webhooks

A million conversations need about 3 GB of temporary files per adapter until the run ends.`

const { sizes, posts, ...options } = orUsage(() => {
  const { values } = parseArgs({
    options: {
      conversations: { type: 'string' },
      adapter: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
      posts: { type: 'boolean', default: false },
      webhooks: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
    allowNegative: true,
  })
  const counts = values.conversations?.split(',').map(Number)
  if (counts?.every((size) => Number.isSafeInteger(size) && size >= 1_000) === false)
    throw new Error('--conversations: must be comma-separated numbers of at least 1000')
  for (const name of values.adapter)
    if (!['sqlite', 'postgres'].includes(name))
      throw new Error(`--adapter ${name}: must be sqlite or postgres`)
  return { ...values, sizes: counts }
})

if (options.help) console.log(HELP)
else if (posts) process.exitCode = (await (await import('./service/posts.ts')).measurePosts()) ? 0 : 1
else if (sizes === undefined) await import('./service/pages.ts')
else {
  // The other measurement starts on import.
  const { measureGrowth } = await import('./service/growth.ts')
  const { adapter: adapters, webhooks } = options
  process.exitCode = (await measureGrowth({ sizes, adapters, webhooks })) ? 0 : 1
}
