/** Whether something responds at an address. */

import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

/** Null when a request gets a good response; else why not, in words. Never rejects. */
export async function probe(url: string, timeout: number): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeout), redirect: 'manual' })
    await response.body?.cancel()
    return response.ok ? null : `it responds with ${response.status}`
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return `it does not respond within ${timeout} ms`
    const cause = error instanceof Error ? error.cause : null
    const code =
      typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : ''
    return `it cannot be reached${code}`
  }
}

/** A port of this machine that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
