/** The event search exactly as the interface specifies it: filters, orders, pages and errors. */

import { createHash } from 'node:crypto'
import type { LogEvent } from './log.ts'

const KINDS: readonly string[] = `
  ServerErrorEvent ACPToolCallEvent Condensation CondensationRequest CondensationSummaryEvent ConversationErrorEvent
  ConversationStateUpdateEvent HookExecutionEvent LLMCompletionLogEvent ActionEvent MessageEvent AgentErrorEvent
  ObservationEvent UserRejectObservation SystemPromptEvent StreamingDeltaEvent TokenEvent InterruptEvent PauseEvent`
  .trim()
  .split(/\s+/)
const SOURCES: readonly string[] = ['agent', 'user', 'environment', 'hook']
const ORDERS: readonly string[] = ['TIMESTAMP', 'TIMESTAMP_DESC']

/** One validation error of a request. */
export interface ValidationIssue {
  readonly type: string
  readonly loc: readonly string[]
  readonly msg: string
}

/** An error response: a status with validation errors or a message. */
export class Refusal extends Error {
  readonly status: number
  readonly detail: string | readonly ValidationIssue[]

  constructor(status: number, detail: string | readonly ValidationIssue[]) {
    super(`${status}`)
    this.status = status
    this.detail = detail
  }
}

export const invalid = (location: 'query' | 'body', name: string, type: string, msg: string): Refusal =>
  new Refusal(422, [{ type, loc: [location, name], msg }])

interface Search {
  readonly kind: string | null
  readonly source: string | null
  readonly from: number
  readonly until: number
  readonly isDescending: boolean
  readonly cursor: string | null
  readonly limit: number
}

/** Parses a page or count request. @throws Refusal 422. */
export function readSearch(query: URLSearchParams): Search {
  const limit = query.get('limit') ?? '100'
  if (!/^\s*[+-]?\d+\s*$/.test(limit)) throw invalid('query', 'limit', 'int_parsing', 'Must be an integer')
  if (Number(limit) <= 0) throw invalid('query', 'limit', 'greater_than', 'Must be greater than 0')
  if (Number(limit) > 100) throw invalid('query', 'limit', 'less_than_equal', 'Must be at most 100')
  return {
    kind: parseEnum(query, 'kind', KINDS) ?? parseEnum(query, 'kind__eq', KINDS),
    source: parseEnum(query, 'source', SOURCES),
    from: parseInstant(query, 'timestamp__gte') ?? -Infinity,
    until: parseInstant(query, 'timestamp__lt') ?? Infinity,
    isDescending: parseEnum(query, 'sort_order', ORDERS) === 'TIMESTAMP_DESC',
    cursor: query.get('page_id'),
    limit: Number(limit),
  }
}

function parseEnum(query: URLSearchParams, name: string, values: readonly string[]): string | null {
  const value = query.get(name)
  if (value === null || values.includes(value)) return value
  throw invalid('query', name, 'enum', `Must be one of ${values.join(', ')}`)
}

function parseInstant(query: URLSearchParams, name: string): number | null {
  const text = query.get(name)
  if (text === null) return null
  // An unescaped plus sign arrives as a space. A time without a time zone is UTC.
  const normalized = text.replace(/ (\d\d:?\d\d)$/, '+$1')
  const time = Date.parse(/([zZ]|[+-]\d\d:?\d\d)$/.test(normalized) ? normalized : `${normalized}Z`)
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d/.exec(normalized) ?? []
  // The parser accepts the 30th of February, so the day is checked here.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  if (isDay && !Number.isNaN(time)) return time
  throw invalid('query', name, 'datetime_from_date_parsing', 'Must be a date and time')
}

const timeOf = ({ timestamp }: LogEvent): number => Date.parse(timestamp)

/** The matching events with their positions, ordered by time. */
const matches = (
  events: readonly LogEvent[],
  { kind, source, from, until }: Search,
  excludedKind: string | null,
) =>
  events
    .map((event, position) => ({ event, position, time: timeOf(event) }))
    .filter(({ event }) => event.kind !== excludedKind)
    .filter(({ event }) => kind === null || event.kind === kind)
    .filter(({ event }) => source === null || event.source === source)
    .filter(({ time }) => time >= from && time < until)
    .toSorted((a, b) => a.time - b.time || a.position - b.position)

export const countEvents = (events: readonly LogEvent[], search: Search): number =>
  matches(events, search, null).length

/** @param scope the page id is valid only for this scope, with the same filters and order */
export function searchEvents(
  events: readonly LogEvent[],
  search: Search,
  scope: string,
  excludedKind: string | null = null,
): { readonly items: readonly unknown[]; readonly next_page_id: string | null } {
  const { cursor, limit, isDescending } = search
  const all = matches(events, search, excludedKind)
  const order = isDescending ? all.toReversed() : all
  const query = JSON.stringify([scope, excludedKind, { ...search, cursor: null, limit: null }])
  const after = cursor === null ? null : readCursor(cursor, query)
  const start = after === null ? 0 : order.findIndex((item) => isAfter(item, after, isDescending))
  const page = start < 0 ? [] : order.slice(start, start + limit)
  const last = page.at(-1)
  const isLastPage = start < 0 || start + limit >= order.length
  return {
    items: page.map(({ event }) => withoutSecrets(event)),
    next_page_id: isLastPage || last === undefined ? null : writeCursor([last.time, last.position], query),
  }
}

type Position = readonly [time: number, position: number]

const isAfter = (
  item: { readonly time: number; readonly position: number },
  after: Position,
  isDescending: boolean,
) => {
  const distance = item.time - after[0] || item.position - after[1]
  return isDescending ? distance < 0 : distance > 0
}

/** A page id contains the position where its page ended, and a digest that lets other searches reject it. */
const digestOf = (position: string, query: string): string =>
  createHash('sha256').update(`${position} ${query}`).digest('base64url').slice(0, 16)

const writeCursor = (position: Position, query: string): string =>
  `${position.join('.')}.${digestOf(position.join('.'), query)}`

function readCursor(cursor: string, query: string): Position {
  const [time = '', position = '', digest = ''] = cursor.split('.')
  if (digest !== digestOf(`${time}.${position}`, query))
    throw invalid('query', 'page_id', 'value_error', 'Is not a page id of this search')
  return [Number(time), Number(position)]
}

/** Removes content that a provider encrypted, at any depth, because clients must not receive it. */
export const withoutSecrets = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, field: unknown) => (key === 'encrypted_content' ? null : field)))
