/** The entry `colloquy/shell`: hooks as commands of the shell. */

import { constants } from 'node:os'
import { type HookOutcome, type Hook, HOOK_MOMENTS } from '../run/hooks.ts'
import { type Command, type Ended, runCommand } from './command.ts'
import type { HookEventType } from '../../event/types.ts'
import { invalidArgument } from '../../store/kit/query/check-value.ts'

/** Which command is run, and when. */
export interface ShellHookOptions {
  readonly on: HookEventType
  /** A line for `sh -c`; or a program and its arguments, started without a shell. */
  readonly command: string | readonly [string, ...string[]]
  /** Only for calls of these tools: their names, or a test of the name. Default: all. */
  readonly tools?: readonly string[] | ((toolName: string) => boolean)
  /** After how many milliseconds the command is killed, and has failed; Infinity for never. Default: 60,000. */
  readonly timeout?: number
  /** Where it runs. Default: where this process does. */
  readonly cwd?: string
  /** Added to the environment of this process; a variable that is undefined is left out of it. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * A hook that runs a command. It gets the `HookInput` as one line of JSON on its standard input, and gives its outcome
 * by its exit code: 0 is fine, 2 blocks, with what it wrote to standard error as the reason, else standard output. Any
 * other, a signal, a timeout and a command that cannot be started are failures: they block nothing, and the log's
 * HookExecutionEvent has that in `error`. A JSON object on standard output may hold `decision` (`"block"` or `"deny"`),
 * `reason`, and `additionalContext` for the model.
 *
 * The command runs in a process group of its own (POSIX). The group is killed when the timeout is over (SIGTERM, a
 * second later SIGKILL), when the run is interrupted, and, for what is left of it, when the command ends. At most 256
 * KiB of each stream are held in memory.
 *
 * @throws ColloquyError `invalid_argument` for options that are none.
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
  const { on, command, tools, timeout = 60_000, cwd, env = {} } = options
  if (!HOOK_MOMENTS.includes(on)) invalidArgument('on', `must be one of ${HOOK_MOMENTS.join(', ')}`)
  if (!isCommand(command))
    invalidArgument('command', 'must be a line for the shell, or a program and its arguments')
  if (typeof timeout !== 'number' || !(timeout > 0))
    invalidArgument('timeout', 'must be a number of milliseconds above 0')
  const [file, ...args] = typeof command === 'string' ? (['sh', '-c', command] as const) : command
  const what: Command = { file, args, cwd, env, timeout }
  return {
    on,
    name: typeof command === 'string' ? command : command.map(quoted).join(' '),
    ...(tools !== undefined && {
      tools: typeof tools === 'function' ? tools : (name) => tools.includes(name),
    }),
    run: async (input, signal) =>
      answerOf(await runCommand(what, `${JSON.stringify(input)}\n`, signal), what),
  }
}

/** Whether a value that may come from a configuration file is a command. */
function isCommand(value: unknown): boolean {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value]
  return words.every((word) => typeof word === 'string') && (words[0] ?? '').trim() !== ''
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

/** The exit code that blocks. */
const BLOCK = 2

/** In place of an exit code where the command gave none. */
const NO_CODE = -1

/** What standard output may say when it is a JSON object. */
interface Said {
  readonly blocks: boolean
  readonly reason: string
  readonly additionalContext: string
}

const NOTHING: Said = { blocks: false, reason: '', additionalContext: '' }

/** 0 is fine, 2 blocks, whatever else happened is a failure, which blocks nothing and shows the model nothing. */
function answerOf(ended: Ended, command: Command): HookOutcome {
  const { how, code, signal } = ended
  const printed = { stdout: ended.stdout.shown(), stderr: ended.stderr.shown() }
  if (how !== 'exited' || (code !== 0 && code !== BLOCK)) {
    const exitCode =
      how !== 'exited' ? NO_CODE : (code ?? (signal === null ? NO_CODE : -constants.signals[signal]))
    return { success: false, exitCode, ...printed, error: failureOf(ended, command) }
  }
  const said = readSaid(ended.stdout.whole())
  const reasons =
    code === BLOCK ? [printed.stderr, said.reason, printed.stdout] : [said.reason, printed.stderr]
  const reason = reasons.map((text) => text.trim()).find((text) => text !== '')
  const blocked = code === BLOCK || said.blocks
  return {
    success: code === 0,
    exitCode: code,
    blocked,
    ...printed,
    ...(blocked && reason !== undefined && { reason }),
    ...(said.additionalContext.trim() !== '' && { additionalContext: said.additionalContext }),
  }
}

/** Fields of another type than text are not looked at. */
function readSaid(text: string | null): Said {
  if (text === null || !text.trimStart().startsWith('{')) return NOTHING
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // It is text that only looks like JSON.
    return NOTHING
  }
  const { decision, reason, additionalContext } = value as Readonly<Record<string, unknown>>
  const verdict = textOf(decision).toLowerCase()
  return {
    blocks: verdict === 'block' || verdict === 'deny',
    reason: textOf(reason),
    additionalContext: textOf(additionalContext),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function failureOf({ how, code, signal, cause }: Ended, { file, cwd, timeout }: Command): string {
  switch (how) {
    case 'timed_out':
      return `The command was killed: it ran for longer than its timeout of ${timeout} ms.`
    case 'aborted':
      return 'The command was killed: the run was interrupted.'
    case 'not_started': {
      const why = cause instanceof Error ? cause.message : String(cause)
      const where = cwd === undefined ? '' : ` in ${cwd}`
      return `The command could not be started: ${why}. Is ${file} a program, and can it be run${where}?`
    }
    case 'exited':
      return signal === null
        ? `The command failed with exit code ${code}; 0 is success and ${BLOCK} blocks.`
        : `The command was ended by ${signal}.`
    default:
      return how satisfies never
  }
}
