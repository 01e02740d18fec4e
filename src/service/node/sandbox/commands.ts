/** Commands in the folders of sandboxes: each is held, and ends, with its sandbox, and ends with this process. */

import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { HttpProblem } from '../../http/problem.ts'
import type { CommandOutput } from '../../sandbox-files/contract.ts'
import { GATE } from './group.ts'
import { holdMarked, killMarked, MARKER, signalMarked, type Watchdog } from './watchdog.ts'

/** Characters that are kept of what a command prints. */
const MOST_OUTPUT = 2 ** 20
/** Milliseconds after the end of a command in which what it has printed is still read. */
const LAST_WORDS = 100
/** Milliseconds that what is killed may take to end before it is not waited for. */
const MOST_DYING = 2_000

/** What is run. */
export interface SandboxCommand {
  readonly command: string
  readonly cwd: string
  /** Of the sandbox. */
  readonly id: string
  readonly milliseconds: number
}

interface Running {
  readonly id: string
  readonly pid: number
  /** Ends all of it. */
  readonly end: () => void
  readonly done: Promise<unknown>
}

/** The commands of a provider. */
export class SandboxCommands {
  readonly #watchdog: Watchdog
  readonly #running = new Set<Running>()
  readonly #killAll = (): void => {
    for (const { pid } of this.#running) signalGroup(pid, 'SIGKILL')
  }
  #isClosed = false

  constructor(watchdog: Watchdog) {
    this.#watchdog = watchdog
  }

  /**
   * With nothing of the service's own environment. Resolves soon after its end, or the end of its time, whatever it has
   * left behind: that is ended as well where the system shows it, and nothing more is read of it.
   * @throws HttpProblem 503 once all is closed; Error where no shell can be started.
   */
  async run({ command, cwd, id, milliseconds }: SandboxCommand): Promise<CommandOutput> {
    if (this.#isClosed) throw new HttpProblem(503, 'The service is shutting down.')
    const own = `colloquy-${crypto.randomUUID()}`
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: cwd,
      LANG: 'C.UTF-8',
      [MARKER]: this.#watchdog.markOf(id),
      COLLOQUY_SANDBOX_COMMAND: own,
    }
    const child = spawn('/bin/sh', ['-c', GATE, 'command', '/bin/sh', '-c', command], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
    const { output, end } = watch(child, own, milliseconds)
    const { pid } = child
    if (pid === undefined) return output
    const gate = child.stdio[3] as Writable
    gate.on('error', () => undefined)
    const running = { id, pid, end, done: output }
    if (this.#running.size === 0) process.once('exit', this.#killAll)
    this.#running.add(running)
    try {
      await this.#watchdog.add(pid)
      gate.end('go\n')
      return await output
    } finally {
      this.#watchdog.remove(pid)
      this.#running.delete(running)
      if (this.#running.size === 0) process.removeListener('exit', this.#killAll)
    }
  }

  /** Holds those in a sandbox where they are; their time goes on. */
  async pause(id: string): Promise<void> {
    if (this.#signal(id, 'SIGSTOP')) await holdMarked(this.#watchdog.markOf(id))
  }

  async resume(id: string): Promise<void> {
    if (this.#signal(id, 'SIGCONT')) await signalMarked(this.#watchdog.markOf(id), 'SIGCONT')
  }

  /** Ends those in a sandbox; resolves when they have ended. */
  end(id: string): Promise<void> {
    return this.#end(this.#in(id))
  }

  /** Ends all, and takes no more. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#end([...this.#running])
  }

  async #end(some: readonly Running[]): Promise<void> {
    for (const { end } of some) end()
    await Promise.allSettled(some.map(({ done }) => done))
  }

  #in(id: string): readonly Running[] {
    return [...this.#running].filter((one) => one.id === id)
  }

  /** Gives whether there are any. */
  #signal(id: string, signal: NodeJS.Signals): boolean {
    const some = this.#in(id)
    for (const { pid } of some) signalGroup(pid, signal)
    return some.length > 0
  }
}

interface Watched {
  readonly output: Promise<CommandOutput>
  readonly end: () => void
}

/** @param mark what all that it starts carries */
function watch(child: ChildProcess, mark: string, milliseconds: number): Watched {
  const { promise: output, resolve, reject } = Promise.withResolvers<CommandOutput>()
  child.once('error', (error) => {
    clearTimeout(timer)
    reject(error)
  })
  const kept = { stdout: '', stderr: '' }
  // One that could not be started has none.
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      kept[name] = (kept[name] + text).slice(-MOST_OUTPUT)
    })
  let isCutOff = false
  let timer: NodeJS.Timeout | undefined
  const finish = (): void => {
    clearTimeout(timer)
    child.stdout?.destroy()
    child.stderr?.destroy()
    resolve({ exit_code: isCutOff ? -1 : (child.exitCode ?? -1), ...kept })
  }
  /** What holds its output open then is read no more. */
  const kill = (wait: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => setImmediate(finish), wait)
    signalGroup(child.pid, 'SIGKILL')
    void killMarked(mark).catch(() => undefined)
  }
  const end = (): void => {
    isCutOff = true
    kill(MOST_DYING)
  }
  timer = setTimeout(end, milliseconds)
  child.once('exit', () => kill(LAST_WORDS))
  child.once('close', finish)
  return { output, end }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // Nothing of it is left.
  }
}
