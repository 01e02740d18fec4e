import { ruleOf } from '../../explain/index.ts'
import { isColloquyError, type State } from '../../index.ts'
import { type Described, ROLE_WIDTH } from '../../inspector/index.ts'
import { sentenceOf } from '../../laws/index.ts'
import type { FileCommand, RequestOf } from '../commands.ts'
import type { Address } from '../db/address.ts'
import { FileError, fromSystem } from '../failure.ts'
import type { Recording } from '../input/recording.ts'
import { failureText, type Io, OutputError } from '../print/io.ts'
import {
  counted,
  fit,
  glimpse,
  pad,
  paintFor,
  safe,
  toJson,
  widest,
  width,
  wrapWords,
} from '../print/text.ts'
import type { Paint, Tone } from '../print/text.ts'

/** What a command shows: a recording, and its state at `--leaf` or `--at`, or else its latest state. */
export type Subject<Name extends FileCommand> = RequestOf<Name> & {
  readonly recording: Recording
  readonly state: State
  readonly title: string
}

/** How a command shows a log, as JSON and as text. Both functions can throw FileError and ColloquyError. */
export interface View<Name extends FileCommand> {
  readonly json: (subject: Subject<Name>) => Readonly<Record<string, unknown>>
  readonly show: (page: Page, subject: Subject<Name>) => Iterable<string>
}

/** The input or output that a command reports on: its display name, and its `--json` fields. */
export interface About {
  readonly name: string
  readonly fields: { readonly file: string; readonly conversation?: string }
}

export const aboutFile = (file: string): About => ({ name: file, fields: { file } })

export function aboutStored({ label }: Pick<Address, 'label'>, conversation: string | undefined): About {
  if (conversation === undefined) return aboutFile(label)
  return { name: `${conversation} in ${label}`, fields: { file: label, conversation } }
}

/** A row of a list of events: `lead` at the left edge, the role, a short text, and the id at the right edge. */
export interface Row {
  readonly lead?: string
  readonly gutter?: string
  readonly described: Described
  readonly id?: string | null
  /** A note after the text, never cut. */
  readonly note?: string
}

/** A problem or a repair on a line of a log. */
export interface Problem {
  readonly line: number
  readonly what: string
  readonly detail: string
}

interface FindingRow {
  readonly label: string
  readonly tone: Tone
  readonly group: string
  readonly line: number
  readonly text: string
  readonly rules: readonly (string | null)[]
}

const COLUMNS = { default: 100, minimum: 40 }

/** Characters that are written at a time. */
const BATCH = 1 << 16

const ID_WIDTH = 36

const MAX_FINDINGS = 5

/** Maximum number of items that a summary lists. */
export const LISTED = 12

export class Page {
  readonly io: Io
  readonly json: boolean
  readonly paint: Paint
  readonly columns: number

  constructor(io: Io, json = false) {
    this.io = io
    this.json = json
    this.paint = paintFor(io.stdout.isTTY, io.env)
    // A terminal that does not know its width reports 0.
    this.columns = Math.max(io.stdout.columns || COLUMNS.default, COLUMNS.minimum)
  }

  async print(lines: Iterable<string>): Promise<void> {
    let batch = ''
    for (const line of lines) {
      batch += `${line}\n`
      if (batch.length < BATCH) continue
      await this.io.stdout.write(batch)
      batch = ''
    }
    if (batch !== '') await this.io.stdout.write(batch)
  }

  answer(value: unknown, lines: Iterable<string>): Promise<void> {
    return this.print(this.json ? [toJson(value)] : lines)
  }

  complain(message: string): Promise<void> {
    return this.io.stderr.write(`colloquy: ${message}\n`)
  }

