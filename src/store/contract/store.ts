/// <reference lib="esnext.disposable" preserve="true" />

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
 * Stores conversations: records, logs, leases, snapshots, and a program's own items.
 *
 * **A conversation** is a record and a log. Facts have positions `seq`, from 0 without gaps; the version of
 * the log is the number of facts. The record contains HEAD. A reader sees all of an append or nothing of it.
 *
 * **Acknowledged is durable.** The changes of a resolved call survive a kill of the process. With the
 * adapter's durable setting, the default, they also survive a power failure. The memory store loses its data
 * when its process ends.
 *
 * **Order.** `seq` orders facts. Time order is (instant in microseconds, seq); an unreadable timestamp
 * counts as the previous instant (design D10, D15).
 *
 * **Processes.** Several stores, in any processes, may use the same data unless the adapter forbids this.
 * After one store acknowledges a change, the others read it. Concurrent calls succeed or fail independently,
 * and never wait forever.
 *
 * **Ids** are compared by character, including case, spaces and Unicode forms. Looking up an invalid id
 * returns null; writing one throws `invalid_id`. All texts are ordered by code points.
 *
 * **Values** that are returned are frozen or fresh JSON, except snapshot bytes. Arguments are copied: the
 * caller may change them after the call. Bodies, metadata and items keep field order and any Unicode (NUL and
 * lone surrogates too). The maximum size and depth of an event apply to each.
 *
 * **Times** of events have microseconds, from the year 0 to 9999. Records, leases and items use the store's
 * clock.
 *
 * **Long strings** of more than 65,536 characters are stored once for all conversations, and deleted together
 * with the last event that contains them. Bodies are read whole, or with references (`blobs: 'refs'`,
 * {@link Blobs}).
 *
 * **Errors** are `ColloquyError`s with a code: `invalid_argument`, `invalid_query`, `invalid_cursor`,
 * `invalid_id`, `unknown_conversation`, `conversation_exists`, `version_conflict`, `id_conflict`,
 * `unknown_parent`, `unknown_event`, `invalid_event`, `transient_event`, `lease_lost`, `store_closed`, and
 * from the database `store_busy`, `store_full`, `store_read_only`, `store_unavailable`, `store_newer`. After
 * `store_busy` and `store_unavailable`, retry. If an append was committed, the retry recognizes its ids and
 * appends nothing. `invalid_argument` and `invalid_query` name the field in `data.field`, such as `limit` or
 * `tags.a`. A failed call changes nothing, except that a call that failed with `store_unavailable` may have
 * been committed. The functions of `colloquy/store-kit` throw or create all errors except the database's.
 * @example
 * const store = memoryStore()
 * await store.createConversation({ id: 'c', tags: { team: 'a' } })
 * await store.append('c', [{ kind: 'PauseEvent', id: 'p' }], { expected: 'none' })
 * const [first] = await store.read('c')
 * first.fact.id // 'p'
 * await store.count({ conversationId: 'c', kinds: ['PauseEvent'] }) // 1
 * await store.updateConversation('c', { title: 'Trees' })
 * const { items } = await store.listConversations({ tags: { team: 'a' } })
 * items.map(({ title }) => title) // ['Trees']
 * const lease = await store.acquireLease('c', 'worker-1', 10_000)
 * lease?.generation // 1
 * await store.releaseLease(lease) // true
 * await store.saveSnapshot('c', [{ part: 0, bytes: new Uint8Array(9) }], { complete: true })
 * const [part] = await store.loadSnapshot('c')
 * part?.bytes.length // 9
 * const stop = store.watch('c', (id) => console.log(`${id} has changed.`))
 * stop()
 * await store.deleteConversation('c') // true
 */
export interface Store extends Items, Feed, Blobs, TextSearch {
  readonly name: string
  /**
   * Whether the store redacts events. If so, an engine shares no streamed replies, because they are not
   * redacted.
   */
  readonly redacts?: boolean

