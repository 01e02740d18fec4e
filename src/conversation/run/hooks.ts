/** Runs hooks, and records what each decided. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { HookEventType, HookExecutionEvent, MessageEvent } from '../../event/types.ts'

/** What a hook is given. */
export interface HookInput {
  readonly event_type: HookEventType
  readonly conversation_id: string
  readonly tool_name?: string
  /** The action of a call, or the observation after it. */
  readonly tool_input?: JsonValue
  readonly tool_response?: JsonValue
  /** Text of the message. */
  readonly message?: string
  readonly action_id?: string
  readonly message_id?: string
}

/** The outcome of a hook; what is left out is the outcome of one that has nothing against it. */
export interface HookOutcome {
  readonly blocked?: boolean
  /** Why it is blocked. */
  readonly reason?: string
  /** Text for the model; not when a hook blocks. */
  readonly additionalContext?: string
  /** Default: whether the exit code is 0. */
  readonly success?: boolean
  /** Default: 2 when it blocks, 0 else. */
  readonly exitCode?: number
  readonly stdout?: string
  readonly stderr?: string
  /** What went wrong, when it failed. */
  readonly error?: string
}

/** Something to run when an event of the run comes. */
export interface Hook {
  readonly on: HookEventType
  /** What the log calls it: a shell command, or a name. */
  readonly name: string
  /** Only for calls of these tools. Default: all. */
  readonly tools?: (toolName: string) => boolean
  /**
   * A hook that throws has failed, which blocks nothing. The signal is aborted when the run is interrupted, which waits
   * for no hook.
   */
  readonly run: (input: HookInput, signal: AbortSignal) => HookOutcome | void | Promise<HookOutcome | void>
}

/** The outcome of the hooks of one event type. */
export interface HookVerdict {
  /** One for each hook that was run, in order. */
  readonly events: readonly HookExecutionEvent[]
  /** Why it is blocked; null when it is not. */
  readonly blocked: string | null
  /** Text for the model; empty when it is blocked. */
  readonly context: readonly string[]
}

/** An outcome as the log may hold it, whatever the hook gave. */
type Result = Pick<
  HookExecutionEvent,
  'success' | 'exit_code' | 'blocked' | 'stdout' | 'stderr' | 'reason' | 'additional_context' | 'error'
>

const MOMENTS: Readonly<Record<HookEventType, true>> = {
  SessionStart: true,
  UserPromptSubmit: true,
  PreToolUse: true,
  PostToolUse: true,
  Stop: true,
  SessionEnd: true,
}

/** The six event types at which hooks are run, in the order in which they come. */
export const HOOK_MOMENTS: readonly string[] = Object.keys(MOMENTS)

/** Longest text that is kept of what a hook gives or is given, in characters. */
const MOST = 50_000

/** The run was interrupted while a hook ran; nothing that a hook can return is this. */
const ABORTED = Symbol('aborted')

/**
 * Runs the hooks that listen, one after the other, up to the first that blocks. A hook that throws has failed, and
 * blocks nothing. When the signal is aborted, the hook under way is left behind and none is begun after it. Never
 * throws.
 */
export async function runHooks(
  hooks: readonly Hook[],
  input: HookInput,
  signal: AbortSignal,
): Promise<HookVerdict> {
  const events: HookExecutionEvent[] = []
  const context: string[] = []
  // What one hook does to what it was handed is nothing to the next, and nothing to the log.
  const told = Object.freeze({ ...input })
  for (const hook of hooks) {
    if (hook.on !== input.event_type) continue
    const result = await resultOf(hook, told, signal)
    if (result === ABORTED) break
    if (result === null) continue
    events.push(eventOf(hook, told, result))
    if (result.blocked === true) return { events, blocked: result.reason ?? '', context: [] }
    if ((result.additional_context ?? null) !== null) context.push(result.additional_context as string)
  }
  return { events, blocked: null, context }
}

/** Runs one hook; null when it is not for the tool. Never throws. */
async function resultOf(
  hook: Hook,
  input: HookInput,
  signal: AbortSignal,
): Promise<Result | typeof ABORTED | null> {
  const aborted = Promise.withResolvers<typeof ABORTED>()
  const abort = (): void => aborted.resolve(ABORTED)
  signal.addEventListener('abort', abort, { once: true })
  try {
    if (signal.aborted) return ABORTED
    if (input.tool_name !== undefined && hook.tools !== undefined && !hook.tools(input.tool_name)) return null
    const outcome = await Promise.race([hook.run(input, signal), aborted.promise])
    return outcome === ABORTED || signal.aborted ? ABORTED : readOutcome(outcome ?? {}, hook.name)
  } catch (error) {
    return signal.aborted
      ? ABORTED
      : readOutcome({ success: false, exitCode: 1, error: textOf(error) }, hook.name)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** @throws what a getter of the outcome throws. */
function readOutcome(outcome: HookOutcome, name: string): Result {
  const { blocked: blocks, success, exitCode, stdout, stderr, error } = outcome
  const blocked = blocks === true
  const code = Number.isSafeInteger(exitCode) ? (exitCode as number) : blocked ? 2 : success === false ? 1 : 0
  const reason = cut(outcome.reason)
  const additional = cut(outcome.additionalContext)
  return {
    success: typeof success === 'boolean' ? success : code === 0,
    exit_code: code,
    blocked,
    stdout: cut(stdout),
    stderr: cut(stderr),
    reason: reason.trim() !== '' ? reason : blocked ? cut(`Blocked by hook ${name}.`) : null,
    additional_context: additional.trim() !== '' ? additional : null,
    error: (error ?? null) === null ? null : cut(error),
  }
}

function eventOf({ name }: Hook, input: HookInput, result: Result): HookExecutionEvent {
  const { event_type, tool_name = null, action_id = null, message_id = null } = input
  return {
    kind: 'HookExecutionEvent',
    source: 'hook',
    hook_event_type: event_type,
    hook_command: cut(name),
    ...result,
    tool_name,
    action_id,
    message_id,
    hook_input: shortened(input),
  }
}

/** What the hook was given, without what the log holds already in full: what is long there is cut here. O(size). */
function shortened(input: HookInput): JsonObject {
  const fields = Object.entries(input).map(([key, value]: [string, JsonValue]) => {
    if (typeof value === 'string') return [key, cut(value)]
    const text = JSON.stringify(value) ?? 'null'
    return [key, text.length <= MOST ? value : cut(text)]
  })
  return Object.fromEntries(fields) as JsonObject
}

/** A value as well-formed text, no longer than the log keeps; nothing for nothing. Never throws. */
function cut(value: unknown): string {
  const text = value === undefined || value === null ? '' : textOf(value)
  if (text.length <= MOST) return text.toWellFormed()
  // Not through the middle of a character.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(MOST - 1)) ? MOST - 1 : MOST
  return `${text.slice(0, end).toWellFormed()}… (${text.length - end} more characters)`
}

/** Whatever a caller's function has given or thrown, as text. Never throws. */
export function textOf(value: unknown): string {
  try {
    return String(value instanceof Error ? value.message : value)
  } catch {
    return 'a value without a text'
  }
}

/** Text for the model that no user wrote. */
export const contextMessage = (text: string): MessageEvent => ({
  kind: 'MessageEvent',
  source: 'environment',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})
