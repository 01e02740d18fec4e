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
 * Stores conversations with their records, logs, leases and snapshots. Also stores items, which are rows
 * outside conversations.
 *
 * **A conversation** is a record and a log. Each fact has a position `seq`. Positions start at 0 and have no
 * gaps. The version of the log is the number of its facts. The record contains HEAD. A reader sees all of an
 * append or nothing of it.
 *
 * **Acknowledged is durable.** When the promise of a call has resolved, the changes that the call made
 * survive a kill of the process. They also survive a power failure, except with the option `synchronous:
 * 'normal'` of the SQLite store. The memory store loses its data when its process ends.
 *
 * **Order.** `seq` orders facts. Time order is by instant in microseconds, then by `seq`. An event with an
 * unreadable timestamp has the instant of the previous fact (design D10, D15).
 *
 * **Processes.** Several stores, in any processes, may use the same data unless the adapter forbids this.
 * After one store acknowledges a change, the others read it. Concurrent calls succeed or fail independently,
 * and never wait forever.
 *
 * **Ids** are compared by character, including case, spaces and Unicode forms. Looking up an invalid id
 * returns null; writing one throws `invalid_id`. All texts are ordered by code points.
 *
 * **Values** that are returned are JSON, frozen or a new copy, except snapshot bytes. The store copies its
 * arguments, so the caller may change them after the call; for snapshot bytes, see `saveSnapshot`. Bodies,
 * metadata and items keep the order of their fields, and any Unicode, even NUL and lone surrogates. The
 * maximum size and depth of an event also apply to metadata and items.
 *
 * **Times** of events are precise to a microsecond, and are in the years 0 to 9999. Records, leases and items
 * use the store's clock.
 *
 * **Long strings** of more than 65,536 characters are stored once for all conversations, and deleted together
 * with the last event that contains them. A body is returned with its long strings or, with `blobs: 'refs'`,
 * with references to them ({@link Blobs}).
 *
 * **Errors** are `ColloquyError`s with a code: `invalid_argument`, `invalid_query`, `invalid_cursor`,
 * `invalid_id`, `unknown_conversation`, `conversation_exists`, `version_conflict`, `id_conflict`,
 * `unknown_parent`, `unknown_event`, `invalid_event`, `transient_event`, `lease_lost`, `store_closed`, and
 * from the database `store_busy`, `store_full`, `store_read_only`, `store_unavailable`, `store_newer`. After
 * `store_busy` and `store_unavailable`, retry. If a failed append was in fact committed, the store recognizes
 * the ids in the retry and appends nothing. `invalid_argument` and `invalid_query` name the field in
 * `data.field`, such as `limit` or `tags.a`. A call that fails changes nothing. The exception is a call that
 * fails with `store_unavailable`: its changes may have been committed. The functions of `colloquy/store-kit`
 * throw or create all errors except the database's.
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
   * Whether the store redacts events. If so, an engine does not send streamed replies to other processes,
   * because the store never redacts streamed replies.
   */
  readonly redacts?: boolean

  /**
   * Appends facts to a log, all or none. Checks ids, version, lease and parents, in this order.
   *
   * Ids (law S): if the log or an earlier fact of the batch has the same id and an equal body, the fact is
   * not appended. The stored event is returned. If the id is the same but the body differs, `append` throws
   * `id_conflict` with the id in `data.id`. The comparison of bodies ignores the order of fields, a reply's
   * `ReplyRecord`, and fields that the new event omits. A field that the stored event omits counts as its
   * default.
   *
   * Version and lease are checked only if a fact is new. A version other than the expected one throws
   * `version_conflict` with the actual version in `data.version`. A lease that is not the conversation's
   * latest lease throws `lease_lost`. An expired lease is accepted until another lease is granted. An append
   * without new facts changes neither record nor feed.
   *
   * Parents (design D8): a parent that is neither in the log nor earlier in the batch throws `unknown_parent`
   * with `data.parentId`. `__root__` makes an event a root. The default parent is HEAD. A live append, unlike
   * an import, writes this parent to the body. If HEAD is empty although the log is not, the
   * append writes `__root__`.
   *
   * Each fact in the tree becomes HEAD, except a ConversationStateUpdateEvent. A state update with the key
   * `leaf_event_id` moves HEAD to the event whose id is its value. If that event is a state update too, HEAD
   * moves to its nearest ancestor of another kind. If the value is null, HEAD becomes empty (design D7). In a
   * live append, a move of HEAD to an unknown event throws `unknown_event`. A StreamingDeltaEvent throws
   * `transient_event`, even in an import. Publish such an event instead.
   *
   * O(log n) for each fact, in one round trip.
   * @throws `unknown_conversation`, even if `facts` is empty; `version_conflict`, `id_conflict`,
   *   `unknown_parent`, `unknown_event`, `lease_lost`; `invalid_event`; `transient_event`; `invalid_id`, also
   *   for a live event without an id; `invalid_argument` for invalid options.
   */
  append(conversationId: string, facts: readonly Fact[], options?: AppendOptions): Promise<AppendResult>

  /**
   * Replaces event bodies, all or none, for an erasure. Deletes the snapshot, which is then outdated.
   * Searches and blobs use the new bodies. The version, HEAD and `updatedAt` do not change. Neither the feed
   * nor watches report the change. So an engine also appends an event, from which other processes learn of
   * the erasure. A store without this method cannot erase single events. O(log n + size) for each body.
   * @throws `unknown_conversation`, `unknown_event`; `version_conflict` when a stored body is not `before`;
   *   `invalid_event`; `invalid_argument` for an `after` with another id, kind, source, parent or timestamp,
   *   and for two replacements of one event.
   */
  replaceEvents?(conversationId: string, replacements: readonly Replacement[]): Promise<void>

  /**
   * Returns at most `limit` facts (default: 1,000). Reads forward or backward from the position `from`. The
   * default of `from` is the first position; when reading backward, the last position. O(log n + result).
   * @throws `unknown_conversation`; `invalid_argument` for an invalid position, limit or direction.
   */
  read(conversationId: string, options?: ReadOptions): Promise<StoredEvent[]>

  /** Returns the event with this id in the tree; null if the event or conversation is unknown. O(log n). */
  get(conversationId: string, id: string, options?: GetOptions): Promise<StoredEvent | null>

  /**
   * Returns a list with an event for each element of `ids`, in the same order. For a repeated id, the event
   * is repeated; for an unknown id, the list has null. Accepts tens of thousands of ids. O(ids · log n).
   */
  getMany(
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): Promise<(StoredEvent | null)[]>

  /**
   * Returns one page of matching events. An unknown conversation's page is empty. Paging neither repeats nor
   * skips an existing event, even during appends (laws C). O(log n + limit) for any page. Two filters may
   * read every event: `text`, and `leafId` if timestamps decrease along the log.
   *
   * A cursor is valid for equivalent queries with any limit, in any process, while the conversation exists.
   * It contains only letters, digits, `-` and `_`, which URLs accept. A cursor of a search has at most 500
   * characters. A cursor of a list may have a few thousand characters, because it contains the texts by which
   * the list is ordered.
   * @throws `invalid_query` for a limit outside 1..`MAX_PAGE_SIZE`, an unknown kind, source or order, an
   *   unreadable time, or an invalid id; `invalid_cursor` for a damaged cursor, or for a cursor of another
   *   query, order or list (then `data.reason` is `foreign`).
   */
  search(query: EventQuery): Promise<EventPage>

  /**
   * Counts the events that match a filter; 0 for an unknown conversation. O(log n + matches). Two filters may
   * read every event: `text`, and `leafId` if timestamps decrease along the log. @throws `invalid_query`.
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
   * Returns one page of conversations. If conversations are created between two pages, no existing
   * conversation is repeated or skipped. For cursors, see {@link search}.
   *
   * These queries return full pages and cost O(limit + log n):
   * - in the order of creation, with no filter except creation times and at most one of these:
   *   `public: true`, `parentConversationId`, `sandboxId`, `owner`, `status`, a tag;
   * - in the order of change, with no filter except for the time of change (`updatedAt…`).
   *
   * Other queries visit at most {@link MAX_VISITED} conversations for a page. The page may then have fewer
   * items than `limit`, or none, although it has a `cursor`.
   * @throws `invalid_query`, `invalid_cursor`.
   */
  listConversations(query?: ConversationQuery): Promise<Page<ConversationRecord>>

  /**
   * Counts the conversations that match a filter. Visits at most {@link MAX_COUNTED}, unless `exact` is
   * true. O(visited). @throws `invalid_query`.
   */
  countConversations(filter?: ConversationFilter, options?: CountOptions): Promise<Count>

  /**
   * Records the status, by which lists can be filtered. If the log no longer has this version, records
   * nothing and returns false. Changes neither `updatedAt` nor the feed. O(log n). @throws
   * `invalid_argument`.
   */
  setStatus(conversationId: string, status: string, version: number): Promise<boolean>

  /**
   * Changes the fields that the patch contains, and `updatedAt`. New tags replace all old tags, and new
   * metadata all old metadata. The feed reports the change, even if the patch is empty. O(size).
   *
   * To avoid lost updates, set `expected` to the record that you read. Only the metadata of the record are
   * compared, so an append causes no conflict.
   * @throws `unknown_conversation`; `version_conflict` if the metadata differ from `expected`; `invalid_id`
   *   and `invalid_argument` as {@link createConversation}.
   */
  updateConversation(
    id: string,
    patch: ConversationPatch,
    options?: UpdateOptions,
  ): Promise<ConversationRecord>

  /**
   * Deletes a conversation with its log, lease and snapshot; returns false if it is unknown. The id can be
   * used again. Calls that began before the deletion never affect the new conversation. O(events).
   */
  deleteConversation(id: string): Promise<boolean>

  /**
   * Acquires or renews the lease of a conversation for `ttl` milliseconds of the store's clock. Returns null
   * while another owner holds the lease. A renewal of a live lease keeps its generation; any other
   * acquisition increases the generation, even after a release. O(1).
   * @throws `unknown_conversation`, `invalid_id` for the owner, `invalid_argument` for the ttl.
   */
  acquireLease(conversationId: string, owner: string, ttl: number): Promise<Lease | null>

  /** Releases a lease. Returns false if the lease is no longer the latest of its conversation. O(1). */
  releaseLease(lease: Lease): Promise<boolean>

  /** Returns the latest lease, even if it has expired; null if it was released or never acquired. O(1). */
  getLease(conversationId: string): Promise<Lease | null>

  /**
   * Returns a page of leases that were not released, ordered by conversation id. The lease of a dead process
   * expires; the next owner can then recover the conversation. A page with fewer than `limit` leases is the
   * last page. O(leases not released).
   * @throws `invalid_argument` for a limit outside 1..`MAX_PAGE_SIZE`, and for an `after` that is not a
   *   valid id.
   */
  listLeases(query?: LeaseQuery): Promise<Lease[]>

  /**
   * Writes parts of the conversation's snapshot, all or none, in one round trip. A part replaces the stored
   * part with the same number. If `complete` is true, all other stored parts are removed. Concurrent saves
   * run one after another. So if two complete snapshots are saved, the store never contains a mixture of
   * both. A save changes no record and wakes no watch.
   *
   * A snapshot only makes a replay unnecessary, so losing one does no harm. The store does not interpret the
   * bytes. A caller that loads them must check that they match the log. Do not change the bytes until
   * `saveSnapshot` resolves. O(bytes).
   * @throws `unknown_conversation`, even if `parts` is empty; `invalid_argument` for a part number that is
   *   repeated or not an integer from 0 to 2³¹ - 1, a value that is not bytes, and a part of more than 128
   *   MiB.
   */
  saveSnapshot(
    conversationId: string,
    parts: readonly SnapshotPart[],
    options?: SaveSnapshotOptions,
  ): Promise<void>

  /**
   * Returns the parts of a snapshot, ordered by number, in one round trip. All parts are from the same
   * moment. Returns an empty list if there is no snapshot. Each `Uint8Array` has its own memory. O(bytes).
   */
  loadSnapshot(conversationId: string): Promise<SnapshotPart[]>

  /** Deletes the snapshot; returns false if no snapshot exists. */
  deleteSnapshot(conversationId: string): Promise<boolean>

  /**
   * Calls `wake` when any process has appended to the conversation or deleted it. A read then returns the
   * change. If `conversationId` is null, watches all conversations. Such a watch may miss changes by other
   * processes, so poll the feed too. A call of `wake` only means that there is something to read. Several
   * changes may cause only one call. The conversation need not exist yet. If `wake` throws, no append fails.
   * The exception becomes an unhandled rejection. Returns a function that ends the watch.
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
  /** Direction in which positions are read. Default: `forward`. */
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

