import type { State } from '../../index.ts'
import { type Described, ROLE_WIDTH } from '../../inspector/index.ts'
import type { FileCommand, RequestOf } from '../commands.ts'
import type { Recording } from '../input/recording.ts'
import { fit, glimpse, pad, type Paint, safe, width, wrapWords } from '../print/text.ts'

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
  readonly gutter: string
  readonly described: Described
  readonly id: string | null
  readonly idColumns: number
  /** A note after the text, never cut, not yet painted. */
  readonly note?: string
}

export function eventRow(
  { paint, columns }: Page,
  { lead = '', gutter, described, id, idColumns, note = '' }: Row,
): string {
  const { role, tone, subject, text } = described
  const taken =
    width(lead + gutter) +
    ROLE_WIDTH +
    1 +
    (idColumns > 0 ? idColumns + 2 : 0) +
    (note === '' ? 0 : width(note) + 1)
  const room = Math.max(columns - taken, 8)
  const head = fit(subject, room)
  const rest = room - width(head) - 2
  const tail = head === '' ? fit(text, room) : text !== '' && rest > 4 ? fit(text, rest) : ''
  const words = [head, tail].filter((part) => part !== '')
  const gap = idColumns > 0 ? ' '.repeat(Math.max(0, room - width(words.join('  ')))) : ''
  const quiet = tone === 'dim'
  const line = [
    paint('dim', lead) + gutter + paint(tone, pad(role, ROLE_WIDTH)),
    head !== '' && !quiet
      ? [paint('strong', head), tail].join(tail === '' ? '' : '  ')
      : paint(quiet ? 'dim' : 'text', words.join('  ')),
    ...(note === '' ? [] : [paint('warn', note)]),
  ].join(' ')
  const end = idColumns > 0 && id !== null ? `${gap}  ${paint('dim', shownId(id, idColumns))}` : ''
  return (line + end).trimEnd()
}

export function heading({ paint }: Page, title: string, remark = ''): string {
  return paint('strong', title) + (remark === '' ? '' : `  ${paint('dim', remark)}`)
}

export const wrapped = ({ columns }: Page, lead: string, indent: number, text: string): Iterable<string> =>
  wrapWords(glimpse(text).split(' '), columns, lead, indent)

/** How to call colloquy here: in its own repository it is not a command of the shell. */
export const CALLED = import.meta.url.endsWith('.ts') ? 'npm run -s colloquy --' : 'npx colloquy'
