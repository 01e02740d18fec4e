/** Starts the official web page on its static server, and `colloquy serve`, each as a process. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CANVAS_FOLDER } from './install.ts'

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts')
const AGENT = join(import.meta.dirname, 'canvas-agent.ts')
const KEY = 'the-key-of-the-test'

export interface Canvas {
  /** URL of the page. */
  readonly url: string
  /** Sends a request with the key to the service. @throws Error unless the response is successful. */
  readonly ask: (method: string, path: string, body?: object) => Promise<unknown>
  /** Lets slow replies continue. */
  readonly openGate: () => void
  readonly closeGate: () => void
  /** Kills the service, and starts it again with the same database and address. */
  readonly restart: () => Promise<void>
  readonly close: () => Promise<void>
}

export async function startCanvas(log: { readonly file: string; readonly id: string }): Promise<Canvas> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-canvas-'))
  const db = join(folder, 'canvas.db')
  const gate = join(folder, 'gate')
  const config = join(folder, 'serve.json')
  writeFileSync(config, JSON.stringify({ sandbox_workspaces: true }))
  const [port, pagePort] = [await freePort(), await freePort()]
  const service = `http://127.0.0.1:${port}`
  const running = new Set<ChildProcess>()
  const start = (args: readonly string[], cwd: string): ChildProcess => {
    const child = spawn(process.execPath, [...args], {
      cwd,
      stdio: 'ignore',
      env: {
        ...process.env,
        GATE: gate,
        COLLOQUY_SESSION_API_KEYS: KEY,
        COLLOQUY_SECRET: 'a secret of this test',
      },
    })
    running.add(child)
    return child
  }
  const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
    running.delete(child)
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  const serve = async (): Promise<ChildProcess> => {
    const args = ['--db', db, '--port', String(port), '--agent', AGENT, '--config', config]
    const child = start([MAIN, 'serve', ...args], folder)
    await waitForResponse(`${service}/ready`, child)
    return child
  }
  const importing = start([MAIN, 'import', log.file, '--db', db, '--conversation', log.id], folder)
  const [code] = await once(importing, 'exit')
  if (code !== 0) throw new Error('the log was not imported')
  let server = await serve()
  const routes = ['/api', '/sockets', '/server_info', '/alive', '/health', '/ready']
  const page = start(
    [
      join(CANVAS_FOLDER, 'scripts/static-server.mjs'),
      '--port',
      String(pagePort),
      '--dir',
      'build',
      '--session-api-key',
      KEY,
      ...routes.flatMap((route) => ['--route', `${route}=${service}`]),
    ],
    CANVAS_FOLDER,
  )
  const url = `http://127.0.0.1:${pagePort}`
  await waitForResponse(`${url}/server_info`, page)
  return {
    url,
    ask: async (method, path, body) => {
      const response = await fetch(service + path, {
        method,
        headers: { 'Content-Type': 'application/json', 'X-Session-API-Key': KEY },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
    openGate: () => writeFileSync(gate, ''),
    closeGate: () => rmSync(gate, { force: true }),
    restart: async () => {
      await end(server, 'SIGKILL')
      server = await serve()
    },
    close: async () => {
      for (const child of running) await end(child, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Resolves when a request to the address succeeds. @throws Error if the process ends first. */
async function waitForResponse(address: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const response = await fetch(address, { headers: { 'X-Session-API-Key': KEY } }).catch(() => null)
    await response?.body?.cancel()
    if (response?.ok === true) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the process that serves ${address} has exited`)
}
