/** Shows whether a branch is stuck, and the events that prove it. */

import { type State, viewEvents } from '../../index.ts'
import { LOOPS } from '../answer/answer.ts'
import { describeEvent } from '../../inspector/index.ts'
import { eventRow, heading, idWidth, type Page } from './page.ts'
import { fit, glimpse, safe } from '../print/text.ts'

/** Shows what the detector says of a state. */
export function* showStuck(page: Page, title: string, state: State): IterableIterator<string> {
  const verdict = LOOPS.verdict(state)
  if (verdict === null) yield heading(page, safe(title), 'not stuck')
  else {
    yield `${heading(page, safe(title))}  ${page.paint('bad', `stuck: ${verdict.pattern}`)}`
    yield `  ${fit(glimpse(verdict.reason), page.columns - 2)}`
    yield* eventRows(page, state, verdict.eventIds)
  }
  const nudge = LOOPS.nudge(state)
  if (nudge === null) return
  yield `  ${page.paint('warn', 'To be sent to the model:')}`
  for (const line of nudge.split('\n')) yield `    ${fit(glimpse(line), page.columns - 4)}`.trimEnd()
}

function* eventRows(page: Page, state: State, ids: readonly string[]): IterableIterator<string> {
  const wanted = new Set(ids)
  const idColumns = idWidth(page, ids)
  for (const { id, event } of viewEvents(state)) {
    if (!wanted.has(id)) continue
    yield eventRow(page, { gutter: '  ', described: describeEvent(event), id, idColumns })
  }
}
