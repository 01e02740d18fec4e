import { condensationOf, planCondensation, stuckDetector, usageTotals } from '../../context/index.ts'
import { deriveEventId } from '../../event/index.ts'
import {
  EVENT_KINDS,
  findEvent,
  listPendingCalls,
  listWorkingCalls,
  maskSecrets,
  reduce,
  viewEvents,
} from '../../index.ts'
import type { State } from '../../index.ts'
import { describeEntry, describeEvent, STATUS_TONES } from '../../inspector/index.ts'
import {
  cutPoints,
  isPending,
  listDroppedResults,
  listLeaves,
  listPendingBatches,
  unitEvents,
} from '../../state/index.ts'
import type { Unit, ViewItem } from '../../state/index.ts'
import { PLACEHOLDER_SUMMARY } from '../commands.ts'
import { counted, fit, glimpse, pad, type Tone } from '../print/text.ts'
import { repairsOf } from './check.ts'
import { LISTED, type Page, type Row, shownId, type Subject, type View } from './page.ts'

const pendingIds = (state: State): string[] => listPendingCalls(state).map(({ entry }) => entry.id)

export const replayView: View<'replay'> = {
  json({ state }) {
    const { log, header } = state
    return {
      events: log.entries.length,
      status: header.status,
      head: log.head?.id ?? null,
      error: header.error,
      pending: pendingIds(state),
      working: listWorkingCalls(state).map(({ action }) => action.id),
      branches: listLeaves(state).length,
      quarantined: [...log.entries].filter((entry) => entry.quarantined !== null).length,
    }
  },
  *show(page, { recording, state, title }) {
    const { entries } = state.log
    const isEarlier = entries.length < recording.lines.length
    yield page.heading(title, isEarlier ? `as it was at ${shownId(entries.last()?.id ?? null)}` : '')
    if (recording.session !== null)
      yield fieldRow(page, 'session', `${recording.session.format}, converted to events`)
    yield* stateRows(page, state)
    const repairs = repairsOf(recording, state)
    yield ''
    yield page.heading('Repaired', repairs.length === 0 ? 'nothing' : '')
    yield* page.problemRows(repairs, { limit: LISTED })
  },
}

const FIELD_COLUMNS = 9

const fieldRow = ({ paint }: Page, name: string, text: string): string =>
  `  ${paint('dim', pad(name, FIELD_COLUMNS))} ${text}`

export function* stateRows(page: Page, state: State): IterableIterator<string> {
  const { log, branch } = state
  const { status, error } = maskSecrets(state.header)
  const room = page.columns - FIELD_COLUMNS - 3
  const described = (words: readonly string[], id: string | null, tone: Tone): string => {
    const text = fit(words.filter((word) => word !== '').join('  '), room - shownId(id).length - 2)
    return `${page.paint(tone, text)}  ${page.paint('dim', shownId(id))}`
  }
  const row = (name: string, text: string): string => fieldRow(page, name, text)
  yield row('status', page.paint(STATUS_TONES[status], status))
  if (error !== null)
    yield row('error', page.paint('bad', fit(glimpse(`${error.code}: ${error.detail}`), room)))
  if (log.head === null) yield row('HEAD', log.entries.length === 0 ? 'none' : 'before every event')
  else {
    const { role, subject, text } = describeEntry(log.head)
    yield row('HEAD', described([role, subject, text], log.head.id, 'text'))
  }
  yield row('events', log.entries.length === 0 ? 'none' : fit(kindCounts(state), room))
  yield row('branches', String(listLeaves(state).length))
  yield row('view', counted(branch.view.length, 'event'))
  const tokens = tokensText(state)
  if (tokens !== null) yield row('tokens', fit(tokens, room))
  const pending = listPendingCalls(state).map(({ entry }) => entry)
  if (pending.length === 0) yield row('pending', 'none')
  const working = listWorkingCalls(state).map(({ action }) => action)
  for (const [name, calls] of Object.entries({ pending, working })) {
    for (const [index, { id, event }] of calls.slice(0, LISTED).entries()) {
      const { subject, text } = describeEvent(event)
      yield row(index === 0 ? name : '', described([subject, text], id, 'warn'))
    }
    if (calls.length > LISTED) yield row('', `and ${calls.length - LISTED} more`)
  }
}

