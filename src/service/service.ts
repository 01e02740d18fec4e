import type { Hono } from 'hono'
import type { Engine } from '../conversation/engine.ts'
import { RUN_OPTIONS } from '../conversation/run/options.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { RedactionRules } from '../context/redaction/rules.ts'
import { blobOperations } from './events/blobs.ts'
import { redactedReads, sharedEvents, sharingOperations } from './control-plane/sharing-operations.ts'
import { callerCheck, identifier, type Identify } from './auth/caller.ts'
import { WebhookDispatcher, type WebhookDispatcherOptions } from './webhooks/dispatcher.ts'
import type { WebhookOptions } from './webhooks/webhook-options.ts'
import { appConversationOperations } from './control-plane/app-conversation-operations.ts'
import { deletionOperations } from './control-plane/deletions.ts'
import { sandboxOperations } from './control-plane/sandbox-operations.ts'
import { startOperations } from './control-plane/start-operations.ts'
import { inheritedOf } from './control-plane/app-metadata.ts'
import { createPlane, type ControlPlane, type ControlPlaneOptions } from './control-plane/control-plane.ts'
import { ownEvents } from './agent-server/event-operations.ts'
import { createApp } from './http/app.ts'
import { type AllowOrigin, allowOrigins } from './http/cors.ts'
import { openApi } from './http/openapi.ts'
import { type Operation, operationsIn } from './http/operation.ts'
import { apiKeys, type ApiKeys } from './auth/api-keys.ts'
import { keyOperations } from './auth/key-operations.ts'
import { lifecycleOperations } from './agent-server/conversation-operations.ts'
import { type Agent, Runs, type RunsOptions } from './conversations/runs.ts'
import { Starts } from './conversations/starts.ts'
import { LostRuns } from './conversations/lost-runs.ts'
import { callOperations, CallTokens } from './agent-server/call-operations.ts'
import { Live, type LiveOptions } from './live/live.ts'
import { streamOperations } from './live/stream.ts'
import { emptyListOperations } from './empty-lists.ts'
import {
  type Credits,
  organizationListOperations,
  organizationOf,
  type Quota,
  organizationOperations,
  Users,
  withQuota,
} from './organizations/organizations.ts'
import { commandOperations, Commands } from './sandbox-files/command-operations.ts'
import { fileOperations, makeFolder, scopedOperations } from './sandbox-files/file-operations.ts'
import { gitOperations } from './sandbox-files/git-operations.ts'
import { agentProfileOperations, AgentProfiles } from './settings/agent-profiles.ts'
import {
  cloudProfileOperations,
  cloudSettingsOperations,
  mcpOperations,
  settingsOperations,
} from './settings/operations.ts'
import { NamedSecrets, secretOperations } from './settings/named-secrets.ts'
import { schemaOperations } from './settings/schema-operations.ts'
import { Profiles } from './settings/profiles.ts'
import { Settings } from './settings/settings.ts'
import { type AskLlm, askChatCompletions } from './settings/validate.ts'
import { secretBox } from './settings/secret-box.ts'
import { type CanvasExtensions, canvasOperations, NO_EXTENSIONS } from './workspace/canvas-extensions.ts'
import type { Editor, Workspace } from './workspace/workspace.ts'
import { editorOperations, savedWorkspaceOperations, workspaceOperations } from './workspace/workspace.ts'
import { countLeftOut, Metrics } from './observe/metrics.ts'
import { inspectorOperations, serverOperations, showMetrics } from './observe/server-operations.ts'
import { type RequestLog, observeRequests } from './observe/request-log.ts'
import { tracing } from './observe/tracing.ts'
import { checkOptionNames, invalidArgument } from '../event/check-value.ts'
import { VERSION } from './version.ts'

const operation = operationsIn('Server')

