/** Text queries: typed text becomes terms and phrases, which all stores compare with indexed lines. */

import { type StoredEvent, MAX_PAGE_SIZE } from '../../contract/query.ts'
import type { TextHit, TextPage, TextQuery, TextRole } from '../../contract/text.ts'
import { MAX_RANKED, TEXT_ROLES } from '../../contract/text.ts'
import { formatInstant } from '../record.ts'
import {
  checkBoolean,
  checkId,
  checkInstant,
  checkInteger,
  checkOneOf,
  checkOptionNames,
  checkText,
  invalidQuery,
} from '../../../event/check-value.ts'
import { type CheckedConversationFilter, checkConversationFilter } from './conversation-query.ts'
import { decodeCursor, encodeCursor, pageOf, refuseCursor } from './page.ts'
import type { Token } from './text-tokens.ts'
import { eventText, isLowSurrogate, isUnspaced, isWordUnit, MAX_PLAIN, tokensOf } from './text-tokens.ts'

/** A term or phrase of a search. */
export interface TextClause {
  /** The terms as in an indexed line, each after a space. Ends with a space if the last term is not a prefix. */
  readonly piece: string
  readonly terms: readonly string[]
  readonly isPrefix: boolean
}

/** A position in a list that is sorted by rank. */
export interface RankPlace {
  readonly top: bigint | null
  /** Position of the oldest ranked hit; null if it is not known yet. */
  readonly bottom: bigint | null
  readonly after: RankedPlace | null
}

/** A hit's rank and position. */
export interface RankedPlace {
  readonly score: number
  readonly position: bigint
}

/** A checked text search. */
export interface CheckedTextQuery {
  readonly isPossible: boolean
  readonly includes: readonly TextClause[]
  readonly excludes: readonly TextClause[]
  readonly conversation: string | null
  readonly record: CheckedConversationFilter
  readonly role: TextRole | null
  readonly messagesOnly: boolean
  readonly from: bigint | null
  readonly until: bigint | null
  readonly order: 'time' | 'rank'
  readonly limit: number
  readonly after: bigint | null
  readonly rank: RankPlace
  readonly scope: string
}

const MAX_CLAUSES = 32
const MAX_TERMS = 32
const MAX_QUERY = 2_000
const DEFAULT_LIMIT = 20

/**
 * Checks a text search. O(length). @throws `invalid_query` with `data.field`; `invalid_cursor`;
 * `invalid_argument` for an unknown option.
 * @example
 * const query = checkTextQuery({ query: 'deploy' })
 * const line = lineOf('Deploy it.')
 * fitsText(line, query) // true
 * scoreText(line, sizeOfLine(line), query.includes) > 0 // true
 * const place = textPlace(5_000n, 0, 0)
 * firstPlace(5_000n) <= place && place < placeBehind(5_000n) // true
 * const source = { *newest() { return [] }, *ranked() { return null } }
 * findTextPage(query, source).next().value // { items: [], cursor: null }
 */
export function checkTextQuery(query: TextQuery): CheckedTextQuery {
  checkOptionNames(
    query,
    'query conversation tags public owner role from to includeResults order limit cursor',
  )
  const typed = checkText('query', query.query) ?? invalidQuery('query', 'is missing')
  const { includes, excludes } = parseTextQuery(typed)
  const record = checkConversationFilter({
    ...(query.tags !== undefined && { tags: query.tags }),
    ...(query.public !== undefined && { public: query.public }),
    ...(query.owner !== undefined && { owner: query.owner }),
  })
  const role = checkOneOf('role', query.role, TEXT_ROLES)
  const results = checkBoolean('includeResults', query.includeResults) ?? false
  const filter = {
    conversation: checkId('conversation', query.conversation),
    role,
    messagesOnly: role === null && !results,
    from: checkInstant('from', query.from),
    until: checkInstant('to', query.to),
  }
  const order = checkOneOf('order', query.order, ['time', 'rank']) ?? 'time'
  const pieces = [includes, excludes].map((clauses) => clauses.map(({ piece }) => piece))
  const { conversation, messagesOnly, from, until } = filter
  const times = [String(from), String(until)]
  const { keys, public: open } = record
  const scope = JSON.stringify(['texts', order, conversation, role, messagesOnly, times, pieces, keys, open])
  const cursor = checkText('cursor', query.cursor)
  return {
    isPossible: includes.length > 0 && record.isPossible,
    includes,
    excludes,
    ...filter,
    record,
    order,
    limit: checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, DEFAULT_LIMIT),
    scope,
    ...placeIn(order, scope, cursor),
  }
}

