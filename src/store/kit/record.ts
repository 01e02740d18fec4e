import { ColloquyError } from '../../event/errors.ts'
import { copyJson } from '../../event/freeze.ts'
import { ID_RULE, isLegalId } from '../../event/ids.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { parseInstant } from '../../event/time.ts'
import type {
  ConversationPatch,
  ConversationRecord,
  NewConversation,
  UpdateOptions,
} from '../contract/conversation-record.ts'
import { MAX_PAGE_SIZE } from '../contract/query.ts'
import type { Lease, LeaseQuery, SaveSnapshotOptions, SnapshotPart } from '../contract/store.ts'
import {
  checkBoolean,
  checkId,
  checkInteger,
  checkOptionNames,
  checkText,
  type Given,
  invalidArgument,
} from '../../event/check-value.ts'
import { isTimeZone } from './query/time-zone.ts'

const MAX_PART = 2 ** 31 - 1

/** Maximum bytes of a snapshot's part. Some drivers receive it as hexadecimal text, which is twice as long. */
const MAX_BYTES = 2 ** 27

/**
 * Checks the parts of a snapshot, and returns whether it is complete. O(parts). @throws `invalid_argument`; see
 * `Store.saveSnapshot`.
 */
export function checkParts(parts: readonly SnapshotPart[], options: SaveSnapshotOptions = {}): boolean {
  checkOptionNames(options, 'complete')
  const seen = new Set<number>()
  for (const { part, bytes } of parts) {
    const isNumber = Number.isInteger(part) && part >= 0 && part <= MAX_PART
    if (!isNumber) invalidArgument('part', `must be an integer from 0 to ${MAX_PART}, not ${String(part)}`)
    if (seen.has(part)) invalidArgument('part', `must be unique; ${part} appears twice`)
    if (!(bytes instanceof Uint8Array))
      invalidArgument('bytes', `must be a Uint8Array; part ${part} has another type`)
    if (bytes.length > MAX_BYTES)
      invalidArgument('bytes', `must have a length of at most ${MAX_BYTES}; part ${part} has ${bytes.length}`)
    seen.add(part)
  }
  return options.complete === true
}

/** A checked query of leases, with defaults. */
export interface CheckedLeaseQuery {
  readonly expired: boolean
  readonly after: string | null
  readonly limit: number
}

/** Checks a query of leases. O(1). @throws `invalid_argument` with `data.field`. */
export function checkLeaseQuery(query: LeaseQuery = {}): CheckedLeaseQuery {
  checkOptionNames(query, 'expired after limit')
  return {
    expired: checkBoolean('expired', query.expired, invalidArgument) ?? false,
    after: checkId('after', query.after, invalidArgument),
    limit: checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE, invalidArgument),
  }
}

/** Checks the owner and the `ttl` of a lease. O(length). @throws `invalid_id`, `invalid_argument`. */
export function checkLease(owner: string, ttl: number): void {
  checkConversationId('owner', owner)
  if (!(Number.isSafeInteger(ttl) && ttl > 0))
    invalidArgument('ttl', 'must be an integer of 1 or more, in milliseconds')
}

/**
 * Returns the lease that a request gets, or null while another owner holds a live lease. A renewal of a live
 * lease keeps the generation. Any other request increases it. O(1).
 * @param latest the latest lease; null before the first lease, or after a release
 * @param generation number of leases so far
 * @param now milliseconds since 1970
 * @example
 * const first = nextLease(null, 0, { conversationId: 'c', owner: 'a', ttl: 10, now: 100 })
 * first // { conversationId: 'c', owner: 'a', generation: 1, expiresAt: 110 }
 * nextLease(first, 1, { conversationId: 'c', owner: 'b', ttl: 10, now: 109 }) // null
 * nextLease(first, 1, { conversationId: 'c', owner: 'b', ttl: 10, now: 110 }).generation // 2
 */
export function nextLease(
  latest: Lease | null,
  generation: number,
  ask: {
    readonly conversationId: string
    readonly owner: string
    readonly ttl: number
    readonly now: number
  },
): Lease | null {
  const { conversationId, owner, ttl, now } = ask
  const live = latest !== null && latest.expiresAt > now
  if (live && latest.owner !== owner) return null
  return Object.freeze({
    conversationId,
    owner,
    generation: live ? latest.generation : generation + 1,
    expiresAt: now + ttl,
  })
}

export const STATUS = /^[a-z_]{1,40}$/
export const TAG_KEY = /^[A-Za-z0-9][A-Za-z0-9_]*$/
/** Maximum length of a tag's value. */
export const MAX_TAG = 256
/** Maximum length of a tag's key. Key and value must fit into every database's index. */
export const MAX_TAG_KEY = 100
export const MAX_TAGS = 100