  /**
   * Appends facts to a log, all or none. Checks ids, version, lease and parents, in this order.
   *
   * Ids (law S): a fact is not appended if the log, or an earlier fact of the batch, has its id and an equal
   * body; the stored event is returned. A different body throws `id_conflict` with `data.id`. The comparison
   * ignores field order, a reply's `ReplyRecord`, and fields that the new event omits. A field that the
   * stored event omits counts as its default.
   *
   * Version and lease are checked only if a fact is new. A version other than the expected one throws
   * `version_conflict` with the actual version in `data.version`. A lease that is not the conversation's
   * latest throws `lease_lost`; an expired lease is accepted until another is granted. An append without new
   * facts changes neither record nor feed.
   *
   * Parents (design D8): a parent that is neither in the log nor earlier in the batch throws `unknown_parent`
   * with `data.parentId`. `__root__` makes an event a root. The default parent is HEAD; a live append writes
   * it to the body (`__root__` for the empty HEAD of a non-empty log).
   *
   * Each fact becomes HEAD, except a ConversationStateUpdateEvent. A state update with the key
   * `leaf_event_id` moves HEAD to the event that its value names, or, if that event is a state update, to the
   * nearest ancestor of another kind. A null value empties HEAD (design D7). A live move to an unknown event
   * throws `unknown_event`. A StreamingDeltaEvent throws `transient_event`, even in an import: publish it
   * instead.
   *
   * O(log n) for each fact, in one round trip.
   * @throws `unknown_conversation`, even if `facts` is empty; `version_conflict`, `id_conflict`,
   *   `unknown_parent`, `unknown_event`, `lease_lost`; `invalid_event`; `transient_event`; `invalid_id`, also
   *   for a live event without an id; `invalid_argument` for invalid options.
   */
  append(conversationId: string, facts: readonly Fact[], options?: AppendOptions): Promise<AppendResult>

  /**
   * Replaces event bodies, all or none, and deletes the snapshot, which is then outdated. Used for erasure.
   * Searches and blobs use the new bodies. Version, HEAD and `updatedAt` stay. Neither feed nor watches
   * report the change; an engine therefore also appends an event, from which other processes learn of it. A
   * store without this method cannot erase single events. O(log n + size) for each body.
   * @throws `unknown_conversation`, `unknown_event`; `version_conflict` when a stored body is not `before`;
   *   `invalid_event`; `invalid_argument` for an `after` with another id, kind, source, parent or timestamp,
   *   and for two replacements of one event.
   */
  replaceEvents?(conversationId: string, replacements: readonly Replacement[]): Promise<void>

  /**
   * Returns at most `limit` facts (default 1,000), forward or backward from `from` (default: the first
   * position, or the last if backward). O(log n + result).
   * @throws `unknown_conversation`; `invalid_argument` for an invalid position, limit or direction.
   */
  read(conversationId: string, options?: ReadOptions): Promise<StoredEvent[]>

  /** Returns the event with this id in the tree; null if it or the conversation is unknown. O(log n). */
  get(conversationId: string, id: string, options?: GetOptions): Promise<StoredEvent | null>

  /**
   * Returns an event for each id, in the order of `ids`, even for a repeated id; null for an unknown id.
   * Accepts tens of thousands of ids. O(ids · log n).
   */
  getMany(
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): Promise<(StoredEvent | null)[]>

  /**
   * Returns one page of matching events. An unknown conversation's page is empty. Paging neither repeats nor
   * skips an existing event, even during appends (laws C). O(log n + limit) at any depth, except that a
   * filter by `text` may read every event, and so may a filter by `leafId` if timestamps decrease along the
   * log.
   *
   * A cursor is valid for equivalent queries with any limit, in any process, while the conversation exists.
   * It contains only letters, digits, `-` and `_`, which URLs accept. A cursor of a search has at most 500
   * characters. A cursor of a list may have a few thousand, because it contains the texts that the list is
   * ordered by.
   * @throws `invalid_query` for a limit outside 1..`MAX_PAGE_SIZE`, an unknown kind, source or order, an
   *   unreadable time, or an invalid id; `invalid_cursor` for a damaged cursor, or a cursor of another query,
   *   order or list (`data.reason` is `foreign`).
   */
  search(query: EventQuery): Promise<EventPage>

  /**
   * Counts the events that match a filter; 0 for an unknown conversation. O(log n + matches), except that a
   * filter by `text`, or by `leafId` if timestamps decrease, may read every event. @throws `invalid_query`.
   */
  count(filter: EventFilter): Promise<number>

  /**
   * Creates a conversation with an empty log. @throws `conversation_exists`; `invalid_id` for an invalid
   * `id`, `parentConversationId`, `sandboxId` or `owner`; `invalid_argument` for other invalid fields of
   * {@link ConversationRecord}.
   */
  createConversation(conversation: NewConversation): Promise<ConversationRecord>

  /** Returns the record of a conversation, or null. O(1). */
  getConversation(id: string): Promise<ConversationRecord | null>

