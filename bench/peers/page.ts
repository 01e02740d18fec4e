/** Writes the figures of a run, and the page's tables and charts. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chartOf } from './chart.ts'
import type { Figures, Work } from './figures.ts'
import { diskTable, GROWN, timesTable, whereOf } from './tables.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/comparison.md'
const FIGURES = 'bench/peers/figures.json'

/** Chart files, and the work that each one shows. */
const CHARTS = {
  'docs/comparison-append.svg': 'append',
  'docs/comparison-reopen.svg': 'reopen to prompt',
  'docs/comparison-page.svg': 'middle page',
} as const satisfies Record<string, Work>

/** Returns the page and the charts by path. Text outside of the marks is unchanged. */
export function filesOf(figures: Figures): Record<string, string> {
  const charts = Object.entries(CHARTS).map(([path, work]): [string, string] => [
    path,
    chartOf(figures, work),
  ])
  return { [PAGE]: pageOf(figures, readFileSync(join(ROOT, PAGE), 'utf8')), ...Object.fromEntries(charts) }
}

/** Reads the stored figures. */
export const readFigures = (): Figures => JSON.parse(readFileSync(join(ROOT, FIGURES), 'utf8'))

export function writePage(figures: Figures): void {
  // One line for each row keeps diffs readable.
  const lines = JSON.stringify(figures).replaceAll('},{"family"', '},\n{"family"')
  writeFileSync(join(ROOT, FIGURES), `${lines}\n`)
  for (const [path, content] of Object.entries(filesOf(figures))) writeFileSync(join(ROOT, path), content)
}

/** Replaces the tables between the marks. */
function pageOf(figures: Figures, page: string): string {
  const parts: Record<string, string> = {
    run: whereOf(figures),
    times: timesTable(figures),
    'grown bytes': `${GROWN.bytes}:\n\n${diskTable(figures)}`,
  }
  return page.replace(
    /<!-- (figures: ([a-z ]+)) -->[^]*?<!-- end -->/g,
    (_, mark: string, name: string) => `<!-- ${mark} -->\n\n${parts[name] ?? ''}\n\n<!-- end -->`,
  )
}
