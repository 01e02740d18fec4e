/** Shows the view before and after a condensation as one list of what stays, goes and comes. */

import { type State, viewEvents } from '../../index.ts'
import type { Condensed } from '../answer/condense.ts'
import { describeEvent } from '../../inspector/index.ts'
import { eventRow, heading, idWidth, type Page } from './page.ts'
import { counted, safe } from '../print/text.ts'

/** Why nothing is condensed, in words. */
const WHY: Readonly<Record<string, string>> = {
  not_needed: 'nothing to do',
  nothing_to_forget: 'too little may be forgotten for a summary to make it shorter',
}

/** Shows the cut: events that go are marked −, the summary +. */
export function* showCondense(
  page: Page,
  title: string,
  state: State,
  { event, reason, after }: Condensed,
): IterableIterator<string> {
  const [before, then] = [state, after].map(({ branch }) => branch.view.length) as [number, number]
  if (event === null) {
    yield heading(page, safe(title), `the view: ${counted(before, 'event')}; ${WHY[reason] ?? reason}`)
    return
  }
  const why = reason === 'request' ? 'as the log requests' : 'as it is too long'
  yield heading(page, safe(title), `the view: ${counted(before, 'event')} before, ${then} after, ${why}`)
  const gone = new Set(event.forgotten_event_ids)
  const old = [...viewEvents(state)]
  const last = old.findLastIndex(({ id }) => gone.has(id))
  const coming = [...viewEvents(after)][event.summary_offset ?? 0]
  const rows = coming === undefined ? old : old.toSpliced(last + 1, 0, coming)
  const idColumns = idWidth(
    page,
    rows.map(({ id }) => id),
  )
  for (const item of rows) {
    const lead = item === coming ? '  + ' : gone.has(item.id) ? '  − ' : '    '
    const described = describeEvent(item.event)
    const shown = gone.has(item.id) && item !== coming ? { ...described, tone: 'dim' as const } : described
    yield eventRow(page, { lead, gutter: '', described: shown, id: item.id, idColumns })
  }
}
