/** `colloquy serve` as a process: arguments go in, where it serves comes out, and what it wrote until its end. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { inject, onTestFinished } from 'vitest'

const MAIN = join(inject('built'), 'cli/main.ts')

/** The variable that holds the keys. */
export const KEYS = 'COLLOQUY_SESSION_API_KEYS'

/** The variable that holds what API keys are sealed with. */
export const SECRET = 'COLLOQUY_SECRET'

/** What a process is started with. */
export interface Start {
  readonly env?: Readonly<Record<string, string>>
  /** The folder that it is started in. */
  readonly cwd?: string
}

/** A service that runs. */
export interface Served {
  readonly url: string
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Sends a signal and waits for the end; what was written until then. */
  readonly stop: (
    signal: NodeJS.Signals,
  ) => Promise<{ code: number | null; out: string; log: readonly Line[] }>
}

/** A line of its log. */
export interface Line {
  readonly level: string
  readonly message: string
  readonly path: string
  readonly status: number
  readonly request_id: string
}

/** Starts the command, and waits until it says where it serves. */
export async function served(args: readonly string[], { env = {}, cwd }: Start = {}): Promise<Served> {
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
