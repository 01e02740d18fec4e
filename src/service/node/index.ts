/** The entry `colloquy/service/node`: the service on a Node server, with sockets. */

export { scriptedAgent } from '../scripted-agent.ts'
export { isLoopback } from './server.ts'
export { listen, type Listening, type ListenOptions, type Upgrade } from './server.ts'
export { serve, type ServeOptions } from './serve.ts'
export { createSockets, type SocketOptions, type Sockets } from './sockets.ts'
export { processSandboxes, type ProcessSandboxes, type ProcessSandboxesOptions } from './process-sandboxes.ts'
export type { ProcessSpec } from './sandbox/process-sandbox.ts'
export { directoryExtensions } from './canvas-extensions.ts'
export { directoryWorkspace } from './workspace.ts'
