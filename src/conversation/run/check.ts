/** Checks how a run is called: a step and options go in, as a caller without types may give them; `invalid_query` comes out for what is none. */

import { refuse } from '../../store/check.ts'
import { HOOK_MOMENTS } from './hooks.ts'

/** Looked at before the lease is taken, so that a mistake of the caller is no error of the conversation. */
export function checkRun(step: unknown, options: object): void {
  const { hooks, policy, stuck, maxIterations, leaseTtl } = options as Readonly<Record<string, unknown>>
  if (typeof step !== 'function') refuse('step', 'must be a function')
  if (policy !== undefined && typeof policy !== 'function')
    refuse('policy', 'must be a function; see policyOf')
  if (stuck !== undefined && typeof stuck !== 'function') refuse('stuck', 'must be a function')
  if (maxIterations !== undefined && !(typeof maxIterations === 'number' && maxIterations >= 0)) {
    refuse('maxIterations', 'must be a number from 0')
  }
  if (leaseTtl !== undefined && !(typeof leaseTtl === 'number' && leaseTtl > 0)) {
    refuse('leaseTtl', 'must be a number of milliseconds above 0')
  }
  if (hooks === undefined) return
  if (!Array.isArray(hooks)) refuse('hooks', 'must be a list')
  for (const [at, hook] of hooks.entries()) checkHook(hook, `hooks.${at}`)
}

function checkHook(hook: unknown, field: string): void {
  if (typeof hook !== 'object' || hook === null) return refuse(field, 'must be a hook')
  const { on, name, run, tools } = hook as Readonly<Record<string, unknown>>
  // A hook with another moment would never be run, and so guard nothing.
  if (!HOOK_MOMENTS.includes(on as string)) refuse(`${field}.on`, `must be one of ${HOOK_MOMENTS.join(', ')}`)
  if (typeof name !== 'string') refuse(`${field}.name`, 'must be a text; the log calls the hook by it')
  if (typeof run !== 'function') refuse(`${field}.run`, 'must be a function')
  if (tools !== undefined && typeof tools !== 'function')
    refuse(`${field}.tools`, 'must be a function of the tool name')
}
