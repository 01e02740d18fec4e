/** Reads what a hook's command decided from its exit code and its output. */

import { constants } from 'node:os'
import type { HookOutcome } from '../run/hooks.ts'
import type { Command, Ended } from './command.ts'

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
export function answerOf(ended: Ended, command: Command): HookOutcome {
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
