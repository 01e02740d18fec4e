import { ruleOf } from '../../explain/index.ts'
import type { State } from '../../index.ts'
import { type Described, ROLE_WIDTH } from '../../inspector/index.ts'
import { sentenceOf } from '../../laws/index.ts'
import type { FileCommand, RequestOf } from '../commands.ts'
import type { Recording } from '../input/recording.ts'
import {
  counted,
  fit,
  glimpse,
  pad,
  padStart,
  type Paint,
  safe,
  type Tone,
  width,
  wrapWords,
} from '../print/text.ts'

/** Colours and width of the output. */
export interface Page {
  readonly paint: Paint
  readonly columns: number
  readonly isTTY: boolean
}

/** What a command shows: a recording, and its state at the event of `--leaf` or `--at`, by default the latest. */
export type Subject<Name extends FileCommand> = RequestOf<Name> & {
  readonly recording: Recording
  readonly state: State
  readonly title: string
}

/** Shows a recording as JSON, and as lines for people. @throws FileError, ColloquyError */
export interface View<Name extends FileCommand> {
  readonly json: (subject: Subject<Name>) => Readonly<Record<string, unknown>>
  readonly show: (page: Page, subject: Subject<Name>) => Iterable<string>
}

const ID_WIDTH = 36

/** Columns of the ids of rows, which may be cut on a narrow page. */
export function idWidth({ columns }: Page, items: Iterable<{ readonly id: string | null }>): number {
  let widest = 0
  for (const { id } of items) widest = Math.max(widest, width(id ?? ''))
  return Math.min(widest, ID_WIDTH, Math.floor(columns * 0.45))
}

export const shownId = (id: string | null, columns = ID_WIDTH): string => fit(safe(id ?? ''), columns)

/** A row of a list of events: a lead, the role, a short text, and the id at the right edge. */
export interface Row {
  readonly lead?: string
  readonly gutter?: string
  readonly described: Described
  readonly id?: string | null
  /** 0 where no row has an id. */
  readonly idColumns?: number
  /** A note after the text, never cut, not yet painted. */
  readonly note?: string
}

export function eventRow({ paint, columns }: Page, row: Row): string {
  const { lead = '', gutter = '', id = null, idColumns = 0, note = '' } = row
  const { role, tone, subject, text } = row.described
  const end = (idColumns > 0 ? idColumns + 2 : 0) + (note === '' ? 0 : width(note) + 1)
  const room = Math.max(columns - width(lead + gutter) - ROLE_WIDTH - 1 - end, 8)
  const head = fit(subject, room)
  const rest = room - width(head) - 2
  const tail = head === '' ? fit(text, room) : rest > 4 ? fit(text, rest) : ''
  const [isQuiet, isPlain] = [tone === 'dim', head === '' || tail === '']
  const space = isPlain ? '' : '  '
  const line = [
    paint('dim', lead) + gutter + paint(tone, pad(role, ROLE_WIDTH)),
    isQuiet ? paint('dim', head + space + tail) : paint('strong', head) + space + tail,
    ...(note === '' ? [] : [paint('warn', note)]),
  ].join(' ')
  if (idColumns === 0 || id === null) return line.trimEnd()
  const gap = ' '.repeat(Math.max(0, room - width(head + space + tail)))
  return `${line}${gap}  ${paint('dim', shownId(id, idColumns))}`
}

export function heading({ paint }: Page, title: string, remark = ''): string {
  return paint('strong', title) + (remark === '' ? '' : `  ${paint('dim', remark)}`)
}

/** The heading of a check, with its result. */
export function verdict(page: Page, title: string, events: number, problems: string, good: string): string {
  const result =
    problems !== ''
      ? page.paint('bad', `✗ ${problems}`)
      : events === 0
        ? page.paint('warn', 'nothing to check: there is no event')
        : page.paint('good', `✓ ${good}`)
  return `${heading(page, title, counted(events, 'event'))}  ${result}`
}

export const wrapped = ({ columns }: Page, lead: string, indent: number, text: string): Iterable<string> =>
  wrapWords(glimpse(text).split(' '), columns, lead, indent)

/** What is wrong, or was repaired, on a line of a log. */
export interface Problem {
  readonly line: number
  readonly what: string
  readonly detail: string
}

export const byLine = (problems: readonly Problem[]): readonly Problem[] =>
  problems.toSorted((a, b) => a.line - b.line)

/** Maximum number of items that a summary lists. */
export const LISTED = 12

export function* problemRows(
  { paint, columns }: Page,
  problems: readonly Problem[],
  { label = 'line', limit = Infinity } = {},
): IterableIterator<string> {
  const shown = problems.slice(0, limit)
  const lineColumns = String(problems.at(-1)?.line ?? 0).length
  const widest = shown.reduce((most, { what }) => Math.max(most, width(what)), 0)
  const whatColumns = Math.min(widest, 28)
  for (const { line, what, detail } of shown) {
    const lead = `  ${label} ${padStart(String(line), lineColumns)}  `
    const room = Math.max(columns - lead.length - whatColumns - 2, 16)
    yield `${paint('dim', lead)}${paint('warn', pad(fit(what, whatColumns), whatColumns))}  ${fit(detail, room)}`
  }
  if (problems.length > limit) yield `  and ${problems.length - limit} more: colloquy check shows them all`
}

/** A finding: its label and line, and the rules or laws that it is about. */
interface FindingRow {
  readonly label: string
  readonly tone: Tone
  readonly group: string
  readonly line: number
  readonly text: string
  readonly rules: readonly (string | null)[]
}

const MAX_FINDINGS = 5

/** Rows of findings by group, the first few of each, before the sentences of their rules. */
export function* findingRows(page: Page, findings: readonly FindingRow[]): IterableIterator<string> {
  const quoted = new Set<string>()
  const labelColumns = findings.reduce((most, { label }) => Math.max(most, label.length), 0)
  const lineColumns = String(findings.reduce((most, { line }) => Math.max(most, line), 0)).length
  for (const group of Map.groupBy(findings, (finding) => finding.group).values()) {
    for (const { label, tone, line, text } of group.slice(0, MAX_FINDINGS)) {
      const lead = `  ${page.paint(tone, label.padEnd(labelColumns))}  line ${padStart(String(line), lineColumns)}  `
      yield* wrapped(page, lead, labelColumns + lineColumns + 11, text)
    }
    const more = group.length - MAX_FINDINGS
    if (more > 0) yield page.paint('dim', `           and ${more} more`)
    yield* sentenceRows(page, group[0]?.rules ?? [], quoted)
  }
}

/** The sentences of rules and laws, each once. */
export function* sentenceRows(
  page: Page,
  rules: readonly (string | null)[],
  quoted: Set<string>,
): IterableIterator<string> {
  for (const rule of rules) {
    const sentence = rule === null ? null : (ruleOf(rule) ?? sentenceOf(rule))
    if (rule === null || sentence === null || quoted.has(rule)) continue
    quoted.add(rule)
    for (const line of wrapped(page, '         ', 9, `${rule}: ${sentence}`)) yield page.paint('dim', line)
  }
}

/** How to call colloquy here: in its own repository it is not a command of the shell. */
export const CALLED = import.meta.url.endsWith('.ts') ? 'npm run -s colloquy --' : 'npx colloquy'