/** Options of `createService`. */
export interface ServiceOptions {
  readonly engine: Engine
  /** Service keys, which clients send as `X-Session-API-Key`. Without keys, anybody may use the service. */
  readonly keys?: readonly string[]
  /** Returns the step that runs a conversation. Without this option, conversations cannot run. */
  readonly agent?: Agent
  readonly run?: RunsOptions['options']
  /** Maximum number of concurrent runs. Default: 100. */
  readonly maxRuns?: number
  readonly live?: LiveOptions
  readonly controlPlane?: ControlPlaneOptions
  readonly webhooks?: readonly WebhookOptions[]
  readonly webhookDispatcher?: WebhookDispatcherOptions
  /**
   * Encrypts profiles, settings, start requests and named secrets. Without this option, secrets cannot be
   * stored, and secrets of start requests exist only in memory. Default: none.
   */
  readonly secret?: string
  readonly quota?: Quota
  /** Returns the remaining credits. Default: always 0. */
  readonly credits?: Credits
  /** Maximum number of model profiles, and of agent profiles. Default: 50 each. */
  readonly maxProfiles?: number
  /** Calls a model to validate a profile. Default: Chat Completions at the profile's `base_url`. */
  readonly askLlm?: AskLlm
  /** Rules that redact what anonymous readers of public conversations receive. Default: none. */
  readonly publicRedaction?: RedactionRules
  readonly workspace?: Workspace
  /** Extensions of the OpenHands web page. Default: none. */
  readonly canvasExtensions?: CanvasExtensions
  readonly editor?: Editor
  /** Web origins that may use the service, in addition to origins on this machine; `*` for all. Default: none. */
  readonly allowOrigins?: readonly string[]
  /** Page of the inspector, from `inspectorPage`, served at `/inspect`. Default: none. */
  readonly inspector?: string
  /** Version in the server information. Default: the library's version. */
  readonly version?: string
  /** Maximum bytes of a request body, except for uploads, whose maximum is 64 MiB. Default: 16 MiB. */
  readonly maxBodyBytes?: number
  /** Called with each internal failure. By default, failures are written to standard error. */
  readonly onFailure?: (error: unknown, request: Request | null, requestId: string) => void
  readonly log?: RequestLog
}

/** Names of the service's options that `serve` accepts, too. */
export const SERVICE_OPTIONS = [
  'keys agent run maxRuns live controlPlane webhooks webhookDispatcher secret quota credits maxProfiles',
  'askLlm publicRedaction workspace canvasExtensions editor allowOrigins inspector version maxBodyBytes',
  'onFailure log',
] as const

/** The HTTP interface of an engine. Mount `app`, or pass requests to `fetch`. */
export interface Service {
  readonly app: Hono
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly identify: Identify
  readonly allowOrigin: AllowOrigin
  readonly keys: ApiKeys
  readonly runs: Runs
  readonly lostRuns: LostRuns
  readonly live: Live
  /** Commands that clients run in sandboxes, outside conversations. */
  readonly commands: Commands
  readonly log: RequestLog | null
  readonly controlPlane: ControlPlane
  readonly webhookDispatcher: WebhookDispatcher
  /**
   * Named secrets. Clients can set a secret's value; only your code, including the agent, can read the value.
   */
  readonly secrets: NamedSecrets
  readonly profiles: Profiles
  readonly settings: Settings
}

/**
 * Creates an HTTP service for an engine. Starts no server, and does not close the engine or its store.
 * @throws ColloquyError `invalid_argument` for invalid options.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const service = createService({ engine })
 * const response = await service.fetch(new Request('http://localhost/health'))
 * response.status // 200
 * await engine.close()
 */
