import type { Condensation } from '../../event/types.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import type { Status } from '../../state/status.ts'
import type { AppendOptions } from '../../store/contract/store.ts'
import { checkBoolean, checkFunction, checkOptionNames, invalidArgument } from '../../event/check-value.ts'
import { HOOK_EVENT_TYPES } from '../../event/shapes.ts'
import type { Hook } from './hooks.ts'
import { checkLeaseTtl } from './lease.ts'
import type { Policy } from './policy.ts'

export const MAX_ITERATIONS = 500

/** Options of a run. */
export interface RunOptions {
  /** Aborting it interrupts the run. */
  readonly signal?: AbortSignal
  /** Decides which calls need confirmation, in addition to the conversation's policy. Default: no calls. */
  readonly policy?: Policy
  /** Functions that the run calls at certain moments. Default: none. */
  readonly hooks?: readonly Hook[]
  /**
   * Condenses the view before a request to the model: on a CondensationRequest, at the condenser's limit, or after a
   * `context_too_long` error. If the condenser refuses a required condensation, the run ends with
   * `CondensationRefused`. Default: none.
   */
  readonly condenser?: RunCondenser
  /** Maximum number of requests to the model. Then the run ends with `MaxIterationsReached`. Default: 500. */
  readonly maxIterations?: number
  /** Called before each request to the model. A returned reason ends the run as `stuck`. Default: never stuck. */
  readonly stuck?: (state: State) => string | null
  /** Whether to wait for another active run, instead of rejecting with `already_running`. Default: false. */
  readonly wait?: boolean
  /**
   * Called for each reply whose signed parts are left out, with the reason. Requires a step that passes
   * `onPrefix` to the function that writes its request, such as `toAnthropic`. Errors of this callback are
   * thrown in the step. Default: none.
   */
  readonly onPrefix?: (omitted: LeftOut) => void
  /**
   * Log length when the run was requested. If a pause or interrupt was appended since then, the run does not
   * start. Default: current length.
   */
  readonly from?: number
  /**
   * `replied` (default): the run ends when the agent has replied, even if there are working calls. `settled`:
   * the run ends when the branch has no working call, and the model has read each result.
   */
  readonly until?: 'replied' | 'settled'
  /**
   * Writes your own rows in the transaction of each append (`AppendOptions.within`). If `within` throws, the
   * append is rolled back, and the run ends with this error. If `within` also throws for the append that
   * records the error, `run` throws.
   */
  readonly within?: NonNullable<AppendOptions['within']>
  /** Milliseconds until the lease expires when it is no longer renewed. Default: the engine's. */
  readonly leaseTtl?: number
}

interface RunEnd {
  readonly iterations: number
}

/** How a run ended: normally, or with an error that the caller must handle. */
export type RunResult =
  | (RunEnd & {
      /** `running`: another run was active or had died, and `signal` was aborted before this run began. */
      readonly status: Exclude<Status, 'error' | 'stuck'>
      readonly error?: undefined
    })
  | (RunEnd & {
      readonly status: 'error' | 'stuck'
      /**
       * The error that the step threw. If the step threw nothing, an `Error`: its `name` and `message` are the
       * code and detail of the error in the log. For the status `stuck`, they are `Stuck` and the reason.
       */
      readonly error: unknown
    })

/** A condenser's decision: to keep the view, to condense the view, or to refuse for a reason. */
export type RunCondenserDecision =
  | { readonly type: 'keep' }
  | { readonly type: 'condense'; readonly event: Condensation }
  | {
      readonly type: 'refuse'
      readonly reason: {
        readonly message: string
        readonly triggers: readonly string[]
        readonly required: boolean
        /** `later`: the summariser failed and may succeed later. After a failure, only the first refusal is logged. */
        readonly again?: 'never' | 'later'
        /** The summariser's error. A run that ends with `CondensationRefused` returns it as `error.cause`. */
        readonly cause?: unknown
      }
    }

/** Decides which events of a view to forget. Each `Condenser` of `colloquy/context` is a RunCondenser. */
export interface RunCondenser {
  condense(
    state: State,
    options: { readonly signal: AbortSignal },
  ): Promise<RunCondenserDecision> | RunCondenserDecision
}

/** Names of all options except `signal` and `from`, which belong to a single run. */
export const RUN_OPTIONS = 'policy hooks condenser maxIterations stuck wait onPrefix until within leaseTtl'

export function checkRun(step: unknown, options: object): void {
  const fields = options as Readonly<Record<string, unknown>>
  const { hooks = [], maxIterations, leaseTtl, wait, condenser, from, until } = fields
  checkFunction('step', step ?? null)
  checkOptionNames(options, RUN_OPTIONS, 'signal from')
  for (const name of ['policy', 'onPrefix', 'within', 'stuck']) checkFunction(name, fields[name])
  if (condenser !== undefined && !isCondenser(condenser))
    invalidArgument('condenser', 'must have a `condense` function; see `rollingCondenser`')
  if (maxIterations !== undefined && !(typeof maxIterations === 'number' && maxIterations >= 0))
    invalidArgument('maxIterations', 'must be a number, 0 or more')
  if (leaseTtl !== undefined) checkLeaseTtl(leaseTtl)
  checkBoolean('wait', wait, invalidArgument)
  if (from !== undefined && !(Number.isSafeInteger(from) && Number(from) >= 0))
    invalidArgument('from', 'must be a log length: an integer of 0 or more')
  if (until !== undefined && until !== 'replied' && until !== 'settled')
    invalidArgument('until', "must be 'replied' or 'settled'")
  if (!Array.isArray(hooks)) invalidArgument('hooks', 'must be a list')
  for (const [index, hook] of hooks.entries()) checkHook(hook, `hooks.${index}`)
}

const isCondenser = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'condense' in value && typeof value.condense === 'function'

function checkHook(hook: unknown, field: string): void {
  if (typeof hook !== 'object' || hook === null)
    return invalidArgument(field, 'must be an object with `on`, `name` and `run`')
  const { on, name, run, tools } = hook as Readonly<Record<string, unknown>>
  // A hook of an unknown moment would never run, so it would guard nothing.
  if (!HOOK_EVENT_TYPES.some((type) => type === on))
    invalidArgument(`${field}.on`, `must be one of ${HOOK_EVENT_TYPES.join(', ')}`)
  if (typeof name !== 'string')
    invalidArgument(`${field}.name`, 'must be a string: the name of the hook in the log')
  checkFunction(`${field}.run`, run ?? null)
  if (tools !== undefined && typeof tools !== 'function')
    invalidArgument(`${field}.tools`, 'must be a function that accepts a tool name')
}
