import { usageTotals } from '../../context/index.ts'
import {
  EVENT_KINDS,
  listPendingCalls,
  listWorkingCalls,
  maskSecrets,
  type State,
  type Status,
} from '../../index.ts'
import { describeEntry, describeEvent } from '../../inspector/index.ts'
import { listLeaves } from '../../state/index.ts'
import { counted, fit, glimpse, pad, type Tone } from '../print/text.ts'
import { repairsOf } from './check.ts'
import { heading, LISTED, type Page, problemRows, shownId, type View } from './page.ts'

const STATUS_TONES: Readonly<Record<Status, Tone>> = {
  idle: 'strong',
  running: 'good',
  paused: 'warn',
  waiting_for_confirmation: 'warn',
  finished: 'good',
  error: 'bad',
  stuck: 'bad',
  deleting: 'bad',
}

export const pendingIds = (state: State): string[] => listPendingCalls(state).map(({ entry }) => entry.id)

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
    yield heading(page, title, isEarlier ? `as it was at ${shownId(entries.last()?.id ?? null)}` : '')
    if (recording.session !== null)
      yield fieldRow(page, 'session', `of ${recording.session.format}, read as events`)
    yield* stateRows(page, state)
    const repairs = repairsOf(recording, state)
    yield ''
    yield heading(page, 'Repaired', repairs.length === 0 ? 'nothing had to be' : '')
    yield* problemRows(page, repairs, { limit: LISTED })
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
  const counts = new Map<string, number>()
  for (const { event } of log.entries) {
    const kind = event?.kind ?? 'quarantined'
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const texts = [...counts]
    .toSorted(([a, m], [b, n]) => n - m || ORDER.indexOf(a) - ORDER.indexOf(b))
    .map(([kind, count]) => `${shown(count)} ${kind.replace(/^Conversation(?=State)|Event$/g, '')}`)
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
