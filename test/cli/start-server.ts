import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { inject, onTestFinished } from 'vitest'
import { run } from '../../src/cli/run.ts'

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

const addressIn = (out: string): string | undefined => / at (http:\S+)\n/.exec(out)?.[1]

const parseLog = (err: string): Line[] =>
  err
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Line => JSON.parse(line))

const withPort = (args: readonly string[]): readonly string[] =>
  args.includes('--port') ? args : ['--port', '0', ...args]

/** Runs the command in this process, for tests in which the process plays no part. */
export async function serveInProcess(
  args: readonly string[],
  env: ServerOptions['env'] = {},
): Promise<Pick<Server, 'url'> & { readonly stop: () => ReturnType<Server['stop']> }> {
  let [out, err] = ['', '']
  const stopping = Promise.withResolvers<void>()
  const started = Promise.withResolvers<string>()
  const ended = run(['serve', ...withPort(args)], {
    stdin: (async function* () {})(),
    stdout: {
      isTTY: false,
      async write(text) {
        out += text
        const address = addressIn(out)
        if (address !== undefined) started.resolve(address)
      },
    },
    stderr: { isTTY: false, write: async (text) => void (err += text) },
    env,
    onStop: (stop) => void stopping.promise.then(stop),
  })
  void ended.then(() => started.reject(new Error(`ended: ${err}`)), started.reject)
  const stop = async () => {
    stopping.resolve()
    return { code: await ended, out, log: parseLog(err) }
  }
  onTestFinished(async () => void (await stop()))
  return { url: await started.promise, stop }
}

/** Starts the command and waits until it prints its address. */
export async function startServer(
  args: readonly string[],
  { env = {}, cwd }: ServerOptions = {},
): Promise<Server> {
  const child = spawn(process.execPath, [MAIN, 'serve', ...withPort(args)], {
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
      const address = addressIn(out)
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
      return { code, out, log: parseLog(err) }
    },
  }
}
