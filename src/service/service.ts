/** The service: an engine goes in, a fetch-standard app that speaks the published interface comes out. */

import type { Hono } from 'hono'
import type { Engine } from '../conversation/engine.ts'
import type { Store } from '../store/store.ts'
import { identifier, type Identify, requireCaller } from './auth.ts'
import { Callbacks, type CallbacksOptions } from './callbacks/callbacks.ts'
import type { WebhookOptions } from './callbacks/webhook.ts'
import { controlPlane } from './control/operations.ts'
import { createPlane, type Plane, type PlaneOptions } from './control/plane.ts'
import { agentEvents, ownEvents } from './events/own.ts'
import { sharedEvents } from './events/shared.ts'
import { createApp } from './http/app.ts'
import { openApi } from './http/openapi.ts'
import { type Operation, operation } from './http/operation.ts'
import { HttpProblem } from './http/problem.ts'
import { apiKeys, type ApiKeys } from './keys/keys.ts'
import { keyOperations } from './keys/operations.ts'
import { organizationOperations } from './keys/organization.ts'
import { lifecycleOperations } from './lifecycle/operations.ts'
import { type Agent, Runs, type RunsOptions } from './lifecycle/runs.ts'
import { Live, type LiveOptions } from './live/live.ts'
import { streamOperations } from './live/stream.ts'
import { settingsOperations } from './settings/operations.ts'
import { Profiles } from './settings/profiles.ts'
import { Settings } from './settings/settings.ts'
import { type AskLlm, askChatCompletions } from './settings/validate.ts'
import { vault } from './settings/vault.ts'
import { type Editor, editorOperations } from './workspace/editor.ts'
import { type Workspace, workspaceOperations } from './workspace/workspace.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { type Log, observeRequests } from './observe/observe.ts'
import { showMetrics } from './observe/operations.ts'
import { tracing } from './observe/tracing.ts'
import { VERSION } from './version.ts'

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
  /** The sandboxes and starts of the control plane. */
  readonly control?: PlaneOptions
  /** Who is told of what happens. Default: nobody is. */
  readonly webhooks?: readonly WebhookOptions[]
  /** How they are told. */
  readonly callbacks?: CallbacksOptions
  /** Seals the API keys of profiles and settings where they are stored. Default: none, and no API key is kept. */
  readonly secret?: string
  /** How many profiles there may be. Default: 50. */
  readonly maxProfiles?: number
  /** Asks a model, to tell whether a profile is right. Default: as the Chat Completions interface has it, at its `base_url`. */
  readonly askLlm?: AskLlm
  /** The files that directories may be made in. Default: none. */
  readonly workspace?: Workspace
  /** The editor beside the service. Default: none. */
  readonly editor?: Editor
  /** Version of the application that embeds it, for the server information. Default: that of the library. */
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
  /** Is given a line for each request; whoever serves sockets gives it theirs. Null: nobody is. */
  readonly log: Log | null
  /** The control plane; `start` goes on with what was left undone, `close` ends its sandboxes. */
  readonly control: Plane
  /** The webhooks; `start` begins to deliver to them, `close` ends that. */
  readonly callbacks: Callbacks
  /** Profiles of models, and the settings, with their secrets: for whoever embeds the service. */
  readonly profiles: Profiles
  readonly settings: Settings
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
  const { engine, keys = [], version = VERSION, maxBody = 16 * 2 ** 20, onFailure = complain } = options
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
  const control = createPlane(lifecycle, (error) => onFailure(error, null, ''), options.control)
  const refused = metrics.counter(
    'colloquy_webhook_failures_total',
    'Attempts to tell a webhook that failed.',
  )
  const callbacks = new Callbacks(engine, options.webhooks ?? [], {
    ...options.callbacks,
    onFailure(error, webhook, conversationId) {
      refused.add({ webhook })
      options.callbacks?.onFailure?.(error, webhook, conversationId)
    },
  })
  const sealing = vault(options.secret ?? null)
  const profiles = new Profiles(engine.store, sealing, options.maxProfiles ?? 50)
  const settings = new Settings(engine.store, sealing, profiles)
  const whoAsks = (request: Request) => requireCaller(identify, request)
  const live = new Live(lifecycle, {
    onFailure: (error) => onFailure(error, null, ''),
    ...options.live,
  })
  metrics.measured('colloquy_live_streams', 'Streams of conversations that are open.', () => live.size)
  metrics.measured(
    'colloquy_webhook_waiting',
    'Conversations that a webhook has yet to be told of.',
    () => callbacks.size,
  )
  metrics.measured('colloquy_runs', 'Runs of conversations in the background.', () => runs.size)
  metrics.measured('colloquy_conversations_in_memory', 'Conversations in memory.', () => engine.size)
  const operations: Operation[] = [
    ...sharedEvents(engine.store),
    ...ownEvents(engine.store),
    ...agentEvents(engine.store),
    ...lifecycleOperations(lifecycle),
    ...streamOperations(live),
    ...controlPlane(control),
    ...settingsOperations({ profiles, settings, ask: options.askLlm ?? askChatCompletions }),
    ...workspaceOperations(options.workspace ?? null),
    ...editorOperations(options.editor ?? null),
    ...keyOperations(own, whoAsks),
    ...organizationOperations(whoAsks),
    ...showMetrics(metrics),
    ...serverInfo(version, engine.store, live),
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
        if (!open) await whoAsks(request)
      },
    },
  )
  return {
    app,
    fetch: (request) => app.fetch(request),
    metrics,
    identify,
    keys: own,
    runs,
    live,
    log: options.log ?? null,
    control,
    callbacks,
    profiles,
    settings,
  }
}

/** Whether the service is up, whether it can answer, and what it is. */
const serverInfo = (version: string, store: Store, live: Live): Operation[] => [
  ...['/alive', '/health'].map((path) =>
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
      path: '/ready',
      operationId: 'ready',
      tag: 'Server',
      summary: 'Whether the service can answer: for whoever sends it requests',
      open: true,
      replies: {
        200: { description: 'Successful Response', schema: { type: 'object' } },
        503: { description: 'The store is not there, or the service is going away' },
      },
    },
    async () => {
      if (live.closed) throw new HttpProblem(503, 'The service is going away.')
      // What is wrong with the store is told to whoever has a key, by any other operation.
      await store.listConversations({ limit: 1 }).catch(() => {
        throw new HttpProblem(503, 'The store does not answer.')
      })
      return { body: { status: 'ready' } }
    },
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
    () => ({ body: { title: 'Colloquy', version, sdk_version: VERSION, uptime: performance.now() / 1_000 } }),
  ),
]

function complain(error: unknown): void {
  console.error(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
