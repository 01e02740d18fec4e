/** The options and the result of a run, and their checks. */

import type { Condensation } from '../../event/types.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import type { Status } from '../../state/status.ts'
import { checkOptionNames, invalidArgument } from '../../store/kit/query/check-value.ts'
import { type Hook, HOOK_MOMENTS } from './hooks.ts'
import type { Policy } from './policy.ts'

/** How to run. */
export interface RunOptions {
  /** Aborting it interrupts the run. */
  readonly signal?: AbortSignal
  /** Which calls a user must agree to, beside those that the conversation's own policy names. Default: none. */
  readonly policy?: Policy
  readonly hooks?: readonly Hook[]
  /**
   * Condenses the view before the model is asked: where a CondensationRequest stands in the log, where its limits are
   * exceeded, and where the provider says that a request was too long (a step throws `context_too_long`). When it
   * refuses what is needed, the run ends with the error `CondensationRefused`. Default: none, and steps condense.
   */
  readonly condenser?: RunCondenser
  /** How often the model may be asked in this run. Default: 500. */
  readonly maxIterations?: number
  /** Says why a conversation is stuck, or null; asked before each step. Default: never. */
  readonly stuck?: (state: State) => string | null
  /**
   * Whether to wait, while another run holds the lease, until that has ended, or has died and its lease has expired,
   * and to run then. Default: false, and `already_running` is thrown. Aborting `signal` ends the waiting.
   */
  readonly wait?: boolean
  /**
   * Told of each reply whose signed parts are left out of a request, and why, by steps that give their `onPrefix` to
   * the writer. What it throws is thrown in the step. Default: none.
   */
  readonly onPrefix?: (left: LeftOut) => void
  /**
   * The length of the log when the run was asked for: it does not begin where a pause or an interrupt that came since
   * holds. Default: the length when `run` is called.
   */
  readonly from?: number
  /**
   * When the run is over. `replied` (default): when the agent has replied, though calls may work on. `settled`: when no
   * call of the branch works any more; each completion is shown to the model.
   */
  readonly until?: 'replied' | 'settled'
  /** Milliseconds that the lease holds without being renewed. Default: 45,000. */
  readonly leaseTtl?: number
}

/** How a run has ended. */
export interface RunResult {
  /** `running` only when its signal was aborted before it began, or another run has taken over since, or runs still. */
  readonly status: Status
  /** How often the model was asked. */
  readonly iterations: number
  /** What the step threw, when that ended the run. */
  readonly error?: unknown
}

/** What a condenser says of a state: those of `colloquy/context` do. */
export type RunCondenserDecision =
  | { readonly type: 'keep' }
  | { readonly type: 'condense'; readonly event: Condensation }
  | {
      readonly type: 'refuse'
      readonly reason: {
        readonly message: string
        readonly triggers: readonly string[]
        /** Whether the model can hardly be asked without. */
        readonly required: boolean
        /** `later`: a summariser failed, which the log records once. */
        readonly again?: 'never' | 'later'
      }
    }

/** Decides what to forget of a view; a `Condenser` of `colloquy/context` is one. */
export interface RunCondenser {
  condense(
    state: State,
    options: { readonly signal: AbortSignal },
  ): Promise<RunCondenserDecision> | RunCondenserDecision
}

/** The longest that a timer can wait, which a lease is renewed within. */
const MOST_TTL = 2 ** 31 - 1

const OPTIONS = {
  signal: true,
  policy: true,
  hooks: true,
  condenser: true,
  maxIterations: true,
  stuck: true,
  wait: true,
  onPrefix: true,
  from: true,
  until: true,
  leaseTtl: true,
} satisfies Record<keyof RunOptions, true>

/** Looked at before the lease is taken, so that a mistake of the caller is no error of the conversation. */
export function checkRun(step: unknown, options: object): void {
  const { hooks, policy, stuck, maxIterations, leaseTtl, wait, onPrefix, condenser, from, until } =
    options as Readonly<Record<string, unknown>>
  if (typeof step !== 'function') invalidArgument('step', 'must be a function')
  checkOptionNames(options, OPTIONS)
  if (policy !== undefined && typeof policy !== 'function')
    invalidArgument('policy', 'must be a function; see policyOf')
  if (onPrefix !== undefined && typeof onPrefix !== 'function')
    invalidArgument('onPrefix', 'must be a function')
  if (condenser !== undefined && !isCondenser(condenser))
    invalidArgument('condenser', 'must have a function condense; see rollingCondenser')
  if (stuck !== undefined && typeof stuck !== 'function') invalidArgument('stuck', 'must be a function')
  if (maxIterations !== undefined && !(typeof maxIterations === 'number' && maxIterations >= 0)) {
    invalidArgument('maxIterations', 'must be a number from 0')
  }
  if (leaseTtl !== undefined && !(typeof leaseTtl === 'number' && leaseTtl > 0 && leaseTtl <= MOST_TTL)) {
    invalidArgument('leaseTtl', `must be a number of milliseconds above 0, at most ${MOST_TTL}`)
  }
  if (wait !== undefined && typeof wait !== 'boolean') invalidArgument('wait', 'must be true or false')
  if (from !== undefined && !(Number.isSafeInteger(from) && Number(from) >= 0))
    invalidArgument('from', 'must be a position of the log')
  if (until !== undefined && until !== 'replied' && until !== 'settled')
    invalidArgument('until', 'must be replied or settled')
  if (hooks === undefined) return
  if (!Array.isArray(hooks)) invalidArgument('hooks', 'must be a list')
  for (const [at, hook] of hooks.entries()) checkHook(hook, `hooks.${at}`)
}

const isCondenser = (given: unknown): boolean =>
  typeof given === 'object' && given !== null && 'condense' in given && typeof given.condense === 'function'

function checkHook(hook: unknown, field: string): void {
  if (typeof hook !== 'object' || hook === null) return invalidArgument(field, 'must be a hook')
  const { on, name, run, tools } = hook as Readonly<Record<string, unknown>>
  // A hook of another event type would never be run, and so guard nothing.
  if (!HOOK_MOMENTS.includes(on as string))
    invalidArgument(`${field}.on`, `must be one of ${HOOK_MOMENTS.join(', ')}`)
  if (typeof name !== 'string')
    invalidArgument(`${field}.name`, 'must be a text; the log calls the hook by it')
  if (typeof run !== 'function') invalidArgument(`${field}.run`, 'must be a function')
  if (tools !== undefined && typeof tools !== 'function')
    invalidArgument(`${field}.tools`, 'must be a function of the tool name')
}
