/** Measures all contenders in turns, and prints or writes the results: `npm run bench:peers -- --help`. */

import { loadavg } from 'node:os'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { orUsage } from '../../test/usage.ts'
import { machine } from '../measure.ts'
import { CONTENDERS } from './contenders/all.ts'
import { SAME_JSON } from './contenders/same-json.ts'
import { type Contender, nameOf } from './contender.ts'
import { type Figures, type GrownRow, type Row, timingOf, WORKS } from './figures.ts'
import { type Locations, openLocations } from './locations.ts'
import { grow } from './grow.ts'
import { tablesOf } from './tables.ts'
import { type Samples, visit } from './visit.ts'
import { writePage } from './page.ts'

const HELP = `Usage: npm run bench:peers -- [options]

  --quick          100 and 1000 events, 2 rounds: an overview in two minutes
  --length N       events in the history, a multiple of 100; may be repeated (default: 100, 1000, 4000, 16000)
  --rounds N       visits to each contender at each length (default: 4, and 3 from 4000 events on)
  --only TEXT      contenders whose name contains TEXT; may be repeated (default: all)
  --no-growth      skips the histories that grow from empty, and their bytes on disk
  --write          writes the results to bench/peers/figures.json, docs/comparison.md and its charts`

const { values: options } = orUsage(() =>
  parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      length: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      'no-growth': { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }),
)

/** Milliseconds. A contender that takes longer for one visit gets no other visit at that length. */
const LONGEST_VISIT = 12_000

/** Milliseconds. A contender that is expected to take longer skips that length. */
const LONGEST_GROWTH = 90_000

/** Warm-up visits at the shortest length, so that all code is compiled. */
const WARM_UP = options.quick ? 1 : 2

/** Milliseconds for repeating one kind of work in one visit. */
const REPEAT = options.quick ? 60 : 200

const PACKAGES = [
  '@event-driven-io/emmett',
  '@event-driven-io/emmett-sqlite',
  '@event-driven-io/emmett-postgresql',
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint-sqlite',
  '@langchain/langgraph-checkpoint-postgres',
  '@openai/agents',
  '@earendil-works/pi-coding-agent',
  'better-sqlite3',
  'sqlite3',
  'pg',
]

/** @throws if the text is not a multiple of the divisor */
function multipleOf(divisor: number, option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text) && Number(text) % divisor === 0) return Number(text)
  throw new Error(`--${option} ${text}: must be a multiple of ${divisor}`)
}

const lengths = orUsage(() => {
  if (options.length.length > 0) return options.length.map((text) => multipleOf(100, 'length', text))
  return options.quick ? [100, 1_000] : [100, 1_000, 4_000, 16_000]
})

/** Requested number of rounds. */
const requestedRounds = orUsage(() =>
  options.rounds === undefined ? null : multipleOf(1, 'rounds', options.rounds),
)

function roundsAt(length: number): number {
  if (requestedRounds !== null) return requestedRounds
  if (options.quick) return 2
  return length < 4_000 ? 4 : 3
}

const versionIn = (folder: string): string =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version

function versions(): Record<string, string> {
  const packageVersions = PACKAGES.map((name): [string, string] => [
    name,
    versionIn(join(import.meta.dirname, 'node_modules', name)),
  ])
  return { colloquy: versionIn(join(import.meta.dirname, '../..')), ...Object.fromEntries(packageVersions) }
}

/** Reports a contender's error without stopping the others; the run then fails. */
async function reportErrors<T>(contender: Contender, run: () => Promise<T>): Promise<T | null> {
  try {
    return await run()
  } catch (error) {
    console.error(`${nameOf(contender)}:`, error)
    process.exitCode = 1
    return null
  }
}

/** Visits all contenders in turns; each turn starts with a different one. */
async function measure(
  length: number,
  contenders: readonly Contender[],
  locations: Locations,
): Promise<Row[]> {
  const all = new Map<Contender, Samples>(contenders.map((contender) => [contender, {}]))
  const slow = new Set<Contender>()
  const rounds = roundsAt(length)
  for (let round = length === Math.min(...lengths) ? -WARM_UP : 0; round < rounds; round += 1) {
    const from = Math.abs(round) % contenders.length
    for (const contender of [...contenders.slice(from), ...contenders.slice(0, from)]) {
      if (slow.has(contender)) continue
      const database = await locations.create(contender.medium)
      globalThis.gc?.()
      const start = performance.now()
      const samples = await reportErrors(contender, () => visit(contender, length, database, REPEAT))
      const spent = performance.now() - start
      if (spent > LONGEST_VISIT) slow.add(contender)
      if (spent > LONGEST_VISIT) console.error(`${nameOf(contender)}: ${Math.round(spent / 1_000)} s a visit`)
      await locations.remove(database)
      if (round < 0 || samples === null) continue
      const known = all.get(contender) ?? {}
      for (const work of WORKS) if (samples[work]) known[work] = [...(known[work] ?? []), ...samples[work]]
    }
    console.error(`${length} events: round ${round + 1} of ${rounds}`)
  }
  return contenders.map((contender) => {
    const samples = all.get(contender) ?? {}
    const times = WORKS.flatMap((work) => (samples[work] ? [[work, timingOf(samples[work])] as const] : []))
    const { family, setting, survives } = contender
    return { family, setting, survives, length, times: Object.fromEntries(times) }
  })
}

/** Expected milliseconds, extrapolated from the two lengths before; quadratic after the first. */
function expectedDuration(grown: readonly GrownRow[], length: number): number {
  const [last, before] = grown.toReversed()
  if (last === undefined) return 0
  const slope =
    before === undefined ? 1 : Math.log(last.each / before.each) / Math.log(last.length / before.length)
  return (last.each * (length / last.length) ** Math.max(0, slope) * length) / 1_000
}

/** Grows one contender's history from empty, at each length that does not take too long. */
async function growAll(contender: Contender, locations: Locations): Promise<GrownRow[]> {
  const grown: GrownRow[] = []
  for (const length of lengths) {
    if (expectedDuration(grown, length) > LONGEST_GROWTH) break
    const row = await reportErrors(contender, () => grow(contender, length, locations))
    if (row === null) break
    grown.push(row)
  }
  console.error(`${nameOf(contender)}: grown`)
  return grown
}

async function run(): Promise<Figures> {
  const contenders = CONTENDERS.filter(
    (contender) => options.only.length === 0 || options.only.some((text) => nameOf(contender).includes(text)),
  )
  const before = loadavg()[0] ?? 0
  const locations = await openLocations()
  const rows: Row[] = []
  const grown: GrownRow[] = []
  try {
    for (const length of lengths) rows.push(...(await measure(length, contenders, locations)))
    if (!options['no-growth']) {
      for (const contender of [...contenders, ...SAME_JSON])
        grown.push(...(await growAll(contender, locations)))
      grown.sort((one, other) => one.length - other.length)
    }
    return {
      taken: new Date().toISOString().slice(0, 10),
      machine: `${machine().split(', load')[0]}, ${locations.postgres}`,
      load: [before, loadavg()[0] ?? 0],
      versions: versions(),
      lengths,
      rounds: Object.fromEntries(lengths.map((length) => [length, roundsAt(length)])),
      rows,
      grown,
    }
  } finally {
    await locations.close()
  }
}

// Runs the exit handlers that clean up.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

if (options.help) {
  console.log(HELP)
} else {
  const start = performance.now()
  const figures = await run()
  console.log(tablesOf(figures))
  console.error(`${Math.round((performance.now() - start) / 1_000)} s`)
  if (options.write) writePage(figures)
}
