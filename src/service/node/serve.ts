/**
 * Runs a whole service over a store: engine, operations, sockets and server, started and closed in the right
 * order.
 */

import type { RedactionRules } from '../../context/redaction/rules.ts'
import { redactingStore } from '../../context/redaction/store.ts'
import { createEngine } from '../../conversation/engine.ts'
import type { Store } from '../../store/contract/store.ts'
import { createService, type ServiceOptions } from '../service.ts'
import { isLoopback, listen, type Listening, within } from './server.ts'
import { createSockets } from './sockets.ts'

/** Milliseconds for releasing leases after the deadline. */
const RELEASE_TIMEOUT = 500

/** Options of a running service. */
export interface ServeOptions extends Omit<ServiceOptions, 'engine'> {
  readonly store: Store
  /** Default: 127.0.0.1. Other addresses require keys. */
  readonly host?: string
  /** Default: 8000; 0 for a free port. */
  readonly port?: number
  /** Approximate memory of idle conversations in bytes. Default: 256 MiB. */
  readonly cacheBytes?: number
  /**
   * Redacts everything that is stored from now on; agents and users read the redacted text too. Default:
   * nothing.
   */
  readonly storedRedaction?: RedactionRules
  /** Milliseconds from the beginning of closing to its deadline. Default: 9,000. */
  readonly shutdownTimeout?: number
}

/**
 * Runs a service until closed. Closing allows half of `shutdownTimeout` for requests and runs, then closes
 * sockets and interrupts runs. A run that ignores its signal is abandoned at the deadline: its conversation
 * is paused, its lease released. The store stays open.
 * @throws Error with a one-line message when the address is unavailable, or requires keys.
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
    store: originalStore,
    host = '127.0.0.1',
    port = 8000,
    shutdownTimeout = 9_000,
    cacheBytes,
    ...rest
  } = options
  const keyless = (rest.keys ?? []).length === 0
  if (keyless && !isLoopback(host)) {
    throw new Error(`Cannot listen on ${host} without keys. Set keys, or use a loopback address.`)
  }
  if (keyless && (rest.allowOrigins ?? []).includes('*')) {
    throw new Error(
      'Without keys, any web page could use the service. Set keys, or list the allowed origins.',
    )
  }
  const store = rules === undefined ? originalStore : redactingStore(originalStore, rules)
  // Shared replies are not redacted: they stay in the process.
  const shareReplies = rules === undefined
  const engine = createEngine({ store, shareReplies, ...(cacheBytes !== undefined && { cacheBytes }) })
  const service = createService({ ...rest, engine })
  const sockets = createSockets(service)
  const onShutdown = async (): Promise<void> => {
    const { webhookDispatcher, controlPlane, lostRuns, runs } = service
    const parts = [sockets, webhookDispatcher, controlPlane, lostRuns, engine]
    await Promise.allSettled([...parts.map((part) => part.close()), runs.settle()])
  }
  /** Releases leases of unfinished runs, so that other processes need not wait for expiry. */
  const releaseLeases = async (): Promise<void> => {
    for (const id of service.runs.ids) {
      const lease = await store.getLease(id)
      if (lease !== null) await store.releaseLease(lease)
    }
  }
  try {
    // Fail now, not at the first request, when the store cannot be opened.
    await store.listConversations({ limit: 1 })
    await service.controlPlane.start()
    service.webhookDispatcher.start()
    service.lostRuns.start()
    const server = await listen({
      fetch: service.fetch,
      host,
      port,
      shutdownTimeout,
      onlyLocal: keyless,
      allowOrigin: service.allowOrigin,
      upgrade: sockets.upgrade,
      onClosing: () => service.runs.settle(),
      onShutdown,
    })
    let closing: Promise<unknown> | null = null
    const close = async (): Promise<void> => {
      await (closing ??= server.close().then(() => within(RELEASE_TIMEOUT, releaseLeases())))
    }
    return { ...server, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    // Everything that was started would keep the process alive.
    await within(shutdownTimeout, onShutdown())
    throw error
  }
}