  /** Runs `work` and prints its error. With `json`, also prints it as JSON on standard output. @throws OutputError */
  async attempt({ name, fields }: About, work: () => Promise<number>): Promise<number> {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof OutputError) throw cause
      const error = fromSystem(cause)
      const code = error instanceof FileError || isColloquyError(error) ? error.code : 'unexpected'
      const subject = error instanceof FileError ? error.subject : null
      const isOther = subject !== null && subject !== fields.file
      const message = isOther ? `${safe(subject)}: ${failureText(error)}` : failureText(error)
      await this.answer({ ...fields, error: { code, message } }, [])
      await this.complain(`${safe(isOther ? name : (subject ?? name))}: ${message}`)
      return 1
    }
  }

  async serve(server: { close(): Promise<void> }, lines: readonly string[]): Promise<void> {
    const { onStop } = this.io
    const stopped = new Promise<void>((stop) => (onStop === undefined ? stop() : onStop(stop)))
    try {
      await this.print(lines.map(safe))
      await stopped
    } finally {
      await server.close()
    }
  }

  heading(title: string, remark = ''): string {
    return this.paint('strong', title) + (remark === '' ? '' : `  ${this.paint('dim', remark)}`)
  }

  verdict(title: string, events: number, problems: string, good: string): string {
    const result =
      problems !== ''
        ? this.paint('bad', `✗ ${problems}`)
        : events === 0
          ? this.paint('warn', 'nothing to check: the log has no events')
          : this.paint('good', `✓ ${good}`)
    return `${this.heading(title, counted(events, 'event'))}  ${result}`
  }

  wrapped(lead: string, indent: number, text: string): Iterable<string> {
    return wrapWords(glimpse(text).split(' '), this.columns, lead, indent)
  }

  /** Returns the width of a column of ids. Users type ids, so only an id longer than `limit` is cut. */
  idColumns(
    items: Iterable<{ readonly id?: string | null }>,
    limit = Math.min(ID_WIDTH, this.columns * 0.45),
  ): number {
    return Math.min(widest(Array.from(items, ({ id }) => safe(id ?? ''))), Math.floor(limit))
  }

  *eventRows(rows: readonly Row[]): IterableIterator<string> {
    const columns = this.idColumns(rows)
    for (const row of rows) yield this.eventRow(row, columns)
  }

  /** @param idColumns width of the column of ids; 0 for a row without its id */
  eventRow({ lead = '', gutter = '', described, id = null, note = '' }: Row, idColumns = 0): string {
    const { role, tone, subject, text } = described
    const end = (idColumns > 0 ? idColumns + 2 : 0) + (note === '' ? 0 : width(note) + 1)
    const room = Math.max(this.columns - width(lead + gutter) - ROLE_WIDTH - 1 - end, 8)
    const head = fit(subject, room)
    const rest = room - width(head) - 2
    const tail = head === '' ? fit(text, room) : rest > 4 ? fit(text, rest) : ''
    const space = head === '' || tail === '' ? '' : '  '
    const line = [
      this.paint('dim', lead) + gutter + this.paint(tone, pad(role, ROLE_WIDTH)),
      tone === 'dim' ? this.paint('dim', head + space + tail) : this.paint('strong', head) + space + tail,
      ...(note === '' ? [] : [this.paint('warn', note)]),
    ].join(' ')
    if (idColumns === 0 || id === null) return line.trimEnd()
    const gap = ' '.repeat(Math.max(0, room - width(head + space + tail)))
    return `${line}${gap}  ${this.paint('dim', shownId(id, idColumns))}`
  }

  *problemRows(
    problems: readonly Problem[],
    { label = 'line', limit = Infinity } = {},
  ): IterableIterator<string> {
    const shown = problems.slice(0, limit)
    const lineColumns = String(problems.at(-1)?.line ?? 0).length
    const whatColumns = Math.min(widest(shown.map(({ what }) => what)), 28)
    for (const { line, what, detail } of shown) {
      const lead = `  ${label} ${String(line).padStart(lineColumns)}  `
      const room = Math.max(this.columns - lead.length - whatColumns - 2, 16)
      yield `${this.paint('dim', lead)}${this.paint('warn', pad(fit(what, whatColumns), whatColumns))}  ${fit(detail, room)}`
    }
    if (problems.length > limit) yield `  and ${problems.length - limit} more: colloquy check shows them all`
  }

  *findingRows(findings: readonly FindingRow[]): IterableIterator<string> {
    const quoted = new Set<string>()
    const labelColumns = widest(findings.map(({ label }) => label))
    const lineColumns = widest(findings.map(({ line }) => String(line)))
    for (const group of Map.groupBy(findings, (finding) => finding.group).values()) {
      for (const { label, tone, line, text } of group.slice(0, MAX_FINDINGS)) {
        const lead = `  ${this.paint(tone, label.padEnd(labelColumns))}  line ${String(line).padStart(lineColumns)}  `
        yield* this.wrapped(lead, labelColumns + lineColumns + 11, text)
      }
      const more = group.length - MAX_FINDINGS
      if (more > 0) yield this.paint('dim', `           and ${more} more`)
      yield* this.sentenceRows(group[0]?.rules ?? [], quoted)
    }
  }

  *sentenceRows(rules: readonly (string | null)[], quoted: Set<string>): IterableIterator<string> {
    for (const rule of rules) {
      const sentence = rule === null ? null : (ruleOf(rule) ?? sentenceOf(rule))
      if (rule === null || sentence === null || quoted.has(rule)) continue
      quoted.add(rule)
      for (const line of this.wrapped('         ', 9, `${rule}: ${sentence}`)) yield this.paint('dim', line)
    }
  }
}

export const shownId = (id: string | null, columns = ID_WIDTH): string => fit(safe(id ?? ''), columns)

export const byLine = (problems: readonly Problem[]): readonly Problem[] =>
  problems.toSorted((a, b) => a.line - b.line)
