import type * as fc from 'fast-check'
import { maskSecrets } from '../event/mask.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { sentenceOf } from '../laws/sentences.ts'

/** Details of a failed test. */
export interface FailingCase {
  readonly error: unknown
  readonly seed?: number
  readonly path?: string
  /** The log to print. Default: the log in `error`, if any. */
  readonly facts?: readonly Fact[]
}

/**
 * Describes a broken law, or another error: the law's number and sentence, the message, seed, path, and the
 * log as JSON lines for `colloquy replay`. Encrypted content is replaced by null. O(size).
 * @example
 * const error = new LawBroken('R4', 'another status')
 * const text = describeFailure({ error, seed: 7, facts: [{ kind: 'PauseEvent', id: 'p' }] })
 * text.split('\n')[0] // 'Broken law R4: `replay` is the fold of `reduce`.'
 * text.split('\n').at(-1) // '{"kind":"PauseEvent","id":"p"}'
 */
export function describeFailure({ error, seed, path, facts }: FailingCase): string {
  const broken = error instanceof LawBroken ? error : null
  const log = facts ?? broken?.facts ?? null
  const again = path === undefined ? '' : `, path: '${path}'`
  return [
    broken === null ? 'A check failed.' : headingOf(broken.law),
    ...detailOf(error)
      .split('\n')
      .map((line) => `  ${line}`),
    ...(seed === undefined ? [] : [`  again: { seed: ${seed}${again} }`]),
    ...(log === null
      ? []
      : [`  the log, for colloquy replay (events: ${log.length}):`, ...log.map(jsonLine)]),
  ].join('\n')
}

/**
 * Throws an error that describes the failing case of fast-check; does nothing if the property held.
 * @param factsOf returns the log of the smallest failing case, for an error without a log
 * @throws Error that describes the failure, with the original error as its cause.
 * @example
 * const details = fc.check(fc.property(legalLog(), (facts) => void replay(facts)), { numRuns: 3 })
 * throwIfFailed(details, ([facts]) => facts)
 */
export function throwIfFailed<Case>(
  details: fc.RunDetails<Case>,
  factsOf: (failed: Case) => readonly Fact[] | undefined = () => undefined,
): void {
  const { failed, seed, counterexample, counterexamplePath, errorInstance } = details
  if (!failed) return
  const error = errorInstance ?? new Error(`no failure, but too few cases: ${details.numSkips} were skipped`)
  const facts = counterexample === null ? undefined : factsOf(counterexample)
  const path = counterexamplePath ?? undefined
  throw new Error(describeFailure({ error, seed, ...(path && { path }), ...(facts && { facts }) }), {
    cause: error,
  })
}

function headingOf(law: string): string {
  const sentence = sentenceOf(law)
  return `Broken law ${law}${sentence === null ? '' : `: ${sentence}`}`
}

function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof LawBroken
    ? error.message.slice(error.law.length + 2)
    : `${error.name}: ${error.message}`
}

/** Returns a fact on one line. Line breaks in quarantined JSON are between tokens, so spaces can replace them. */
const jsonLine = (fact: Fact): string =>
  isQuarantined(fact) ? maskSecrets(fact).raw.replaceAll(/[\r\n]+/g, ' ') : JSON.stringify(maskSecrets(fact))

/** The error of a test that found a broken law, with the law's number and the log. */
export class LawBroken extends Error {
  override readonly name = 'LawBroken'
  readonly law: string
  readonly facts: readonly Fact[] | null

  constructor(
    law: string,
    detail: string,
    { facts = null, ...options }: ErrorOptions & { readonly facts?: readonly Fact[] | null } = {},
  ) {
    super(`${law}: ${detail}`, options)
    this.law = law
    this.facts = facts
  }
}

export function hold(law: string, condition: boolean, detail: string | (() => string)): asserts condition {
  if (!condition) throw new LawBroken(law, typeof detail === 'string' ? detail : detail())
}

export function same(law: string, what: string, actual: unknown, expected: unknown): void {
  const [is, should] = [actual, expected].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value),
  )
  hold(law, is === should, () => `${what}\n  actual   ${is}\n  expected ${should}`)
}

export function total<T>(law: string, what: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof LawBroken) throw error
    throw new LawBroken(law, `${what} threw ${String(error)}`, { cause: error })
  }
}

interface KitOptions {
  readonly name: string
  readonly skip?: readonly { readonly case: string; readonly reason: string }[]
}

/** Returns reasons to skip, by case. @throws Error if `skip` has an unknown case or an empty reason. */
export function skipReasons(
  checks: readonly { readonly name: string }[],
  { name: subject, skip = [] }: KitOptions,
): ReadonlyMap<string, string> {
  for (const { case: name, reason } of skip) {
    if (!checks.some((check) => check.name === name)) throw new Error(`Unknown case to skip: ${name}`)
    if (reason.trim() === '') throw new Error(`Say why ${subject} skips: ${name}`)
  }
  return new Map(skip.map(({ case: name, reason }) => [name, reason]))
}

/** Returns a case of a kit. If there is a reason to skip the case, its `run` does nothing. */
export const kitCase = (name: string, reason: string | undefined, run: () => Promise<void>) =>
  reason === undefined
    ? { name, skipped: null, run }
    : { name: `${name} (skipped: ${reason})`, skipped: reason, run: async () => undefined }