const POSITION = /^-?\d{1,19}$/
const MAX_POSITION = 2n ** 63n - 1n

function placeIn(
  order: CheckedTextQuery['order'],
  scope: string,
  cursor: string | null,
): Pick<CheckedTextQuery, 'after' | 'rank'> {
  const start: RankPlace = { top: null, bottom: null, after: null }
  if (cursor === null) return { after: null, rank: start }
  const key = decodeCursor(scope, cursor)
  // The checksum is not a signature: a client can compute it for any key.
  const places = key.map((text) => (POSITION.test(text) ? BigInt(text) : refuseCursor('altered')))
  const [first, bottom, score, position] = places
  const isLegal = places.every((value) => value <= MAX_POSITION && value >= -MAX_POSITION)
  if (first === undefined || !isLegal || places.length !== (order === 'time' ? 1 : 4))
    return refuseCursor('altered')
  if (bottom === undefined || score === undefined || position === undefined)
    return { after: first, rank: start }
  if (score < 0n || score > BigInt(Number.MAX_SAFE_INTEGER)) return refuseCursor('altered')
  return { after: null, rank: { top: first, bottom, after: { score: Number(score), position } } }
}

const QUOTE = /["“”„«»]/
const QUOTE_OR_SPACE = /["“”„«»\s]/

const isSpace = (character: string | undefined): boolean => character === undefined || /\s/.test(character)

/** Divides typed text into required and excluded clauses. Never throws. O(length). */
export function parseTextQuery(typed: string): Pick<CheckedTextQuery, 'includes' | 'excludes'> {
  const query = typed.slice(0, MAX_QUERY)
  const includes: TextClause[] = []
  const excludes: TextClause[] = []
  let index = 0
  while (index < query.length && includes.length + excludes.length < MAX_CLAUSES) {
    if (isSpace(query[index])) {
      index += 1
      continue
    }
    const isExcluded =
      query[index] === '-' &&
      isSpace(query[index - 1]) &&
      query[index + 1] !== '-' &&
      !isSpace(query[index + 1])
    if (isExcluded) index += 1
    const isPhrase = QUOTE.test(query[index] as string)
    if (isPhrase) index += 1
    const length = query.slice(index).search(isPhrase ? QUOTE : QUOTE_OR_SPACE)
    const end = length < 0 ? query.length : index + length
    const text = query.slice(index, end)
    if (isExcluded) excludes.push(...clausesOf(text, true))
    else includes.push(...clausesOf(text, isPhrase))
    index = isPhrase ? end + 1 : end
  }
  return { includes: includes.slice(0, MAX_CLAUSES), excludes: excludes.slice(0, MAX_CLAUSES) }
}

function clausesOf(text: string, isPhrase: boolean): TextClause[] {
  const tokens = tokensOf(text)
  const last = tokens.at(-1)
  if (last === undefined) return []
  // Searches for whole identifiers, so that `fooBar` also finds `foobar`. In `tokens`, parts precede their identifier.
  const wholes = isPhrase
    ? tokens
    : tokens.filter(
        (token, index) => !tokens.slice(index + 1, index + MAX_TERMS).some((other) => isPart(token, other)),
      )
  if (wholes.length < tokens.length)
    return wholes
      .slice(0, MAX_TERMS)
      .map(({ term, start, end }) => clauseOf([term], isUnspaced(text.slice(start, end))))
  const previous = tokens.at(-2)
  const isLetter = isUnspaced(text.slice(last.start, last.end))
  // The index has a single letter only at the end of a run without spaces, and a match may be inside a run.
  const isInPair = isLetter && previous !== undefined && previous.end === last.end
  const terms = (isInPair ? tokens.slice(0, -1) : tokens).map(({ term }) => term)
  return [clauseOf(terms.slice(0, MAX_TERMS), isLetter && !isInPair && terms.length <= MAX_TERMS)]
}

const isPart = (token: Token, { start, end }: Token): boolean =>
  start <= token.start && end >= token.end && end - start > token.end - token.start

const clauseOf = (terms: readonly string[], isPrefix: boolean): TextClause => ({
  piece: ` ${terms.join(' ')}${isPrefix ? '' : ' '}`,
  terms,
  isPrefix,
})

/** Whether a line of the index matches a query. O(length · clauses). */
export const fitsText = (
  line: string,
  { includes, excludes }: Pick<CheckedTextQuery, 'includes' | 'excludes'>,
): boolean =>
  includes.every(({ piece }) => line.includes(piece)) && !excludes.some(({ piece }) => line.includes(piece))

/**
 * Returns the score of a line: higher for frequent terms, lower for long texts. The score is an integer, and
 * the same in every database. The score does not depend on other lines, so appends do not change the score.
 * O(length · clauses).
 */
export const scoreText = (line: string, size: number, includes: readonly TextClause[]): number =>
  includes.reduce((sum, { piece }) => {
    const count = line.split(piece).length - 1
    return sum + 1_000_000 - Math.floor((1_000_000 * (64 + size)) / (64 * count + 64 + size))
  }, 0)

const PER_MILLI = 16_384n
const MAX_WIDENED = 6

const millisOf = (time: bigint): bigint => (time - (((time % 1000n) + 1000n) % 1000n)) / 1000n

/**
 * Returns a text's position in the index, from its millisecond, `seq` and a random part. If another text has
 * the position, try again with the next `attempt`, which chooses at random from a wider range.
 */
export function textPlace(time: bigint, seq: number, attempt: number): bigint {
  const range = Number(PER_MILLI) * 4 ** Math.min(attempt, MAX_WIDENED)
  const slot =
    attempt === 0 ? (seq % 4_096) * 4 + Math.floor(Math.random() * 4) : Math.floor(Math.random() * range)
  return millisOf(time) * PER_MILLI + BigInt(slot)
}

/** Returns the lowest position that a text in the millisecond of `time` can have. */
export const firstPlace = (time: bigint): bigint => millisOf(time) * PER_MILLI
/** Returns a position higher than the positions of all texts in the millisecond of `time`. */
export const placeBehind = (time: bigint): bigint =>
  (millisOf(time) + 1n) * PER_MILLI + PER_MILLI * 4n ** BigInt(MAX_WIDENED)

/** A hit, and its position in the index. */
export interface FoundText {
  readonly position: bigint | string
  readonly event: Pick<StoredEvent, 'conversationId' | 'id' | 'seq' | 'time' | 'fact'>
}

/** Hits in order of rank. */
export interface RankedHits {
  readonly rows: readonly (FoundText & { readonly score: number })[]
  readonly top: bigint
  readonly bottom: bigint
  readonly count: number
}

/** Reads the index of a store. */
export interface TextSource<S, R> {
  newest(below: bigint | null, count: number): Generator<S, readonly FoundText[], R>
  /** Ranks the newest `maximum` hits from `top` to `bottom`. */
  ranked(position: RankPlace, count: number, maximum: number): Generator<S, RankedHits | null, R>
}

/** Returns a page of hits. O(text of the page), in addition to the source's cost. */
export function* findTextPage<S, R>(
  query: CheckedTextQuery,
  source: TextSource<S, R>,
): Generator<S, TextPage, R> {
  const { scope, limit } = query
  if (!query.isPossible) return { items: [], cursor: null }
  if (query.order === 'time') {
    const page = pageOf(yield* source.newest(query.after, limit + 1), limit, ({ position }) =>
      encodeCursor(scope, [String(position)]),
    )
    return { ...page, items: page.items.map(({ event }) => hitOf(event, query)) }
  }
  const items: TextHit[] = []
  let last: readonly (bigint | string | number | null)[] = []
  for (let index = query.rank; ;) {
    const count = limit + 1 - items.length
    let result = yield* source.ranked(index, count, MAX_RANKED)
    // Older events were appended, or the oldest hit was deleted: the group may now have more hits.
    if (index.bottom !== null && result?.bottom !== index.bottom)
      result = yield* source.ranked(index, count, 1e9)
    const top = result?.top ?? index.top
    const bottom = result?.bottom ?? index.bottom
    for (const { score, position, event } of result?.rows ?? []) {
      if (items.length === limit) return { items, cursor: encodeCursor(scope, last.map(String)) }
      items.push(hitOf(event, query))
      last = [top, bottom, score, position]
    }
    // Older hits are ranked as a group of their own. A group that is not full is the last.
    if (bottom === null || (index.bottom === null && (result?.count ?? 0) < MAX_RANKED))
      return { items, cursor: null }
    index = { top: bottom - 1n, bottom: null, after: null }
  }
}

const MAX_SNIPPET = 240
const BEFORE_MATCH = 80

function hitOf(event: FoundText['event'], { includes }: Pick<CheckedTextQuery, 'includes'>): TextHit {
  const { role, text } = eventText(event.fact) ?? { role: 'user', text: '' }
  const matches = matchesIn(text, tokensFor(text, includes), includes)
  const first = matches[0]?.[0] ?? 0
  let start = Math.max(0, first - BEFORE_MATCH)
  if (start > 0) {
    const space = text.slice(start, first).search(/\s/)
    if (space >= 0) start += space + 1
    else if (isLowSurrogate(text, start)) start += 1
  }
  let end = Math.min(text.length, start + MAX_SNIPPET)
  if (isLowSurrogate(text, end)) end -= 1
  const snippet = text.slice(start, end)
  const ranges: (readonly [number, number])[] = []
  for (const [from, to] of matches)
    if (from < end && to > start) ranges.push([Math.max(from, start) - start, Math.min(to, end) - start])
  return {
    conversationId: event.conversationId,
    id: event.id ?? '',
    seq: event.seq,
    role,
    timestamp: formatInstant(event.time),
    // Each control or whitespace character becomes one space, so that `ranges` stay valid.
    snippet: /[^ -~]/.test(snippet) ? snippet.replaceAll(/[^\S ]|\p{Cc}/gu, ' ') : snippet,
    ranges,
  }
}

/**
 * Returns the tokens that the clauses may match. If `text` is short ASCII without `_`, and each clause has
 * one term, only words that contain a term are divided into tokens. O(length).
 */
export function tokensFor(text: string, clauses: readonly TextClause[]): readonly Token[] {
  const isPlain = text.length <= MAX_PLAIN && !text.includes('_') && /^\p{ASCII}*$/u.test(text)
  if (!isPlain || clauses.some(({ terms }) => terms.length > 1)) return tokensOf(text)
  const lower = text.toLowerCase()
  const tokens: Token[] = []
  for (const { terms } of clauses) {
    const term = terms[0] ?? ''
    for (let from = 0; ;) {
      const index = lower.indexOf(term, from)
      if (index < 0) break
      let [start, end] = [index, index + term.length]
      while (isWordUnit(lower.charCodeAt(start - 1))) start -= 1
      while (isWordUnit(lower.charCodeAt(end))) end += 1
      if (end - start === term.length) tokens.push({ term, start, end })
      else
        for (const token of tokensOf(text.slice(start, end)))
          tokens.push({ term: token.term, start: start + token.start, end: start + token.end })
      from = end
    }
  }
  return tokens
}

function matchesIn(
  text: string,
  tokens: readonly Token[],
  clauses: readonly TextClause[],
): (readonly [start: number, end: number])[] {
  const matches: (readonly [number, number])[] = []
  for (const { terms, isPrefix } of clauses)
    for (let index = 0; index + terms.length <= tokens.length; index += 1) {
      let length = 0
      while (length < terms.length && tokens[index + length]?.term === terms[length]) length += 1
      const [first, last] = [tokens[index], tokens[index + terms.length - 1]]
      const isLast = isPrefix && length === terms.length - 1
      if (isLast && last?.term.startsWith(terms[length] ?? '') === true) length += 1
      if (length < terms.length || first === undefined || last === undefined) continue
      const end = isPrefix ? last.start + (isLowSurrogate(text, last.start + 1) ? 2 : 1) : last.end
      matches.push([first.start, end])
    }
  if (matches.length < 2) return matches
  const merged: (readonly [number, number])[] = []
  for (const range of matches.toSorted(([a], [b]) => a - b)) {
    const before = merged.at(-1)
    if (before === undefined || range[0] > before[1]) merged.push(range)
    else if (range[1] > before[1]) merged[merged.length - 1] = [before[0], range[1]]
  }
  return merged
}

/** Throws `invalid_query`, because the store has no full-text index. */
export const noFullText = (): never =>
  invalidQuery('query', 'requires a full-text index. Open the store with `fullText: true`')
