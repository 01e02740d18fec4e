/** A small child process that ends process groups when the service's process has ended or was killed. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { attempt } from '../../../event/json.ts'

/**
 * Environment variable that marks a sandbox's processes. On Linux, it identifies even processes that left the
 * sandbox's group.
 */
export const MARKER = 'COLLOQUY_SANDBOX_OWNER'

/**
 * Shell script. Its arguments are the mark and the current groups. It reads lines `+group` and `-group` until
 * the service is gone, then ends the remaining groups and the marked processes.
 */
const SCRIPT = `trap '' HUP INT TERM
mark=$1
shift
groups=" $* "
while IFS= read -r line; do
  group=\${line#?}
  case $line in
    +*) groups="$groups$group " ;;
    -*) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
for round in 1 2 3; do
  for file in $(grep -ls "$mark" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}; pid=\${pid%/environ}
    [ "$pid" = "$$" ] || kill -KILL "$pid" 2>/dev/null
  done
done
`

export class Watchdog {
  readonly mark = `colloquy-${crypto.randomUUID()}`
  readonly #groups = new Set<number>()
  #child: ChildProcess | null = null
  #starting = Promise.resolve()

  markOf(id: string): string {
    return `${this.mark}:${id}`
  }

  /** Watches a process group. @throws Error if the watchdog cannot start. The caller must then end the group. */
  async add(group: number): Promise<void> {
    this.#groups.add(group)
    if (this.#child === null) this.#starting = this.#start()
    else await this.#send(`+${group}`)
    await this.#starting.catch((cause: Error) => {
      throw new Error(`The watchdog of its processes could not be started: ${cause.message}`, { cause })
    })
  }

  remove(group: number): void {
    if (this.#groups.delete(group)) void this.#send(`-${group}`)
  }

  async close(): Promise<void> {
    const child = this.#child
    this.#child = null
    this.#groups.clear()
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.stdin?.end()
    })
  }

  async #start(): Promise<void> {
    // The groups are passed as arguments, because this process may die before it can write them.
    const groups = Array.from(this.#groups, String)
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'colloquy-watchdog', this.mark, ...groups], {
      // The watchdog has its own group, so that a signal of the terminal does not end it first.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: process.env['PATH'] },
    })
    this.#child = child
    child.on('error', () => {
      if (this.#child === child && child.pid === undefined) this.#child = null
    })
    child.stdin?.on('error', () => undefined)
    child.once('exit', () => {
      if (this.#child !== child) return
      // The watchdog was killed: start another one.
      this.#child = null
      if (this.#groups.size === 0) return
      this.#starting = this.#start()
      this.#starting.catch(() => undefined)
    })
    child.unref()
    const { stdin } = child
    if (stdin !== null && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
    await once(child, 'spawn')
  }

  #send(line: string): Promise<void> {
    const stdin = this.#child?.stdin
    if (stdin === null || stdin === undefined) return Promise.resolve()
    return new Promise((resolve) => void stdin.write(`${line}\n`, () => resolve()))
  }
}

/** Ends all processes with a mark, in any group. Works only on Linux. */
export const killMarked = (mark: string): Promise<void> => sweepMarked(mark, 'SIGKILL', 5)

export const pauseMarked = (mark: string): Promise<void> => sweepMarked(mark, 'SIGSTOP', 3)

/** Signals marked processes in rounds. A round finds processes that started or called exec in the previous round. */
async function sweepMarked(mark: string, signal: NodeJS.Signals, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    if ((await signalMarked(mark, signal)) === 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Signals all marked processes and returns their number; 0 if the system hides them. */
export async function signalMarked(mark: string, signal: NodeJS.Signals): Promise<number> {
  if (process.platform !== 'linux') return 0
  let count = 0
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
    if (Number(pid) === process.pid || !environment.includes(`=${mark}\0`)) continue
    count += 1
    // The process may have ended.
    attempt(() => process.kill(Number(pid), signal), false)
  }
  return count
}
