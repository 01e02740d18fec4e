/** Runs a command as a process group that is ended as a whole, even if this process dies. */

import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import type { Watchdog } from './watchdog.ts'

interface GroupCommand {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly cause?: Error
}

/**
 * Script that waits for the line `go`, which is sent once the watchdog knows the command. Exits with 125 if the
 * line does not arrive.
 */
const GATE = 'IFS= read -r word <&3 && [ "$word" = go ] || exit 125; exec 3<&-; exec "$@"'

/**
 * Starts a shell that waits until `go()` is called. `go` adds the shell's process group to the watchdog, then
 * lets the shell run the command. If the watchdog fails, `go` kills the shell. If the shell cannot start,
 * `child.pid` is undefined.
 */
export function spawnGated({ command, cwd, env }: GroupCommand, watchdog: Watchdog) {
  const child = spawn('/bin/sh', ['-c', GATE, 'sandbox', ...command], {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const gate = child.stdio[3] as Writable | null
  gate?.on('error', () => undefined)
  const go = async (pid: number): Promise<void> => {
    try {
      await watchdog.add(pid)
    } catch (error) {
      child.kill('SIGKILL')
      watchdog.remove(pid)
      throw error
    }
    gate?.end('go\n')
  }
  return { child, go }
}

/** Sends a signal to a process group. Returns false if the group has no process. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  try {
    return pid !== undefined && process.kill(-pid, signal)
  } catch {
    return false
  }
}

export class Output {
  readonly #limit: number
  #text = ''

  /** @param limit maximum number of characters */
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
      // Shortened rarely, since that copies the text.
      if (this.#text.length > 2 * this.#limit) this.#text = this.text
    })
  }
}

const GONE_TIMEOUT = 2_000

export class Group {
  readonly #child: ChildProcess
  readonly #watchdog: Watchdog
  readonly ended: Promise<Ended>

  private constructor(child: ChildProcess, watchdog: Watchdog, ended: Promise<Ended>) {
    this.#child = child
    this.#watchdog = watchdog
    this.ended = ended
  }

  static async start(command: GroupCommand, watchdog: Watchdog, output: Output): Promise<Group> {
    const { child, go } = spawnGated(command, watchdog)
    const { promise, resolve, reject } = Promise.withResolvers<Ended>()
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', (error) => reject(error))
    if (child.pid === undefined) {
      await promise
      throw new Error('The command could not be started.')
    }
    for (const stream of [child.stdout, child.stderr]) output.append(stream)
    await go(child.pid)
    return new Group(child, watchdog, promise)
  }

  signal(signal: NodeJS.Signals | 0): boolean {
    return signalGroup(this.#child.pid, signal)
  }

  /** Sends SIGTERM, and SIGKILL after `killTimeout` milliseconds. Then waits at most 2 s for the end. */
  async end(killTimeout: number): Promise<void> {
    this.signal('SIGTERM')
    // A paused group does not handle signals.
    this.signal('SIGCONT')
    if (!(await this.#gone(killTimeout))) {
      this.signal('SIGKILL')
      await this.#gone(GONE_TIMEOUT)
    }
    const { pid, stdout, stderr } = this.#child
    if (pid !== undefined) this.#watchdog.remove(pid)
    // A process that left the group may hold the pipes; they are closed without waiting for it.
    setTimeout(() => {
      stdout?.destroy()
      stderr?.destroy()
    }, 100).unref()
  }

  async #gone(milliseconds: number): Promise<boolean> {
    const until = performance.now() + milliseconds
    while (this.signal(0) && (await isAlive(this.#child.pid ?? 0))) {
      if (performance.now() > until) return false
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return true
  }
}

/** Whether a process group that can be signalled is alive. On Linux, a group of zombies is not alive. */
async function isAlive(group: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
    // The name is in parentheses and may contain anything; the state, the parent and the group follow.
    const [state, , itsGroup] = status.slice(status.lastIndexOf(')') + 2).split(' ')
    if (Number(itsGroup) === group && state !== 'Z' && state !== 'X') return true
  }
  return false
}
