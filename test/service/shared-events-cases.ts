/** A shared log, queries that match it, and invalid queries. */

import { expect } from 'vitest'
import { EVENT_KINDS } from '../../src/event/kinds.ts'
import type { Event } from '../../src/event/types.ts'
import type { Query } from './client.ts'

export const SEARCH = '/api/shared-events/search'
export const COUNT = '/api/shared-events/count'
export const BATCH = '/api/shared-events'
export const SHARED = '0123456789abcdef0123456789abcdef'
export const DASHED = '01234567-89ab-cdef-0123-456789abcdef'

export interface Page {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
}

/** A timestamp without a time zone, at a second of one fixed minute. */
export const timeAt = (second: number, fraction = ''): string =>
  `2026-01-01T00:00:${String(second).padStart(2, '0')}${fraction}`

export const message = (id: string, timestamp: string, text = id): Event => ({
  kind: 'MessageEvent',
  id,
  timestamp,
  source: 'user',
  llm_message: { role: 'user', content: [{ text }] },
})

const hidden = (id: string, timestamp: string): Event => ({
  kind: 'ConversationStateUpdateEvent',
  id,
  timestamp,
  key: 'stats',
  value: { id },
})

export const SECRET = 'gAAAAA-secret'

const secretive: Event = {
  kind: 'ActionEvent',
  id: 'secretive',
  timestamp: timeAt(30),
  thought: [],
  tool_name: 'terminal',
  tool_call_id: 'call',
  llm_response_id: 'response',
  tool_call: {
    id: 'call',
    name: 'terminal',
    origin: 'responses',
    arguments: JSON.stringify({ deep: [{ encrypted_content: SECRET }] }),
  },
  action: { kind: 'OwnAction', nested: { again: [{ encrypted_content: SECRET, kept: 1 }] } } as never,
  responses_reasoning_item: { id: 'r', summary: [], encrypted_content: SECRET },
}

/** Twenty visible messages, two a second and out of order, among 400 hidden events. */
export const LOG: readonly Event[] = [
  ...Array.from({ length: 20 }, (_, n) => [
    message(`m${n}`, timeAt((n * 7) % 10)),
    ...Array.from({ length: 20 }, (_, k) => hidden(`h${n}-${k}`, timeAt((n * 7) % 10))),
  ]).flat(),
  secretive,
  { kind: 'PauseEvent', id: 'pause', timestamp: '2026-01-01T01:00:31.000001+01:00' },
]

interface RejectedQuery {
  readonly what: string
  readonly path?: string
  readonly query: Query
  readonly detail: readonly object[]
}

const missing = (name: string) => [
  { type: 'missing', loc: ['query', name], msg: 'Field required', input: null },
]

const limitIs = (limit: string, type: string, msg: string, ctx?: object): RejectedQuery => ({
  what: `limit ${limit === '' ? '""' : limit}`,
  query: { conversation_id: SHARED, limit },
  detail: [{ type, loc: ['query', 'limit'], msg, input: limit, ...(ctx !== undefined && { ctx }) }],
})

const notANumber = (limit: string): RejectedQuery =>
  limitIs(limit, 'int_parsing', 'Input should be a valid integer, unable to parse string as an integer')

const KINDS = `${EVENT_KINDS.slice(0, -1)
  .map((kind) => `'${kind}'`)
  .join(', ')} or '${EVENT_KINDS.at(-1)}'`

const badEnum = (name: string, input: string, expected: string) => [
  { type: 'enum', loc: ['query', name], msg: `Input should be ${expected}`, input, ctx: { expected } },
]

const badTime = (name: string, input: string) => [
  {
    type: 'datetime_from_date_parsing',
    loc: ['query', name],
    msg: 'Input should be a valid datetime or date',
    input,
  },
]

export const badCursor = (why: string) => [
  { type: 'value_error', loc: ['query', 'page_id'], msg: expect.stringMatching(why) },
]

const badId = [
  {
    type: 'value_error',
    loc: ['query', 'conversation_id'],
    msg: expect.stringContaining('`conversation_id` must'),
  },
]

const SHARED_TIMES = [SEARCH, COUNT].flatMap((path): RejectedQuery[] => [
  { what: 'no conversation', path, query: {}, detail: missing('conversation_id') },
  {
    what: 'an id with a NUL character',
    path,
    query: { conversation_id: 'a\u0000b' },
    detail: badId,
  },
  { what: 'an empty conversation id', path, query: { conversation_id: '' }, detail: badId },
  {
    what: 'an unknown kind',
    path,
    query: { conversation_id: SHARED, kind__eq: 'Message' },
    detail: badEnum('kind__eq', 'Message', KINDS),
  },
  {
    what: 'a kind in another case',
    path,
    query: { conversation_id: SHARED, kind__eq: 'messageevent' },
    detail: badEnum('kind__eq', 'messageevent', KINDS),
  },
  ...['yesterday', '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z', '12:00', ''].flatMap((time) =>
    ['timestamp__gte', 'timestamp__lt'].map((name) => ({
      what: `${name} ${time}`,
      path,
      query: { conversation_id: SHARED, [name]: time },
      detail: badTime(name, time),
    })),
  ),
])

