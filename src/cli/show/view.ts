/** Shows the view event by event; what a condensation would do to it; and whether its agent is stuck. */

import { condensationOf, planCondensation, stuckDetector } from '../../context/index.ts'
import { type Condensation, deriveEventId } from '../../event/index.ts'
import { type Event, findEvent, listPendingCalls, reduce, type State, viewEvents } from '../../index.ts'
import { describeEvent } from '../../inspector/index.ts'
import {
  cutPoints,
  isPending,
  listDroppedResults,
  listPendingBatches,
  type Unit,
  unitEvents,
  type ViewItem,
} from '../../state/index.ts'
import { PLACEHOLDER_SUMMARY } from '../commands.ts'
import { counted, fit, glimpse, padStart } from '../print/text.ts'
import { eventRow, heading, idWidth, type Page, type Row, shownId, type Subject, type View } from './page.ts'

export const pendingIds = (state: State): string[] => listPendingCalls(state).map(({ entry }) => entry.id)

export const viewView: View<'view'> = {
  json: ({ state }) => ({
    view: Array.from(viewEvents(state), (item) => item.id),
    pending: pendingIds(state),
    dropped: listDroppedResults(state),
    unhandled_condensation_request: state.branch.view.unhandledCondensationRequest,
    cut_points: cutPoints(state),
  }),
  *show(page, { state, title }) {
    const { view } = state.branch
    const dropped = listDroppedResults(state)
    const head = state.log.head === null ? 'the empty HEAD' : shownId(state.log.head.id)
    yield heading(page, title, `the view at ${head}: ${counted(view.length, 'event')}`)
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
      const idColumns = idWidth(page, dropped)
      for (const { id, reason } of dropped) {
        const event = findEvent(state, id)?.event
        if (event !== undefined && event !== null)
          yield itemRow(page, { id, event }, { idColumns, lead: '    ', gutter: '  ', note: reason })
      }
    }
  },
}

const itemRow = (
  page: Page,
  { id, event }: { readonly id: string; readonly event: Event },
  row: Omit<Row, 'described' | 'id'>,
): string => eventRow(page, { ...row, described: describeEvent(event), id })

const CUT = '✂'

export function* viewRows(page: Page, state: State, ids: boolean): IterableIterator<string> {
  const { view } = state.branch
  const units = [...view.units].filter((unit) => !isPending(unit))
  const cuts = new Set(cutPoints(state))
  const columns = String(view.length).length
  const idColumns = ids
    ? idWidth(
        page,
        units.flatMap((unit) => [...unitEvents(unit)]),
      )
    : 0
  let position = 0
  const lead = (): string => `  ${cuts.has(position) ? CUT : ' '} ${padStart(String(position), columns)} `
  for (const unit of units) {
    for (const { item, gutter } of bracketed(unit)) {
      yield itemRow(page, item, { lead: lead(), gutter, idColumns })
      position += 1
    }
  }
  if (position === 0) yield page.paint('dim', '    nothing')
  else yield page.paint('dim', `${lead()}  end   ${CUT} marks where the view may be cut`)
}

function* pendingRows(page: Page, state: State, ids: boolean): IterableIterator<string> {
  const calls = listPendingCalls(state).map(({ entry }) => entry)
  const rows = listPendingBatches(state).flatMap(bracketed)
  const shown = new Set(rows.map(({ item }) => item.id))
  const forgotten = calls.filter(({ id }) => !shown.has(id))
  const waiting = new Set(calls.map(({ id }) => id))
  const idColumns = ids ? idWidth(page, [...rows.map(({ item }) => item), ...forgotten]) : 0
  for (const { item, gutter } of rows) {
    const note = waiting.has(item.id) ? '◌ waiting' : ''
    yield itemRow(page, item, { lead: '    ', gutter, idColumns, note })
  }
  for (const call of forgotten)
    yield itemRow(page, call, { lead: '    ', gutter: '  ', idColumns, note: '◌ waiting, forgotten' })
}

function bracketed(unit: Unit): { item: ViewItem; gutter: string }[] {
  const items = [...unitEvents(unit)]
  const last = items.length - 1
  const bracket = (index: number): string => {
    if (last === 0) return unit.type === 'batch' ? '╶ ' : '  '
    return index === 0 ? '┌ ' : index === last ? '└ ' : '│ '
  }
  return items.map((item, index) => ({ item, gutter: bracket(index) }))
}

