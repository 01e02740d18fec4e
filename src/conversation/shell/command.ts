/** Runs one command within its time limit. */

import { type ChildProcess, spawn } from 'node:child_process'

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly env: Readonly<NodeJS.ProcessEnv>
  /** Milliseconds. */
  readonly timeout: number
}

export interface Ended {
  /** `exited`: by itself, or by another process's signal. */
  readonly how: 'exited' | 'timed_out' | 'aborted' | 'not_started'
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: Output
  readonly stderr: Output
  readonly cause?: unknown
}

/** Milliseconds between SIGTERM and SIGKILL, and between SIGKILL and giving up. */
const KILL_TIMEOUT = 1_000

/** Milliseconds to wait for the output: a process outside the group may keep the pipes open. */
const DRAIN = 200

/** Maximum delay of a timer; longer timeouts are infinite. */
const LONGEST = 2 ** 31 - 1

/**
 * Runs a command in its own process group, which is killed when the process exits; processes that left it are
 * not awaited. Timeout or abort: SIGTERM, and SIGKILL a second later. Never rejects, leaves no timer,
 * listener or pipe.
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
    // Only a process that survives SIGKILL is left here. Node may exit without it.
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
  // Only the exit counts: later errors, and errors of pipes, are ignored.
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
    // The group is empty, or the system has no process groups.
    child.kill(signal)
  }
}

/** Running commands. They have their own groups, so they would outlive a process that exits. */
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

/** Maximum bytes retained per stream. The rest is read, so that the command does not block, and counted. */
const MAX_BYTES = 256 * 1024

/** Maximum characters of a truncated text; less than the log's own limit, so that it is truncated once. */
const MAX_CHARACTERS = 49_000

interface Output {
  take(chunk: Uint8Array): void
  whole(): string | null
  shown(): string
}

/** Collects a stream in one growing buffer. Invalid UTF-8 becomes U+FFFD. O(bytes). */
function collectOutput(): Output {
  let buffer = new Uint8Array(4_096)
  let length = 0
  let total = 0
  const text = (): string => new TextDecoder().decode(buffer.subarray(0, length))
  return {
    take(chunk) {
      total += chunk.length
      const part = chunk.subarray(0, MAX_BYTES - length)
      if (length + part.length > buffer.length) {
        const larger = new Uint8Array(Math.min(MAX_BYTES, Math.max(2 * buffer.length, length + part.length)))
        larger.set(buffer.subarray(0, length))
        buffer = larger
      }
      buffer.set(part, length)
      length += part.length
    },
    whole: () => (total > length ? null : text()),
    shown() {
      if (total === length) return text()
      const begin = text().slice(0, MAX_CHARACTERS)
      // Drops half a surrogate pair at the cut.
      return `${begin.isWellFormed() ? begin : begin.slice(0, -1)}… (${total} bytes in all)`
    },
  }
}
