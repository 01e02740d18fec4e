import type { JsonObject } from '../../event/shapes.ts'

/** What a store records about a conversation. Times are ISO 8601 in UTC with microseconds. */
export interface ConversationRecord {
  /** 1 to 200 characters of well-formed Unicode without control characters, not `__root__` (design D19). */
  readonly id: string
  /** 1 to 200 characters of well-formed Unicode without NUL, or null. */
  readonly title: string | null
  /** Whether everybody may read the conversation. The service enforces this; the store only filters by it. */
  readonly public: boolean
  /**
   * At most 100. Keys have 1 to 100 ASCII letters, digits and underscores, and do not begin with an
   * underscore. Values have at most 256 characters of well-formed Unicode without NUL.
   */
  readonly tags: Readonly<Record<string, string>>
  /** A JSON object for the caller's own data. */
  readonly metadata: JsonObject
  /** IANA time zone in which appended timestamps without a zone are read; null for UTC. */
  readonly timeZone: string | null
  /** Id of the conversation that this one was forked from, or whose tool call started it; otherwise null. */
  readonly parentConversationId: string | null
  readonly sandboxId: string | null
  /** Id of the owner, such as a user id, with the rules of `id`; or null. The store only filters by it. */
  readonly owner: string | null
  /** Status recorded last by `setStatus` or at creation; or null. It can lag behind the log. */
  readonly status: string | null
  readonly createdAt: string
  /** Time of creation, of the last append or of the last `updateConversation`. Never decreases. */
  readonly updatedAt: string
  /** Number of entries in the log. */
  readonly version: number
  /** Id of HEAD's event; null for the empty HEAD. */
  readonly headId: string | null
}

/** Omitted fields are null, false or empty. */
export interface NewConversation {
  readonly id: string
  readonly title?: string | null
  readonly public?: boolean
  readonly tags?: Readonly<Record<string, string>>
  readonly metadata?: JsonObject
  readonly timeZone?: string | null
  readonly parentConversationId?: string | null
  readonly sandboxId?: string | null
  readonly owner?: string | null
  /**
   * Creation time of an imported conversation: ISO 8601, years 0 to 9999; UTC if it has no zone. Default:
   * now.
   */
  readonly createdAt?: string
  /** 1 to 40 lower-case letters and underscores. */
  readonly status?: string | null
}

/** Fields of a record that can be changed. Omitted fields are unchanged. */
export type ConversationPatch = Partial<
  Pick<ConversationRecord, 'title' | 'public' | 'tags' | 'metadata' | 'timeZone' | 'owner'>
>

export interface UpdateOptions {
  /** A record whose metadata must equal the stored metadata, even in field order. Default: not checked. */
  readonly expected?: Pick<ConversationRecord, 'metadata'>
}

/**
 * Filter for conversations. A conversation must match all criteria. An empty `parentConversationId` or
 * `status` matches conversations without one.
 */
export interface ConversationFilter {
  /** Part of the title, ignoring case, without wildcards. An empty string matches all titles. */
  readonly titleContains?: string
  readonly public?: boolean
  readonly parentConversationId?: string
  readonly sandboxId?: string
  /** Owner of the conversations. An empty string throws `invalid_query`: probably a user id is missing. */
  readonly owner?: string
  readonly status?: string
  readonly tags?: Readonly<Record<string, string>>
  /** Instants in ISO 8601; `Gte` bounds are inclusive, `Lt` bounds exclusive. */
  readonly createdAtGte?: string
  readonly createdAtLt?: string
  readonly updatedAtGte?: string
  readonly updatedAtLt?: string
}

/**
 * Order of a list of conversations; equal times are ordered by id, and `_desc` is the exact reverse. If a
 * conversation changes while you page, later pages may repeat it (order `updated_at`) or miss it (order
 * `updated_at_desc`).
 */
export type ConversationOrder = 'created_at' | 'created_at_desc' | 'updated_at' | 'updated_at_desc'

export interface ConversationQuery extends ConversationFilter {
  /** Default: created_at_desc. */
  readonly order?: ConversationOrder
  readonly cursor?: string
  readonly limit?: number
}
