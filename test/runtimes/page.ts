/** Runs the suite in a browser, and sends the page's server a line of JSON for each part. */

import { outcomes } from './worker.ts'

const failed = (error: unknown): string =>
  JSON.stringify({ part: 'page', passed: 0, failed: [error instanceof Error ? error.stack : String(error)] })

await fetch('/outcomes', { method: 'POST', body: await outcomes().catch(failed) })
