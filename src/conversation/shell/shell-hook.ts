/** The entry `colloquy/shell`: shell commands as hooks. */

import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { parseJson } from '../../event/json.ts'
import { HOOK_EVENT_TYPES } from '../../event/shapes.ts'
import type { HookEventType } from '../../event/types.ts'
import { checkOptionNames, invalidArgument, MAX_DELAY } from '../../event/check-value.ts'
import { objectOf } from '../../messages/text.ts'
import type { Hook, HookOutcome } from '../run/hooks.ts'

const TIMEOUT = 60_000

interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly env: Readonly<NodeJS.ProcessEnv>
  /** Milliseconds. */
  readonly timeout: number
}

interface Ended {
  /** `exited`: the command ended by itself, or another process's signal ended it. */
  readonly how: 'exited' | 'timed_out' | 'aborted' | 'not_started'
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: Output
  readonly stderr: Output
  readonly cause?: unknown
}

/** Milliseconds between SIGTERM and SIGKILL, and between SIGKILL and giving up. */
const KILL_TIMEOUT = 1_000

/** Milliseconds to wait for output after the exit, because another process may keep the pipes open. */
const DRAIN = 200

/**
 * Runs a command in its own process group, which is killed when the command exits; processes that left the
 * group are not awaited. A timeout or abort sends SIGTERM, and SIGKILL a second later. Never rejects, and
 * leaves no timer, listener or pipe.
 */
