/** Process groups are named to a small process of its own, which ends them when this one is gone, however it went. */

import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'

/**
 * In the environment of all that a provider starts, so that what has left its group is found as well, where the system
 * shows it.
 */
export const MARKER = 'COLLOQUY_SANDBOX_OWNER'

/**
 * Is given the mark and the groups that there are, and reads `+group` and `-group` until its input ends, which it does
 * when the service is gone; then it ends the groups that are left, and what carries the mark.
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

/** Watches over the groups of one provider. */
export class Watchdog {
  readonly mark = `colloquy-${crypto.randomUUID()}`
  readonly #groups = new Set<number>()
  #child: ChildProcess | null = null

  /** Environment marker of a sandbox's processes. */
  markOf(id: string): string {
    return `${this.mark}:${id}`
  }

  /** Resolves when the group would be ended without this process. */
  async add(group: number): Promise<void> {
    this.#groups.add(group)
    if (this.#child === null) this.#start()
    else await this.#say(`+${group}`)
  }

  remove(group: number): void {
    if (this.#groups.delete(group)) void this.#say(`-${group}`)
  }

  /** Ends the watch, and whatever is left. */
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

  #start(): void {
    // From its beginning it knows what to end: this process may be gone before it could say anything.
    const groups = Array.from(this.#groups, String)
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'colloquy-watchdog', this.mark, ...groups], {
      // A group of its own: what ends the service from the terminal must not end this first.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: process.env['PATH'] },
    })
    this.#child = child
    child.on('error', () => undefined)
    child.stdin?.on('error', () => undefined)
    child.once('exit', () => {
      if (this.#child !== child) return
      // It was ended from outside: another one takes its place.
      this.#child = null
      if (this.#groups.size > 0) this.#start()
    })
    child.unref()
    const { stdin } = child
    if (stdin !== null && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  }

  #say(line: string): Promise<void> {
    const stdin = this.#child?.stdin
    if (stdin === null || stdin === undefined) return Promise.resolve()
    return new Promise((resolve) => void stdin.write(`${line}\n`, () => resolve()))
  }
}

/** Ends what carries a mark, in whatever group: only Linux shows it. */
export const killMarked = (mark: string): Promise<void> => sweepMarked(mark, 'SIGKILL', 5)

/** Holds it where it is. */
export const holdMarked = (mark: string): Promise<void> => sweepMarked(mark, 'SIGSTOP', 3)

/** What begins, or becomes another program, while it looks is found the next time. */
async function sweepMarked(mark: string, signal: NodeJS.Signals, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    if ((await signalMarked(mark, signal)) === 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Sends a signal to what carries a mark, and counts them: none where the system does not show them. O(processes). */
export async function signalMarked(mark: string, signal: NodeJS.Signals): Promise<number> {
  if (process.platform !== 'linux') return 0
  let found = 0
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
    if (Number(pid) === process.pid || !environment.includes(`=${mark}\0`)) continue
    found += 1
    try {
      process.kill(Number(pid), signal)
    } catch {
      // It has ended by itself.
    }
  }
  return found
}