const REFUSALS: Readonly<Record<string, string>> = {
  not_needed: 'nothing to do',
  nothing_to_forget: 'too little may be forgotten for a summary to make it shorter',
}

interface Condensed {
  readonly event: (Condensation & { readonly id: string }) | null
  /** `events` or `request`, the trigger; `not_needed`, or the code of the refusal. */
  readonly reason: string
  readonly before: State
  readonly after: State
}

const KEPT_FIRST = 2

function condensed({ state: before, options }: Subject<'condense'>): Condensed {
  const { 'max-events': maxEvents, summary } = options
  const keepFirst = Math.min(KEPT_FIRST, Math.floor(maxEvents / 2) - 2)
  const plan = planCondensation(before, { maxEvents, keepFirst })
  if (plan.type === 'keep') return { event: null, reason: 'not_needed', before, after: before }
  if (plan.type === 'refuse') return { event: null, reason: plan.reason.code, before, after: before }
  const body = condensationOf(plan, summary ?? PLACEHOLDER_SUMMARY)
  // The same for a file and for the conversation that was imported from it.
  const event = { ...body, id: deriveEventId('', before.log.entries.length, body) }
  const reason = plan.triggers.includes('request') ? 'request' : 'events'
  return { event, reason, before, after: reduce(before, event) }
}

export const condenseView: View<'condense'> = {
  json(subject) {
    const { event, reason, before, after } = condensed(subject)
    return {
      condensation: event,
      reason,
      view_before: before.branch.view.length,
      view: Array.from(viewEvents(after), (item) => item.id),
    }
  },
  *show(page, subject) {
    const { event, reason, before, after } = condensed(subject)
    const { title } = subject
    const count = counted(before.branch.view.length, 'event')
    if (event === null) {
      yield heading(page, title, `the view: ${count}; ${REFUSALS[reason] ?? reason}`)
      return
    }
    const why = reason === 'request' ? 'as the log requests' : 'as it is too long'
    yield heading(page, title, `the view: ${count} before, ${after.branch.view.length} after, ${why}`)
    const forgotten = new Set(event.forgotten_event_ids)
    const old = [...viewEvents(before)]
    const last = old.findLastIndex(({ id }) => forgotten.has(id))
    const summary = [...viewEvents(after)][event.summary_offset ?? 0]
    const rows = summary === undefined ? old : old.toSpliced(last + 1, 0, summary)
    const idColumns = idWidth(page, rows)
    for (const item of rows) {
      const isGone = item !== summary && forgotten.has(item.id)
      const lead = item === summary ? '  + ' : isGone ? '  − ' : '    '
      const described = describeEvent(item.event)
      const shown = isGone ? { ...described, tone: 'dim' as const } : described
      yield eventRow(page, { lead, gutter: '', described: shown, id: item.id, idColumns })
    }
  },
}

const LOOPS = stuckDetector()

export const stuckView: View<'stuck'> = {
  json({ state }) {
    const verdict = LOOPS.verdict(state)
    return {
      stuck: verdict !== null,
      pattern: verdict?.pattern ?? null,
      event_ids: verdict?.eventIds ?? [],
      reason: verdict?.reason ?? null,
      nudge: LOOPS.nudge(state),
    }
  },
  *show(page, { state, title }) {
    const verdict = LOOPS.verdict(state)
    if (verdict === null) yield heading(page, title, 'not stuck')
    else {
      yield `${heading(page, title)}  ${page.paint('bad', `stuck: ${verdict.pattern}`)}`
      yield `  ${fit(glimpse(verdict.reason), page.columns - 2)}`
      const ids = new Set(verdict.eventIds)
      const items = [...viewEvents(state)].filter(({ id }) => ids.has(id))
      const idColumns = idWidth(page, items)
      for (const item of items) yield itemRow(page, item, { gutter: '  ', idColumns })
    }
    const nudge = LOOPS.nudge(state)
    if (nudge === null) return
    yield `  ${page.paint('warn', 'To be sent to the model:')}`
    for (const line of nudge.split('\n')) yield `    ${fit(glimpse(line), page.columns - 4)}`.trimEnd()
  },
}
