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
 * **A conversation** is a record and a log. The facts of a log have positions `seq`, dense from 0; its
 * version is their number. The record contains HEAD, and both change in one transaction: a reader sees a
 * whole append or nothing.
 *
 * **Acknowledged is durable.** When a call resolves, its change survives a kill of the process, and with the
 * adapter's durable setting (the default) a power failure. The memory store ends with its process.
 *
 * **Order.** `seq` orders the facts of a conversation. Time order is (instant in microseconds, seq); an event
 * without a readable timestamp has the instant of the event before it (design D10, D15).
 *
 * **Items** ({@link Items}) are rows of a program next to conversations, which several processes change, list
 * and claim.
 *
 * **Processes.** Several stores may use the same data at once, in one process or many, unless the adapter
 * excludes it. Each of them reads what another has acknowledged: there is one log, one lease and one version
 * of an item.
 *
 * **Concurrent calls** succeed or fail alone, and each sees all of another one or nothing of it. No call
 * waits forever for another.
 *
 * **Ids** are compared character by character: letter case, spaces and Unicode forms make different ids.
 * Looking up an invalid id returns null; writing one throws `invalid_id`. The order of ids, as of all texts,
 * is that of their code points.
 *
 * **Values** that are returned are frozen or fresh, and arguments may change once the call has resolved. They
 * are JSON, except the bytes of snapshots. Bodies, metadata and items are returned unchanged, with the order
 * of their fields and any Unicode (NUL and lone surrogates too), as large and deep as an event may be.
 *
 * **Times** of events have microseconds, from the year 0 to 9999. Times of records, leases and items come
 * from one clock, the store's.
 *
 * **Long strings** of bodies, of more than 65,536 characters, are stored once for all conversations, by their
 * content, in the transaction of the append, and are deleted with the last event that contains them. Bodies
 * are read whole, or with references (`blobs: 'refs'`, {@link Blobs}).
 *
 * **Errors** are `ColloquyError`s with a code: `invalid_argument`, `invalid_query`, `invalid_cursor`,
 * `invalid_id`, `unknown_conversation`, `conversation_exists`, `version_conflict`, `id_conflict`,
 * `unknown_parent`, `invalid_event`, `transient_event`, `lease_lost`, and from the database `store_busy`,
 * `store_full`, `store_read_only`, `store_unavailable`, `store_newer`, `store_closed`. After `store_busy` and
 * `store_unavailable` the call can be retried: a committed append is recognized by its ids.
 * `invalid_argument` and `invalid_query` name the field in `data.field`, such as `limit` or `tags.a`. A
 * failed call has changed nothing. The parts of `colloquy/store-kit` throw all of these except those of the
 * database.
 */
export interface Store extends Items, Feed, Blobs, TextSearch {
  readonly name: string

  /**
   * Appends facts to the end of a log, all or nothing, in one round trip.
   *
   * First the ids (law S): an event whose id is in the log or earlier in the batch, with an equal body, is
   * not appended again; the stored event is returned. Fields that the caller omitted, the record of a reply
   * and the order of fields are not compared, and defaults count as present. Another body with that id is
   * `id_conflict` with the id in `data.id`.
   *
   * Then, if something remains to append, the expected version: `version_conflict` with the actual one in
   * `data.version`. Then the lease, which may have expired while no other was granted. An append of nothing
   * changes neither the record nor the feed.
   *
   * Then each fact finds its parent, inside the transaction (design D8): a named parent must be in the log or
   * earlier in the batch, else `unknown_parent` with it in `data.parentId`; `__root__` is a root; without a
   * name it is HEAD, and the stored body of a live append contains it (`__root__` for the empty HEAD of a log
   * that is not empty). A fact becomes HEAD unless it is a ConversationStateUpdateEvent; one with the key
   * `leaf_event_id` moves HEAD to the event that it names (from a state update to the nearest ancestor that
   * is not one, or off the tree for null; design D7), and a live one to an unknown event is `unknown_event`.
   * A StreamingDeltaEvent is rejected with `transient_event`, also in an import: publish it.
   *
   * `decideAppend` of the store kit implements all of this: an adapter passes a context that reads the log,
   * and writes the decision, in one transaction. O(log n) for each fact.
   *
   * @throws `unknown_conversation`, also for no facts; `version_conflict`, `id_conflict`, `unknown_parent`,
   *   `unknown_event`, `lease_lost`;
   * `invalid_event`; `transient_event`; `invalid_id`, also for a live event without an id; `invalid_argument`
   * for options.
   */
  append(conversationId: string, facts: readonly Fact[], options?: AppendOptions): Promise<AppendResult>

