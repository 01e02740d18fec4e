/** Renders the results as Markdown: a table for each kind of work, and one for the bytes on disk. */

import { nameOf } from './contender.ts'
import { type Figures, type GrownRow, type Row, type Timing, type Work, WORKS } from './figures.ts'

export const TITLES: Readonly<Record<Work, string>> = {
  append: 'Time to append one event to a history of this number of events',
  reopen: 'Time to load all that the library keeps in memory of an open history',
  'reopen to prompt': 'Time to reopen a history and write its first prompt',
  prompt: 'Time to write the prompt of an open history after one more turn',
  'read all': 'Time to read every event back from the store',
  'first page': 'Time to read the first page of 100 events',
  'middle page': 'Time to read 100 events in the middle',
  'last page': 'Time to read the last page of 100 events',
}

/** A duration with at most three digits. */
export function duration(micros: number): string {
  if (micros < 1) return `${micros.toFixed(2)} µs`
  if (micros < 1_000) return `${digits(micros)} µs`
  if (micros < 1_000_000) return `${digits(micros / 1_000)} ms`
  return `${digits(micros / 1_000_000)} s`
}

const digits = (value: number): string => value.toFixed(value < 10 ? 1 : 0)

const cellOf = (timing: Timing | undefined): string =>
  timing === undefined ? '–' : `${duration(timing.least)} / ${duration(timing.median)}`

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const heading = (cells: readonly string[], textColumns: number): string[] => [
  line(cells),
  line(cells.map((_, i) => (i < textColumns ? '---' : '---:'))),
]

const events = (length: number): string => length.toLocaleString('en')

export function tablesOf(figures: Figures): string {
  const works = WORKS.map((work) => `### ${TITLES[work]}\n\n${workTable(figures, work)}`)
  const grown = [`### ${GROWN.each}\n\n${eachTable(figures)}`, `### ${GROWN.bytes}\n\n${diskTable(figures)}`]
  return [whereOf(figures), ...works, ...grown].join('\n\n')
}

/** Load of an otherwise idle machine: the run is one process and a server. */
const MAX_QUIET_LOAD = 2.5

const BUSY_NOTE =
  '**The machine was busy with other work while this was measured: these figures show the form of the tables, not what anything costs.**'

/** Describes the machine and the run. */
export function whereOf({ taken, machine, load, versions, rounds }: Figures): string {
  const visits = Object.entries(rounds).map(([length, count]) => `${count} at ${events(Number(length))}`)
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const loads = load.map((value) => value.toFixed(1)).join(' before the run and ')
  return [
    `Measured on ${taken}: ${machine}. The load average was ${loads} after it. Rounds: ${visits.join(', ')} events.`,
    `Versions: ${names.join(', ')}.`,
    ...(Math.max(...load) > MAX_QUIET_LOAD ? ['', BUSY_NOTE] : []),
  ].join('\n')
}

const medianOf = (timing: Timing | undefined): string =>
  timing === undefined ? '–' : duration(timing.median)

/** Lengths on the page; the charts have all. */
const PAGE_LENGTHS: readonly number[] = [1_000, 16_000]

const forPage = (figures: Figures): Figures => ({
  ...figures,
  lengths: figures.lengths.filter((length) => PAGE_LENGTHS.includes(length)),
})

/** The works of the page's table, and their column titles. */
const PAGE_WORKS = {
  append: 'append',
  'reopen to prompt': 'reopen, first prompt',
  prompt: 'next prompt',
  'middle page': 'a page',
} as const

/** The medians of the shown works at the greatest length on the page, one row for each contender. */
export function timesTable({ rows }: Figures): string {
  const length = Math.max(...PAGE_LENGTHS)
  const works = Object.keys(PAGE_WORKS) as Work[]
  return [
    ...heading(['', 'an event survives', ...Object.values(PAGE_WORKS)], 2),
    ...rows
      .filter((row) => row.length === length)
      .map((row) => line([nameOf(row), row.survives, ...works.map((work) => medianOf(row.times[work]))])),
  ].join('\n')
}

/** One row for each contender that does this work. */
function workTable({ lengths, rows }: Figures, work: Work): string {
  const names = [...new Set(rows.filter(({ times }) => times[work]).map(nameOf))]
  const rowOf = (name: string, length: number): Row | undefined =>
    rows.find((row) => nameOf(row) === name && row.length === length)
  const showsSurvival = work === 'append'
  const columns = ['', ...(showsSurvival ? ['an event survives'] : []), ...lengths.map(events)]
  return [
    ...heading(columns, showsSurvival ? 2 : 1),
    ...names.map((name) => {
      const cells = lengths.map((length) => cellOf(rowOf(name, length)?.times[work]))
      const survives = rows.find((row) => nameOf(row) === name)?.survives ?? ''
      return line([name, ...(showsSurvival ? [survives] : []), ...cells])
    }),
  ].join('\n')
}

/** Titles of the tables of grown histories. */
export const GROWN = {
  each: 'Average time to append one event, while a history grows from empty to this number of events',
  bytes: 'Bytes on disk, and their ratio to the bytes of the texts',
} as const

export const diskTable = (figures: Figures): string =>
  grownTable(forPage(figures), ({ bytes, texts }) => `${size(bytes)}, ${(bytes / texts).toFixed(2)} ×`)

const eachTable = (figures: Figures): string => grownTable(forPage(figures), ({ each }) => duration(each))

function grownTable({ lengths, grown }: Figures, cell: (row: GrownRow) => string): string {
  const families = [...new Set(grown.map(({ family }) => family))]
  return [
    ...heading(['', ...lengths.map(events)], 1),
    ...families.map((family) => {
      const rows = lengths.map((length) =>
        grown.find((each) => each.family === family && each.length === length),
      )
      return line([family, ...rows.map((row) => (row === undefined ? '–' : cell(row)))])
    }),
  ].join('\n')
}

const size = (bytes: number): string =>
  bytes < 1e6
    ? `${digits(bytes / 1e3)} kB`
    : bytes < 1e9
      ? `${digits(bytes / 1e6)} MB`
      : `${digits(bytes / 1e9)} GB`
