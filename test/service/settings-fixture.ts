import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach } from 'vitest'
import type { ServiceOptions } from '../../src/service/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { spyStore } from '../conversation/stores.ts'
import { type Answer, type Client, clientOver } from './client.ts'

export const KEY = 'sk-proj-"very"/secret+key=='
export const SECRET = 'what profiles are sealed with'
export const LLM = {
  model: 'gpt-x',
  api_key: KEY,
  base_url: 'http://user:pw@127.0.0.1:9/v1',
  temperature: 0.5,
}

export type Json = Record<string, unknown>

export interface SettingsFixture {
  /** The client of the last service. */
  readonly client: Client
  readonly begin: (store?: Store, options?: Omit<ServiceOptions, 'engine'>) => Promise<void>
  readonly send: (method: string, path: string, body?: unknown) => Promise<Answer<Json>>
  /** Starts a provider with this behaviour and returns its URL. */
  readonly provider: (answer: (request: IncomingMessage, response: ServerResponse) => void) => Promise<string>
}

/** Cleans up after each test. */
export function settingsFixture(): SettingsFixture {
  const ends: (() => Promise<unknown> | void)[] = []
  let client: Client
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  })
  return {
    get client() {
      return client
    },
    async begin(store = memoryStore(), options = { secret: SECRET }) {
      client = await clientOver(store, options)
      const { engine } = client
      ends.push(() => engine.close())
    },
    send: (method, path, body) =>
      client.send<Json>(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) }),
    async provider(answer) {
      const server: Server = createServer(answer)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      ends.push(() => {
        server.closeAllConnections()
        server.close()
      })
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`
    },
  }
}

export const profile = (name: string, rest = ''): string => `/api/profiles/${name}${rest}`

/** Wraps a store and records everything it receives, as text. */
export function recordingStore(store: Store): { readonly store: Store; readonly writtenText: () => string } {
  const input: unknown[] = []
  return {
    store: spyStore(store, (_, all) => input.push(all)),
    writtenText: () => JSON.stringify(input),
  }
}