export const REJECTED: readonly RejectedQuery[] = [
  ...SHARED_TIMES,
  limitIs('0', 'greater_than', 'Input should be greater than 0', { gt: 0 }),
  limitIs('-1', 'greater_than', 'Input should be greater than 0', { gt: 0 }),
  limitIs('101', 'less_than_equal', 'Input should be less than or equal to 100', { le: 100 }),
  limitIs('9'.repeat(99), 'less_than_equal', 'Input should be less than or equal to 100', { le: 100 }),
  ...['ten', '', '1.5', '1e1', '0x10', 'NaN', 'Infinity'].map(notANumber),
  {
    what: 'an unknown order',
    query: { conversation_id: SHARED, sort_order: 'KIND' },
    detail: badEnum('sort_order', 'KIND', "'TIMESTAMP' or 'TIMESTAMP_DESC'"),
  },
  {
    what: 'an order in another case',
    query: { conversation_id: SHARED, sort_order: 'timestamp' },
    detail: badEnum('sort_order', 'timestamp', "'TIMESTAMP' or 'TIMESTAMP_DESC'"),
  },
  ...['', '0', '-1', '100', 'nonsense', 'e30', '../../etc/passwd'].map((page_id) => ({
    what: `a cursor "${page_id}"`,
    query: { conversation_id: SHARED, page_id },
    detail: badCursor('cursor'),
  })),
  {
    what: 'several invalid parameters',
    query: { limit: 0, kind__eq: 'X', sort_order: 'Y', timestamp__gte: 'Z' },
    detail: [
      ...missing('conversation_id'),
      ...badEnum('kind__eq', 'X', KINDS),
      ...badTime('timestamp__gte', 'Z'),
      ...badEnum('sort_order', 'Y', "'TIMESTAMP' or 'TIMESTAMP_DESC'"),
      {
        type: 'greater_than',
        loc: ['query', 'limit'],
        msg: 'Input should be greater than 0',
        input: '0',
        ctx: { gt: 0 },
      },
    ],
  },
  {
    what: 'a batch without a conversation',
    path: BATCH,
    query: { id: 'm0' },
    detail: missing('conversation_id'),
  },
  { what: 'a batch without ids', path: BATCH, query: { conversation_id: SHARED }, detail: missing('id') },
]

interface Accepted {
  readonly what: string
  readonly query: Query
  readonly ids: readonly string[]
}

const MESSAGES = LOG.filter(({ kind }) => kind === 'MessageEvent')
const inOrder = (events: readonly Event[]): string[] =>
  events.toSorted((a, b) => String(a.timestamp).localeCompare(String(b.timestamp))).map(({ id }) => id ?? '')
export const ALL = [...inOrder(MESSAGES), 'secretive', 'pause']
const within = (from: number, until: number) =>
  inOrder(MESSAGES.filter(({ timestamp = '' }) => timestamp >= timeAt(from) && timestamp < timeAt(until)))

export const ACCEPTED: readonly Accepted[] = [
  { what: 'only the conversation', query: {}, ids: ALL },
  { what: 'the highest limit', query: { limit: 100 }, ids: ALL },
  { what: 'the lowest limit', query: { limit: 1 }, ids: ALL.slice(0, 1) },
  { what: 'a limit with a sign and a space', query: { limit: ' +3' }, ids: ALL.slice(0, 3) },
  { what: 'the last of two limits', query: { limit: ['0', '2'] }, ids: ALL.slice(0, 2) },
  { what: 'ascending order', query: { sort_order: 'TIMESTAMP' }, ids: ALL },
  { what: 'descending order', query: { sort_order: 'TIMESTAMP_DESC' }, ids: ALL.toReversed() },
  { what: 'a kind', query: { kind__eq: 'MessageEvent' }, ids: inOrder(MESSAGES) },
  { what: 'a kind without events', query: { kind__eq: 'TokenEvent' }, ids: [] },
  { what: 'the hidden kind', query: { kind__eq: 'ConversationStateUpdateEvent' }, ids: [] },
  {
    what: 'a start time',
    query: { timestamp__gte: timeAt(3) },
    ids: [...within(3, 60), 'secretive', 'pause'],
  },
  { what: 'an end time', query: { timestamp__lt: timeAt(3) }, ids: within(0, 3) },
  { what: 'a time range', query: { timestamp__gte: timeAt(2), timestamp__lt: timeAt(4) }, ids: within(2, 4) },
  { what: 'an empty time range', query: { timestamp__gte: timeAt(4), timestamp__lt: timeAt(2) }, ids: [] },
  {
    what: 'a time in another zone',
    query: { timestamp__gte: '2026-01-01T02:00:30+02:00' },
    ids: ['secretive', 'pause'],
  },
  { what: 'a time to the microsecond', query: { timestamp__gte: timeAt(31, '.000001Z') }, ids: ['pause'] },
  { what: 'a time one microsecond later', query: { timestamp__gte: timeAt(31, '.000002Z') }, ids: [] },
  { what: 'a date', query: { timestamp__lt: '2026-01-01' }, ids: [] },
  { what: 'an unknown parameter', query: { unheard_of: '1' }, ids: ALL },
]

export const idsOf = ({ items }: Page) => items.map(({ id }) => id)