function runCommand(command: Command, stdin: string, abort: AbortSignal): Promise<Ended> {
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
    // Only a process that survives SIGKILL is left here. Node need not wait for it.
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
  // Longer timeouts count as infinite.
  if (command.timeout <= MAX_DELAY) after(command.timeout, () => stop('timed_out'))
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

/** Running commands. They are killed when this process exits, because their groups would outlive it. */
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

/** Maximum bytes retained per stream. The rest is read and counted, so that the command does not block. */
const MAX_BYTES = 256 * 1024

/** Maximum characters of a truncated text. The log's limit is higher, so the log does not cut it again. */
const MAX_CHARACTERS = 49_000

type Output = ReturnType<typeof collectOutput>

/** Collects a stream in one growing buffer. Invalid UTF-8 becomes U+FFFD. O(bytes). */
function collectOutput() {
  const bytes = new Uint8Array(new ArrayBuffer(0, { maxByteLength: MAX_BYTES }))
  let total = 0
  const text = (): string => new TextDecoder().decode(bytes.slice())
  return {
    take(chunk: Uint8Array): void {
      total += chunk.length
      const { length, buffer } = bytes
      const part = chunk.subarray(0, MAX_BYTES - length)
      buffer.resize(length + part.length)
      bytes.set(part, length)
    },
    whole: () => (total > bytes.length ? null : text()),
    shown() {
      if (total === bytes.length) return text()
      const begin = text().slice(0, MAX_CHARACTERS)
      // Drops half a surrogate pair at the cut.
      return `${begin.isWellFormed() ? begin : begin.slice(0, -1)}… (${total} bytes in all)`
    },
  }
}

/** The command, and when it runs. */
export interface ShellHookOptions {
  readonly on: HookEventType
  /** A line for `sh -c`; or a program and its arguments, started without a shell. */
  readonly command: string | readonly [string, ...string[]]
  /** Tools whose calls run the hook, by name or by a predicate on the name. Default: all. */
  readonly tools?: readonly string[] | ((toolName: string) => boolean)
  /** Milliseconds until the command is killed and counts as failed; Infinity for never. Default: 60,000. */
  readonly timeout?: number
  /** Working directory. Default: this process's. */
  readonly cwd?: string
  /** Additional environment variables of the command. `undefined` removes a variable of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Returns a hook that runs a command. The command reads the `HookInput` as one line of JSON from standard
 * input. Exit code 0 passes. Code 2 blocks, with the reason from standard error, else from `reason` (see
 * below), else from standard output. Any other code, a signal, a timeout or a failed start is recorded as
 * `error` in the HookExecutionEvent. Unless the command was killed, these fields of a JSON object on standard
 * output are read: `decision` (`"block"`, `"deny"` or `"ask"` blocks with any exit code), `continue` (`false`
 * blocks too, except at `Stop`), `reason`, `additionalContext` for the model (requires exit code 0), and
 * Claude Code's `hookSpecificOutput`.
 *
 * The process group (POSIX) is killed on a timeout (SIGTERM, a second later SIGKILL), on an interrupt, and
 * when the command exits. At most 256 KiB of each stream are held in memory.
 * @throws ColloquyError `invalid_argument` for invalid options.
 * @example
 * const hook = shellHook({ on: 'PreToolUse', command: 'grep -q rm && echo "no deleting here" >&2 && exit 2; exit 0' })
 * const input = { event_type: 'PreToolUse', conversation_id: 'c', tool_name: 'terminal',
 *   tool_input: { command: 'rm x' } }
 * const { blocked, reason } = await hook.run(input, new AbortController().signal)
 * blocked // true
 * reason // 'no deleting here'
 */
export function shellHook(options: ShellHookOptions): Hook {
  checkOptionNames(options, 'on command tools timeout cwd env')
  const { on, command, tools, timeout = TIMEOUT, cwd, env = {} } = options
  if (!HOOK_EVENT_TYPES.includes(on)) invalidArgument('on', `must be one of ${HOOK_EVENT_TYPES.join(', ')}`)
  if (!isCommand(command))
    invalidArgument('command', 'must be a shell command line, or a list of a program and its arguments')
  if (typeof timeout !== 'number' || !(timeout > 0))
    invalidArgument('timeout', 'must be a number of milliseconds above 0')
  const [file, ...args] = typeof command === 'string' ? (['sh', '-c', command] as const) : command
  const spec: Command = { file, args, cwd, env, timeout }
  return {
    on,
    name: typeof command === 'string' ? command : command.map(quoted).join(' '),
    ...(tools !== undefined && {
      tools: typeof tools === 'function' ? tools : (name) => tools.includes(name),
    }),
    run: async (input, signal) =>
      hookOutcome(await runCommand(spec, `${JSON.stringify(input)}\n`, signal), spec, on),
  }
}

function isCommand(value: unknown): boolean {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value]
  return words.every((word) => typeof word === 'string') && (words[0] ?? '').trim() !== ''
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

const BLOCK = 2

const NO_CODE = -1

/** Decisions that block. `ask` blocks, because the user cannot be asked while a hook runs. */
const BLOCKING = ['block', 'deny', 'ask']

function hookOutcome(ended: Ended, command: Command, on: HookEventType): HookOutcome {
  const { how, code, signal } = ended
  const printed = { stdout: ended.stdout.shown(), stderr: ended.stderr.shown() }
  const ownCode = code ?? (signal === null ? NO_CODE : -constants.signals[signal])
  const exitCode = how === 'exited' ? ownCode : NO_CODE
  const failed = exitCode !== 0 && exitCode !== BLOCK
  // The output of a killed command is ignored.
  const decision = readDecision(how === 'exited' ? ended.stdout.whole() : null, on)
  const reasons =
    exitCode === BLOCK ? [printed.stderr, decision.reason, printed.stdout] : [decision.reason, printed.stderr]
  const reason = reasons.find((text) => text.trim() !== '')?.trim()
  const blocked = exitCode === BLOCK || decision.blocks
  return {
    success: exitCode === 0,
    exitCode,
    blocked,
    ...printed,
    ...(blocked && reason !== undefined && { reason }),
    ...(!failed && decision.context.trim() !== '' && { additionalContext: decision.context }),
    ...(failed && !blocked && { error: failureOf(ended, command) }),
  }
}

const firstText = (...values: unknown[]): string => values.find((value) => typeof value === 'string') ?? ''

/** Reads the output of OpenHands' hooks, and `hookSpecificOutput` of Claude Code's hooks. */
function readDecision(text: string | null, on: HookEventType) {
  const output = objectOf(parseJson(text ?? ''))
  const specific = objectOf(output['hookSpecificOutput'])
  // In Claude Code's hooks, `continue: false` at the end of a turn means that the turn may end.
  const stops = output['continue'] === false && on !== 'Stop'
  return {
    blocks:
      stops ||
      [output['decision'], specific['permissionDecision']].some((value) =>
        BLOCKING.includes(firstText(value).toLowerCase()),
      ),
    reason: firstText(specific['permissionDecisionReason'], output['reason'], output['stopReason']),
    context: firstText(output['additionalContext'], specific['additionalContext']),
  }
}

function failureOf({ how, code, signal, cause }: Ended, { file, cwd, timeout }: Command): string {
  switch (how) {
    case 'timed_out':
      return `The command was killed: it ran for longer than its timeout of ${timeout} ms.`
    case 'aborted':
      return 'The command was killed: the run was interrupted.'
    case 'not_started': {
      const why = cause instanceof Error ? cause.message : String(cause)
      const where = cwd === undefined ? '' : ` in ${cwd}`
      return `Cannot start the command: ${why}. Check that ${file} is a program and can run${where}.`
    }
    case 'exited':
      return signal === null
        ? `The command failed with exit code ${code}; 0 is success and ${BLOCK} blocks.`
        : `The command was ended by ${signal}.`
    default:
      return how satisfies never
  }
}
