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
import { LISTED, repairRows, repairsOf, sessionNotes } from './check.ts'
import { heading, type Page, shownId, type View } from './page.ts'
import { pendingIds } from './view.ts'

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
    const index =
      state.log.entries.length < recording.lines.length
        ? `as it was at ${shownId(state.log.entries.last()?.id ?? null)}`
        : ''
    yield heading(page, title, index)
    if (recording.session !== null)
      yield `  ${page.paint('dim', pad('session', 9))} of ${recording.session.format}, read as events`
    yield* stateRows(page, state)
    const repairs = repairsOf(recording, state)
    yield ''
    yield heading(page, 'Repaired', repairs.length === 0 ? 'nothing had to be' : '')
    yield* repairRows(page, repairs)
    yield* sessionNotes(page, recording)
  },
}

export function* stateRows(page: Page, state: State): IterableIterator<string> {
  const { log, branch } = state
  const header = maskSecrets(state.header)
  const row = (name: string, text: string): string => `  ${page.paint('dim', pad(name, 9))} ${text}`
  const room = page.columns - 12
  yield row('status', page.paint(STATUS_TONES[header.status], header.status))
  if (header.error !== null) {
    yield row('error', page.paint('bad', fit(glimpse(`${header.error.code}: ${header.error.detail}`), room)))
  }
  yield row('HEAD', headText(page, state, room))
  const count = shownCount(log.entries.length)
  yield row('events', log.entries.length === 0 ? 'none' : fit(`${count}: ${kindCounts(state)}`, room))
  yield row('branches', String(listLeaves(state).length))
  yield row('view', counted(branch.view.length, 'event'))
  const tokens = tokensText(state)
  if (tokens !== null) yield row('tokens', fit(tokens, room))
  const pending = listPendingCalls(state).map(({ entry }) => entry)
  if (pending.length === 0) yield row('pending', 'none')
  const working = listWorkingCalls(state).map(({ action }) => action)
  for (const [name, calls] of Object.entries({ pending, working })) {
    for (const [index, entry] of calls.slice(0, LISTED).entries()) {
      const { subject, text } = describeEvent(entry.event)
      const id = shownId(entry.id)
      const words = fit(`${subject}  ${text}`, room - id.length - 2)
      yield row(index === 0 ? name : '', `${page.paint('warn', words)}  ${page.paint('dim', id)}`)
    }
    if (calls.length > LISTED) yield row('', `and ${calls.length - LISTED} more`)
  }
}

function headText(page: Page, { log }: State, room: number): string {
  if (log.head === null) return log.entries.length === 0 ? 'none' : 'before every event'
  const { role, subject, text } = describeEntry(log.head)
  const id = shownId(log.head.id)
  const words = [role, subject, text].filter((part) => part !== '').join('  ')
  return `${fit(words, room - id.length - 2)}  ${page.paint('dim', id)}`
}

const ORDER: readonly string[] = EVENT_KINDS

function kindCounts({ log }: State): string {
  const counts = new Map<string, number>()
  for (const { event } of log.entries) {
    const kind = event === null ? 'quarantined' : event.kind
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts]
    .toSorted(([a, m], [b, n]) => n - m || ORDER.indexOf(a) - ORDER.indexOf(b))
    .map(
      ([kind, count]) =>
        `${count.toLocaleString('en')} ${kind.replace(/^Conversation(?=State)|Event$/g, '')}`,
    )
    .join(', ')
}

function tokensText(state: State): string | null {
  const { prompt_tokens, completion_tokens, cache_read_tokens, cost } = usageTotals(state)
  if (prompt_tokens + completion_tokens + cost === 0) return null
  const cached = cache_read_tokens === 0 ? '' : ` (${shownCount(cache_read_tokens)} from a cache)`
  const price = cost === 0 ? '' : `, cost ${cost.toLocaleString('en', { maximumFractionDigits: 4 })}`
  return `${shownCount(prompt_tokens)} in${cached}, ${shownCount(completion_tokens)} out${price}`
}

const shownCount = (count: number): string => count.toLocaleString('en')
