/** Measured rows go in, readable tables come out, and which of the rows hold what is promised. */

import type { Row } from './pair.ts'

/** How much more a row that is promised to be flat may cost at a length than at the shortest: what a deeper index and noise come to. */
const FLAT = 1.25

/** Counts what was judged. */
export interface Verdict {
  readonly judged: number
  /** What misses its target, each as a line of text. */
  readonly misses: readonly string[]
}

const WIDTH = 56

const cell = (text: string): string => text.padStart(10)
const micros = (value: number): string => cell(value.toFixed(value < 100 ? 1 : 0))

/** Prints a table for each length. */
export function printRows(title: string, rows: readonly Row[]): Verdict {
  const misses: string[] = []
  let judged = 0
  for (const length of new Set(rows.map((row) => row.length))) {
    const heading = `${title}, ${length.toLocaleString('en')} events`
    console.log(`\n${heading}`)
    console.log(
      `${'µs, lower quartile of the turns'.padEnd(WIDTH)}${['store', 'floor', 'ratio', 'target', ''].map(cell).join('')}`,
    )
    for (const { name, store, floor, target } of rows.filter((row) => row.length === length)) {
      const ratio = store / floor
      const holds = target === null || ratio <= target
      if (target !== null) judged += 1
      if (!holds) misses.push(`${heading}: ${name}, ${ratio.toFixed(2)} times its floor`)
      const words = [ratio.toFixed(2), target === null ? '' : String(target), verdict(target, holds)]
      console.log(`${name.padEnd(WIDTH)}${micros(store)}${micros(floor)}${words.map(cell).join('')}`)
    }
  }
  return { judged, misses }
}

const verdict = (target: number | null, holds: boolean): string =>
  target === null ? '' : holds ? 'holds' : 'MISSES'

/** Prints how the cost of each row grows from the shortest length on; nothing where there is but one. */
export function printGrowth(title: string, rows: readonly Row[]): Verdict {
  const lengths = [...new Set(rows.map((row) => row.length))].toSorted((a, b) => a - b)
  const [least = 0, ...longer] = lengths
  const misses: string[] = []
  let judged = 0
  if (longer.length === 0) return { judged, misses }
  console.log(`\n${title}, cost at a length beside that at ${least.toLocaleString('en')}`)
  console.log(`${''.padEnd(WIDTH)}${['events', 'store', 'floor', 'target', ''].map(cell).join('')}`)
  for (const base of rows.filter((row) => row.length === least)) {
    for (const row of rows.filter(({ name, length }) => name === base.name && length > least)) {
      const [store, floor] = [row.store / base.store, row.floor / base.floor]
      const length = row.length.toLocaleString('en')
      judged += 1
      if (store > FLAT)
        misses.push(`${title}: ${row.name}, ${store.toFixed(2)} times the cost at ${length} events`)
      const words = [length, store.toFixed(2), floor.toFixed(2), String(FLAT), verdict(FLAT, store <= FLAT)]
      console.log(`${row.name.padEnd(WIDTH)}${words.map(cell).join('')}`)
    }
  }
  return { judged, misses }
}

/** Prints how many of all rows hold, and which do not. */
export function printVerdict(verdicts: readonly Verdict[]): void {
  const judged = verdicts.reduce((sum, verdict) => sum + verdict.judged, 0)
  const misses = verdicts.flatMap((verdict) => verdict.misses)
  console.log(
    `\n${judged - misses.length} of ${judged} rows hold their targets${misses.length > 0 ? ':' : '.'}`,
  )
  for (const miss of misses) console.log(`  misses: ${miss}`)
}
