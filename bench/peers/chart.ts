/** Draws one kind of work as a log-log chart, with a line for each contender. */

import { type Figures, type Row, type Work } from './figures.ts'
import { duration, TITLES } from './tables.ts'

/** Contenders that store histories in the same medium. */
interface Panel {
  readonly title: string
  readonly has: (row: Row) => boolean
}

interface Line {
  readonly name: string
  readonly colour: number
  /** Settings other than the default are dashed. */
  readonly isDashed: boolean
  readonly points: readonly (readonly [length: number, micros: number])[]
}

const isMemory = ({ family }: Row): boolean => family === 'Array' || family.endsWith(' memory')
const isPostgres = ({ family }: Row): boolean => family.endsWith('PostgreSQL')
const PANELS: readonly Panel[] = [
  { title: 'in memory', has: isMemory },
  { title: 'in files', has: (row) => !isMemory(row) && !isPostgres(row) },
  { title: 'in PostgreSQL', has: isPostgres },
]

/** One colour for each library, on light and dark backgrounds. The last is for handwritten code. */
const COLOURS = [
  ['Colloquy', '#0067b0', '#58b4f5'],
  ['Emmett', '#c04f00', '#ff9a55'],
  ['LangGraph', '#00825c', '#3fd6a8'],
  ['OpenAI Agents', '#a83f80', '#f09ccb'],
  ['pi', '#7d6100', '#e3c44a'],
  ['', '#6b6b6b', '#a6a6a6'],
] as const

const [WIDTH, HEIGHT] = [1_180, 400]
const [LEFT, TOP, BOTTOM] = [62, 78, 40]
/** Width of the labels next to each panel. */
const LABEL_WIDTH = 150
const PANEL = (WIDTH - LEFT - PANELS.length * LABEL_WIDTH) / PANELS.length
/** Minimum vertical distance between two labels. */
const LABEL_DISTANCE = 13

/** Returns an SVG that is readable on light and dark pages. */
export function chartOf(figures: Figures, work: Work): string {
  const panels = PANELS.map(({ title, has }) => ({ title, lines: linesOf(figures, work, has) }))
  const times = panels.flatMap(({ lines }) =>
    lines.flatMap(({ points }) => points.map(([, micros]) => micros)),
  )
  const low = Math.floor(Math.log10(Math.min(...times)))
  const high = Math.ceil(Math.log10(Math.max(...times)))
  const y = (micros: number): number =>
    TOP + ((high - Math.log10(micros)) / (high - low)) * (HEIGHT - TOP - BOTTOM)
  const decades = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  const drawnPanels = panels.map(({ title, lines }, i) => {
    const left = LEFT + i * (PANEL + LABEL_WIDTH)
    return drawPanel(title, lines, left, figures.lengths, decades, y, i === 0)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${TITLES[work]}">`,
    `<style>${style()}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    text(14, 24, TITLES[work], 'title'),
    text(
      14,
      43,
      `Median, by events in the history. Lower is faster. Dashed: other settings than the defaults.`,
    ),
    ...drawnPanels.flat(),
    '</svg>',
    '',
  ].join('\n')
}

function linesOf({ rows, lengths }: Figures, work: Work, has: Panel['has']): Line[] {
  const selected = rows.filter((row) => has(row) && row.times[work] !== undefined)
  const names = [...new Set(selected.map(({ family, setting }) => `${family}|${setting}`))]
  return names.map((name) => {
    const [family = '', setting = ''] = name.split('|')
    const points = lengths.flatMap((length) => {
      const row = selected.find(
        (each) => each.family === family && each.setting === setting && each.length === length,
      )
      const micros = row?.times[work]?.median
      return micros === undefined ? [] : [[length, Math.max(micros, 0.01)] as const]
    })
    const colour = COLOURS.findIndex(([library]) => library === '' || family.startsWith(`${library} `))
    const short = family.replace(/,? (memory|SQLite|PostgreSQL)$/, '')
    const isDefault = setting === '' || setting === 'default'
    return { name: isDefault ? short : `${short}, ${setting}`, colour, isDashed: !isDefault, points }
  })
}

function drawPanel(
  title: string,
  lines: readonly Line[],
  left: number,
  lengths: readonly number[],
  decades: readonly number[],
  y: (micros: number) => number,
  isFirst: boolean,
): string[] {
  const [from, to] = [Math.log10(lengths[0] ?? 1), Math.log10(lengths.at(-1) ?? 10)]
  const x = (length: number): number =>
    left + (to === from ? 0.5 : (Math.log10(length) - from) / (to - from)) * PANEL
  const grid = decades.map((micros) => {
    const top = y(micros).toFixed(1)
    return `<path class="grid" d="M${left} ${top}h${PANEL.toFixed(1)}"/>${isFirst ? text(left - 6, y(micros) + 4, duration(micros), 'end') : ''}`
  })
  const ticks = lengths.map((length) =>
    text(x(length), HEIGHT - BOTTOM + 18, length.toLocaleString('en'), 'middle'),
  )
  return [
    text(left, TOP - 12, title, 'panel'),
    ...grid,
    ...ticks,
    ...lines.map(({ points, colour, isDashed }) => {
      const path = points
        .map(([length, micros]) => `${x(length).toFixed(1)} ${y(micros).toFixed(1)}`)
        .join('L')
      return `<path class="line c${colour}${isDashed ? ' dashed' : ''}" d="M${path}"/>`
    }),
    ...placeNames(lines, y).map(({ name, colour, top }) =>
      text(left + PANEL + 6, top + 4, name, `c${colour}`),
    ),
  ]
}

/** Puts each name at the end of its line, moved just enough not to overlap another. */
function placeNames(
  lines: readonly Line[],
  y: (micros: number) => number,
): { readonly name: string; readonly colour: number; readonly top: number }[] {
  const sorted = lines
    .map(({ name, colour, points }) => ({ name, colour, top: y(points.at(-1)?.[1] ?? 1) }))
    .toSorted((a, b) => a.top - b.top)
  let next = -Infinity
  const placed = sorted.map((label) => {
    next = Math.max(label.top, next + LABEL_DISTANCE)
    return { ...label, top: next }
  })
  // Names below the bottom push the others up again.
  let lowest = HEIGHT - BOTTOM + 4
  return placed.toReversed().map((label) => {
    const top = Math.min(label.top, lowest)
    lowest = top - LABEL_DISTANCE
    return { ...label, top }
  })
}

const text = (x: number, y: number, content: string, classes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${classes === '' ? '' : ` class="${classes}"`}>${content}</text>`

const coloursIn = (scheme: 1 | 2): string =>
  COLOURS.map((row, i) => `path.c${i}{stroke:${row[scheme]}}text.c${i}{fill:${row[scheme]}}`).join('')

function style(): string {
  return [
    'text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}.panel{font-weight:600}',
    '.end{text-anchor:end}.middle{text-anchor:middle}',
    '.ground{fill:#fff;stroke:#ddd}.grid{stroke:#e4e4e4}.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:5 3}',
    coloursIn(1),
    '@media(prefers-color-scheme:dark){text{fill:#ddd}.ground{fill:#16191d;stroke:#333}.grid{stroke:#2d3238}',
    `${coloursIn(2)}}`,
  ].join('')
}
