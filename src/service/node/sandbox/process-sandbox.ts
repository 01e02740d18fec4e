import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { serialQueue } from '../../../conversation/async.ts'
import type { SandboxState, SandboxStatus } from '../../control-plane/sandbox-provider.ts'
import { type Ended, Group, Output } from './group.ts'
import { pauseMarked, killMarked, MARKER, signalMarked, type Watchdog } from './watchdog.ts'

/** A template for sandboxes that run as processes of this machine. */
export interface ProcessSpec {
  readonly id: string
  readonly command: readonly string[] | null
  /**
   * Environment variables of the command. They can override PATH, HOME, LANG, LC_ALL, TZ and TMPDIR, but not
   * PORT, SESSION_API_KEY, OH_SESSION_API_KEYS_0, SANDBOX_ID or COLLOQUY_SANDBOX_OWNER. Default: none.
   */
  readonly initial_env?: Readonly<Record<string, string>>
  /** A folder within the sandbox's folder. Default: `workspace`. */
  readonly working_dir?: string
  /** Path of a health check on the command's PORT. Default: none; a command is RUNNING as soon as it starts. */
  readonly health?: string
}

interface ProcessSandboxParts {
  readonly id: string
  readonly spec: ProcessSpec
  readonly directory: string
  readonly watchdog: Watchdog
  readonly times: Times
  readonly onChange: (state: SandboxState) => void
}

/** Durations in milliseconds. */
export interface Times {
  readonly start: number
  /** Milliseconds between two health checks. */
  readonly look: number
  readonly response: number
  readonly killTimeout: number
}

export const WORKING_DIR = 'workspace'

/** Maximum characters of a failed command's output that `status_detail` contains. */
const LAST_OUTPUT = 500

/** After this number of failed health checks in a row, a running command's status is ERROR. */
const MAX_MISSED = 3

interface Run {
  readonly group: Group
  readonly url: string | null
  readonly port: number
  readonly key: string
  /** Incremented whenever the health checks must stop. */
  epoch: number
}

export class ProcessSandbox {
  readonly #parts: ProcessSandboxParts
  readonly #mark: string
  readonly #output = new Output(LAST_OUTPUT)
  readonly workingDir: string
  #run: Run | null = null
  #status: SandboxStatus = 'STARTING'
  #detail: string | null = null
  readonly #inTurn = serialQueue()
  #isOver = false

  constructor(parts: ProcessSandboxParts) {
    this.#parts = parts
    this.#mark = parts.watchdog.markOf(parts.id)
    this.workingDir = join(parts.directory, parts.spec.working_dir ?? WORKING_DIR)
  }

  get state(): SandboxState {
    const run = this.#status === 'RUNNING' ? this.#run : null
    const isServer = run !== null && run.url !== null
    return {
      status: this.#status,
      status_detail: this.#detail,
      session_api_key: isServer ? run.key : null,
      exposed_urls: isServer
        ? [{ name: 'AGENT_SERVER', url: `http://127.0.0.1:${run.port}`, port: run.port }]
        : null,
      working_dir: this.workingDir,
    }
  }

  begin(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isOver) return
      if (this.#status === 'ERROR') await this.#end('PAUSED', null)
      const run = this.#run
      if (run === null) return this.#begin()
      if (this.#status !== 'PAUSED') return
      this.#set(run.url === null ? 'RUNNING' : 'STARTING', null)
      run.group.signal('SIGCONT')
      await signalMarked(this.#mark, 'SIGCONT')
      void this.#watch(run)
    })
  }

  pause(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#status !== 'RUNNING' && this.#status !== 'STARTING') return
      this.#set('PAUSED', null)
      if (this.#run === null) return
      this.#run.epoch += 1
      this.#run.group.signal('SIGSTOP')
      await pauseMarked(this.#mark)
    })
  }

  close(status: SandboxStatus, detail: string | null): Promise<void> {
    this.#isOver = true
    return this.#inTurn(() => this.#end(status, detail))
  }

