/** The entry `colloquy/service`: the HTTP interface over an engine. */

export { type Caller, type Credential, credentialOf, type Identify } from './auth.ts'
export type { CallbacksOptions } from './callbacks/callbacks.ts'
export { type SignedHeaders, signWebhook, verifyWebhook } from './callbacks/sign.ts'
export type { WebhookOptions } from './callbacks/webhook.ts'
export type { Plane, PlaneOptions } from './control/plane.ts'
export type { StartTask, TaskStatus } from './control/start-task.ts'
export type {
  ExposedUrl,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxStatus,
} from './control/sandbox.ts'
export { type ApiKeyInfo, type ApiKeys, apiKeys, type NewApiKey } from './keys/keys.ts'
export type { Agent } from './lifecycle/runs.ts'
export type { Counter, Gauge, Histogram, Metrics } from './observe/metrics.ts'
export type { Log, LogLine } from './observe/observe.ts'
export { scriptedAgent, type ScriptedCall, type ScriptedReply } from './scripted-agent.ts'
export { createService, type Service, type ServiceOptions } from './service.ts'
export type { Profile, Profiles } from './settings/profiles.ts'
export type { Settings, SettingsDiff, SettingsValues } from './settings/settings.ts'
export type { AskLlm } from './settings/validate.ts'
export type { Editor } from './workspace/editor.ts'
export type { Workspace } from './workspace/workspace.ts'
