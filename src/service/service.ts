/** The service: an engine goes in, a fetch-standard app that speaks the published interface comes out. */

import type { Hono } from 'hono'
import type { Engine } from '../conversation/engine.ts'
import { identifier, type Identify, requireCaller } from './auth.ts'
import { agentEvents, ownEvents } from './events/own.ts'
import { sharedEvents } from './events/shared.ts'
import { createApp } from './http/app.ts'
import { openApi } from './http/openapi.ts'
import { type Operation, operation } from './http/operation.ts'
import { apiKeys, type ApiKeys } from './keys/keys.ts'
import { keyOperations } from './keys/operations.ts'
import { lifecycleOperations } from './lifecycle/operations.ts'
import { type Agent, Runs, type RunsOptions } from './lifecycle/runs.ts'
import { Live, type LiveOptions } from './live/live.ts'
import { streamOperations } from './live/stream.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { type Log, observeRequests } from './observe/observe.ts'
import { showMetrics } from './observe/operations.ts'
import { tracing } from './observe/tracing.ts'

/** How a service is made. */
export interface ServiceOptions {
  readonly engine: Engine
  /** Keys that may be given in `X-Session-API-Key`; none: everybody is let in. */
  readonly keys?: readonly string[]
  /** Gives the step that runs a conversation. Default: none, and nothing can be run. */
  readonly agent?: Agent
  /** How conversations are run. */
  readonly run?: RunsOptions['options']
  /** Most runs at once. Default: 100. */
  readonly maxRuns?: number
  /** How many may listen to conversations, and how. */
  readonly live?: LiveOptions
  /** Version of the application that embeds it, for the server information. */
  readonly version?: string
  /** Most bytes of a request's body. Default: 16 MiB. */
  readonly maxBody?: number
  /** Told of failures that are the service's own. Default: written to the standard error. */
  readonly onFailure?: (error: unknown, request: Request | null, requestId: string) => void
  /** Is given a line for each request, when it is answered. Default: nobody is. */
  readonly log?: Log
}

/** A service: mount `app` anywhere, or give it requests with `fetch`. */
export interface Service {
  readonly app: Hono
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** What `/metrics` shows; whoever serves sockets counts them here. */
  readonly metrics: Metrics
  /** Tells whom a credential belongs to, for whoever takes them elsewhere than here. */
  readonly identify: Identify
  /** The API keys, which hold beside the session keys. */
  readonly keys: ApiKeys
  /** The runs in the background; `settle` waits for their ends, which closing the engine brings about. */
  readonly runs: Runs
  /** The streams of conversations; `close` ends them. */
  readonly live: Live
}

/**
 * Makes a service over an engine; it starts no server, and closes neither the engine nor its store.
 *
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const service = createService({ engine })
 * const response = await service.fetch(new Request('http://localhost/health'))
 * response.status // 200
 * await engine.close()
 */
export function createService(options: ServiceOptions): Service {
  const { engine, keys = [], version = '0.0.0', maxBody = 16 * 2 ** 20, onFailure = complain } = options
  const own = apiKeys(engine.store)
  const identify = identifier(keys, own)
  const metrics = createMetrics()
  const runs = new Runs({
    agent: options.agent ?? null,
    options: options.run ?? {},
    most: options.maxRuns ?? 100,
    onFailure: (error) => onFailure(error, null, ''),
  })
  const lifecycle = { engine, runs }
  const live = new Live(lifecycle, {
    onFailure: (error) => onFailure(error, null, ''),
    ...options.live,
  })
  metrics.measured('colloquy_live_streams', 'Streams of conversations that are open.', () => live.size)
  metrics.measured('colloquy_runs', 'Runs of conversations in the background.', () => runs.size)
  metrics.measured('colloquy_conversations_in_memory', 'Conversations in memory.', () => engine.size)
  const operations: Operation[] = [
    ...sharedEvents(engine.store),
    ...ownEvents(engine.store),
    ...agentEvents(engine.store),
    ...lifecycleOperations(lifecycle),
    ...streamOperations(live),
    ...keyOperations(own, (request) => requireCaller(identify, request)),
    ...showMetrics(metrics),
    ...serverInfo(version),
  ]
  const document = openApi(operations)
  const app = createApp(
    [
      ...operations,
      operation(
        {
          method: 'get',
          path: '/openapi.json',
          operationId: 'openapi',
          tag: 'Server',
          summary: 'This document',
          open: true,
          replies: { 200: { description: 'Successful Response' } },
        },
        () => ({ body: document }),
      ),
    ],
    {
      maxBody,
      onFailure,
      onRequest: observeRequests(metrics, options.log ?? null),
      around: tracing(),
      authorize: async (request, { open = false }) => {
        if (!open) await requireCaller(identify, request)
      },
    },
  )
  return { app, fetch: (request) => app.fetch(request), metrics, identify, keys: own, runs, live }
}

/** Whether the service is up, and what it is. */
const serverInfo = (version: string): Operation[] => [
  ...['/alive', '/health', '/ready'].map((path) =>
    operation(
      {
        method: 'get',
        path,
        operationId: path.slice(1),
        tag: 'Server',
        summary: 'Whether the service is up',
        open: true,
        replies: { 200: { description: 'Successful Response', schema: { type: 'object' } } },
      },
      () => ({ body: { status: 'ok' } }),
    ),
  ),
  operation(
    {
      method: 'get',
      path: '/server_info',
      operationId: 'server_info',
      tag: 'Server',
      summary: 'Versions and uptime',
      open: true,
      replies: { 200: { description: 'Successful Response', schema: { type: 'object' } } },
    },
    () => ({ body: { title: 'Colloquy', version, sdk_version: version, uptime: performance.now() / 1_000 } }),
  ),
]

function complain(error: unknown): void {
  console.error(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
