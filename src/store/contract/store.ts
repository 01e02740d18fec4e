/// <reference lib="esnext.disposable" preserve="true" />

/** The contract of a store: its calls, their errors, and what may be relied on whichever database is below. */

import type { Fact } from '../../event/quarantine.ts'
import type {
  ConversationFilter,
  ConversationPatch,
  ConversationQuery,
  ConversationRecord,
  NewConversation,
  UpdateOptions,
} from './conversation-record.ts'
import type { BlobMode, Blobs, GetOptions } from './blobs.ts'
import type { Feed } from './feed.ts'
import type { Items } from './items.ts'
import type { TextSearch } from './text.ts'
import type { Count, CountOptions, EventFilter, EventPage, EventQuery, Page, StoredEvent } from './query.ts'

/**
 * Keeps facts.
 *
 * **A conversation** is a record and a log. Facts have positions `seq`, dense from 0; the log's version is
 * their number. The record contains HEAD; a reader sees a whole append or nothing.
 *
 * **Acknowledged is durable.** A resolved call survives a kill of the process, and with the adapter's durable
 * setting (the default) a power failure. The memory store ends with its process.
 *
 * **Order.** `seq` orders facts. Time order is (instant in microseconds, seq); an unreadable timestamp counts
 * as the previous instant (design D10, D15).
 *
 * **Items** ({@link Items}) are a program's rows, shared by several processes.
 *
 * **Processes.** Several stores, in any processes, may use the same data unless the adapter excludes it. Each
 * reads what another acknowledged: one log, one lease, one version of an item.
 *
 * **Concurrent calls** succeed or fail alone, see all or nothing of each other, and never wait forever.
 *
 * **Ids** are compared by character, including case, spaces and Unicode forms. Looking up an invalid id
 * returns null; writing one throws `invalid_id`. All texts are ordered by code points.
 *
 * **Values** returned are frozen or fresh JSON, except snapshot bytes; arguments may change after the call.
 * Bodies, metadata and items keep field order, any Unicode (NUL and lone surrogates too), and an event's
 * maximum size and depth.
 *
 * **Times** of events have microseconds, from the year 0 to 9999. Records, leases and items use the store's
 * clock.
 *
 * **Long strings** of more than 65,536 characters are stored once for all conversations, in the append's
 * transaction, and deleted with their last event. Bodies are read whole, or with references (`blobs: 'refs'`,
 * {@link Blobs}).
 *
 * **Errors** are `ColloquyError`s with a code: `invalid_argument`, `invalid_query`, `invalid_cursor`,
 * `invalid_id`, `unknown_conversation`, `conversation_exists`, `version_conflict`, `id_conflict`,
 * `unknown_parent`, `invalid_event`, `transient_event`, `lease_lost`, and from the database `store_busy`,
 * `store_full`, `store_read_only`, `store_unavailable`, `store_newer`, `store_closed`. After `store_busy` and
 * `store_unavailable`, retry: ids identify a committed append. `invalid_argument` and `invalid_query` name
 * the field in `data.field`, such as `limit` or `tags.a`. A failed call changes nothing. `colloquy/store-kit`
 * throws all except the database's.
 */
export interface Store extends Items, Feed, Blobs, TextSearch {
  readonly name: string
  /** Whether it redacts events. An engine over it never shares streamed replies, which it cannot redact. */
  readonly redacts?: boolean

