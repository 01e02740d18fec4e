/** Sums the work of all test processes through a shared file. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export interface Counts {
  readonly values: number
  readonly events: number
  readonly plans: number
}

const FILE = process.env['COLLOQUY_COUNTS']

/** Does nothing outside of night runs. */
export function count(more: Partial<Counts>): void {
  if (FILE !== undefined) appendFileSync(FILE, `${JSON.stringify(more)}\n`)
}

export function sumOf(file: string): Counts {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  const sum = { values: 0, events: 0, plans: 0 }
  for (const line of lines) {
    const { values = 0, events = 0, plans = 0 } = JSON.parse(line) as Partial<Counts>
    sum.values += values
    sum.events += events
    sum.plans += plans
  }
  return sum
}
