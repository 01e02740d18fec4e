/** Runs a command as a process group that is ended as a whole, even if this process dies. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { attempt } from '../../../event/json.ts'
import type { Watchdog } from './watchdog.ts'

interface GroupCommand {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Shell script that waits for the line `go`, then runs the command. The line is sent once the watchdog knows
 * the process group. If the line does not arrive, the script exits with 125.
 */
const GATE = 'IFS= read -r word <&3 && [ "$word" = go ] || exit 125; exec 3<&-; exec "$@"'

export class Output {
  readonly #limit: number
  #text = ''

  /** @param limit maximum number of characters to keep; only the last ones are kept */
  constructor(limit: number) {
    this.#limit = limit
  }

  get text(): string {
    return this.#text.slice(Math.max(0, this.#text.length - this.#limit))
  }

  append(stream: Readable | null): void {
    // A broken pipe has no more output.
    stream?.on('error', () => undefined)
    stream?.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text
      // Shorten the text rarely, because shortening copies it.
      if (this.#text.length > 2 * this.#limit) this.#text = this.text
    })
  }
}

const GONE_TIMEOUT = 2_000
/** Milliseconds for which output is still read after a group has ended. */
const OUTPUT_WAIT = 100

export class Group {
  readonly #child: ChildProcess
  readonly #pid: number
  readonly #watchdog: Watchdog
  readonly ended: Promise<Ended>
  /** Resolves when the command has ended and its output is closed. */
  readonly closed: Promise<unknown>

  private constructor(child: ChildProcess, pid: number, watchdog: Watchdog) {
    this.#child = child
    this.#pid = pid
    this.#watchdog = watchdog
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
    this.closed = new Promise((resolve) => child.once('close', resolve))
  }

  /**
   * Starts a shell, adds its process group to the watchdog, then lets the shell run the command. If the
   * watchdog fails, kills the shell.
   */
  static async start(
    { command, cwd, env }: GroupCommand,
    watchdog: Watchdog,
    stdout: Output,
    stderr: Output,
  ): Promise<Group> {
    const child = spawn('/bin/sh', ['-c', GATE, 'sandbox', ...command], {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
    const { pid } = child
    if (pid === undefined) throw (await once(child, 'error'))[0]
    const group = new Group(child, pid, watchdog)
    stdout.append(child.stdout)
    stderr.append(child.stderr)
    const gate = child.stdio[3] as Writable
    gate.on('error', () => undefined)
    try {
      await watchdog.add(pid)
    } catch (error) {
      group.signal('SIGKILL')
      watchdog.remove(pid)
      throw error
    }
    gate.end('go\n')
    return group
  }

  /** Sends a signal to the process group. Returns false if the group has no process. */
  signal(signal: NodeJS.Signals | 0): boolean {
    return attempt(() => process.kill(-this.#pid, signal), false)
  }

  /** Sends SIGTERM, and SIGKILL after `killTimeout` milliseconds. Then waits at most 2 s for the group. */
  async end(killTimeout: number): Promise<void> {
    this.signal('SIGTERM')
    // A paused group does not handle signals.
    this.signal('SIGCONT')
    if (!(await this.#gone(killTimeout))) {
      this.signal('SIGKILL')
      await this.#gone(GONE_TIMEOUT)
    }
    this.#watchdog.remove(this.#pid)
    // A process that left the group may hold the pipes, so they are closed after a while. `setImmediate` lets
    // pending reads run first, even after a blocked event loop.
    setTimeout(() => setImmediate(() => this.#closeOutput()), OUTPUT_WAIT).unref()
  }

  #closeOutput(): void {
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  async #gone(milliseconds: number): Promise<boolean> {
    const until = performance.now() + milliseconds
    while (this.signal(0) && (await isAlive(this.#pid).catch(() => true))) {
      if (performance.now() > until) return false
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return true
  }
}

/** Whether a group that accepts signals has a live process, not only zombies. Always true except on Linux. */
async function isAlive(group: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
    // The process name is in parentheses and may contain anything. The state, the parent and the group follow.
    const [state, , itsGroup] = status.slice(status.lastIndexOf(')') + 2).split(' ')
    if (Number(itsGroup) === group && state !== 'Z' && state !== 'X') return true
  }
  return false
}