  /**
   * Returns one page of conversations. If conversations are created while you page, no existing conversation
   * is repeated or skipped. For cursors, see {@link search}.
   *
   * These queries return full pages and cost O(limit + log n):
   * - in the order of creation, with no filter except creation times and at most one of these:
   *   `public: true`, `parentConversationId`, `sandboxId`, `owner`, `status`, a tag;
   * - in the order of change, with no filter except times of change.
   *
   * Other queries visit at most {@link MOST_LOOKED_AT} conversations for a page. The page may then have fewer
   * items than `limit`, or none, and still a `cursor`.
   * @throws `invalid_query`, `invalid_cursor`.
   */
  listConversations(query?: ConversationQuery): Promise<Page<ConversationRecord>>

  /**
   * Counts the conversations that match a filter. Visits at most {@link MOST_COUNTED}, unless `exact` is
   * true. O(visited). @throws `invalid_query`.
   */
  countConversations(filter?: ConversationFilter, options?: CountOptions): Promise<Count>

  /**
   * Records the status for lists, if the log still has this version; otherwise returns false. Changes
   * neither `updatedAt` nor the feed. O(log n). @throws `invalid_argument`.
   */
  setStatus(conversationId: string, status: string, version: number): Promise<boolean>

  /**
   * Changes the fields of the patch and `updatedAt`. Tags and metadata are replaced whole. The feed reports
   * even an empty patch. O(size).
   *
   * To avoid lost updates, set `expected` to the record that you read. Only its metadata are compared, so
   * appends cause no conflict.
   * @throws `unknown_conversation`; `version_conflict` if the metadata differ from `expected`; `invalid_id`
   *   and `invalid_argument` as {@link createConversation}.
   */
  updateConversation(
    id: string,
    patch: ConversationPatch,
    options?: UpdateOptions,
  ): Promise<ConversationRecord>

  /**
   * Deletes a conversation with its log, lease and snapshot; returns false if it is unknown. Its id can be
   * used again: store calls that began before the deletion never affect the new conversation. O(events).
   */
  deleteConversation(id: string): Promise<boolean>

  /**
   * Acquires or renews the run lease for `ttl` milliseconds of the store's clock; null while another owner
   * holds it. A renewal of a live lease keeps its generation; any other acquisition increases it, even after
   * a release. O(1).
   * @throws `unknown_conversation`, `invalid_id` for the owner, `invalid_argument` for the ttl.
   */
  acquireLease(conversationId: string, owner: string, ttl: number): Promise<Lease | null>

  /** Releases a lease. Returns false if it is no longer the latest lease of its conversation. O(1). */
  releaseLease(lease: Lease): Promise<boolean>

  /** Returns the latest lease, even if it has expired; null without one, or after its release. O(1). */
  getLease(conversationId: string): Promise<Lease | null>

  /**
   * Returns a page of leases that were not released, ordered by conversation id. The lease of a dead process
   * expires; the next owner can then recover the conversation. A page shorter than `limit` is the last.
   * O(leases not released).
   * @throws `invalid_argument` for a limit outside 1..`MAX_PAGE_SIZE`, and for an `after` that is not a
   *   valid id.
   */
  listLeases(query?: LeaseQuery): Promise<Lease[]>

  /**
   * Writes parts of the conversation's snapshot, all or none, in one round trip. A stored part with the
   * same number is replaced; with `complete`, all other parts are removed. Concurrent saves are serialized:
   * of two complete snapshots one is stored, never parts of both. Changes no record and wakes no watch.
   *
   * A snapshot only saves time, and can be lost. The store does not read the bytes; the caller that loads
   * them checks that they fit the log. The bytes must not change until the call resolves. O(bytes).
   * @throws `unknown_conversation`, even if `parts` is empty; `invalid_argument` for a part number that is
   *   repeated or not an integer from 0 to 2³¹ - 1, a value that is not bytes, and a part of more than
   *   128 MiB.
   */
  saveSnapshot(
    conversationId: string,
    parts: readonly SnapshotPart[],
    options?: SaveSnapshotOptions,
  ): Promise<void>

  /**
   * Returns the parts of a snapshot as of one point in time, ordered by number, in one round trip. Empty
   * without a snapshot. Each `Uint8Array` has its own memory. O(bytes).
   */
  loadSnapshot(conversationId: string): Promise<SnapshotPart[]>

  /** Deletes the snapshot; returns false if there is none. */
  deleteSnapshot(conversationId: string): Promise<boolean>

  /**
   * Calls `wake` after any process appends to the conversation or deletes it, once reads show the change.
   * Null watches all conversations, but may miss changes of other processes: also poll the feed. A call is
   * only a hint to read: several changes may cause one call. The conversation need not exist yet. An
   * exception of `wake` does not fail an append, and becomes an unhandled rejection. Returns a function that
   * ends the watch.
   * @throws `store_closed`.
   */
  watch(conversationId: string | null, wake: Wake): Unwatch

