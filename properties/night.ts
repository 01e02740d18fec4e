/**
 * Tests every law for 60 minutes, or for the first argument, in rounds with printed seeds. `--seed N` repeats
 * a round, `--law X` selects a law, and `--faults` first tries all deliberate faults. Stops at the first
 * failure.
 */

import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { orUsage } from '../test/usage.ts'
import { sumOf } from './counts.ts'
import { listLaws, testsOf } from './law-tests.ts'

/** Long nights run more per round, because each round has a startup cost. */
const runsFor = (minutes: number): number => Math.min(4_000, Math.max(200, Math.round(minutes * 10)))

const {
  options,
  minutes,
  runs = runsFor(minutes),
  laws,
  files,
} = orUsage(() => {
  const { values, positionals } = parseArgs({
    options: {
      seed: { type: 'string' },
      law: { type: 'string', multiple: true },
      runs: { type: 'string' },
      faults: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const { seed, runs } = values
  if (seed !== undefined && !/^-?\d+$/.test(seed)) throw notUsable('--seed', seed)
  const named = values.law ?? listLaws()
  return {
    options: values,
    minutes: numberOf('MINUTES', positionals[0] ?? '60'),
    runs: runs === undefined ? undefined : numberOf('--runs', runs),
    laws: named,
    files: [...new Set(named.flatMap(testsOf))],
  }
})

const folder = mkdtempSync(join(tmpdir(), 'colloquy-night-'))
const counts = join(folder, 'counts')
const report = join(folder, 'report.json')
const vitest = ['--config', 'test/vitest.config.ts', '--root', '.', '--testTimeout', '0']

function numberOf(name: string, text: string): number {
  if (Number(text) >= 0 && text.trim() !== '') return Number(text)
  throw notUsable(name, text)
}

function notUsable(name: string, text: string): Error {
  return new Error(
    `npm run test:night -- [MINUTES] [--seed N] [--law X] [--runs N] [--faults]: ${name} is ${text}`,
  )
}

/** Includes files that did not load. */
function failures(): string[] {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    readonly testResults: readonly {
      readonly name: string
      readonly status: string
      readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
    }[]
  }
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.flatMap((one) => (one.status === 'failed' ? [one.fullName] : []))
    return failed.length === 0 && status === 'failed' ? [name] : failed
  })
}

console.log(`${laws.length} laws in ${files.length} files, ${runs} runs of each property`)
const start = performance.now()
const end = start + minutes * 60_000
const seeds: string[] = []
let failed: string[] = []
let broken = false
if (options.faults) {
  const env = { ...process.env, COLLOQUY_FAULTS: 'all' }
  const { status } = spawnSync('vitest', ['run', ...vitest, 'properties/faults'], { env, stdio: 'inherit' })
  broken = status !== 0
  if (broken) failed = ['a deliberate fault, see above']
}
do {
  if (broken) break
  const seed = options.seed ?? String(randomInt(2 ** 31))
  seeds.push(seed)
  console.log(`round ${seeds.length}: npm run test:night -- --seed ${seed} --runs ${runs}`)
  const env = {
    ...process.env,
    COLLOQUY_RUNS: String(runs),
    COLLOQUY_SEED: seed,
    COLLOQUY_COUNTS: counts,
    COLLOQUY_REPORT: report,
  }
  const shown = ['--reporter', 'dot', '--reporter', 'json']
  const { status } = spawnSync('vitest', ['run', ...vitest, ...shown, ...files], { env, stdio: 'inherit' })
  broken = status !== 0
  if (broken) failed = failures()
} while (options.seed === undefined && performance.now() < end)

const seconds = (performance.now() - start) / 1_000
const { values, events, plans } = sumOf(counts)
const show = (value: number): string => Math.round(value).toLocaleString('en')
console.log(`
${show(events)} events in ${show(values)} values, ${show(plans)} plans of runs, in ${show(seconds)} s: ${show(events / seconds)} events/s
seeds: ${seeds.join(', ')}
${broken ? `${failed.length} failed:\n${failed.map((name) => `  ${name}`).join('\n')}` : 'no law broke'}`)
rmSync(folder, { recursive: true, force: true })
process.exitCode = broken ? 1 : 0
