/** A service client that checks every response against the served document. */

import { memoryStore } from '../../src/store/memory/store.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { createService, type Service, type ServiceOptions } from '../../src/service/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type Received as Answer, type Query, queryText } from '../../src/testing/server/client.ts'
import { type ApiDocument, readDocument } from './document.ts'

export type { Answer, Query }

/** Sends requests, and throws if a response differs from the document. */
export interface Client {
  readonly engine: Engine
  readonly service: Service
  readonly document: ApiDocument
  readonly send: <T = unknown>(path: string, init?: RequestInit) => Promise<Answer<T>>
  readonly get: <T = unknown>(path: string, query?: Query) => Promise<Answer<T>>
  readonly post: <T = unknown>(path: string, body?: unknown) => Promise<Answer<T>>
}

export const STORES: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ file: ':memory:' }),
}

/** Documents by service options, which decide the operations. */
const documents = new Map<string, Promise<ApiDocument>>()

/** Creates a client over a store; internal failures fail the test. */
export async function clientOver(
  store: Store,
  options: Omit<ServiceOptions, 'engine'> & { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Client> {
  const engine = createEngine({ store })
  const { headers = {}, ...rest } = options
  const failures: unknown[] = []
  const service = createService({ engine, onFailure: (error) => failures.push(error), ...rest })
  const input = Object.entries(rest).flatMap(([name, value]) => (value === null ? [] : [name]))
  const kind = input.toSorted().join()
  const reading = documents.get(kind) ?? readDocument(service)
  documents.set(kind, reading)
  const document = await reading
  const send = async <T>(path: string, init: RequestInit = {}): Promise<Answer<T>> => {
    const request = new Request(`http://localhost${path}`, {
      ...init,
      headers: { ...headers, ...init.headers },
    })
    const response = await service.fetch(request)
    if (failures.length > 0) throw failures[0]
    const text = await response.text()
    const complaint = document.complaint(request.method, new URL(request.url).pathname, response, text)
    if (complaint !== null) throw new Error(`${path}: ${complaint}\n${text.slice(0, 500)}`)
    const json = response.headers.get('content-type')?.startsWith('application/json') === true && text !== ''
    return { status: response.status, body: (json ? JSON.parse(text) : text) as T, headers: response.headers }
  }
  return {
    engine,
    service,
    document,
    send,
    get: (path, query = {}) => send(`${path}${queryText(query)}`),
    post: (path, body) =>
      send(path, {
        method: 'POST',
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      }),
  }
}
