/** Runs one command within its time limit, whatever it does. */

import { type ChildProcess, spawn } from 'node:child_process'

/** What to start. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  /** Added to that of this process. */
  readonly env: Readonly<NodeJS.ProcessEnv>
  /** Milliseconds. */
  readonly timeout: number
}

/** How a command ended. */
export interface Ended {
  /** `exited`: by itself, or killed by another process. */
  readonly how: 'exited' | 'timed_out' | 'aborted' | 'not_started'
  /** Null when a signal ended it, or nothing did. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: Output
  readonly stderr: Output
  /** Why it could not be started. */
  readonly cause?: unknown
}

/** Milliseconds between asking a command to end, making it end, and no longer waiting for it. */
const KILL_TIMEOUT = 1_000

/**
 * Milliseconds that are waited for the end of the output, which does not come when a process that left the group keeps
 * the pipes open.
 */
const DRAIN = 200

/** Longest delay of a timer; a timeout beyond it is none. */
const LONGEST = 2 ** 31 - 1

/**
 * Runs a command in a process group of its own. It is over when its process is: what that leaves running in the group
 * is killed, and what it left beyond the group is not waited for. On a timeout or an abort the group gets SIGTERM, and
 * SIGKILL a second later. Never rejects, and leaves no timer, listener or pipe behind.
 */
export function runCommand(command: Command, stdin: string, abort: AbortSignal): Promise<Ended> {
  const stdout = collectOutput()
  const stderr = collectOutput()
  const none = { code: null, signal: null, stdout, stderr }
  if (abort.aborted) return Promise.resolve({ how: 'aborted', ...none })
  const { promise, resolve } = Promise.withResolvers<Ended>()
  let child: ChildProcess
  try {
    const { file, args, cwd, env } = command
    child = spawn(file, args, { cwd, env: { ...process.env, ...env }, detached: true, stdio: 'pipe' })
  } catch (cause) {
    return Promise.resolve({ how: 'not_started', ...none, cause })
  }
  let how: Ended['how'] = 'exited'
  let exit: Pick<Ended, 'code' | 'signal'> | null = null
  let cause: unknown
  let timer: NodeJS.Timeout | undefined
  const after = (delay: number, then: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(then, delay)
  }
  const finish = (): void => {
    clearTimeout(timer)
    abort.removeEventListener('abort', onAbort)
    forget(child)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
    // Only one that not even SIGKILL has ended is still there; the process may end without it.
    child.unref()
    resolve({ how, ...none, ...exit, ...(how === 'not_started' && { cause }) })
  }
  const stop = (why: 'timed_out' | 'aborted'): void => {
    if (how !== 'exited' || exit !== null) return
    how = why
    killGroup(child, 'SIGTERM')
    after(KILL_TIMEOUT, () => {
      killGroup(child, 'SIGKILL')
      after(KILL_TIMEOUT, finish)
    })
  }
  const onAbort = (): void => stop('aborted')

  child.once('error', (error) => {
    if (child.pid !== undefined) return
    how = 'not_started'
    cause = error
    finish()
  })
  // A later error, and one of a pipe, means nothing: how the process ended counts.
  for (const emitter of [child, child.stdin, child.stdout, child.stderr])
    emitter?.on('error', () => undefined)
  child.stdout?.on('data', stdout.take)
  child.stderr?.on('data', stderr.take)
  child.once('exit', (code, signal) => {
    exit = { code, signal }
    killGroup(child, 'SIGKILL')
    after(DRAIN, finish)
  })
  child.once('close', finish)
  if (child.pid === undefined) return promise
  remember(child)
  abort.addEventListener('abort', onAbort, { once: true })
  if (command.timeout <= LONGEST) after(command.timeout, () => stop('timed_out'))
  child.stdin?.end(stdin)
  return promise
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // No process is left in the group; or the system has no groups.
    child.kill(signal)
  }
}

/** Commands that run. Being in groups of their own, they would outlive a process that exits. */
const live = new Set<ChildProcess>()

function killAll(): void {
  for (const child of live) killGroup(child, 'SIGKILL')
}

function remember(child: ChildProcess): void {
  if (live.size === 0) process.once('exit', killAll)
  live.add(child)
}

function forget(child: ChildProcess): void {
  if (live.delete(child) && live.size === 0) process.removeListener('exit', killAll)
}

/** Bytes that are kept of each stream; the rest is read, so that the command is not held up, and counted. */
const KEPT = 256 * 1024

/** Characters of a text that had to be cut. Below what the log keeps of it, so that it is cut once. */
const SHOWN = 49_000

/** One stream of a command. */
interface Output {
  take(chunk: Uint8Array): void
  /** All of it, as text; null when it was too much to be kept whole. */
  whole(): string | null
  /** As much of it as the log should hold. */
  shown(): string
}

/** Collects what a stream brings in one buffer, which grows as needed. Invalid UTF-8 becomes U+FFFD. O(bytes). */
function collectOutput(): Output {
  let kept = new Uint8Array(4_096)
  let length = 0
  let total = 0
  const text = (): string => new TextDecoder().decode(kept.subarray(0, length))
  return {
    take(chunk) {
      total += chunk.length
      const part = chunk.subarray(0, KEPT - length)
      if (length + part.length > kept.length) {
        const larger = new Uint8Array(Math.min(KEPT, Math.max(2 * kept.length, length + part.length)))
        larger.set(kept.subarray(0, length))
        kept = larger
      }
      kept.set(part, length)
      length += part.length
    },
    whole: () => (total > length ? null : text()),
    shown() {
      if (total === length) return text()
      const begin = text().slice(0, SHOWN)
      // Half a character at the cut is left out.
      return `${begin.isWellFormed() ? begin : begin.slice(0, -1)}… (${total} bytes in all)`
    },
  }
}
