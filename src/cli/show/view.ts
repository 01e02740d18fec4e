/** Shows the view event by event, with its units bracketed and the places to cut marked. */

import { condensationOf, planCondensation, type RefusalReason, stuckDetector } from '../../context/index.ts'
import { type Condensation, deriveEventId } from '../../event/index.ts'
import { findEvent, listPendingCalls, reduce, type State, viewEvents } from '../../index.ts'
import { describeEvent } from '../../inspector/index.ts'
import {
  type BatchUnit,
  cutPoints,
  isPending,
  listDroppedResults,
  listPendingBatches,
  type Unit,
  unitEvents,
  type ViewItem,
} from '../../state/index.ts'
import { PLACEHOLDER_SUMMARY } from '../args/commands.ts'
import type { FileRequest } from '../args/request.ts'
import { counted, fit, glimpse, padStart, safe } from '../print/text.ts'
import { eventRow, heading, idWidth, type Page, shownId } from './page.ts'

const CUT = '✂'

/** Shows the view of a state, what is pending, and what was left out. */
export function* showView(page: Page, file: string, state: State): IterableIterator<string> {
  const { view } = state.branch
  const dropped = listDroppedResults(state)
  const at = state.log.head === null ? 'the empty HEAD' : shownId(state.log.head.id)
  yield heading(page, safe(file), `the view at ${at}: ${counted(view.length, 'event')}`)
  yield* viewRows(page, state, true)
  if (view.unhandledCondensationRequest) yield page.paint('warn', '  a condensation is requested')
  if (listPendingCalls(state).length > 0) {
    yield ''
    yield heading(page, 'Pending', 'out of the view until they have results')
    yield* pendingRows(page, state, true)
  }
  if (dropped.length > 0) {
    yield ''
    yield heading(page, 'Left out', 'results that end no call')
    const idColumns = idWidth(
      page,
      Array.from(dropped, ({ id }) => id),
    )
    for (const { id, reason } of dropped) {
      const event = findEvent(state, id)?.event
      if (event === undefined || event === null) continue
      yield eventRow(page, {
        lead: '    ',
        gutter: '  ',
        described: describeEvent(event),
        id,
        idColumns,
        note: reason,
      })
    }
  }
}

/** The events of the view, with their positions and, if wanted, their ids. */
export function* viewRows(page: Page, state: State, ids: boolean): IterableIterator<string> {
  const { view } = state.branch
  const units = [...view.units].filter((unit) => !isPending(unit))
  const cuts = new Set(cutPoints(state))
  const numberColumns = String(view.length).length
  const idColumns = ids
    ? idWidth(
        page,
        units.flatMap((unit) => Array.from(unitEvents(unit), (item) => item.id)),
      )
    : 0
  let at = 0
  const lead = (): string => `  ${cuts.has(at) ? CUT : ' '} ${padStart(String(at), numberColumns)} `
  for (const unit of units) {
    for (const { item, bracket } of bracketed(unit)) {
      yield eventRow(page, {
        lead: lead(),
        gutter: bracket,
        described: describeEvent(item.event),
        id: item.id,
        idColumns,
      })
      at += 1
    }
  }
  if (at === 0) yield page.paint('dim', '    nothing')
  else yield page.paint('dim', `${lead()}  end   ${CUT} marks where the view may be cut`)
}

/** The pending calls of the branch and what belongs to them, forgotten ones too. */
export function* pendingRows(page: Page, state: State, ids: boolean): IterableIterator<string> {
  const open = listPendingCalls(state)
  const units = listPendingBatches(state)
  const shown = new Set(units.flatMap((unit) => Array.from(unitEvents(unit), (item) => item.id)))
  const forgotten = open.filter(({ entry }) => !shown.has(entry.id))
  const idColumns = ids ? idWidth(page, [...shown, ...forgotten.map(({ entry }) => entry.id)]) : 0
  const waiting = new Set(open.map(({ entry }) => entry.id))
  for (const unit of units) {
    for (const { item, bracket } of bracketed(unit)) {
      const note = waiting.has(item.id) ? '◌ waiting' : ''
      yield eventRow(page, {
        lead: '    ',
        gutter: bracket,
        described: describeEvent(item.event),
        id: item.id,
        idColumns,
        note,
      })
    }
  }
  for (const { entry } of forgotten) {
    const described = describeEvent(entry.event)
    yield eventRow(page, {
      lead: '    ',
      gutter: '  ',
      described,
      id: entry.id,
      idColumns,
      note: '◌ waiting, forgotten',
    })
  }
}

/** The items of a unit, a batch with a bracket around it. */
function bracketed(unit: Unit): { item: ViewItem; bracket: string }[] {
  const items = [...unitEvents(unit)]
  const last = items.length - 1
  const bracket = (index: number): string => {
    if (last === 0) return isBatch(unit) ? '╶ ' : '  '
    return index === 0 ? '┌ ' : index === last ? '└ ' : '│ '
  }
  return items.map((item, index) => ({ item, bracket: bracket(index) }))
}

const isBatch = (unit: Unit): unit is BatchUnit => unit.type === 'batch'

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

/** What became of a view. */
export interface Condensed {
  /** Null where nothing is to be appended. */
  readonly event: (Condensation & { readonly id: string }) | null
  /** `events` or `request`, what called for it; `not_needed`, or the code of the refusal. */
  readonly reason: 'events' | 'request' | 'not_needed' | RefusalReason['code']
  readonly after: State
}

/** The events that stay first, as many as the library keeps; fewer where the limit leaves no room for them. */
const KEPT_FIRST = 2

/** Condenses a state as a rolling condenser would, with the summary given. */
export function condensed(state: State, { maxEvents = Infinity, summary }: FileRequest): Condensed {
  const keepFirst = Math.min(KEPT_FIRST, Math.floor(maxEvents / 2) - 2)
  const plan = planCondensation(state, { maxEvents, keepFirst })
  if (plan.type === 'keep') return { event: null, reason: 'not_needed', after: state }
  if (plan.type === 'refuse') return { event: null, reason: plan.reason.code, after: state }
  const body = condensationOf(plan, summary ?? PLACEHOLDER_SUMMARY)
  // The same for a file and for the conversation that was imported from it.
  const event = { ...body, id: deriveEventId('', state.log.entries.length, body) }
  return {
    event,
    reason: plan.triggers.includes('request') ? 'request' : 'events',
    after: reduce(state, event),
  }
}

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

/** The stuck detector with its published thresholds. */
export const LOOPS = stuckDetector()
