/** Brings logs into the page: those that stand in it, or those that a server gives. */

import type { Fact } from '../../event/quarantine.ts'
import type { LogDocument, LogHead, PageSource } from '../log-document.ts'
import { type Ask, asksOf } from '../model/asks.ts'
import { lanesOf } from '../model/lanes.ts'
import { type Replayed, replaying } from '../model/replayed.ts'
import type { State } from '../../state/state.ts'
import type { Session } from './session.ts'

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
