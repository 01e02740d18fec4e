/** Brings logs into the page: those that stand in it, or those that a server gives. */

import type { LogDocument, PageSource } from '../log-document.ts'
import { asksOf } from '../model/asks.ts'
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
  if (source.from === 'page') return JSON.parse(document.querySelector(`#log-${index}`)?.textContent ?? '')
  const response = await fetch(`logs/${index}`)
  if (!response.ok) throw new Error(`The log cannot be read: ${response.status}.`)
  return response.json()
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
export const sessionOf = (replayed: Replayed): Session => ({
  replayed,
  lanes: lanesOf(replayed.states.at(-1) as State),
  asks: asksOf(replayed),
})