export function createService(options: ServiceOptions): Service {
  if (typeof options?.engine?.open !== 'function')
    invalidArgument('engine', 'must be an engine, as `createEngine` returns it')
  checkOptionNames(options, 'engine', ...SERVICE_OPTIONS)
  checkOptionNames(options.run, RUN_OPTIONS)
  const { engine, keys = [], version = VERSION, onFailure = complain } = options
  const report = (error: unknown): void => onFailure(error, null, '')
  const storedKeys = apiKeys(engine.store)
  // An unset environment variable must not become a key that every client has.
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string' && key.trim() !== ''))
    invalidArgument('keys', 'must contain only non-blank strings')
  if (options.secret?.trim() === '') invalidArgument('secret', 'must not be empty')
  const identify = identifier(keys, storedKeys)
  const metrics = new Metrics()
  const sealing = secretBox(options.secret ?? null)
  const starts = new Starts(engine.store, sealing)
  const { agent } = options
  const callTokens = new CallTokens(engine.store)
  const leaseTtl = options.run?.leaseTtl ?? engine.leaseTtl
  const runs = new Runs({
    store: engine.store,
    starts,
    agent:
      agent === undefined
        ? null
        : async (conversation, start) =>
            lostRuns.watched(
              conversation,
              await agent(conversation, start, {
                issueCallToken: (actionId, seconds) => callTokens.issue(conversation.id, actionId, seconds),
              }),
            ),
    options: { ...options.run, onPrefix: countLeftOut(metrics, options.run?.onPrefix) },
    maxRuns: options.maxRuns ?? 100,
    leaseTtl,
    onFailure: report,
  })
  const lifecycle = { engine, runs, starts }
  const lostRuns = new LostRuns({ engine, runs, leaseTtl, onFailure: report })
  const controlPlane = createPlane(lifecycle, report, options.controlPlane)
  const refused = metrics.counter('colloquy_webhook_failures_total', 'Failed deliveries to a webhook.')
  const webhookDispatcher = new WebhookDispatcher(engine, options.webhooks ?? [], {
    ...options.webhookDispatcher,
    onFailure(error, webhook, conversationId) {
      refused.record(1, { webhook })
      options.webhookDispatcher?.onFailure?.(error, webhook, conversationId)
    },
  })
  const profiles = new Profiles(engine.store, sealing, options.maxProfiles ?? 50)
  const settings = new Settings(engine.store, sealing, profiles)
  const allowOrigin = allowOrigins(options.allowOrigins ?? [])
  const requireUser = callerCheck(identify, allowOrigin)
  const secrets = new NamedSecrets(engine.store, sealing)
  const agentProfiles = new AgentProfiles(engine.store, sealing, options.maxProfiles ?? 50)
  const users = new Users(engine.store, storedKeys)
  const userOf = (keyId: string) => users.byKey(keyId)
  const live = new Live(lifecycle, { onFailure: report, ...options.live })
  metrics.measured('colloquy_live_streams', 'Open streams of conversations.', () => live.size)
  metrics.measured(
    'colloquy_webhook_sending',
    'Conversations that this process is sending to a webhook.',
    () => webhookDispatcher.size,
  )
  metrics.measured('colloquy_runs', 'Runs of conversations in the background.', () => runs.size)
  metrics.measured('colloquy_conversations_in_memory', 'Conversations in memory.', () => engine.size)
  const { publicRedaction } = options
  const { sandboxes } = controlPlane
  const commands = new Commands(sandboxes.files)
  const shared = publicRedaction === undefined ? engine.store : redactedReads(engine.store, publicRedaction)
  const parts = { profiles, settings, agentProfiles }
  const ownSettings = settingsOperations(parts, options.askLlm ?? askChatCompletions)
  const all: Operation[] = [
    ...sharedEvents(shared),
    ...ownEvents(engine.store),
    ...blobOperations(engine.store),
    ...deletionOperations(engine, controlPlane.deletions),
    ...lifecycleOperations(lifecycle, (name) => profiles.get(name), {
      delete: (id) => controlPlane.deletions.delete(id),
      inherit: (source) => inheritedOf(sandboxes, source),
      prepare: (record) => makeFolder(sandboxes, record),
    }),
    ...callOperations(lifecycle, callTokens, requireUser),
    ...streamOperations(live, identify),
    ...appConversationOperations(controlPlane),
    ...sharingOperations(controlPlane, publicRedaction ?? null),
    ...startOperations(controlPlane),
    ...sandboxOperations(controlPlane),
    ...ownSettings,
    ...cloudSettingsOperations(settings),
    ...cloudProfileOperations(ownSettings),
    ...mcpOperations(settings),
    ...schemaOperations(parts),
    ...secretOperations(secrets),
    ...agentProfileOperations(parts),
    ...savedWorkspaceOperations(engine.store),
    ...emptyListOperations(),
    ...scopedOperations(engine.store, sandboxes, [
      ...fileOperations(sandboxes.files),
      ...gitOperations(sandboxes.files),
      ...commandOperations(sandboxes.files, commands),
      ...editorOperations(options.editor ?? null),
    ]),
    ...canvasOperations(options.canvasExtensions ?? NO_EXTENSIONS),
    ...workspaceOperations(options.workspace ?? null),
    ...keyOperations(storedKeys, requireUser, userOf),
    ...organizationOperations(requireUser, userOf),
    ...organizationListOperations(users, requireUser, options.credits ?? (() => null)),
    ...showMetrics(metrics),
    ...inspectorOperations(options.inspector ?? null),
    ...serverOperations(version, engine.store, live, sandboxes.files !== null),
  ]
  const { quota } = options
  const orgOf = async (request: Request) => organizationOf(request, await requireUser(request))
  const operations = quota === undefined ? all : withQuota(all, engine.store, quota, orgOf)
  // The document is built on the first request, because it costs ten times as much as the rest of the service.
  let document: JsonObject | null = null
  const app = createApp(
    [
      ...operations,
      operation('get /openapi.json', {
        operationId: 'openapi',
        summary: 'This document',
        open: true,
        returns: {},
        handle: () => (document ??= openApi(operations)),
      }),
    ],
    {
      maxBodyBytes: options.maxBodyBytes,
      allowOrigin,
      onFailure,
      onRequest: observeRequests(metrics, options.log ?? null),
      around: tracing(),
      requireUser,
    },
  )
  return {
    app,
    fetch: app.fetch,
    identify,
    allowOrigin,
    keys: storedKeys,
    runs,
    lostRuns,
    live,
    commands,
    log: options.log ?? null,
    controlPlane,
    webhookDispatcher,
    secrets,
    profiles,
    settings,
  }
}

function complain(error: unknown): void {
  console.error(error instanceof Error ? (error.stack ?? error.message) : String(error))
}
