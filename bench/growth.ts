/**
 * Prints how the time of each operation grows with the log: its time at each length, the slope on log-log
 * axes (0 is constant, 1 linear), and the expected growth. `npm run bench:growth -- --to 100000 --only
 * memory`.
 */

import { DatabaseSync } from 'node:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Store } from '../src/store/contract/store.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { countWork } from './count.ts'
import { foldOperations, type Growth, logOf, type Operation, storeOperations } from './growth/operations.ts'
import { orUsage } from '../test/usage.ts'
import { machine } from './measure.ts'

/** Maximum slope for each growth, including the noise of a busy machine. */
const MAX_SLOPES: Readonly<Record<Growth, number>> = { constant: 0.15, logarithmic: 0.3, linear: 1.15 }
/** Milliseconds for each operation and length, and the minimum number of runs. */
const [TIME_BUDGET, MIN_RUNS] = [250, 5]
/** Maximum number of events for which the fold's work is counted. */
const MAX_COUNTED = 100_000

const TARGETS: readonly string[] = ['fold', 'memory', 'sqlite']
const { to, only: targets } = orUsage(() => {
  const { values } = parseArgs({
    options: {
      to: { type: 'string', default: '100000' },
      only: { type: 'string', multiple: true, default: [...TARGETS] },
    },
  })
  if (!(Number(values.to) >= 100))
    throw new Error(`--to ${values.to}: must be a number of events, 100 or more`)
  const unknown = values.only.find((backend) => !TARGETS.includes(backend))
  if (unknown !== undefined) throw new Error(`--only ${unknown}: must be one of ${TARGETS.join(', ')}`)
  return { to: Number(values.to), only: values.only }
})
const lengths = Array.from({ length: Math.floor(Math.log10(to / 100) + 1e-9) + 1 }, (_, i) => 100 * 10 ** i)

/** Microseconds of the fastest of several runs. */
async function timeOf({ run }: Operation): Promise<number> {
  const end = performance.now() + TIME_BUDGET
  const times: number[] = []
  for (let n = 0; n < MIN_RUNS || (performance.now() < end && n < 2_000); n += 1) {
    const start = performance.now()
    const result = run(n)
    if (result instanceof Promise) await result
    times.push((performance.now() - start) * 1_000)
  }
  return Math.min(...times)
}

/** Least-squares slope of the logarithms, from a length on. */
function slopeOf(times: readonly number[], from = 0): number {
  const points = times
    .map((time, i) => [lengths[i] ?? 1, time] as const)
    .filter(([length]) => length >= from)
    .map(([length, time]) => [Math.log(length), Math.log(time)] as const)
  const [x, y] = [0, 1].map((i) => points.reduce((sum, point) => sum + (point[i] ?? 0), 0) / points.length)
  const top = points.reduce((sum, [a, b]) => sum + (a - (x ?? 0)) * (b - (y ?? 0)), 0)
  return top / points.reduce((sum, [a]) => sum + (a - (x ?? 0)) ** 2, 0)
}

/** Growth that the slope shows, whatever was expected. */
const growthOf = (slope: number): Growth =>
  slope < MAX_SLOPES.constant ? 'constant' : slope < MAX_SLOPES.logarithmic ? 'logarithmic' : 'linear'

/** Compares a slope with the expected growth. A single length has no slope. */
function verdictOn(slope: number, growth: Growth): string {
  if (Number.isNaN(slope)) return `expected ${growth}`
  if (slope <= MAX_SLOPES[growth]) return growthOf(slope)
  return growth === 'linear' ? 'steeper than linear' : `${growthOf(slope)}, and should be ${growth}`
}

const formatNumber = (time: number): string => time.toFixed(time < 10 ? 2 : 0).padStart(11)

async function printGroup(
  title: string,
  open: (length: number) => Promise<{ operations: readonly Operation[]; close: () => unknown }>,
): Promise<void> {
  const rows = new Map<string, Omit<Operation, 'run'> & { readonly times: number[] }>()
  for (const length of lengths) {
    const { operations, close } = await open(length)
    for (const operation of operations) {
      const row = rows.get(operation.name) ?? { ...operation, times: [] }
      rows.set(operation.name, row)
      globalThis.gc?.()
      row.times.push(await timeOf(operation))
    }
    await close()
  }
  console.log(
    `\n${`${title}, µs each`.padEnd(36)}${lengths.map((n) => n.toLocaleString('en').padStart(11)).join('')}   slope  is`,
  )
  for (const [name, { growth, from, times }] of rows) {
    const slope = slopeOf(times, from)
    const verdict = verdictOn(slope, growth)
    console.log(
      `${name.padEnd(36)}${times.map(formatNumber).join('')}${(Number.isNaN(slope) ? '' : slope.toFixed(2)).padStart(8)}  ${verdict}`,
    )
  }
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-growth-'))
const STORES: Readonly<Record<string, (length: number) => Store>> = {
  memory: () => memoryStore(),
  sqlite: (length) => sqliteStore({ database: new DatabaseSync(join(folder, `${length}.db`)) }),
}

/** Prints the fold's counted work, which a test bounds. */
function printWork(): void {
  const counted = lengths.filter((length) => length >= 1_000 && length <= MAX_COUNTED)
  const counts = counted.map((length) => countWork(length))
  console.log(
    `\n${'counted work of one event'.padEnd(46)}${counted.map((n) => n.toLocaleString('en').padStart(11)).join('')}  growth`,
  )
  for (const name of Object.keys(counts[0] ?? {})) {
    const values = counts.map((one) => one[name] ?? 0)
    const growth = (values.at(-1) ?? 0) / (values[0] ?? 1)
    console.log(`${name.padEnd(46)}${values.map(formatNumber).join('')}${growth.toFixed(2).padStart(8)}`)
  }
}

console.log(machine())
try {
  for (const name of targets) {
    const open = STORES[name]
    if (name === 'fold') {
      await printGroup('the fold', async (length) => ({
        operations: foldOperations(logOf(length)),
        close: () => undefined,
      }))
      printWork()
    } else if (open === undefined) throw new Error(`--only ${name}: must be fold, memory or sqlite`)
    else
      await printGroup(`store: ${name}`, async (length) => {
        const store = open(length)
        return { operations: await storeOperations(store, logOf(length)), close: () => store.close() }
      })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
