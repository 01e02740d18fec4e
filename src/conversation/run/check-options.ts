/** Checks the step and options of a run, which callers without types may give in any form. */

import { invalidArgument } from '../../store/kit/query/check-value.ts'
import { HOOK_MOMENTS } from './hooks.ts'

/** The longest that a timer can wait, which a lease is renewed within. */
const MOST_TTL = 2 ** 31 - 1

/** Looked at before the lease is taken, so that a mistake of the caller is no error of the conversation. */
export function checkRun(step: unknown, options: object): void {
  const { hooks, policy, stuck, maxIterations, leaseTtl, wait, onPrefix, condenser, from } =
    options as Readonly<Record<string, unknown>>
  if (typeof step !== 'function') invalidArgument('step', 'must be a function')
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
