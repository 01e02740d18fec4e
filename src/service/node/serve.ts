/**
 * Runs everything over a store in one call: engine, operations, sockets and server, begun and ended in the right
 * order.
 */

import type { RedactionRules } from '../../context/redaction/rules.ts'
import { redactingStore } from '../../context/redaction/store.ts'
import { createEngine } from '../../conversation/engine.ts'
import type { Store } from '../../store/contract/store.ts'
import { createService, type ServiceOptions } from '../service.ts'
import { isLoopback, listen, type Listening, within } from './server.ts'
import { createSockets } from './sockets.ts'

/** How a service runs. */
export interface ServeOptions extends Omit<ServiceOptions, 'engine'> {
  readonly store: Store
  /** Default: 127.0.0.1. Without keys, no other machine may be let in. */
  readonly host?: string
  /** Default: 8000; 0 for any that is free. */
  readonly port?: number
  /** Bytes that idle conversations may take in memory, roughly. Default: 256 MiB. */
  readonly cacheBytes?: number
  /**
   * What is masked in what is written of conversations from now on; those who work on them see masks as well. Default:
   * nothing.
   */
  readonly storedRedaction?: RedactionRules
  /** For how many milliseconds each step of closing waits. Default: 10,000. */
  readonly shutdownTimeout?: number
}

/**
 * Runs a service until it is closed. Closing lets requests finish, and gives runs half of the time to end. Then it
 * closes sockets with a code, interrupts what still runs, and waits for what that writes; the store stays open.
 * @throws Error with a one-line message when the address cannot be had, or is one that needs keys.
 *
 * @example
 * const server = await serve({ store: memoryStore(), port: 0 })
 * const response = await fetch(`${server.url}/health`)
 * response.status // 200
 * await server.close()
 */
export async function serve(options: ServeOptions): Promise<Listening> {
  const {
    storedRedaction: rules,
    store: given,
    host = '127.0.0.1',
    port = 8000,
    shutdownTimeout = 10_000,
    cacheBytes,
    ...rest
  } = options
  const keyless = (rest.keys ?? []).length === 0
  if (keyless && !isLoopback(host)) {
    throw new Error(`without keys the service listens on a loopback address only, not on ${host}`)
  }
  if (keyless && (rest.allowOrigins ?? []).includes('*')) {
    throw new Error(
      '`*` as an allowed origin requires keys: any page opened on this machine could use the service',
    )
  }
  const store = rules === undefined ? given : redactingStore(given, rules)
  // Words that are said pass no rules: they stay in the process.
  const shareReplies = rules === undefined
  const engine = createEngine({ store, shareReplies, ...(cacheBytes !== undefined && { cacheBytes }) })
  const service = createService({ ...rest, engine })
  const sockets = createSockets(service)
  const onShutdown = async (): Promise<void> => {
    // Half of the time is for runs to end, the other half for what is interrupted to be written.
    await within(shutdownTimeout / 2, service.runs.settle())
    await sockets.close()
    await service.webhookDispatcher.close()
    await service.controlPlane.close()
    await service.lostRuns.close()
    await engine.close()
    await service.runs.settle()
  }
  try {
    // A store that cannot be opened fails now, and not at the first request.
    await store.listConversations({ limit: 1 })
    await service.controlPlane.start()
    service.webhookDispatcher.start()
    service.lostRuns.start()
    return await listen({
      fetch: service.fetch,
      host,
      port,
      shutdownTimeout,
      onlyLocal: keyless,
      allowOrigin: service.allowOrigin,
      upgrade: sockets.upgrade,
      onShutdown,
    })
  } catch (error) {
    // What was begun would go on, and keep the process, with nothing to end it.
    await onShutdown()
    throw error
  }
}