const ORDER: readonly string[] = EVENT_KINDS

function kindCounts({ log }: State): string {
  const kinds = Map.groupBy(log.entries, ({ event }): string => event?.kind ?? 'quarantined')
  const texts = [...kinds]
    .toSorted(([a, m], [b, n]) => n.length - m.length || ORDER.indexOf(a) - ORDER.indexOf(b))
    .map(([kind, { length }]) => `${shown(length)} ${kind.replace(/^Conversation(?=State)|Event$/g, '')}`)
  return `${shown(log.entries.length)}: ${texts.join(', ')}`
}

function tokensText(state: State): string | null {
  const { prompt_tokens, completion_tokens, cache_read_tokens, cost } = usageTotals(state)
  if (prompt_tokens + completion_tokens + cost === 0) return null
  const cached = cache_read_tokens === 0 ? '' : ` (${shown(cache_read_tokens)} from a cache)`
  const price = cost === 0 ? '' : `, cost ${cost.toLocaleString('en', { maximumFractionDigits: 4 })}`
  return `${shown(prompt_tokens)} in${cached}, ${shown(completion_tokens)} out${price}`
}

const shown = (count: number): string => count.toLocaleString('en')

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
    const head = state.log.head === null ? 'before every event' : `at ${shownId(state.log.head.id)}`
    yield page.heading(title, `the view ${head}: ${counted(view.length, 'event')}`)
    yield* viewRows(page, state, true)
    if (view.unhandledCondensationRequest) yield page.paint('warn', '  a condensation is requested')
    if (listPendingCalls(state).length > 0) {
      yield ''
      yield page.heading('Pending', 'calls that are out of the view until they have results')
      yield* pendingRows(page, state)
    }
    const dropped = listDroppedResults(state)
    if (dropped.length === 0) return
    yield ''
    yield page.heading('Left out', 'results that end no call')
    const rows = dropped.flatMap(({ id, reason }) => {
      const event = findEvent(state, id)?.event ?? null
      return event === null ? [] : [{ ...rowOf({ id, event }), gutter: '      ', note: reason }]
    })
    yield* page.eventRows(rows)
  },
}

const rowOf = ({ id, event }: ViewItem): Row => ({ id, described: describeEvent(event) })

const CUT = '✂'

export function* viewRows(page: Page, state: State, ids: boolean): IterableIterator<string> {
  const { view } = state.branch
  const cuts = new Set(cutPoints(state))
  const columns = String(view.length).length
  const lead = (index: number): string =>
    `  ${cuts.has(index) ? CUT : ' '} ${String(index).padStart(columns)} `
  const rows = [...view.units].filter((unit) => !isPending(unit)).flatMap(bracketed)
  yield* page.eventRows(rows.map((row, index) => ({ ...row, lead: lead(index), ...(!ids && { id: null }) })))
  if (rows.length === 0) yield page.paint('dim', '    nothing')
  else yield page.paint('dim', `${lead(rows.length)}  end   ${CUT} marks where the view may be cut`)
}

function* pendingRows(page: Page, state: State): IterableIterator<string> {
  const calls = listPendingCalls(state).map(({ entry }) => entry)
  const waiting = new Set(calls.map(({ id }) => id))
  const rows = listPendingBatches(state).flatMap(bracketed)
  const shown = new Set(rows.map(({ id }) => id))
  yield* page.eventRows([
    ...rows.map((row) => ({ ...row, lead: '    ', note: waiting.has(row.id ?? '') ? '◌ waiting' : '' })),
    ...calls
      .filter(({ id }) => !shown.has(id))
      .map((call) => ({ ...rowOf(call), gutter: '      ', note: '◌ waiting, forgotten' })),
  ])
}

