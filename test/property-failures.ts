/**
 * Runs before each test file: prints a failing property like `colloquy/testing`, with the command that
 * replays it.
 * `COLLOQUY_PATH` with `COLLOQUY_SEED` replays that one case.
 */

import * as fc from 'fast-check'
import { relative, resolve } from 'node:path'
import { expect } from 'vitest'
import type { Fact } from '../src/event/quarantine.ts'
import { describeFailure } from '../src/testing/failure.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Maximum length of a value that is not a log. */
const MAX_LENGTH = 4_000

/** The first log among a case's values: a list of facts, or an object that contains one. */
function logIn(value: unknown): readonly Fact[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (isLog(value)) return value
  const nested = Array.isArray(value) ? value : Object.values(value)
  return nested.slice(0, 10).find(isLog)
}
const isLog = (value: unknown): value is readonly Fact[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => typeof one === 'object' && one !== null && ('kind' in one || 'raw' in one))

function report({ failed, seed, counterexamplePath, counterexample, ...rest }: fc.RunDetails<unknown>): void {
  if (!failed) return
  const error = rest.errorInstance ?? new Error(`too few cases: ${rest.numSkips} were skipped`)
  const path = counterexamplePath ?? undefined
  const values = Array.isArray(counterexample) ? counterexample : []
  const facts = values.map(logIn).find((log) => log !== undefined)
  const { testPath = '', currentTestName = '' } = expect.getState()
  const again = path === undefined ? `COLLOQUY_SEED=${seed}` : `COLLOQUY_SEED=${seed} COLLOQUY_PATH=${path}`
  const lines = [
    describeFailure({ error, seed, ...(path && { path }), ...(facts && { facts }) }),
    ...(facts === undefined ? [`  the case: ${fc.stringify(counterexample).slice(0, MAX_LENGTH)}`] : []),
    `  replay it: ${again} npm test -- ${relative(ROOT, testPath)} -t '${currentTestName.replaceAll(/ > |[^\w ,]/g, '.*')}'`,
  ]
  throw new Error(lines.join('\n'), { cause: error })
}

// fast-check accepts a global path, though its type lacks it.
const path = process.env['COLLOQUY_PATH']
const replayed = path === undefined ? {} : { path }
fc.configureGlobal({ ...fc.readConfigureGlobal(), ...replayed, reporter: report })
