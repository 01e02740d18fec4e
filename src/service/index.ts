/** The entry `colloquy/service`: the HTTP interface over an engine. */

export { type Caller, type Credential, credentialOf, type Identify } from './auth/caller.ts'
export type { WebhookDispatcherOptions } from './webhooks/dispatcher.ts'
export { type SignedHeaders, signWebhook, verifyWebhook } from './webhooks/sign.ts'
export type { WebhookOptions } from './webhooks/webhook-options.ts'
export type { ControlPlane, ControlPlaneOptions } from './control-plane/control-plane.ts'
export type { StartTask, TaskStatus } from './control-plane/start-tasks.ts'
export type {
  ExposedUrl,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxStatus,
} from './control-plane/sandbox-provider.ts'
export { type ApiKeyInfo, type ApiKeys, apiKeys, type NewApiKey } from './auth/api-keys.ts'
export type { Agent, AgentContext, CallToken } from './conversations/runs.ts'
export type { RequestLog, RequestLogLine } from './observe/request-log.ts'
export { createService, type Service, type ServiceOptions } from './service.ts'
export type { Profiles } from './settings/profiles.ts'
export type { Settings, SettingsDiff, SettingsValues } from './settings/settings.ts'
export type { AskLlm } from './settings/validate.ts'
export type { CanvasExtensions, Extension, ExtensionSource } from './workspace/canvas-extensions.ts'
export type { Editor, Workspace } from './workspace/workspace.ts'
