/** What every part of the page needs: the log, where the reader is in it, and how to go elsewhere. */

import { type Ask, asksOf } from '../model/request.ts'
import { type Lanes, lanesOf } from '../model/lanes.ts'
import { type Replayed, replaying, stateOf } from '../model/replayed.ts'
import { findEvent } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { LogDocument, LogHead, PageSource } from '../log-document.ts'

/** A log that is open. */
export interface Session {
  readonly replayed: Replayed
  readonly lanes: Lanes
  readonly asks: readonly Ask[]
}

/** Where the reader is, with what may be done there. */
export interface Reader {
  readonly session: Session
  /** How many facts have happened: 0 before all of them. */
  readonly place: number
  /** To a place, or from the one where the reader is by then. */
  readonly go: (to: number | ((from: number) => number)) => void
  /** To an event, by its id or its position. */
  readonly goTo: (event: string | number) => void
}

/** The state at the reader's place. */
export const stateHere = ({ session, place }: Reader): State => stateOf(session.replayed, place)

/** How many facts there are. */
export const lengthOf = ({ replayed }: Session): number => replayed.states.length - 1

/** The place right after an event; null for one that is not there. */
export function placeOf(session: Session, event: string | number): number | null {
  const { replayed } = session
  if (typeof event === 'number') return event >= 0 && event < lengthOf(session) ? event + 1 : null
  const entry = findEvent(stateOf(replayed, lengthOf(session)), event)
  if (entry !== undefined) return entry.seq + 1
  // A summary is no event of the log: what put it into the view is.
  return event.endsWith('-summary') ? placeOf(session, event.slice(0, -'-summary'.length)) : null
}
/** What an address can name. */
type Named = 'log' | 'conversation' | 'event' | 'at'

/** What the address names; null where it does not. */
export const named = (name: Named): string | null => new URLSearchParams(location.hash.slice(1)).get(name)

/** The address with other names in it; null takes one out. */
export function linkWith(changes: Readonly<Partial<Record<Named, string | null>>>): string {
  const names = new URLSearchParams(location.hash.slice(1))
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) names.delete(name)
    else names.set(name, value)
  }
  return `#${names.toString()}`
}

/** Writes it, without a step of the history. */
export function rename(changes: Readonly<Partial<Record<Named, string | null>>>): void {
  const link = linkWith(changes)
  if (link !== location.hash) history.replaceState(null, '', link)
}

/** What the page was made with. */
export function readSource(): PageSource {
  return JSON.parse(document.querySelector('#source')?.textContent ?? '{"from":"page","logs":[],"first":0}')
}

/** A log of a page, or of the command that serves it, by its index. */
export async function readLog(source: PageSource, index: number): Promise<LogDocument> {
  if (source.from === 'page') {
    const blocks = document.querySelectorAll(`[data-log="${index}"]`)
    return documentOf(Array.from(blocks, ({ textContent }) => JSON.parse(textContent ?? '')))
  }
  const response = await fetch(`logs/${index}`)
  if (!response.ok || response.body === null) throw new Error(`The log cannot be read: ${response.status}.`)
  const blocks: unknown[] = []
  for await (const line of linesIn(response.body)) blocks.push(JSON.parse(line))
  return documentOf(blocks)
}

/** A log of its blocks: first what it is, then its facts. */
function documentOf([head, ...blocks]: readonly unknown[]): LogDocument {
  return { ...(head as LogHead), facts: (blocks as readonly (readonly Fact[])[]).flat() }
}

/** The lines of a response, each when it has come. */
export async function* linesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let parts: string[] = []
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const { done, value } = await reader.read()
    if (done) break
    const [first = '', ...rest] = value.split('\n')
    parts.push(first)
    for (const next of rest) {
      yield parts.join('')
      parts = [next]
    }
  }
  if (parts.join('') !== '') yield parts.join('')
}

/** For how long the page is held up at a time, in milliseconds. */
const TURN = 40

/** Folds a log, with turns for the page in between. */
export async function openLog(document: LogDocument, tell: (done: number) => void): Promise<Session> {
  const steps = replaying(document)
  let turn = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return sessionOf(step.value)
    if (performance.now() - turn < TURN) continue
    tell(step.value)
    // oxlint-disable-next-line no-await-in-loop -- the page is drawn meanwhile
    await new Promise((resume) => setTimeout(resume, 0))
    turn = performance.now()
  }
}

/** What is worked out of a log once. */
export function sessionOf(replayed: Replayed): Session {
  let asks: readonly Ask[] | null = null
  return {
    replayed,
    lanes: lanesOf(replayed.states.at(-1) as State),
    // Two of the tabs need them, and a long log has many.
    get asks() {
      return (asks ??= asksOf(replayed))
    },
  }
}
