/** Counts what a night tries: each test file adds lines to one file, since each has a process of its own. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** What was tried: arbitrary values, the events in their logs, and plans of runs. */
export interface Counts {
  readonly values: number
  readonly events: number
  readonly plans: number
}

const FILE = process.env['COLLOQUY_COUNTS']

/** Adds to the night's counts; nothing where there is no night. */
export function count(more: Partial<Counts>): void {
  if (FILE !== undefined) appendFileSync(FILE, `${JSON.stringify(more)}\n`)
}

/** The sum of all that was added to a file. */
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