/** A lease on a conversation. A new lease has a higher generation. Then holders of older leases cannot append. */
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
  /** Returns only leases of conversations whose ids sort after this id. */
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
  /** Whether the saved parts are the whole snapshot, so that all other parts are removed. Default: false. */
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
  /** Expected `createdAt` of the record. If it differs, `append` throws `version_conflict`. Default: not checked. */
  readonly createdAt?: string
  /**
   * `live` (default): events need an id. If an event names no parent, HEAD is written to its body as the
   * parent.
   *
   * `import`: bodies are not changed, and repeated ids and unknown parents do not throw. Missing ids
   * (`deriveEventId`) and times are derived. HEAD replaces an unknown parent (design D8, D15). Moves of HEAD
   * to unknown events are ignored. Quarantined lines with a readable id are in the tree. Entries with a
   * repeated id are outside the tree. The stored log does not depend on how the facts are divided into
   * appends, and its tree is the tree of `replay`.
   *
   * If `expected` is a number, the first fact has this position in the log (`none`: 0). Facts that are
   * already in the log are then recognized by position. The import can be repeated or resumed: facts that are
   * in the log are not appended again. The import throws `version_conflict` if a stored body differs, or if
   * the log is shorter than `expected`. With `any`, facts are recognized by id.
   */
  readonly mode?: 'live' | 'import'
  /** The writer's lease. The append throws `lease_lost` unless this lease is the conversation's latest. */
  readonly lease?: { readonly owner: string; readonly generation: number }
  /**
   * Writes the caller's rows in the append's transaction, after the new events have positions. Not called
   * without new events. `tx` is the driver's handle: in SQLite the open database (`DatabaseSync`, or another
   * driver's `Database`), in PostgreSQL the client that holds the transaction.
   *
   * If `within` throws, the append fails and changes nothing. The store may call `within` again after a
   * failed commit, so all effects must be in `tx`. `within` must not end the transaction. It must not call
   * the store or the conversation, because both wait until it returns. In SQLite it must be synchronous; the
   * PostgreSQL store awaits it, at most for the store's `timeout`.
   * @throws `invalid_argument` if the store has no database, if the PostgreSQL client cannot hold a
   *   transaction, if `within` returns a promise in SQLite, and if `within` ended the transaction, which may
   *   then be committed.
   * @example
   * const within = (tx: { exec(sql: string): unknown }) => tx.exec("INSERT INTO note (text) VALUES ('Hello')")
   */
  within?(tx: unknown, appended: AppendResult): unknown
}

export interface AppendResult {
  /** The stored event of each fact, in order; if a fact was already in the log, its existing event. */
  readonly events: readonly StoredEvent[]
  readonly version: number
  /** Id of the event that is HEAD; null if HEAD is empty. */
  readonly headId: string | null
}