  /**
   * Replaces bodies of events of the tree, all or none, and deletes the snapshot, which has the old ones. Searches and
   * blobs are those of the new bodies; version, HEAD and `updatedAt` stay, and neither the feed nor a watch tells of it.
   * For the erasure of content: an engine appends a record of it, which other processes read. Optional: a store without
   * it cannot erase single events. O(log n + size) for each body.
   * @throws `unknown_conversation`, `unknown_event`; `version_conflict` when a stored body is not `before`;
   * `invalid_event`; `invalid_argument` for an `after` with another id, kind, source, parent or timestamp.
   */
  replaceEvents?(conversationId: string, replacements: readonly Replacement[]): Promise<void>

  /**
   * Returns the facts from a position, in order, at most `limit` (default 1,000): forward from `from`
   * (default 0), or backward from `from` (default and maximum: the last). O(result).
   * @throws `unknown_conversation`; `invalid_argument` for an invalid position, limit or direction.
   */
  read(conversationId: string, options?: ReadOptions): Promise<StoredEvent[]>

  /** The event of the tree with this id, or null, also for an unknown conversation. O(log n). */
  get(conversationId: string, id: string, options?: GetOptions): Promise<StoredEvent | null>

  /**
   * Returns the events with these ids, in the requested order, repetitions included, null for each missing
   * one. Accepts tens of thousands of ids. O(ids).
   */
  getMany(
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): Promise<(StoredEvent | null)[]>

  /**
   * Returns one page of the events that match a filter. Keyset paging: a page costs O(limit) at any depth,
   * with two exceptions: a filter by text, and a path by time in a log with decreasing timestamps, which may
   * read every event. Appending while paging repeats and skips no existing event (laws C). A page of an
   * unknown conversation is empty.
   *
   * A cursor is valid for its query, in any equivalent form and with any limit, in every process, while the
   * conversation exists. It fits in a URL: letters, digits, `-` and `_`, at most 500 of them for a search.
   * The cursor of a list contains the texts of its order, so it can have some thousands.
   *
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
   * `invalid_argument` for any other invalid field of {@link ConversationRecord}.
   */
  createConversation(conversation: NewConversation): Promise<ConversationRecord>

  /** The record of a conversation, or null. O(1). */
  getConversation(id: string): Promise<ConversationRecord | null>

  /**
   * Returns one page of conversations. Creating others while paging repeats and skips no existing one.
   * Cursors are those of a search.
   *
   * By creation, without a filter, with times of creation, and with any one of `public: true`,
   * `parentConversationId`, `sandboxId`, `owner`, `status` and a tag, and by change, without a filter and
   * with times of change, a page has `limit` items if as many exist, and costs O(limit + log n). Other
   * filters compare at most {@link MOST_LOOKED_AT} conversations: the page may then have fewer items, or
   * none, and a `next_page_id`. @throws `invalid_query`, `invalid_cursor`.
   */
  listConversations(query?: ConversationQuery): Promise<Page<ConversationRecord>>

  /**
   * Counts the conversations that match a filter, of at most {@link MOST_COUNTED} visited ones unless the
   * count is exact. O(visited).
   * @throws `invalid_query`.
   */
  countConversations(filter?: ConversationFilter, options?: CountOptions): Promise<Count>

  /**
   * Sets the status by which a conversation is listed, if its log still has this number of events; otherwise
   * returns false and changes nothing. It does not change `updatedAt` and is not in the feed. O(log n).
   * @throws `invalid_argument`.
   */
  setStatus(conversationId: string, status: string, version: number): Promise<boolean>

