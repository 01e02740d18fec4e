import type { Page } from './query.ts'

/** By the role that the model sees; `tool` for results. */
export const TEXT_ROLES = ['system', 'user', 'assistant', 'tool'] as const

export type TextRole = (typeof TEXT_ROLES)[number]

/**
 * Maximum number of hits that `rank` orders at once: the newest, then the same number before them, and so on.
 */
export const MAX_RANKED = 1_000

export interface TextFilter {
  /**
   * User-typed text. All terms and quoted phrases (`"a phrase"`) must occur; `-term` and `-"a phrase"` must
   * not. Everything else is text, so no query is a syntax error. Ignores case, accents and width. camelCase
   * and snake_case identifiers match whole and by parts; scripts without spaces (Chinese, Japanese, Thai) and
   * Korean by any part. The first 32 terms count. Without a term to include, finds nothing.
   */
  readonly query: string
  readonly conversation?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly owner?: string
  readonly public?: boolean
  /** Only texts of this role. `tool` includes results. */
  readonly role?: TextRole
  /** Instants, ISO 8601, compared with the time of the event. `from` is included, `to` is not. */
  readonly from?: string
  readonly to?: string
  /** Also find results of tools. Default: false. */
  readonly includeResults?: boolean
}

export interface TextQuery extends TextFilter {
  /**
   * `time` (default): newest first, to the millisecond; `rank`: best first, by relative term frequency, at
   * most {@link MAX_RANKED} at once.
   */
  readonly order?: 'time' | 'rank'
  /** 1 to `MAX_PAGE_SIZE`. Default: 20. */
  readonly limit?: number
  readonly cursor?: string
}

export interface TextHit {
  readonly conversationId: string
  readonly id: string
  readonly seq: number
  readonly role: TextRole
  readonly timestamp: string
  /** The text around the first match, at most 240 UTF-16 units, in one line. */
  readonly snippet: string
  /** The matches in the snippet, as UTF-16 offsets `[start, end)`, in order, none overlapping. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
}

export type TextPage = Page<TextHit>

export interface TextIndex {
  readonly indexed: number
  readonly total: number
}

/**
 * Text search over all conversations, for a store with `fullText: true`. An append's transaction indexes its
 * events; events appended without `fullText` are indexed in the background. The index contains messages
 * (content and extended content) and tool results in the tree, up to 300,000 characters of each.
 */
export interface TextSearch {
  /**
   * One page of hits; pages before the last hold `limit`. Appends while paging repeat and skip none. Filters
   * apply before paging and counting.
   * @throws `invalid_query`, also where the store was opened without `fullText`; `invalid_cursor`.
   * @example
   * // await store.searchText({ query: 'deploy "production database" -staging', tags: { team: 'a' }, order: 'rank' })
   */
  searchText(query: TextQuery): Promise<TextPage>

  /** How many events are indexed, of how many. O(conversations). @throws `invalid_query` without `fullText`. */
  textIndex(): Promise<TextIndex>
}
