/**
 * Runs commands in sandbox folders. A command is paused when its sandbox is paused, and ends when the sandbox
 * or this process ends.
 */

import { HttpProblem } from '../../http/problem.ts'
import type { CommandOutput } from '../../sandbox-files/contract.ts'
import { Group, Output } from './group.ts'
import { pauseMarked, killMarked, MARKER, signalMarked, type Watchdog } from './watchdog.ts'

/** Maximum characters of each output stream of a command. Only the end of longer output is kept. */
const MAX_OUTPUT = 2 ** 20
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
  readonly group: Promise<Group>
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
   * Runs a command until it ends or its timeout expires. Then ends all processes that the command started (on
   * Linux, also processes outside its group), and ignores their output. The command inherits only PATH from
   * the service.
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
    const [stdout, stderr] = [new Output(MAX_OUTPUT), new Output(MAX_OUTPUT)]
    const shell = { command: ['/bin/sh', '-c', command], cwd, env }
    const group = Group.start(shell, this.#watchdog, stdout, stderr)
    let ending: Promise<void> | null = null
    const end = (): void => {
      ending ??= group.then(
        (one) => one.end(TERM_WAIT),
        () => undefined,
      )
    }
    const wait = async (): Promise<CommandOutput> => {
      const started = await group
      const { code } = await started.ended
      const exit_code = ending === null ? (code ?? -1) : -1
      await (ending ?? started.end(0))
      await killMarked(mark).catch(() => undefined)
      await started.closed
      return { exit_code, stdout: stdout.text, stderr: stderr.text }
    }
    const running = { id, group, end, done: wait() }
    this.#running.add(running)
    const timer = setTimeout(end, milliseconds)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
    try {
      return await running.done
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      this.#running.delete(running)
    }
  }

  async pause(id: string): Promise<void> {
    if (await this.#signal(id, 'SIGSTOP')) await pauseMarked(this.#watchdog.markOf(id))
  }

  async resume(id: string): Promise<void> {
    if (await this.#signal(id, 'SIGCONT')) await signalMarked(this.#watchdog.markOf(id), 'SIGCONT')
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

  async #signal(id: string, signal: NodeJS.Signals): Promise<boolean> {
    const some = this.#in(id)
    for (const { group } of some) (await group.catch(() => null))?.signal(signal)
    return some.length > 0
  }
}
