import type { JsonObject } from '../../event/shapes.ts'

/** What a store records about a conversation. Times are ISO 8601 in UTC with microseconds. */
export interface ConversationRecord {
  /** 1 to 200 characters of well-formed Unicode without control characters, not `__root__` (design D19). */
  readonly id: string
  /** Null, or 1 to 200 characters of well-formed Unicode without the NUL character. */
  readonly title: string | null
  /** Whether everybody may read the conversation. The service checks this; the store only filters by it. */
  readonly public: boolean
  /**
   * At most 100 tags. Keys have 1 to 100 ASCII letters, digits and underscores, and do not begin with an
   * underscore. Values have at most 256 characters of well-formed Unicode without NUL.
   */
  readonly tags: Readonly<Record<string, string>>
  /** A JSON object for the caller's own data. */
  readonly metadata: JsonObject
  /** IANA time zone of appended timestamps that contain no zone. Null means UTC. */
  readonly timeZone: string | null
  /** Id of the conversation from which this one was forked, or whose tool call started this one; else null. */
  readonly parentConversationId: string | null
  readonly sandboxId: string | null
  /** Id of the owner, such as a user id, or null. Same rules as `id`. The store only filters by it. */
  readonly owner: string | null
  /** Latest status from `setStatus` or the creation, or null. The log may contain a newer status. */
  readonly status: string | null
  readonly createdAt: string
  /** Time of the last append or `updateConversation`, or else of the creation. Never decreases. */
  readonly updatedAt: string
  /** Number of entries in the log. */
  readonly version: number
  /** Id of HEAD's event; null for the empty HEAD. */
  readonly headId: string | null
}

/** A conversation to create. Omitted fields are null, false or empty. */
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
   * Creation time of an imported conversation, in ISO 8601, from the year 0 to 9999. A time without a zone is
   * in UTC. Default: now.
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
  /** A record whose metadata must equal the stored metadata, including field order. Default: not checked. */
  readonly expected?: Pick<ConversationRecord, 'metadata'>
}

/**
 * Filter for conversations. A conversation must match all criteria. An empty `parentConversationId` matches
 * conversations without a parent, and an empty `status` matches conversations without a status.
 */
export interface ConversationFilter {
  /** Part of the title, ignoring case. No wildcards. An empty string matches every conversation with a title. */
  readonly titleContains?: string
  readonly public?: boolean
  readonly parentConversationId?: string
  readonly sandboxId?: string
  /** Owner of the conversations. An empty string, probably a missing user id, throws `invalid_query`. */
  readonly owner?: string
  readonly status?: string
  readonly tags?: Readonly<Record<string, string>>
  /** Bounds of times, in ISO 8601. A bound `…Gte` is included; a bound `…Lt` is not. */
  readonly createdAtGte?: string
  readonly createdAtLt?: string
  readonly updatedAtGte?: string
  readonly updatedAtLt?: string
}

/**
 * Order of a list of conversations. Conversations with equal times are ordered by id. `_desc` reverses the
 * whole order. If a conversation changes between two pages, later pages may repeat the conversation
 * (`updated_at`) or miss it (`updated_at_desc`).
 */
export type ConversationOrder = 'created_at' | 'created_at_desc' | 'updated_at' | 'updated_at_desc'

export interface ConversationQuery extends ConversationFilter {
  /** Order of the list. Default: `created_at_desc`. */
  readonly order?: ConversationOrder
  readonly cursor?: string
  readonly limit?: number
}
