/** Entry point `colloquy/testing/server`: conformance cases and random commands for servers, and scripted models. */

export type { ServerClientOptions } from './client.ts'
export { type ProviderServer, providerServer } from '../node/provider-server.ts'
export { fakeProvider, type FakeProvider, type ProviderRequest } from '../provider/provider.ts'
export {
  type Model,
  type ModelFailure,
  type ModelPart,
  type ModelReply,
  type ModelTurn,
  playTurns,
  type RequestBody,
} from '../../messages/model.ts'
export { scriptedModel, type ScriptOptions } from '../provider/script.ts'
export { serverConformance, type ServerCase } from './kit.ts'
export type { Capability, ServerConformanceOptions } from './trial.ts'
export * from './script.ts'
export * from '../drive/drive-server.ts'
