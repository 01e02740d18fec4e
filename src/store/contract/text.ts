/** The search over the text of all conversations. */

import type { Page } from './query.ts'

/** The author of a text: a message by the role that the model sees, `tool` for the result of a call. */
export const TEXT_ROLES = ['system', 'user', 'assistant', 'tool'] as const

export type TextRole = (typeof TEXT_ROLES)[number]

/**
 * Maximum number of hits that `rank` orders at once: it orders the newest ones, then as many before them, and so on.
 * With fewer hits the order is over all of them.
 */
export const MAX_RANKED = 1_000

/** Which texts to find. Parts that are left out do not narrow. */
export interface TextFilter {
  /**
   * The text that a person typed. All terms must occur; `"a phrase"` in quotes must occur as such; `-term`
   * and `-"a phrase"` must not occur. Everything else is text, so no query is a syntax error. Letter case,
   * accents and width are ignored. An identifier in camelCase or snake_case is found whole and by its parts;
   * scripts without spaces (Chinese, Japanese, Thai) and Korean by any part. The first 32 terms count. A
   * query without a term, and one that only excludes, finds nothing.
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
   * `time` (default): the newest event first, to the millisecond; `rank`: the best hit first, by the
   * frequency of the terms relative to the length, at most {@link MAX_RANKED} at once.
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
 * The search over the text of all conversations, for a store opened with `fullText: true`. The index of an
 * event is written in the transaction of its append and removed with its conversation. Events appended
 * without it are indexed in the background and are not found before.
 *
 * The text of an event is that of a message (content and extended content) or a tool result; events outside
 * of the tree have none. Its first 300,000 characters are indexed.
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
