/** The search over the text of all conversations. */

import type { Page } from './query.ts'

/** Who wrote a text: a message by the role that the model sees, `tool` for the result of a call. */
export const TEXT_ROLES = ['system', 'user', 'assistant', 'tool'] as const

export type TextRole = (typeof TEXT_ROLES)[number]

/**
 * Maximum number of hits that `rank` orders at once: it orders the newest ones, then as many before them, and so on.
 * With fewer hits the order is over all of them.
 */
export const MAX_RANKED = 10_000

/** Which texts to find. Parts that are left out do not narrow. */
export interface TextFilter {
  /**
   * What a person typed. All words must occur; `"words in quotes"` must occur next to each other; `-word` and
   * `-"some words"` must not occur. Everything else is text, so no query is a syntax error. Letter case, accents and
   * forms of width do not count. A word in camelCase or snake_case is found whole and by its parts. Chinese, Japanese,
   * Korean, Thai and other scripts without spaces are found by any piece. The first 32 words and phrases count. A query
   * without a word, and one that only excludes, finds nothing.
   */
  readonly query: string
  /** Only in this conversation. Unknown: finds nothing. */
  readonly conversation?: string
  /** Only in conversations with all of these tags. */
  readonly tags?: Readonly<Record<string, string>>
  /** Only in conversations of this owner. */
  readonly owner?: string
  /** Only in conversations that are public, or that are not. */
  readonly public?: boolean
  /** Only texts of this role. `tool` includes results. */
  readonly role?: TextRole
  /** Instants, ISO 8601, compared with the time of the event. `from` is included, `to` is not. */
  readonly from?: string
  readonly to?: string
  /** Also find results of tools. Default: false. */
  readonly includeResults?: boolean
}

/** A page of texts to find. */
export interface TextQuery extends TextFilter {
  /**
   * `time` (default): the newest event first, to the millisecond; `rank`: the best hit first, by how often the words
   * occur for its length, at most {@link MAX_RANKED} at once.
   */
  readonly order?: 'time' | 'rank'
  /** 1 to `MAX_PAGE_SIZE`. Default: 20. */
  readonly limit?: number
  /** The `next_page_id` of the page before. */
  readonly cursor?: string
}

/** One event whose text fits. */
export interface TextHit {
  readonly conversationId: string
  readonly id: string
  /** Position of the event in its log. */
  readonly seq: number
  readonly role: TextRole
  /** Time of the event, ISO 8601 in UTC. */
  readonly timestamp: string
  /** The text around the first match, at most 240 UTF-16 units, in one line. */
  readonly snippet: string
  /** The matches in the snippet, as UTF-16 offsets `[start, end)`, in order, none overlapping. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
}

export type TextPage = Page<TextHit>

/** How far the index is, in events of all logs. */
export interface TextIndex {
  readonly indexed: number
  readonly total: number
}

/**
 * The search over the text of all conversations, for a store that was opened with `fullText: true`. The index of an event
 * is written in the transaction of its append, and is removed with its conversation. Events that were appended without
 * it are indexed in the background; until then they are not found.
 *
 * The text of an event is that of a message (content and extended content) or of a tool result; events outside the tree
 * have none. Its first 300,000 characters of words are indexed.
 */
export interface TextSearch {
  /**
   * One page of hits. Appends while paging repeat and skip none. A page before the last holds `limit` hits. Every filter
   * is part of the query: what it leaves out affects neither the page nor a count of it.
   *
   * @throws `invalid_query`, also where the store was opened without `fullText`; `invalid_cursor`.
   *
   * @example
   * // await store.searchText({ query: 'deploy "production database" -staging', tags: { team: 'a' }, order: 'rank' })
   */
  searchText(query: TextQuery): Promise<TextPage>

  /** How many events are indexed, of how many. O(conversations). @throws `invalid_query` without `fullText`. */
  textIndex(): Promise<TextIndex>
}
