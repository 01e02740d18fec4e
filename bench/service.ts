/** Prints what a service costs: `npm run bench:service -- --help`. */

import { parseArgs } from 'node:util'
import { orUsage } from '../test/usage.ts'

const HELP = `Usage: npm run bench:service -- [options]

Without options: pages of events over HTTP, beside the bare store and a trivial route.

  --conversations N,…   what a service costs with so many conversations, each beside the first; ends with 1
                        where anything costs more than 1.5 times as much, or takes 64 MB more memory
  --posts               messages a second into PostgreSQL, beside a trivial route
  --adapter NAME        sqlite or postgres; may be given more than once (default: both)
  --no-webhooks         sends no webhooks

A million conversations need about 3 GB in the folder for temporary files for each adapter, until the run ends.`

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
    throw new Error('--conversations must be numbers of 1000 or more, with commas between')
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
