/** One server for a whole test run, started on the first request. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startServer, type TestServer } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Port at which test files request the server, and the secret that they must send. */
    readonly postgresDesk: { readonly port: number; readonly word: string }
  }
}

/** Listens for requests of test files; returns a function that closes everything. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const word = randomUUID()
  let server: Promise<TestServer> | null = null
  const desk = createServer((caller) => {
    caller.on('error', () => caller.destroy())
    caller.once('data', (text) => {
      if (String(text) !== word) {
        caller.destroy()
        return
      }
      server ??= startServer()
      server.then(
        ({ url }) => caller.end(url),
        () => caller.destroy(),
      )
    })
  })
  desk.listen(0, '127.0.0.1')
  await once(desk, 'listening')
  project.provide('postgresDesk', { port: (desk.address() as AddressInfo).port, word })
  return async () => {
    desk.close()
    await server?.then((started) => started.stop())
  }
}
