import { type Ask, asksOf } from '../model/request.ts'
import { callLanesOf, type Lanes, lanesOf } from '../model/lanes.ts'
import { type Replayed, replaying, stateOf } from '../model/replayed.ts'
import { findEvent } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { LogDocument, LogHead, LogTitle, PageSource } from '../log-document.ts'

export interface Session {
  readonly replayed: Replayed
  readonly lanes: { readonly tree: Lanes; readonly calls: Lanes | null }
  readonly asks: readonly Ask[]
}

export interface Family {
  readonly titles: readonly LogTitle[]
  readonly index: number
  readonly choose: (index: number, event?: string | null) => void
  /** Opens a conversation that is not in `titles`; null if the page has no service. */
  readonly find: ((conversation: string, event: string | null) => void) | null
  readonly read: (index: number) => Promise<LogDocument>
}

export interface Reader {
  readonly session: Session
  readonly family: Family
  readonly position: number
  readonly go: (to: number | ((from: number) => number)) => void
  readonly goTo: (event: string | number) => void
}

export const stateHere = ({ session, position }: Reader): State => stateOf(session.replayed, position)

export const lengthOf = ({ replayed }: Session): number => replayed.states.length - 1

export function positionIn(session: Session, event: string | number): number | null {
  const { replayed } = session
  if (typeof event === 'number') return event >= 0 && event < lengthOf(session) ? event + 1 : null
  const entry = findEvent(stateOf(replayed, lengthOf(session)), event)
  if (entry !== undefined) return entry.seq + 1
  // A summary is not an event of the log, but its Condensation is.
  return event.endsWith('-summary') ? positionIn(session, event.slice(0, -'-summary'.length)) : null
}
type Named = 'log' | 'conversation' | 'event' | 'at'

export const named = (name: Named): string | null => new URLSearchParams(location.hash.slice(1)).get(name)

export function linkWith(changes: Readonly<Partial<Record<Named, string | null>>>): string {
  const names = new URLSearchParams(location.hash.slice(1))
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) names.delete(name)
    else names.set(name, value)
  }
  return `#${names.toString()}`
}

/** Changes fields of the page's address without adding a history entry. */
export function rename(changes: Readonly<Partial<Record<Named, string | null>>>): void {
  const link = linkWith(changes)
  if (link !== location.hash) history.replaceState(null, '', link)
}

export function readSource(): PageSource {
  return JSON.parse(document.querySelector('#source')?.textContent ?? '{"from":"page","logs":[],"first":0}')
}

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

function documentOf([head, ...blocks]: readonly unknown[]): LogDocument {
  return { ...(head as LogHead), facts: (blocks as readonly (readonly Fact[])[]).flat() }
}

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

interface Turns {
  /** Milliseconds until the first turn. Default: 0. */
  readonly after?: number
  /** Maximum milliseconds that the generator runs without a break. The page is blocked for this time. */
  readonly turn: number
}

/** Runs a generator in short turns, and reports the last step of each turn. Returns a function that stops it. */
export function inTurns<Step, Result>(
  steps: Generator<Step, Result>,
  { after = 0, turn }: Turns,
  report: (step: IteratorResult<Step, Result>) => void,
): () => void {
  const take = (): void => {
    const until = performance.now() + turn
    let step = steps.next()
    while (step.done !== true && performance.now() < until) step = steps.next()
    if (step.done !== true) timer = setTimeout(take, 0)
    report(step)
  }
  let timer = setTimeout(take, after)
  return () => clearTimeout(timer)
}

/** Opens a log. Does not use `inTurns`, because the caller of `openLog` must receive the errors. */
export async function openLog(document: LogDocument, tell: (done: number) => void): Promise<Session> {
  const steps = replaying(document)
  for (let begun = performance.now(); ;) {
    const step = steps.next()
    if (step.done === true) return sessionOf(step.value)
    if (performance.now() - begun < 40) continue
    tell(step.value)
    // oxlint-disable-next-line no-await-in-loop -- the page is drawn meanwhile
    await new Promise((resume) => setTimeout(resume, 0))
    begun = performance.now()
  }
}

export function sessionOf(replayed: Replayed): Session {
  let asks: readonly Ask[] | null = null
  const last = replayed.states.at(-1) as State
  return {
    replayed,
    lanes: { tree: lanesOf(last), calls: callLanesOf(last) },
    // The requests are computed on demand, because only two of the tabs need them.
    get asks() {
      return (asks ??= asksOf(replayed))
    },
  }
}
