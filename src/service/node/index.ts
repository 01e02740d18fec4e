/** The entry `colloquy/service/node`: the service on a Node server, with sockets. */

export { isLoopback, listen, type Listening, type ListenOptions, serve, type ServeOptions } from './server.ts'
export type { Upgrade } from './server.ts'
export { processSandboxes, type ProcessSandboxesOptions } from './process-sandboxes.ts'
export type { ProcessSpec } from './sandbox/process-sandbox.ts'
export { directoryExtensions } from './canvas-extensions.ts'
export { directoryWorkspace } from './workspace.ts'
