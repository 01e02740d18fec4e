import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { inject, onTestFinished } from 'vitest'

const MAIN = join(inject('built'), 'cli/main.js')

export const KEYS = 'COLLOQUY_SESSION_API_KEYS'

/** Environment variable with the secret that seals API keys. */
export const SECRET = 'COLLOQUY_SECRET'

export interface ServerOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Working directory. */
  readonly cwd?: string
}

export interface Server {
  readonly url: string
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Sends a signal, waits for the exit and returns the output. */
  readonly stop: (
    signal: NodeJS.Signals,
  ) => Promise<{ code: number | null; out: string; log: readonly Line[] }>
}

/** A line of the service's log. */
export interface Line {
  readonly level: string
  readonly message: string
  readonly path: string
  readonly status: number
  readonly request_id: string
}

/** Starts the command and waits until it prints its address. */
export async function startServer(
  args: readonly string[],
  { env = {}, cwd }: ServerOptions = {},
): Promise<Server> {
  const port = args.includes('--port') ? [] : ['--port', '0']
  const child = spawn(process.execPath, [MAIN, 'serve', ...port, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, [KEYS]: undefined, [SECRET]: undefined, ...env },
    ...(cwd !== undefined && { cwd }),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (err += text))
  const url = await new Promise<string>((result, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const address = / at (http:\S+)\n/.exec(out)?.[1]
      if (address !== undefined) result(address)
    })
    child.once('exit', () => reject(new Error(`ended: ${err}`)))
  })
  return {
    url,
    child,
    async stop(signal) {
      const ended = once(child, 'exit')
      child.kill(signal)
      const [code] = await ended
      const log = err
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Line => JSON.parse(line))
      return { code, out, log }
    },
  }
}