  /**
   * Appends facts to a log, all or nothing, in one round trip.
   *
   * First the ids (law S): an event whose id is in the log or earlier in the batch, with an equal body, is
   * not appended again; the stored one is returned. Ignores omitted fields, a reply's record and field order;
   * defaults count as present. Another body is `id_conflict` with `data.id`.
   *
   * Then, if something remains, the expected version: `version_conflict` with the actual `data.version`. Then
   * the lease, which may have expired while no other was granted. An empty append changes neither record nor
   * feed.
   *
   * Then the parents, inside the transaction (design D8): a named parent must be in the log or earlier in the
   * batch, else `unknown_parent` with `data.parentId`; `__root__` is a root; the default is HEAD, stored in a
   * live append's body (`__root__` for the empty HEAD of a non-empty log). A fact becomes HEAD unless it is a
   * ConversationStateUpdateEvent; the key `leaf_event_id` moves HEAD to the named event (from a state update
   * to the nearest other ancestor, or off the tree for null; design D7); a live move to an unknown event is
   * `unknown_event`. A StreamingDeltaEvent is `transient_event`, also in an import: publish it.
   *
   * `decideAppend` of the store kit implements this: adapters read the log and write the decision in one
   * transaction. O(log n) for each fact.
   * @throws `unknown_conversation`, also for no facts; `version_conflict`, `id_conflict`, `unknown_parent`,
   *   `unknown_event`, `lease_lost`;
   * `invalid_event`; `transient_event`; `invalid_id`, also for a live event without an id; `invalid_argument`
   * for options.
   */
  append(conversationId: string, facts: readonly Fact[], options?: AppendOptions): Promise<AppendResult>

  /**
   * Replaces event bodies, all or none, and deletes the outdated snapshot. Searches and blobs use the new
   * bodies; version, HEAD and `updatedAt` stay, and neither feed nor watches report it. For erasure: an
   * engine appends a record for other processes. Optional: without it, single events cannot be erased. O(log
   * n + size) for each body.
   * @throws `unknown_conversation`, `unknown_event`; `version_conflict` when a stored body is not `before`;
   * `invalid_event`; `invalid_argument` for an `after` with another id, kind, source, parent or timestamp.
   */
  replaceEvents?(conversationId: string, replacements: readonly Replacement[]): Promise<void>

  /**
   * Returns at most `limit` facts (default 1,000): forward from `from` (default 0), or backward (default and
   * maximum: the last). O(result).
   * @throws `unknown_conversation`; `invalid_argument` for an invalid position, limit or direction.
   */
  read(conversationId: string, options?: ReadOptions): Promise<StoredEvent[]>

  /** The event of the tree with this id, or null, also for an unknown conversation. O(log n). */
  get(conversationId: string, id: string, options?: GetOptions): Promise<StoredEvent | null>

  /**
   * Returns events in the order of ids, with repetitions, null if missing. Accepts tens of thousands. O(ids).
   */
  getMany(
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): Promise<(StoredEvent | null)[]>

  /**
   * Returns one page of matching events. Keyset paging costs O(limit) at any depth, except that a filter by
   * text, and a path by time with decreasing timestamps, may read every event. Appending while paging repeats
   * and skips no existing event (laws C). An unknown conversation's page is empty.
   *
   * A cursor is valid for equivalent queries, any limit and process, while the conversation exists. It has
   * letters, digits, `-` and `_`, for URLs: at most 500 for a search, some thousands for a list, whose
   * order's texts it contains.
   * @throws `invalid_query` for a limit outside 1..`MAX_PAGE_SIZE`, an unknown kind, source or order, an
   *   unreadable time, or an invalid id;
   * `invalid_cursor` for a damaged cursor, or one of another query, order or list, with `foreign` in
   * `data.reason`.
   */
  search(query: EventQuery): Promise<EventPage>

  /** How many events a filter lets through. O(log n + matches). @throws `invalid_query`. */
  count(filter: EventFilter): Promise<number>

  /**
   * Creates a conversation with an empty log. @throws `conversation_exists`; `invalid_id`, also for a parent;
   * `invalid_argument` for other invalid fields of {@link ConversationRecord}.
   */
  createConversation(conversation: NewConversation): Promise<ConversationRecord>

  /** The record of a conversation, or null. O(1). */
  getConversation(id: string): Promise<ConversationRecord | null>

  /**
   * Returns one page of conversations. Creating others while paging repeats and skips no existing one.
   * Cursors are as in a search.
   *
   * By creation, unfiltered, with creation times, and with any one of `public: true`, `parentConversationId`,
   * `sandboxId`, `owner`, `status` and a tag, and by change, unfiltered and with times of change, a page has
   * `limit` items if they exist, and costs O(limit + log n). Other filters compare at most {@link
   * MOST_LOOKED_AT}: the page may have fewer items, or none, and still a `cursor`. @throws `invalid_query`,
   * `invalid_cursor`.
   */
  listConversations(query?: ConversationQuery): Promise<Page<ConversationRecord>>