  /** Closes the store after pending calls. Later calls, except `close`, throw `store_closed`. */
  close(): Promise<void>
}

/** A store that `await using` closes at the end of its block. All stores of this package are disposable. */
export interface DisposableStore extends Store {
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of `read`. */
export interface ReadOptions {
  /** Position of the first fact. Default: 0, or the last position when reading backward. */
  readonly from?: number
  /** Default: forward. */
  readonly direction?: 'forward' | 'backward'
  /** Maximum number of facts, 1 or more. Default: 1,000. */
  readonly limit?: number
  /** Default: `whole`. */
  readonly blobs?: BlobMode
}

/** Receives the id of the changed conversation, if the store knows it. */
export type Wake = (conversationId?: string) => void

/** Ends a watch; may be called more than once. */
export type Unwatch = () => void

/** A lease on a conversation. A new lease has a higher generation, and older leases cannot append. */
export interface Lease {
  readonly conversationId: string
  readonly owner: string
  /** Increases with each lease that is not a renewal. */
  readonly generation: number
  /** Milliseconds since 1970 on the store's clock. */
  readonly expiresAt: number
}

/** Selects leases that were not released, in the order of their conversations' ids. */
export interface LeaseQuery {
  /** Whether to return only leases that have expired, by the store's clock. Default: false. */
  readonly expired?: boolean
  /** Only leases of conversations after this id. */
  readonly after?: string
  /** Maximum number of leases, 1 to `MAX_PAGE_SIZE` (default). */
  readonly limit?: number
}

/** One numbered part of a snapshot: opaque bytes. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

export interface SaveSnapshotOptions {
  /** Whether to remove all other parts, because the saved parts are the whole snapshot. Default: false. */
  readonly complete?: boolean
}

/** Expected log version: `any`, `none` (an empty log), or the number of facts in the log. */
export type ExpectedVersion = 'any' | 'none' | number

export interface Replacement {
  readonly before: Fact
  /**
   * Has the kind, source, parent and timestamp of `before`. Must contain the event's id, even if `before`
   * does not.
   */
  readonly after: Fact
}

export interface AppendOptions {
  /** The version that the log must have. Default: `any`. */
  readonly expected?: ExpectedVersion
  /** The `createdAt` that the record must have; otherwise `version_conflict`. Default: not checked. */
  readonly createdAt?: string
  /**
   * `live` (default): events need an id, and a missing parent is written to the body.
   *
   * `import`: bodies are not changed, and repeated ids and unknown parents do not throw. Missing ids
   * (`deriveEventId`) and times are derived; HEAD replaces an unknown parent (design D8, D15); moves of HEAD
   * to unknown events are ignored; quarantined lines with a readable id are in the tree; entries with a
   * repeated id are outside it. The stored log equals a replay of the facts, however they are batched.
   *
   * If `expected` is a number (or `none`, which means 0), the first fact has that position in the log, and
   * stored facts are recognized by position. The import can be repeated or resumed: facts that are in the log
   * are not appended again. It throws `version_conflict` if a stored body differs, or if the log is shorter
   * than `expected`. With `any`, facts are recognized by id.
   */
  readonly mode?: 'live' | 'import'
  /** The writer's lease. The append throws `lease_lost` if it is not the conversation's latest lease. */
  readonly lease?: { readonly owner: string; readonly generation: number }
  /**
   * Writes the caller's rows in the append's transaction, after the new events have positions. Not called
   * without new events. `tx` is the driver's handle: in SQLite the open database (`DatabaseSync`, or another
   * driver's `Database`), in PostgreSQL the client that holds the transaction.
   *
   * If it throws, the append fails and changes nothing. It may be called again after a failed commit, so all
   * effects must be in `tx`. It must neither end the transaction nor call the store or the conversation,
   * which wait for it. In SQLite it must be synchronous; PostgreSQL awaits it, within the store's `timeout`.
   * @throws `invalid_argument` in a store without a database, over a PostgreSQL client that cannot hold a
   *   transaction, if it returns a promise in SQLite, and if it ended the transaction.
   * @example
   * const within = (tx: { exec(sql: string): unknown }) => tx.exec("INSERT INTO note (text) VALUES ('Hello')")
   */
  within?(tx: unknown, appended: AppendResult): unknown
}

export interface AppendResult {
  /** The stored event of each fact, in order; the existing one if the fact was in the log. */
  readonly events: readonly StoredEvent[]
  readonly version: number
  /** Id of HEAD's event; null for the empty HEAD. */
  readonly headId: string | null
}
