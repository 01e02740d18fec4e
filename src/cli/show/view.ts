/** Shows the view event by event, with its units bracketed and the places to cut marked. */

import { findEvent, listPendingCalls, type State } from '../../index.ts'
import {
  type BatchUnit,
  cutPoints,
  isPending,
  listPendingBatches,
  type Unit,
  unitEvents,
  type ViewItem,
  listDroppedResults,
} from '../../state/index.ts'
import { describeEvent } from '../../inspector/index.ts'
import { eventRow, heading, idWidth, type Page, shownId } from './page.ts'
import { counted, padStart, safe } from '../print/text.ts'

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
