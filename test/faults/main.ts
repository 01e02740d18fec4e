/**
 * Repeats faults during writes of 24 writers for 10 minutes, or for the first argument, and prints a table: `npm run
 * test:faults -- MINUTES`. Exits with 1 if a write was lost or duplicated, or a call exceeded its timeout.
 */

import { loadavg } from 'node:os'
import { isClean, type Outcome, runAll } from './run.ts'

const [text = '10', ...others] = process.argv.slice(2)
const minutes = Number(text)
if (!(minutes >= 0) || text.trim() === '' || others.length > 0) {
  console.error('Usage: npm run test:faults -- [MINUTES]. MINUTES is a number, 10 by default.')
  process.exit(2)
}

const row = (name: string, cells: readonly (string | number)[]): string =>
  `${name.padEnd(42)}${cells.map((cell) => String(cell).padStart(13)).join('')}`

const lineOf = ({ fault, acknowledged, failed, lost, twice, longest }: Outcome, rounds: number): string =>
  row(fault, [rounds, acknowledged, failed, lost, twice, `${Math.round(longest)} ms`])

const sums = new Map<string, { rounds: number; outcome: Outcome }>()
let broken = 0
console.log(row('', ['rounds', 'acknowledged', 'failed', 'lost', 'twice', 'longest wait']))
await runAll(minutes, (one) => {
  const sum = sums.get(one.fault)
  if (!isClean(one)) {
    broken += 1
    console.log(`broken: ${lineOf(one, 1)}`)
  }
  if (sum === undefined) return sums.set(one.fault, { rounds: 1, outcome: one })
  sum.rounds += 1
  const { outcome } = sum
  for (const key of ['acknowledged', 'failed', 'lost', 'twice'] as const) outcome[key] += one[key]
  outcome.longest = Math.max(outcome.longest, one.longest)
  return sums
})
const total: Outcome = { fault: 'all', acknowledged: 0, failed: 0, lost: 0, twice: 0, longest: 0 }
for (const { rounds, outcome } of sums.values()) {
  console.log(lineOf(outcome, rounds))
  for (const key of ['acknowledged', 'failed', 'lost', 'twice'] as const) total[key] += outcome[key]
  total.longest = Math.max(total.longest, outcome.longest)
}
console.log(
  lineOf(
    total,
    [...sums.values()].reduce((sum, { rounds }) => sum + rounds, 0),
  ),
)
console.log(`load ${loadavg()[0]?.toFixed(2) ?? '?'}; ${broken === 0 ? 'clean' : `${broken} rounds broken`}`)
process.exitCode = broken === 0 ? 0 : 1
