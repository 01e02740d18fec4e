/** One server for a whole test run, started on the first request. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startServer, type TestServer } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Port at which test files request the server, and the secret that they must send. */
    readonly postgresRequests: { readonly port: number; readonly secret: string }
  }
}

/** Listens for requests of test files; returns a function that closes everything. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const secret = randomUUID()
  let server: Promise<TestServer> | null = null
  const requests = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', (text) => {
      if (String(text) !== secret) {
        socket.destroy()
        return
      }
      server ??= startServer()
      server.then(
        ({ url }) => socket.end(url),
        () => socket.destroy(),
      )
    })
  })
  requests.listen(0, '127.0.0.1')
  await once(requests, 'listening')
  project.provide('postgresRequests', { port: (requests.address() as AddressInfo).port, secret })
  return async () => {
    requests.close()
    await server?.then((started) => started.stop())
  }
}
