/** A store and an address go in, a running service over it comes out: engine, operations, sockets and server in one. */

import { createEngine } from '../../conversation/engine.ts'
import type { Store } from '../../store/store.ts'
import { createService, type ServiceOptions } from '../service.ts'
import { isLoopback } from './loopback.ts'
import { listen, type Listening } from './server.ts'
import { createSockets } from './sockets.ts'

/** How a service runs. */
export interface ServeOptions extends Omit<ServiceOptions, 'engine'> {
  readonly store: Store
  /** Default: 127.0.0.1. Without keys, no other machine may be let in. */
  readonly host?: string
  /** Default: 8000; 0 for any that is free. */
  readonly port?: number
  /** For how many milliseconds each step of closing waits. Default: 10,000. */
  readonly grace?: number
}

/**
 * Runs a service until it is closed. Closing lets requests finish, closes sockets with a code, interrupts runs, and waits for what they
 * write; the store stays open.
 * @throws Error with a one-line message when the address cannot be had, or is one that needs keys.
 *
 * @example
 * const server = await serve({ store: memoryStore(), port: 0 })
 * const response = await fetch(`${server.url}/health`)
 * response.status // 200
 * await server.close()
 */
export async function serve(options: ServeOptions): Promise<Listening> {
  const { store, host = '127.0.0.1', port = 8000, grace = 10_000, ...rest } = options
  const keyless = (rest.keys ?? []).length === 0
  if (keyless && !isLoopback(host)) {
    throw new Error(`without keys the service listens on this machine only, not on ${host}`)
  }
  const engine = createEngine({ store })
  const service = createService({ ...rest, engine })
  const sockets = createSockets(service)
  const closing = async (): Promise<void> => {
    await sockets.close()
    await service.callbacks.close()
    await service.control.close()
    await engine.close()
    await service.runs.settle()
  }
  try {
    // A store that cannot be opened is told of now, and not by the first request.
    await store.listConversations({ limit: 1 })
    await service.control.start()
    service.callbacks.start()
    return await listen({
      fetch: service.fetch,
      host,
      port,
      grace,
      onlyLocal: keyless,
      upgrade: sockets.upgrade,
      closing,
    })
  } catch (error) {
    // What was begun would go on, and keep the process, with nobody to end it.
    await closing()
    throw error
  }
}