/** Returns microseconds since 1970. Tests pass their own clock to a store. */
export type Clock = () => bigint

/**
 * Returns the system's time in microseconds. The first 1,000 calls in a millisecond return different times,
 * so that new records have an order. O(1).
 * @example
 * microsNow() > 1_700_000_000_000_000n // true
 */
export const microsNow: Clock = () => {
  const millis = Date.now()
  latest.micros = millis === latest.millis ? Math.min(latest.micros + 1, 999) : 0
  latest.millis = millis
  return BigInt(millis) * 1000n + BigInt(latest.micros)
}

const latest = { millis: 0, micros: 0 }

/**
 * Formats an instant as in records: ISO 8601 in UTC with microseconds. A time zone can move an instant to a
 * year outside 0 to 9999. Such a year is written with a sign and six digits. O(1).
 */
export function formatInstant(micros: bigint | number | string): string {
  const number = Number(micros)
  const rest = Number.isSafeInteger(number) ? number % DAY : Number(BigInt(micros) % BigInt(DAY))
  const within = rest < 0 ? rest + DAY : rest
  const start = Math.round((number - within) / DAY)
  if (start !== day.start) day = { start, text: new Date(start * 86_400_000).toISOString().slice(0, -13) }
  const [seconds, below] = [Math.floor(within / 1e6), within % 1e6]
  const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  // The added 1e6 keeps leading zeros.
  return `${day.text}${DIGITS[hour]}:${DIGITS[minute]}:${DIGITS[seconds % 60]}.${String(1e6 + below).slice(1)}Z`
}

const DAY = 86_400_000_000
/** The numbers 0 to 59 in two digits, computed once because instants are written often. */
const DIGITS = Array.from({ length: 60 }, (_, number) => String(100 + number).slice(1))
/** The last formatted day. Formatting a day is slow, and instants of a page often share the day. */
let day = { start: Number.NaN, text: '' }

/** Accepted fields of a new conversation. They include all fields of a record, so that a record can be copied. */
const FIELDS =
  'id title public tags metadata timeZone parentConversationId sandboxId owner createdAt updatedAt status version headId'

/**
 * Returns the record of a new conversation, frozen. O(size).
 * @throws `invalid_id`; `invalid_argument` with `data.field`.
 * @example
 * newRecord({ id: 'c' }, 0n).createdAt // '1970-01-01T00:00:00.000000Z'
 */
export function newRecord(conversation: NewConversation, now: bigint): ConversationRecord {
  checkOptionNames(conversation, FIELDS)
  const { id, parentConversationId: parent = null } = conversation
  checkConversationId('id', id)
  if (parent !== null) checkConversationId('parentConversationId', parent)
  const { sandboxId = null, status = null, owner = null } = conversation
  if (sandboxId !== null) checkConversationId('sandboxId', sandboxId)
  if (owner !== null) checkConversationId('owner', owner)
  const created = checkCreatedAt(conversation.createdAt) ?? now
  return Object.freeze({
    id,
    title: checkTitle(conversation.title ?? null),
    public: checkBoolean('public', conversation.public, invalidArgument) ?? false,
    tags: checkTags(conversation.tags ?? {}),
    metadata: checkJsonObject('metadata', conversation.metadata ?? {}),
    timeZone: checkTimeZone(conversation.timeZone ?? null),
    parentConversationId: parent,
    sandboxId,
    owner,
    status: status === null ? null : checkStatus(status),
    createdAt: formatInstant(created),
    updatedAt: formatInstant(created > now ? created : now),
    version: 0,
    headId: null,
  })
}

/**
 * Returns a record with the fields of a patch, frozen. Its time of change never decreases. O(size).
 * @throws `invalid_argument` with `data.field`; `invalid_id` for the owner; `version_conflict` if the
 *   metadata differ from `expected`.
 * @example
 * patchRecord(newRecord({ id: 'c', public: true }, 0n), { title: 'T' }, 1n).public // true
 */
