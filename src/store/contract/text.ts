import type { Page } from './query.ts'

/** The roles of texts, as a model sees them. Tool results have the role `tool`. */
export const TEXT_ROLES = ['system', 'user', 'assistant', 'tool'] as const

/** Role of a text, as the model sees it. */
export type TextRole = (typeof TEXT_ROLES)[number]

/** Number of hits that the order `rank` sorts together: the newest 1,000 first, then the next 1,000. */
export const MAX_RANKED = 1_000

export interface TextFilter {
  /**
   * The user's text. All terms and quoted phrases (`"a phrase"`) must occur; `-term` and `-"a phrase"` must
   * not. Any text is valid. Case, accents and width are ignored. Identifiers in camelCase and snake_case
   * match whole and by their parts. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese match by any
   * part. Only the first 32 terms and phrases in the first 2,000 characters count. A query that only excludes
   * terms finds nothing.
   */
  readonly query: string
  readonly conversation?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly owner?: string
  readonly public?: boolean
  /** Only texts of this role; `tool` searches tool results even without `includeResults`. */
  readonly role?: TextRole
  /** ISO 8601 instants, compared with the event's time. `from` is inclusive, `to` exclusive. */
  readonly from?: string
  readonly to?: string
  /** Whether to also search tool results, if no `role` is set. Default: false. */
  readonly includeResults?: boolean
}

/** A query for one page of hits. */
export interface TextQuery extends TextFilter {
  /**
   * `time` (default): newest first, compared in milliseconds. `rank`: best first, by the frequency of the
   * terms. Each group of {@link MAX_RANKED} hits is sorted separately; the group of the newest hits is first.
   */
  readonly order?: 'time' | 'rank'
  /** 1 to `MAX_PAGE_SIZE`. Default: 20. */
  readonly limit?: number
  readonly cursor?: string
}

/** An event whose text matches. */
export interface TextHit {
  readonly conversationId: string
  readonly id: string
  readonly seq: number
  readonly role: TextRole
  readonly timestamp: string
  /** The text around the first match, at most 240 UTF-16 units on one line. */
  readonly snippet: string
  /** The matches in the snippet, in order: UTF-16 offsets `[start, end)`. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
}

/** A page of hits. */
export type TextPage = Page<TextHit>

/** Number of indexed events, and number of all events. */
export interface TextIndex {
  readonly indexed: number
  readonly total: number
}

/**
 * Text search over all conversations, in a store with `fullText: true`. Searches the messages (content and
 * extended content) and tool results of the tree, up to 300,000 characters of each. An append indexes its own
 * events; events that were appended without `fullText` are indexed in the background.
 */
export interface TextSearch {
  /**
   * Returns one page of hits. Only the last page has fewer than `limit` hits. Paging neither repeats nor
   * skips an existing hit, even during appends.
   * @throws `invalid_query`, also when the store was opened without `fullText`; `invalid_cursor`.
   * @example
   * const store = memoryStore({ fullText: true })
   * await store.createConversation({ id: 'c' })
   * const llm_message = { role: 'user', content: [{ text: 'Deploy it to production.' }] }
   * await store.append('c', [{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
   * const { items } = await store.searchText({ query: 'deploy "to production" -staging' })
   * items.map(({ id }) => id) // ['m']
   */
  searchText(query: TextQuery): Promise<TextPage>

  /** Returns the progress of the index. O(conversations). @throws `invalid_query` without `fullText`. */
  textIndex(): Promise<TextIndex>
}
