/** One server for a whole test run, started when the first test file asks for it: what asks gets its address. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startServer, type TestServer } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the test run's server is asked for, and the word that a caller must say. */
    readonly postgresDesk: { readonly port: number; readonly word: string }
  }
}

/** Opens the desk at which test files ask for the server; gives what closes it and ends the server. */
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
