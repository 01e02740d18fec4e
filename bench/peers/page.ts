/** Writes what a run found into the project: the figures as they are, the tables of the page, and the charts beside it. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chartOf } from './chart.ts'
import type { Figures, Work } from './figures.ts'
import { diskTable, eachTable, GROWN, TITLES, whereOf, workTable } from './tables.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/comparison.md'
const FIGURES = 'bench/peers/figures.json'

/** The works that are drawn, and the names of their files. */
const CHARTS = {
  'docs/comparison-append.svg': 'append',
  'docs/comparison-reopen.svg': 'reopen to prompt',
  'docs/comparison-page.svg': 'middle page',
} as const satisfies Record<string, Work>

/** The works that have a table, in the order of the page. */
const SHOWN: readonly Work[] = [
  'append',
  'reopen',
  'reopen to prompt',
  'prompt',
  'read all',
  'first page',
  'middle page',
  'last page',
]

/** The files that follow from the figures, by their paths in the project. The page's own words stay. */
export function filesOf(figures: Figures): Record<string, string> {
  const charts = Object.entries(CHARTS).map(([path, work]): [string, string] => [
    path,
    chartOf(figures, work),
  ])
  return { [PAGE]: pageOf(figures, readFileSync(join(ROOT, PAGE), 'utf8')), ...Object.fromEntries(charts) }
}

/** The figures of the last run that was written. */
export const readFigures = (): Figures => JSON.parse(readFileSync(join(ROOT, FIGURES), 'utf8'))

export function writePage(figures: Figures): void {
  // A line for each row, so that a change of one is seen as that.
  const lines = JSON.stringify(figures).replaceAll('},{"family"', '},\n{"family"')
  writeFileSync(join(ROOT, FIGURES), `${lines}\n`)
  for (const [path, words] of Object.entries(filesOf(figures))) writeFileSync(join(ROOT, path), words)
}

/** What stands between the marks is written anew. */
function pageOf(figures: Figures, page: string): string {
  const parts: Record<string, string> = {
    run: whereOf(figures),
    'grown each': `${GROWN.each}:\n\n${eachTable(figures)}`,
    'grown bytes': `${GROWN.bytes}:\n\n${diskTable(figures)}`,
  }
  for (const work of SHOWN) parts[work] = `${TITLES[work]}:\n\n${workTable(figures, work)}`
  return page.replace(
    /<!-- (figures: ([a-z ]+)) -->[^]*?<!-- end -->/g,
    (_, mark: string, name: string) => `<!-- ${mark} -->\n\n${parts[name] ?? ''}\n\n<!-- end -->`,
  )
}