  /**
   * Counts the conversations that match a filter, of at most {@link MOST_COUNTED} visited ones unless the
   * count is exact. O(visited).
   * @throws `invalid_query`.
   */
  countConversations(filter?: ConversationFilter, options?: CountOptions): Promise<Count>

  /**
   * Sets the status for lists, if the log has this number of events; otherwise returns false. Changes neither
   * `updatedAt` nor the feed. O(log n).
   * @throws `invalid_argument`.
   */
  setStatus(conversationId: string, status: string, version: number): Promise<boolean>

  /**
   * Changes the patch's fields and `updatedAt`; replaces tags and metadata whole. The feed contains even
   * empty patches.
   *
   * To avoid lost updates, pass the record that you read as `expected`; appends do not count as changes.
   * @throws `unknown_conversation`; `version_conflict` if the metadata differ from the expected ones;
   *   `invalid_argument` as
   * {@link createConversation}.
   */
  updateConversation(
    id: string,
    patch: ConversationPatch,
    options?: UpdateOptions,
  ): Promise<ConversationRecord>

  /**
   * Deletes it with log, lease and snapshot; false if unknown. Its id is free; old calls never reach a new
   * conversation.
   */
  deleteConversation(id: string): Promise<boolean>

  /**
   * Acquires or renews the run lease for `ttl` milliseconds on the store's clock; null while another owner
   * holds it. Renewing a live lease keeps the generation; otherwise it increases, even after a return.
   * @throws `unknown_conversation`, `invalid_id` for the owner, `invalid_argument` for the ttl.
   */
  acquireLease(conversationId: string, owner: string, ttl: number): Promise<Lease | null>

  releaseLease(lease: Lease): Promise<boolean>

  /** Returns the latest lease of a conversation, expired or not; null without one, or after its return. */
  getLease(conversationId: string): Promise<Lease | null>

  /**
   * Returns a page of unreturned leases, by conversation id (code points). After a process dies or loses the
   * store, its lease expires; the next owner may recover the conversation. A page shorter than `limit` is the
   * last. O(leases not returned), whatever the number of conversations.
   * @throws `invalid_argument` for a limit outside 1..`MAX_PAGE_SIZE`, and for an `after` that is not a valid
   *   id.
   */
  listLeases(query?: LeaseQuery): Promise<Lease[]>

  /**
   * Writes parts of the conversation's snapshot, all or nothing, in one round trip: a part with a known
   * number is replaced, and with `complete` all other parts are removed. Concurrent saves are serialized: of
   * two complete snapshots one is stored, never parts of both.
   *
   * A snapshot is disposable: losing it costs time, not data. The store does not read the bytes; the caller
   * that loads them checks that they fit the log. Saving changes no record and wakes no watch. The bytes must
   * not change until the call resolves.
   *
   * O(bytes). @throws `unknown_conversation`, also for no parts; `invalid_argument` for an invalid (0 to 2³¹
   * - 1) or repeated part number, for a value that is not bytes, and for a part of more than 128 MiB.
   */
  saveSnapshot(
    conversationId: string,
    parts: readonly SnapshotPart[],
    options?: SaveSnapshotOptions,
  ): Promise<void>

  /**
   * Returns a snapshot's parts by number, as of one time, in one round trip; empty without one. Each
   * `Uint8Array` has its own memory. O(bytes).
   */
  loadSnapshot(conversationId: string): Promise<SnapshotPart[]>

  deleteSnapshot(conversationId: string): Promise<boolean>

  /**
   * Calls `wake` after any process appends to a conversation, or to any (null), or deletes it, once reads
   * show the change. A call is a hint to read, not one change; for all conversations also poll the feed. The
   * conversation need not exist yet. Returns a function that ends the watch. Exceptions of `wake` fail no
   * append.
   * @throws `store_closed`.
   */
  watch(conversationId: string | null, wake: Wake): Unwatch

  /** Ends the store after pending calls. Later calls are `store_closed`, except close, which does nothing. */
  close(): Promise<void>
}