  /**
   * Changes the fields of a patch and `updatedAt`; tags and metadata are replaced as a whole. The feed
   * contains the change, even of an empty patch.
   *
   * To avoid lost updates of metadata, pass the record that you read as `expected`. Appends do not count as
   * changes.
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
   * Deletes it with log, lease and snapshot; false if unknown. The id is then free, and no call for the old
   * conversation reaches a new one.
   */
  deleteConversation(id: string): Promise<boolean>

  /**
   * Acquires or renews the run lease of a conversation for `ttl` milliseconds on the store's clock; returns
   * null while another owner holds a live one. A renewal (the same owner, while its lease is live) keeps the
   * generation; otherwise it increases, even after the lease was returned. @throws `unknown_conversation`,
   * `invalid_id` for the owner, `invalid_argument` for the ttl.
   */
  acquireLease(conversationId: string, owner: string, ttl: number): Promise<Lease | null>

  releaseLease(lease: Lease): Promise<boolean>

  /** Returns the latest lease of a conversation, expired or not; null without one, or after its return. */
  getLease(conversationId: string): Promise<Lease | null>

  /**
   * Returns a page of the leases that were acquired and not returned, in the order of their conversations'
   * ids (code points). An expired one belonged to a process that died or could not reach the store; the next
   * owner may recover its conversation. A page shorter than `limit` is the last. O(leases not returned),
   * whatever the number of conversations.
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
   * Returns all parts of the snapshot in the order of their numbers, as of one time, in one round trip; empty
   * without one, also for an unknown conversation. Each has a `Uint8Array` with memory of its own. O(bytes).
   */
  loadSnapshot(conversationId: string): Promise<SnapshotPart[]>

  deleteSnapshot(conversationId: string): Promise<boolean>

  /**
   * Calls `wake` after appends to a conversation, or to any (null), and after its deletion, by any process,
   * once a read shows the change. Several changes may cause one call, and a call may happen without a change.
   * It is a hint to read again: a watcher of all conversations also polls the feed. The conversation need not
   * exist yet. Returns a function that ends the watch. An exception of `wake` fails no append.
   * @throws `store_closed`.
   */
  watch(conversationId: string | null, wake: Wake): Unwatch

  /** Ends the store after pending calls. Later calls are `store_closed`, except close, which does nothing. */
  close(): Promise<void>
}

/** A store that `await using` closes at the end of its block, as those of this package. */
export interface DisposableStore extends Store {
  /** Closes the store. */
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

/**
 * The version that the writer believes the log to have: `any` (whatever it is), `none` (no events yet), or exactly
 * this number of events.
 */
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
   * unknown parent becomes HEAD (design D8, D15), a move of HEAD to an unknown event is ignored, a
   * quarantined line is in the tree if its id can be read, and a fact with a known id is outside of the tree
   * instead of an error: the log equals a replay of the same facts, in any batches. An import with a version
   * (`none` or a number) copies a log from that position: its facts are recognized by position, so repeating
   * or resuming it changes nothing; `version_conflict` if another body is at one of them, or the log is too
   * short. With `any`, facts are recognized by id.
   */
  readonly mode?: 'live' | 'import'
  /** The lease that the writer holds; refused with `lease_lost` when it is not the conversation's latest. */
  readonly lease?: { readonly owner: string; readonly generation: number }
  /**
   * Writes the caller's own rows in the transaction of the append: both are committed, or neither is. Called once the
   * events are placed, before the commit, and not at all where nothing is new. `tx` is the driver's own handle: the open
   * database in SQLite (`DatabaseSync`, or `Database` of another driver), the client that holds the transaction in
   * PostgreSQL.
   *
   * What it throws is thrown by the append, which has then changed nothing. In SQLite it must be synchronous: a promise is
   * `invalid_argument`. In PostgreSQL the store waits for its promise, within the store's `timeout`. It may be called
   * again when the transaction could not be committed, so all of its effects must be in `tx`. It must neither end the
   * transaction (`invalid_argument`, where that shows) nor call the store or the conversation, which wait for it.
   *
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