function bracketed(unit: Unit): Row[] {
  const items = [...unitEvents(unit)]
  const last = items.length - 1
  const gutter = (index: number): string => {
    if (last === 0) return unit.type === 'batch' ? '╶ ' : '  '
    return index === 0 ? '┌ ' : index === last ? '└ ' : '│ '
  }
  return items.map((item, index) => ({ ...rowOf(item), gutter: gutter(index) }))
}

const REFUSALS: Readonly<Record<string, string>> = {
  not_needed: 'no condensation is needed',
  nothing_to_forget: 'too few events may be removed for a summary to shorten the view',
}

const KEPT_FIRST = 2

/** Returns a condensation and its trigger (`events` or `request`), or null and why nothing is condensed. */
function condensed({ state: before, options }: Subject<'condense'>) {
  const { 'max-events': maxEvents, summary = PLACEHOLDER_SUMMARY } = options
  const keepFirst = Math.min(KEPT_FIRST, Math.floor(maxEvents / 2) - 2)
  const plan = planCondensation(before, { maxEvents, keepFirst })
  if (plan.type === 'keep') return { event: null, reason: 'not_needed', after: before }
  if (plan.type === 'refuse') return { event: null, reason: plan.reason.code, after: before }
  const body = condensationOf(plan, summary)
  // The id is the same for a file and for the conversation that was imported from it.
  const event = { ...body, id: deriveEventId('', before.log.entries.length, body) }
  const reason = plan.triggers.includes('request') ? 'request' : 'events'
  return { event, reason, after: reduce(before, event) }
}

export const condenseView: View<'condense'> = {
  json(subject) {
    const { event, reason, after } = condensed(subject)
    return {
      condensation: event,
      reason,
      view_before: subject.state.branch.view.length,
      view: Array.from(viewEvents(after), (item) => item.id),
    }
  },
  *show(page, subject) {
    const { event, reason, after } = condensed(subject)
    const { title, state: before } = subject
    const count = counted(before.branch.view.length, 'event')
    if (event === null) return yield page.heading(title, `the view: ${count}; ${REFUSALS[reason] ?? reason}`)
    const why = reason === 'request' ? 'because the log requests it' : 'because it was too long'
    yield page.heading(title, `the view: ${count} before, ${after.branch.view.length} after, ${why}`)
    const forgotten = new Set(event.forgotten_event_ids)
    const old = [...viewEvents(before)]
    const last = old.findLastIndex(({ id }) => forgotten.has(id))
    const summary = [...viewEvents(after)][event.summary_offset ?? 0]
    const rows = summary === undefined ? old : old.toSpliced(last + 1, 0, summary)
    const shown = rows.map((item) => {
      const row = rowOf(item)
      if (item === summary) return { ...row, lead: '  + ' }
      if (!forgotten.has(item.id)) return { ...row, lead: '    ' }
      return { ...row, lead: '  − ', described: { ...row.described, tone: 'dim' as const } }
    })
    yield* page.eventRows(shown)
  },
}

const LOOPS = stuckDetector()

export const stuckView: View<'stuck'> = {
  json({ state }) {
    const { pattern = null, eventIds = [], reason = null } = LOOPS.verdict(state) ?? {}
    return { stuck: pattern !== null, pattern, event_ids: eventIds, reason, nudge: LOOPS.nudge(state) }
  },
  *show(page, { state, title }) {
    const verdict = LOOPS.verdict(state)
    if (verdict === null) yield page.heading(title, 'not stuck')
    else {
      yield `${page.heading(title)}  ${page.paint('bad', `stuck: ${verdict.pattern}`)}`
      yield `  ${fit(glimpse(verdict.reason), page.columns - 2)}`
      const ids = new Set(verdict.eventIds)
      const items = [...viewEvents(state)].filter(({ id }) => ids.has(id))
      yield* page.eventRows(items.map((item) => ({ ...rowOf(item), gutter: '  ' })))
    }
    const nudge = LOOPS.nudge(state)
    if (nudge === null) return
    yield `  ${page.paint('warn', 'Message for the model:')}`
    for (const line of nudge.split('\n')) yield `    ${fit(glimpse(line), page.columns - 4)}`.trimEnd()
  },
}
