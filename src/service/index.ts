/** The entry `colloquy/service`: the HTTP interface over an engine. */

export { type Caller, type Credential, credentialOf, type Identify } from './auth.ts'
export { type ApiKeyInfo, type ApiKeys, apiKeys, type NewApiKey } from './keys/keys.ts'
export type { Agent } from './lifecycle/runs.ts'
export type { Counter, Gauge, Histogram, Metrics } from './observe/metrics.ts'
export type { Log, LogLine } from './observe/observe.ts'
export { scriptedAgent, type ScriptedCall, type ScriptedReply } from './scripted-agent.ts'
export { createService, type Service, type ServiceOptions } from './service.ts'
