/** A file name goes in, the conversation that was recorded there comes out, folded and with its line numbers. */

import { initialState, type Issue, isQuarantined, reduce, type State } from '../index.ts'
import { FileError } from './failure.ts'
import { decodePiece } from './input/decode.ts'
import { type Form, openInput } from './input/open.ts'
import type { Io } from './io.ts'
import type { Progress } from './progress.ts'

/** An issue and the line it is about. */
export interface LineIssue {
  readonly line: number
  readonly kind: string | null
  readonly issue: Issue
}

/** Pieces of text that are no JSON: how many, and the first of them. */
export interface Broken {
  readonly line: number
  readonly why: string
  readonly count: number
  /** Whether it is the end of the file, as after a write that was cut off. */
  readonly isLast: boolean
}

/** How often an upcaster was at work, and where first. */
export interface Upcasts {
  readonly count: number
  readonly line: number
}

/** A conversation as one file holds it. */
export interface Recording {
  /** As the user typed it; `-` for standard input. */
  readonly file: string
  readonly form: Form
  /** The fold of the log; of no events where nobody asked for it. */
  readonly state: State
  /** The line number of each position of the log. */
  readonly lines: readonly number[]
  /** How many lines could not be read as events. */
  readonly quarantined: number
  readonly issues: readonly LineIssue[]
  readonly broken: Broken | null
  readonly upcasts: ReadonlyMap<string, Upcasts>
}

/**
 * Reads and folds one file, a chunk at a time. Without the fold no event is kept, so that a file may be larger than memory.
 * @throws FileError when the file has no answer.
 */
export async function readRecording(
  file: string,
  io: Io,
  progress: Progress,
  fold = true,
): Promise<Recording> {
  const { form, pieces } = await openInput(file, io)
  const lines: number[] = []
  const issues: LineIssue[] = []
  const upcasts = new Map<string, Upcasts>()
  let broken: Broken | null = null
  let quarantined = 0
  let state = initialState()
  for await (const batch of pieces) {
    for (const { line, bytes } of batch) {
      const { fact, upcasts: names, broken: why } = decodePiece(bytes)
      if (fold) state = reduce(state, fact)
      lines.push(line)
      for (const name of names) count(upcasts, name, line)
      broken = noteBroken(broken, line, why)
      if (form === 'array' && why === 'not JSON')
        throw new FileError('not_json', `element ${line} is not JSON`)
      if (!isQuarantined(fact)) continue
      quarantined += 1
      for (const issue of fact.issues) issues.push({ line, kind: fact.event_kind ?? null, issue })
    }
    progress.tick(lines.length)
  }
  if (broken !== null && broken.count === lines.length)
    throw new FileError('not_json', noneIsJson(broken, form))
  return { file, form, state, lines, quarantined, issues, broken, upcasts }
}

/** What there is to say of broken pieces after one more piece; `why` is null for a sound one. */
function noteBroken(before: Broken | null, line: number, why: string | null): Broken | null {
  if (before === null) return why === null ? null : { line, why, count: 1, isLast: true }
  return { ...before, count: before.count + (why === null ? 0 : 1), isLast: false }
}

function count(upcasts: Map<string, Upcasts>, name: string, line: number): void {
  const before = upcasts.get(name)
  upcasts.set(name, { count: (before?.count ?? 0) + 1, line: before?.line ?? line })
}

function noneIsJson(broken: Broken, form: Form): string {
  const what = form === 'directory' ? 'file' : 'line'
  return broken.count === 1
    ? `the only ${what} is ${broken.why}`
    : `none of its ${broken.count} ${what}s is JSON`
}

/** What a user is told of text that is no JSON; null when there is none. */
export function brokenNote({ broken, form }: Recording): string | null {
  if (broken === null) return null
  const cut = broken.isLast && form === 'lines' && broken.why === 'not JSON' ? ' (truncated last line?)' : ''
  const more = broken.count - 1
  const others = more === 0 ? '' : more === 1 ? ', nor is 1 other' : `, nor are ${more} others`
  const what =
    form === 'directory'
      ? `event file ${broken.line}`
      : form === 'array'
        ? `element ${broken.line}`
        : `line ${broken.line}`
  return `${what} is ${broken.why}${cut}${others}; kept aside, the rest is answered`
}
