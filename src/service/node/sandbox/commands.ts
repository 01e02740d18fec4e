/**
 * Runs commands in sandbox folders. A command is paused when its sandbox is paused, and ends when the sandbox
 * or this process ends.
 */

import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { HttpProblem } from '../../http/problem.ts'
import type { CommandOutput } from '../../sandbox-files/contract.ts'
import { Output, signalGroup, spawnGated } from './group.ts'
import { pauseMarked, killMarked, MARKER, signalMarked, type Watchdog } from './watchdog.ts'

/** Maximum characters of each output stream of a command. Only the end of longer output is kept. */
const MAX_OUTPUT = 2 ** 20
/** Milliseconds for which output is still read after a command has ended. */
const OUTPUT_WAIT = 100
const KILL_WAIT = 2_000
/** Milliseconds between SIGTERM and SIGKILL, in which a command can clean up, for example its lock files. */
const TERM_WAIT = 1_000

interface SandboxCommand {
  readonly command: string
  readonly cwd: string
  readonly id: string
  readonly milliseconds: number
  readonly signal?: AbortSignal
}

interface Running {
  readonly id: string
  readonly pid: number
  readonly end: () => void
  readonly done: Promise<unknown>
}

export class SandboxCommands {
  readonly #watchdog: Watchdog
  readonly #running = new Set<Running>()
  #isClosed = false

  constructor(watchdog: Watchdog) {
    this.#watchdog = watchdog
  }

  /**
   * Runs a command until it ends or its timeout expires. The command inherits only PATH from the service.
   * Then ends all processes that the command started, on Linux also those outside its group, and ignores
   * their output.
   */
  async run({ command, cwd, id, milliseconds, signal }: SandboxCommand): Promise<CommandOutput> {
    if (this.#isClosed) throw new HttpProblem(503, 'The service is shutting down.')
    const mark = `colloquy-${crypto.randomUUID()}`
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: cwd,
      LANG: 'C.UTF-8',
      [MARKER]: this.#watchdog.markOf(id),
      COLLOQUY_SANDBOX_COMMAND: mark,
    }
    const { child, go } = spawnGated({ command: ['/bin/sh', '-c', command], cwd, env }, this.#watchdog)
    const { output, end } = watch(child, mark, milliseconds)
    const { pid } = child
    if (pid === undefined) return output
    const running = { id, pid, end, done: output }
    this.#running.add(running)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
    try {
      await go(pid)
      return await output
    } finally {
      signal?.removeEventListener('abort', end)
      this.#watchdog.remove(pid)
      this.#running.delete(running)
    }
  }

  async pause(id: string): Promise<void> {
    if (this.#signal(id, 'SIGSTOP')) await pauseMarked(this.#watchdog.markOf(id))
  }

  async resume(id: string): Promise<void> {
    if (this.#signal(id, 'SIGCONT')) await signalMarked(this.#watchdog.markOf(id), 'SIGCONT')
  }

  end(id: string): Promise<void> {
    return this.#end(this.#in(id))
  }

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

  #signal(id: string, signal: NodeJS.Signals): boolean {
    const some = this.#in(id)
    for (const { pid } of some) signalGroup(pid, signal)
    return some.length > 0
  }
}

/** @param mark text in the environment of all processes of the command */
function watch(child: ChildProcess, mark: string, milliseconds: number) {
  const { promise: output, resolve, reject } = Promise.withResolvers<CommandOutput>()
  child.once('error', (error) => {
    clearTimeout(timer)
    reject(error)
  })
  const stdout = new Output(MAX_OUTPUT)
  const stderr = new Output(MAX_OUTPUT)
  stdout.append(child.stdout)
  stderr.append(child.stderr)
  let isCutOff = false
  let timer: NodeJS.Timeout | undefined
  const finish = (): void => {
    clearTimeout(timer)
    child.stdout?.destroy()
    child.stderr?.destroy()
    const exit_code = isCutOff ? -1 : (child.exitCode ?? -1)
    resolve({ exit_code, stdout: stdout.text, stderr: stderr.text })
  }
  const closed = new Promise((resolve) => child.once('close', resolve))
  /** Kills the command's processes. Stops reading their output after at most `wait` milliseconds. */
  const kill = (wait: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => setImmediate(finish), wait)
    signalGroup(child.pid, 'SIGKILL')
    void killMarked(mark).catch(() => undefined)
    void closed.then(finish)
  }
  const cutOff = async (): Promise<void> => {
    if (isCutOff) return
    isCutOff = true
    clearTimeout(timer)
    signalGroup(child.pid, 'SIGTERM')
    // A paused command does not handle signals.
    signalGroup(child.pid, 'SIGCONT')
    for (let rest = TERM_WAIT; rest > 0 && signalGroup(child.pid, 0); rest -= 10) await sleep(10)
    kill(KILL_WAIT)
  }
  const end = (): void => void cutOff()
  timer = setTimeout(end, milliseconds)
  child.once('exit', () => {
    if (!isCutOff) kill(OUTPUT_WAIT)
  })
  return { output, end }
}
