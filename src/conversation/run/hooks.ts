import { checkBoolean, checkOptionNames, checkText, invalidArgument } from '../../event/check-value.ts'
import { attempt } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { HookEventType, HookExecutionEvent, MessageEvent } from '../../event/types.ts'
import { orAborted } from '../async.ts'

/** Input of a hook. */
export interface HookInput {
  readonly event_type: HookEventType
  readonly conversation_id: string
  readonly tool_name?: string
  /** The action of the call. After the call, `tool_response` is the observation. */
  readonly tool_input?: JsonValue
  readonly tool_response?: JsonValue
  readonly message?: string
  readonly action_id?: string
  readonly message_id?: string
  /** At `Stop`: whether a Stop hook has blocked since the user's last message. */
  readonly stop_hook_active?: boolean
}

/** The result of a hook. An empty object blocks nothing. */
export interface HookOutcome {
  /** Whether to block the call, the message or the end of the turn. Default: false. */
  readonly blocked?: boolean
  readonly reason?: string
  /** Text for the model. Ignored when the hook blocks. */
  readonly additionalContext?: string
  /** Whether the hook succeeded. Default: true if the exit code is 0. */
  readonly success?: boolean
  /** Exit code for the log. Default: 2 when the hook blocks, 1 when `success` is false, else 0. */
  readonly exitCode?: number
  readonly stdout?: string
  readonly stderr?: string
  readonly error?: string
}

/** A function that a run calls at a certain moment, such as before a tool call. It has no time limit. */
export interface Hook {
  /** When the run calls the hook. */
  readonly on: HookEventType
  /** Name in the log, such as a shell command. */
  readonly name: string
  /** Selects the tools whose calls run the hook. Default: all. */
  readonly tools?: (toolName: string) => boolean
  /** Runs the hook. If it throws, nothing is blocked. An interrupt aborts the signal, and the run stops waiting. */
  readonly run: (input: HookInput, signal: AbortSignal) => HookOutcome | void | Promise<HookOutcome | void>
}

export interface HookVerdict {
  readonly events: readonly HookExecutionEvent[]
  readonly blocked: string | null
  readonly context: readonly string[]
}

type HookResult = Pick<
  HookExecutionEvent,
  'success' | 'exit_code' | 'blocked' | 'stdout' | 'stderr' | 'reason' | 'additional_context' | 'error'
>

const MAX_LENGTH = 50_000

const ABORTED = Symbol('aborted')

/** Runs hooks up to the first that blocks. An abort abandons the current hook. Never throws. */
export async function runHooks(
  hooks: readonly Hook[],
  input: HookInput,
  signal: AbortSignal,
): Promise<HookVerdict> {
  const events: HookExecutionEvent[] = []
  const context: string[] = []
  // A hook cannot change what the next hook or the log gets.
  const frozen = Object.freeze({ ...input })
  for (const hook of hooks) {
    if (hook.on !== input.event_type) continue
    const result = await runHook(hook, frozen, signal)
    if (result === ABORTED) break
    if (result === null) continue
    events.push(hookEvent(hook, frozen, result))
    if (result.blocked === true) return { events, blocked: result.reason ?? '', context: [] }
    if ((result.additional_context ?? null) !== null) context.push(result.additional_context as string)
  }
  return { events, blocked: null, context }
}

async function runHook(
  hook: Hook,
  input: HookInput,
  signal: AbortSignal,
): Promise<HookResult | typeof ABORTED | null> {
  try {
    if (signal.aborted) return ABORTED
    if (input.tool_name !== undefined && hook.tools !== undefined && !hook.tools(input.tool_name)) return null
    const outcome = await orAborted(hook.run(input, signal), signal)
    return signal.aborted ? ABORTED : readOutcome(checkOutcome(outcome ?? {}), hook.name)
  } catch (error) {
    return signal.aborted ? ABORTED : readOutcome({ success: false, error: thrownText(error) }, hook.name)
  }
}

/** Rejects a value such as `false` or `{ decision: 'block' }`, which would silently block nothing. */
function checkOutcome(outcome: HookOutcome): HookOutcome {
  // A failing hook blocks nothing, so an unknown field must not cancel a block.
  if (typeof outcome === 'boolean') invalidArgument('result', 'must be an object, such as { blocked: true }')
  if (typeof outcome !== 'object' || outcome.blocked === true) return outcome
  checkText('additionalContext', outcome.additionalContext, invalidArgument)
  checkOptionNames(outcome, 'blocked reason additionalContext success exitCode stdout stderr error')
  checkBoolean('blocked', outcome.blocked, invalidArgument)
  return outcome
}

function readOutcome(outcome: HookOutcome, name: string): HookResult {
  const { blocked: blocks, success, exitCode, stdout, stderr, error } = outcome
  const blocked = blocks === true
  const code = Number.isSafeInteger(exitCode) ? (exitCode as number) : blocked ? 2 : success === false ? 1 : 0
  const reason = truncate(outcome.reason)
  const additional = truncate(outcome.additionalContext)
  return {
    success: typeof success === 'boolean' ? success : code === 0,
    exit_code: code,
    blocked,
    stdout: truncate(stdout),
    stderr: truncate(stderr),
    reason: reason.trim() !== '' ? reason : blocked ? truncate(`Blocked by hook ${name}.`) : null,
    additional_context: additional.trim() !== '' ? additional : null,
    error: (error ?? null) === null ? null : truncate(error),
  }
}

function hookEvent({ name }: Hook, input: HookInput, result: HookResult): HookExecutionEvent {
  const { event_type, tool_name = null, action_id = null, message_id = null } = input
  return {
    kind: 'HookExecutionEvent',
    source: 'hook',
    hook_event_type: event_type,
    hook_command: truncate(name),
    ...result,
    tool_name,
    action_id,
    message_id,
    hook_input: shortened(input),
  }
}

/** Truncates long values in a hook's input, because the log already has them in full. */
function shortened(input: HookInput): JsonObject {
  const fields = Object.entries(input).map(([key, value]: [string, JsonValue]) => {
    if (typeof value === 'string') return [key, truncate(value)]
    const text = JSON.stringify(value) ?? 'null'
    return [key, text.length <= MAX_LENGTH ? value : truncate(text)]
  })
  return Object.fromEntries(fields) as JsonObject
}

function truncate(value: unknown): string {
  const text = value === undefined || value === null ? '' : thrownText(value)
  if (text.length <= MAX_LENGTH) return text.toWellFormed()
  // Does not split a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(MAX_LENGTH - 1)) ? MAX_LENGTH - 1 : MAX_LENGTH
  return `${text.slice(0, end).toWellFormed()}… (${text.length - end} more characters)`
}

const thrownText = (value: unknown): string =>
  attempt(
    () => String(value instanceof Error ? value.message || value.name : value),
    'a value without a text',
  )

export const contextMessage = (text: string): MessageEvent => ({
  kind: 'MessageEvent',
  source: 'environment',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})