  async #begin(): Promise<void> {
    this.#set('STARTING', null)
    try {
      await this.#start()
    } catch (error) {
      this.#set(
        'ERROR',
        `The sandbox could not be started: ${error instanceof Error ? error.message : String(error)}.`,
      )
    }
  }

  async #end(status: SandboxStatus, detail: string | null): Promise<void> {
    const run = this.#run
    this.#run = null
    this.#set(status, detail)
    if (run === null) return
    run.epoch += 1
    await run.group.end(this.#parts.times.killTimeout)
    await killMarked(this.#mark)
  }

  #fail(run: Run, detail: string): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#run === run) await this.#end('ERROR', detail)
    })
  }

  async #start(): Promise<void> {
    const { id, spec, watchdog } = this.#parts
    await mkdir(this.workingDir, { recursive: true })
    if (spec.command === null) return this.#set('RUNNING', null)
    const port = await freePort()
    const key = crypto.randomUUID()
    const group = await Group.start(
      {
        command: spec.command,
        cwd: this.workingDir,
        env: {
          ...inherited(),
          HOME: this.workingDir,
          ...spec.initial_env,
          PORT: String(port),
          SESSION_API_KEY: key,
          OH_SESSION_API_KEYS_0: key,
          SANDBOX_ID: id,
          [MARKER]: this.#mark,
        },
      },
      watchdog,
      this.#output,
      this.#output,
    )
    const url = spec.health === undefined ? null : new URL(spec.health, `http://127.0.0.1:${port}`).href
    const run: Run = { group, url, port, key, epoch: 0 }
    this.#run = run
    void group.ended.then((ended) => this.#onExit(run, ended))
    if (url === null) this.#set('RUNNING', null)
    void this.#watch(run)
  }

  async #onExit(run: Run, ended: Ended): Promise<void> {
    run.epoch += 1
    if (this.#run !== run) return
    // The last output arrives a little later than the exit.
    await sleep(50)
    const how = ended.signal === null ? `exited with code ${ended.code}` : `was ended by ${ended.signal}`
    await this.#fail(run, `The command ${how}.${this.#lastOutput()}`)
  }

  async #watch(run: Run): Promise<void> {
    const { url, epoch } = run
    if (url === null) return
    const { times, spec } = this.#parts
    const start = performance.now()
    let missed = 0
    for (let wait = 25; ;) {
      const problem = await probe(url, times.response)
      if (run.epoch !== epoch) return
      if (problem === null) {
        missed = 0
        wait = times.look
        this.#set('RUNNING', null)
      } else if (this.#status === 'STARTING') {
        wait = Math.min(500, wait * 1.5)
        if (performance.now() - start > times.start) {
          const why = `The command did not serve ${spec.health} within ${times.start} ms: ${problem}.`
          return void this.#fail(run, why + this.#lastOutput())
        }
      } else if (++missed >= MAX_MISSED) {
        this.#set('ERROR', `The command no longer serves ${spec.health}: ${problem}.${this.#lastOutput()}`)
      }
      await sleep(wait)
      if (run.epoch !== epoch) return
    }
  }

  #lastOutput(): string {
    const end = this.#output.text.trim()
    return end === '' ? '' : ` Its last output: ${end}`
  }

  #set(status: SandboxStatus, detail: string | null): void {
    if (status === this.#status && detail === this.#detail) return
    this.#status = status
    this.#detail = detail
    this.#parts.onChange(this.state)
  }
}

/** Returns the service's environment variables that commands inherit. Other variables may contain secrets. */
const inherited = (): Record<string, string> =>
  Object.fromEntries(
    ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'].flatMap((name): [string, string][] => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds).unref())

/** Requests a URL. Returns the problem, or null for a good response. Never rejects. */
async function probe(url: string, timeout: number): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeout), redirect: 'manual' })
    await response.body?.cancel()
    return response.ok ? null : `it responds with ${response.status}`
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return `it does not respond within ${timeout} ms`
    const cause = error instanceof Error ? error.cause : null
    const code =
      typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : ''
    return `it cannot be reached${code}`
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
