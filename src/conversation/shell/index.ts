/** The entry `colloquy/shell`: hooks as commands of the shell. */

import { constants } from 'node:os'
import { HOOK_EVENT_TYPES } from '../../event/shapes.ts'
import type { HookOutcome, Hook } from '../run/hooks.ts'
import { type Command, type Ended, runCommand } from './command.ts'
import type { HookEventType } from '../../event/types.ts'
import { checkOptionNames, invalidArgument } from '../../store/kit/query/check-value.ts'

/** Which command to run, and when. */
export interface ShellHookOptions {
  readonly on: HookEventType
  /** A line for `sh -c`, or a program and its arguments, started without a shell. */
  readonly command: string | readonly [string, ...string[]]
  /** Only for calls of these tools: names, or a predicate on the name. Default: all. */
  readonly tools?: readonly string[] | ((toolName: string) => boolean)
  /** Milliseconds until the command is killed and counts as failed; Infinity for never. Default: 60,000. */
  readonly timeout?: number
  /** Working directory. Default: this process's. */
  readonly cwd?: string
  /** Added to this process's environment. Undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Creates a hook that runs a command. It reads the `HookInput` as one line of JSON from standard input. Exit
 * code 0 passes; 2 blocks, with standard error, else standard output, as the reason. Another code, a signal,
 * a timeout or a failed start blocks nothing, and the log's HookExecutionEvent has the cause in `error`. A
 * JSON object on standard output may contain `decision` (`"block"` or `"deny"`), `reason`, and
 * `additionalContext` for the model.
 *
 * The process group (POSIX) is killed on a timeout (SIGTERM, a second later SIGKILL), on an interrupt, and
 * when the command exits. At most 256 KiB of each stream are held in memory.
 * @throws ColloquyError `invalid_argument` for invalid options.
 *
 * @example
 * const hook = shellHook({ on: 'PreToolUse', command: 'grep -q rm && echo "no deleting here" >&2 && exit 2; exit 0' })
 * const input = { event_type: 'PreToolUse', conversation_id: 'c', tool_name: 'terminal',
 *   tool_input: { command: 'rm x' } }
 * const { blocked, reason } = await hook.run(input, new AbortController().signal)
 * blocked // true
 * reason // 'no deleting here'
 */
export function shellHook(options: ShellHookOptions): Hook {
  checkOptionNames(options, { on: true, command: true, tools: true, timeout: true, cwd: true, env: true })
  const { on, command, tools, timeout = 60_000, cwd, env = {} } = options
  if (!HOOK_EVENT_TYPES.includes(on)) invalidArgument('on', `must be one of ${HOOK_EVENT_TYPES.join(', ')}`)
  if (!isCommand(command))
    invalidArgument('command', 'must be a line for the shell, or a program and its arguments')
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
      outcomeOf(await runCommand(spec, `${JSON.stringify(input)}\n`, signal), spec),
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

interface Decision {
  readonly blocks: boolean
  readonly reason: string
  readonly additionalContext: string
}

const NO_DECISION: Decision = { blocks: false, reason: '', additionalContext: '' }

/** Maps an ended command to an outcome. A failure blocks nothing and adds no context. */
function outcomeOf(ended: Ended, command: Command): HookOutcome {
  const { how, code, signal } = ended
  const printed = { stdout: ended.stdout.shown(), stderr: ended.stderr.shown() }
  if (how !== 'exited' || (code !== 0 && code !== BLOCK)) {
    const exitCode =
      how !== 'exited' ? NO_CODE : (code ?? (signal === null ? NO_CODE : -constants.signals[signal]))
    return { success: false, exitCode, ...printed, error: failureOf(ended, command) }
  }
  const decision = readDecision(ended.stdout.whole())
  const reasons =
    code === BLOCK ? [printed.stderr, decision.reason, printed.stdout] : [decision.reason, printed.stderr]
  const reason = reasons.map((text) => text.trim()).find((text) => text !== '')
  const blocked = code === BLOCK || decision.blocks
  return {
    success: code === 0,
    exitCode: code,
    blocked,
    ...printed,
    ...(blocked && reason !== undefined && { reason }),
    ...(decision.additionalContext.trim() !== '' && { additionalContext: decision.additionalContext }),
  }
}

function readDecision(text: string | null): Decision {
  if (text === null || !text.trimStart().startsWith('{')) return NO_DECISION
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Not JSON.
    return NO_DECISION
  }
  const { decision, reason, additionalContext } = value as Readonly<Record<string, unknown>>
  const verdict = textOrEmpty(decision).toLowerCase()
  return {
    blocks: verdict === 'block' || verdict === 'deny',
    reason: textOrEmpty(reason),
    additionalContext: textOrEmpty(additionalContext),
  }
}

const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

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