export function patchRecord(
  record: ConversationRecord,
  patch: ConversationPatch,
  now: bigint,
  options: UpdateOptions = {},
): ConversationRecord {
  checkOptionNames(patch, 'title public tags metadata timeZone owner')
  checkOptionNames(options, 'expected')
  const { title, public: open, tags, metadata, timeZone, owner } = patch
  const { expected } = options
  if (expected !== undefined && JSON.stringify(expected.metadata) !== JSON.stringify(record.metadata)) {
    const message = `The metadata of conversation ${JSON.stringify(record.id)} has changed. Read it again and retry.`
    throw new ColloquyError('version_conflict', message, { conversationId: record.id })
  }
  if (owner !== undefined && owner !== null) checkConversationId('owner', owner)
  return Object.freeze({
    ...record,
    ...(owner !== undefined && { owner }),
    ...(title !== undefined && { title: checkTitle(title) }),
    ...(open !== undefined && { public: checkBoolean('public', open, invalidArgument) ?? false }),
    ...(tags !== undefined && { tags: checkTags(tags) }),
    ...(metadata !== undefined && { metadata: checkJsonObject('metadata', metadata) }),
    ...(timeZone !== undefined && { timeZone: checkTimeZone(timeZone) }),
    updatedAt: laterOf(record.updatedAt, now),
  })
}

/** Returns the time of a change: `now`, or the previous time if the clock was set back. O(1). */
export function laterOf(before: string, now: bigint): string {
  const time = formatInstant(now)
  return time > before ? time : before
}

/** Checks an id against design D19. O(length). @throws `invalid_id`. */
export function checkConversationId(field: string, id: Given): void {
  if (typeof id === 'string' && isLegalId(id)) return
  throw new ColloquyError('invalid_id', `\`${field}\` must be ${ID_RULE}.`, { field, id })
}

/**
 * Compares two ids by code points, as databases do; `<` would compare UTF-16 units. O(length).
 * @example
 * compareIds('\uffff', '\u{1f600}') < 0 // true
 */
export function compareIds(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i += 1) {
    // If only the second halves of two surrogate pairs differ, they compare like the whole characters.
    if (a[i] !== b[i]) return (a.codePointAt(i) as number) - (b.codePointAt(i) as number)
  }
  return a.length - b.length
}

/** Checks a status. @throws `invalid_argument`. */
export function checkStatus(status: Given): string {
  if (typeof status === 'string' && STATUS.test(status)) return status
  return invalidArgument('status', 'must be 1 to 40 lower-case letters and underscores')
}

function checkTitle(title: Given): string | null {
  const text = checkText('title', title, invalidArgument)
  if (text === null || (text !== '' && isKeepable(text, 200))) return text
  return invalidArgument('title', 'must be 1 to 200 characters of well-formed Unicode without NUL, or null')
}

function checkTags(tags: Given): Readonly<Record<string, string>> {
  const copy = checkJsonObject('tags', tags)
  const entries = Object.entries(copy)
  if (entries.length > MAX_TAGS) invalidArgument('tags', `must have at most ${MAX_TAGS} entries`)
  for (const [key, value] of entries) {
    if (!TAG_KEY.test(key) || key.length > MAX_TAG_KEY)
      invalidArgument(
        'tags',
        `must have keys of 1 to ${MAX_TAG_KEY} letters, digits and underscores, not beginning with an underscore`,
      )
    if (typeof value !== 'string' || !isKeepable(value, MAX_TAG))
      invalidArgument(`tags.${key}`, 'must be at most 256 characters of well-formed Unicode without NUL')
  }
  return copy as Readonly<Record<string, string>>
}

export function checkCreatedAt(input: Given): bigint | undefined {
  if (input === undefined) return undefined
  const instant = typeof input === 'string' ? parseInstant(input) : undefined
  if (instant === undefined || instant < YEAR_0 || instant >= YEAR_10000)
    return invalidArgument('createdAt', 'must be a date and time in ISO 8601, in the years 0 to 9999')
  return instant
}

/** Start of the years 0 and 10000. Between them, {@link formatInstant} writes times that sort as text. */
export const [YEAR_0, YEAR_10000] = [-62_167_219_200_000_000n, 253_402_300_800_000_000n]

export function checkJsonObject(field: string, input: Given): JsonObject {
  const { value, issues } = copyJson(input)
  const [first] = issues
  if (first !== undefined)
    return invalidArgument([field, ...first.loc].join('.'), `cannot be stored: ${first.msg.slice(0, -1)}`)
  return isObject(value as JsonValue) ? (value as JsonObject) : invalidArgument(field, 'must be an object')
}

function checkTimeZone(timeZone: Given): string | null {
  const text = checkText('timeZone', timeZone, invalidArgument)
  return text === null || isTimeZone(text)
    ? text
    : invalidArgument('timeZone', 'must be an IANA time zone such as Europe/Berlin')
}

/** Whether every database keeps a text unchanged: no NUL, no lone surrogates, at most `limit` characters. */
export const isKeepable = (text: string, limit: number): boolean =>
  !text.includes('\u0000') &&
  !/[\ud800-\udfff]/u.test(text) &&
  (text.length <= limit || [...text].length <= limit)