/** A store that `await using` closes at the end of its block, as those of this package. */
export interface DisposableStore extends Store {
  [Symbol.asyncDispose](): Promise<void>
}

/** From where to read, and which way. */
export interface ReadOptions {
  readonly from?: number
  /** Default: forward. */
  readonly direction?: 'forward' | 'backward'
  /** From 1 on, as many as there may be. Default: 1,000. */
  readonly limit?: number
  /** Default: `whole`. */
  readonly blobs?: BlobMode
}

/** Receives the changed conversation, if the store knows it. */
export type Wake = (conversationId?: string) => void

/** Ends a watch; may be called more than once. */
export type Unwatch = () => void

/** A lease on a conversation. A takeover raises the generation, and an append under an older one is refused. */
export interface Lease {
  readonly conversationId: string
  readonly owner: string
  readonly generation: number
  /** Milliseconds since 1970 on the store's clock. */
  readonly expiresAt: number
}

/** Selects leases that were not returned, in the order of their conversations' ids. */
export interface LeaseQuery {
  /** Whether only those that have expired, by the store's clock. Default: false. */
  readonly expired?: boolean
  readonly after?: string
  /** 1 to 100. Default: 100. */
  readonly limit?: number
}

/** One part of a snapshot, opaque bytes; parts are numbered from 0. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/** How a snapshot is saved. */
export interface SaveSnapshotOptions {
  /** Removes the parts that are not named, so that these are the whole snapshot. Default: false. */
  readonly complete?: boolean
}

/** Expected log version: `any`, `none` (no events yet), or exactly this number of events. */
export type ExpectedVersion = 'any' | 'none' | number

export interface Replacement {
  readonly before: Fact
  /** With the same id, kind, source, parent and timestamp; a missing id may be added. */
  readonly after: Fact
}

/** How facts are appended. */
export interface AppendOptions {
  /** Default: `any`. @throws `invalid_argument` for any other value. */
  readonly expected?: ExpectedVersion
  /**
   * The record's `createdAt` at the decision. `version_conflict` if the conversation was recreated since.
   * Default: not checked.
   */
  readonly createdAt?: string
  /**
   * `live` (default): events have an id and a timestamp, and get their effective parent; an unknown parent is
   * an error. `import`: bodies stay unchanged, missing ids (`deriveEventId`) and times are derived, an
   * unknown parent becomes HEAD (design D8, D15), moves of HEAD to unknown events are ignored, quarantined
   * lines with a readable id are in the tree, and known ids outside it, without an error: the log equals a
   * replay in any batches. An import with a version (`none` or a number) copies a log from that position:
   * facts are recognized by position, so repeating or resuming changes nothing; `version_conflict` for
   * another body, or a too short log. `any` recognizes facts by id.
   */
  readonly mode?: 'live' | 'import'
  /** The lease that the writer holds; refused with `lease_lost` when it is not the conversation's latest. */
  readonly lease?: { readonly owner: string; readonly generation: number }
  /**
   * Writes the caller's rows in the append's transaction, once events are placed, and not if nothing is new.
   * `tx` is the driver's handle: the open database in SQLite (`DatabaseSync`, or another driver's
   * `Database`), the client that holds the transaction in PostgreSQL.
   *
   * Its error fails the append, which changes nothing. In SQLite it must be synchronous: a promise is
   * `invalid_argument`. PostgreSQL awaits it, within the store's `timeout`. A failed commit may repeat it, so
   * all effects must be in `tx`. It must neither end the transaction (`invalid_argument`, where that shows)
   * nor call the store or the conversation, which wait for it.
   * @throws `invalid_argument` in a store without a database, as the one in memory.
   *
   * @example
   * const within = (tx: { exec(sql: string): unknown }) => tx.exec("INSERT INTO note (text) VALUES ('Hello')")
   */
  within?(tx: unknown, appended: AppendResult): unknown
}

/** What became of an append. */
export interface AppendResult {
  /** One per fact, in order: as stored now, or as stored before for an event that existed. */
  readonly events: readonly StoredEvent[]
  readonly version: number
  /** Id of the entry that HEAD means; null for the empty HEAD. */
  readonly headId: string | null
}
