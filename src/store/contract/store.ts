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
 * Where facts are kept.
 *
 * **A conversation** is a record and a log. The log's facts stand at positions `seq`, dense from 0; its version is
 * their number. The record holds HEAD, and both change in one transaction: a reader sees all of an append or nothing.
 *
 * **Acknowledged is durable.** When a call resolves, what it changed survives a kill of the process, and with the
 * adapter's durable setting (the default) a loss of power. The memory store forgets with its process.
 *
 * **Order.** Within a conversation there is one order of facts, `seq`. Time order is (instant in microseconds, seq); an
 * event without a timestamp that can be read has the instant of the event before it (design D10, D15).
 *
 * **Items** ({@link Items}) stand beside conversations: what a program keeps of its own, as rows that several processes
 * change, list and claim.
 *
 * **Processes.** Several stores may hold the same data at once, in one process or in many, unless the adapter says
 * otherwise. What one of them has acknowledged, each of them reads from then on, and goes on from: there is one log,
 * one lease and one version of an item.
 *
 * **Many calls at once** are each carried out or refused by itself, and each sees all of another one or nothing of it.
 * None waits for ever for another.
 *
 * **Ids** are compared character by character, as they are: letter case, spaces and forms of Unicode make another id.
 * Where one that nothing can have is asked for, as an empty one or what is no text, there is nothing; where it would be
 * kept, it is `invalid_id`. Their order, as of all texts, is that of their code points.
 *
 * **Values** that come out are frozen or fresh: the store cannot be changed through them, nor through what it was
 * given, once the call has resolved. They are JSON, but for the bytes of snapshots. Bodies, metadata and items come
 * back as they were given, to the order of their fields, with whatever Unicode JSON can say (NUL and lone surrogates
 * too), and as large and as deep as an event may be.
 *
 * **Times** of events count to the microsecond, from the year 0 to 9999. Those of records, leases and items are of one
 * clock, the store's.
 *
 * **Long strings** of bodies, of more than 65,536 characters, are kept once for all conversations, by their content, in
 * the transaction of the append, and are gone with the last event that has them. Bodies are read whole, or with
 * `blobs: 'refs'` with references in their place ({@link Blobs}).
 *
 * **Errors** are `ColloquyError`s, told apart by code: `invalid_argument`, `invalid_query`, `invalid_cursor`,
 * `invalid_id`, `unknown_conversation`, `conversation_exists`, `version_conflict`, `id_conflict`, `unknown_parent`,
 * `invalid_event`, `transient_event`, `lease_lost`, and from the database below `store_busy`, `store_full`,
 * `store_read_only`, `store_unavailable`, `store_newer`, `store_closed`. After `store_busy` and `store_unavailable` the
 * same call may be made again: an append that was carried out is known by its ids. `invalid_argument` and
 * `invalid_query` name the field in `data.field`, as `limit` or `tags.a`. A call that fails has changed nothing. The
 * parts of `colloquy/store-kit` throw all of these but those of the database.
 */
export interface Store extends Items, Feed, Blobs, TextSearch {
  /** What kind of store it is, for messages. */
  readonly name: string

  /**
   * Appends facts to the end of a log, all or none, in one round trip.
   *
   * First the ids (law S): an event whose id is in the log already, or earlier in the batch, with an equal body is not
   * appended again and comes back as it is stored. Fields that the caller left out, the record of a reply and the order
   * of fields are not compared, and defaults count as given. Another body under that id is `id_conflict` with it in
   * `data.id`. Then, and only when something is left to append, the expected version: `version_conflict` with the real
   * one in `data.version`. Then the lease, which may have expired, as long as no other was taken. Nothing to append is
   * no change: neither the record nor the feed shows it.
   *
   * Then each fact finds its parent, inside the transaction (design D8): one that it names must stand in the log or
   * earlier in the batch, else `unknown_parent` with it in `data.parentId`; `__root__` is none, and where it names none
   * it is HEAD, and the stored body of a live append carries it (`__root__` for the empty HEAD of a log that is not
   * empty). A fact becomes HEAD unless it is a ConversationStateUpdateEvent; one with the key `leaf_event_id` moves
   * HEAD to the event that it names, from a state update up to the first that is none, or off the tree for null (design
   * D7), and a live one to where nothing stands is `unknown_event`. A StreamingDeltaEvent is refused with
   * `transient_event`, also by an import: it is to be published, not stored.
   *
   * `decideAppend` of the store kit is all of this: an adapter shows it what it reads of the log, and writes what it
   * says, in one transaction. O(log n) for each fact. @throws `unknown_conversation`, also for no facts at all;
   * `version_conflict`, `id_conflict`, `unknown_parent`, `unknown_event`, `lease_lost`; `invalid_event` for what is
   * none; `transient_event`; `invalid_id`, also for a live event without an id; `invalid_argument` for options.
   */
  append(conversationId: string, facts: readonly Fact[], options?: AppendOptions): Promise<AppendResult>

  /**
   * The facts from a position on, in order, at most `limit` (default 1,000): forward from `from` (default 0), or
   * backward from `from` (default the last, which is also meant by one behind it). O(result).
   * @throws `unknown_conversation`; `invalid_argument` for a position, a limit or a direction that is none.
   */
  read(conversationId: string, options?: ReadOptions): Promise<StoredEvent[]>

  /** The event of the tree with this id, or null, also for an unknown conversation. O(log n). */
  get(conversationId: string, id: string, options?: GetOptions): Promise<StoredEvent | null>

  /**
   * The events with these ids, in the order asked and as often as asked, null for each that is missing. Tens of
   * thousands may be asked for at once. O(ids).
   */
  getMany(
    conversationId: string,
    ids: readonly string[],
    options?: GetOptions,
  ): Promise<(StoredEvent | null)[]>

  /**
   * One page of the events that a filter lets through. Keyset paging: a page costs O(limit) at any depth, with two
   * exceptions: a filter by text, and a path by time in a log whose timestamps go back, which may read each event.
   * Appending while paging repeats and skips nothing that was there (laws C). A page of an unknown
   * conversation is empty.
   *
   * A cursor is good for its query, in whatever words and with whatever limit, as long as the conversation is there, in
   * every process; it fits into a URL: letters, digits, `-` and `_`, at most 500 of them for a search. That of a list
   * bears the texts that it is in order by, so it grows with them: to some thousands where they are long, or foreign.
   * @throws `invalid_query` for a limit outside 1..`MAX_PAGE_SIZE`, an unknown kind, source or order, a time that
   * cannot be read, an id that nothing can have; `invalid_cursor` for a cursor that is not one, that was changed or
   * cut, or that was made for another query, order or list, with `foreign` in `data.reason`.
   */
  search(query: EventQuery): Promise<EventPage>

  /** How many events a filter lets through. O(log n + matches). @throws `invalid_query`. */
  count(filter: EventFilter): Promise<number>

  /**
   * Creates a conversation with an empty log. @throws `conversation_exists`; `invalid_id`, also for that of a parent;
   * `invalid_argument` for any other field that is not as {@link ConversationRecord} says.
   */
  createConversation(conversation: NewConversation): Promise<ConversationRecord>

  /** The record of a conversation, or null. O(1). */
  getConversation(id: string): Promise<ConversationRecord | null>

  /**
   * One page of conversations. Creating others while paging repeats and skips none that was there. Cursors are as those
   * of a search.
   *
   * By creation, with no filter, with times of creation, and with any one of `public: true`, `parentConversationId`,
   * `sandboxId`, `owner`, `status` and a tag, and by change, with no filter and with times of change, a page holds `limit` where
   * there are as many, and costs O(limit + log n). Whatever else is asked for is compared one by one, with
   * {@link MOST_LOOKED_AT} conversations at most: then a page may have fewer, or none, and `next_page_id` says where to
   * go on. @throws `invalid_query`, `invalid_cursor`.
   */
  listConversations(query?: ConversationQuery): Promise<Page<ConversationRecord>>

  /**
   * How many conversations a filter lets through, of those that a list would look at, {@link MOST_COUNTED} at most
   * unless the count is to be exact. O(those). @throws `invalid_query`.
   */
  countConversations(filter?: ConversationFilter, options?: CountOptions): Promise<Count>

  /**
   * Says by which status a conversation is listed, if its log still has so many events; false otherwise, and nothing is
   * changed. It is no change of the conversation: `updatedAt` stays as it is, and no feed tells it. O(log n).
   * @throws `invalid_argument`.
   */
  setStatus(conversationId: string, status: string, version: number): Promise<boolean>

  /**
   * Changes what a patch names, nothing else, and `updatedAt`: tags and metadata are put in the place of those that
   * were there. The feed tells of it, also of a patch that names nothing.
   *
   * Who makes new metadata of what was there says what that was: of several who do at once, in whatever process, each
   * is refused that has not read what the one before it made, reads again, and loses nothing. Appends do not count.
   * @throws `unknown_conversation`; `version_conflict` where other metadata is there than was expected;
   * `invalid_argument` as {@link createConversation}.
   */
  updateConversation(
    id: string,
    patch: ConversationPatch,
    options?: UpdateOptions,
  ): Promise<ConversationRecord>

  /**
   * Deletes a conversation with its log, lease and snapshot; false when there was none. Its id is free from then on,
   * and what is made anew under it has nothing of the old: no call that was made for the one reaches the other half
   * way.
   */
  deleteConversation(id: string): Promise<boolean>

  /**
   * Takes or renews the run lease of a conversation for `ttl` milliseconds on the store's clock: null while another
   * owner holds a live one. A renewal (the same owner, while its lease is live) keeps the generation, anything else
   * raises it, also after the lease was given back. @throws `unknown_conversation`, `invalid_id` for the owner,
   * `invalid_argument` for the ttl.
   */
  acquireLease(conversationId: string, owner: string, ttl: number): Promise<Lease | null>

  /** Gives a lease back, after which there is none; false when it is not, or no longer, the latest. */
  releaseLease(lease: Lease): Promise<boolean>

  /** The latest lease of a conversation, expired or not; null where there is none, or it was given back. */
  getLease(conversationId: string): Promise<Lease | null>

  /**
   * A page of the leases that were taken and not given back, in the order of their conversations' ids (Unicode code
   * points). One that has expired belonged to a process that died, or that could not reach the store for as long; the
   * owner that takes it may recover its conversation. A page that is shorter than `limit` is the last. O(leases that
   * were not given back), whatever the number of conversations.
   * @throws `invalid_argument` for a limit outside 1..`MAX_PAGE_SIZE`, and for an `after` that nothing can have as its
   * id.
   */
  listLeases(query?: LeaseQuery): Promise<Lease[]>

  /**
   * Writes parts of the conversation's snapshot beside those that are there, all or none, in one round trip: a part
   * whose number is there is replaced, and with `complete` the parts that are not named are removed. Saves made at once
   * come one after the other: of two complete snapshots one is there at any time, never parts of both.
   *
   * A snapshot is disposable: losing it costs time, not data. The store does not read the bytes, and does not know
   * which log they belong to: the caller that loads them sees to it that they fit. Saving is no append: the record
   * stays as it is, and no watch is woken. The bytes must stay as they are until the call resolves.
   *
   * O(bytes). @throws `unknown_conversation`, also for no parts; `invalid_argument` for a part number that is none
   * (0 to 2³¹ - 1) or is named twice, for bytes that are none, and for a part of more
   * than 128 MiB.
   */
  saveSnapshot(
    conversationId: string,
    parts: readonly SnapshotPart[],
    options?: SaveSnapshotOptions,
  ): Promise<void>

  /**
   * All parts of the snapshot, in the order of their numbers, as they were at one time, in one round trip; empty when
   * there is none, also for an unknown conversation. The bytes are each a plain `Uint8Array` over memory of its own.
   * O(bytes).
   */
  loadSnapshot(conversationId: string): Promise<SnapshotPart[]>

  /** Removes the snapshot, all parts of it; false when there was none. */
  deleteSnapshot(conversationId: string): Promise<boolean>

  /**
   * Calls `wake` after appends to a conversation, or to any (null), and after it was deleted, by whatever process, some
   * time after that is durable, when a read shows it; several may give one call, and a call may come without an append.
   * It is a hint to read again, nothing else: who watches all conversations looks at the feed now and then besides. The
   * conversation need not be there yet. Returns what ends it: after that it is not called. What `wake` throws fails no
   * append.
   * @throws `store_closed`.
   */
  watch(conversationId: string | null, wake: Wake): Unwatch

  /**
   * Ends the store's own work and connections; every later call is `store_closed`, but for another close, which does
   * nothing. Calls that were made before are carried out first.
   */
  close(): Promise<void>
}

/** From where to read, and which way. */
export interface ReadOptions {
  /** A position, from 0. It may be behind the last. */
  readonly from?: number
  /** Default: forward. */
  readonly direction?: 'forward' | 'backward'
  /** From 1 on, as many as there may be. Default: 1,000. */
  readonly limit?: number
  /** Default: `whole`. */
  readonly blobs?: BlobMode
}

/** Is given the conversation that has news, where the store knows which one it is. */
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

/** Which leases to list: of all that were not given back, those in the order of their conversations' ids. */
export interface LeaseQuery {
  /** Whether only those that have expired, by the store's clock. Default: false. */
  readonly expired?: boolean
  /** The conversation that the page before ended with; this one begins behind it. */
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

/** How facts are appended. */
export interface AppendOptions {
  /** Default: `any`. @throws `invalid_argument` for what is no such version. */
  readonly expected?: ExpectedVersion
  /**
   * The `createdAt` of the record that the writer decided on. `version_conflict` when the conversation was deleted and
   * created again since. Default: not checked.
   */
  readonly createdAt?: string
  /**
   * `live` (default): events have an id and a timestamp, and get the parent they are found; an unknown parent is an
   * error. `import`: bodies stay as given, ids (`deriveEventId`) and times are derived where they are missing, an
   * unknown parent becomes HEAD (design D8, D15), a move of HEAD to where nothing stands is ignored, a quarantined line
   * stands in the tree where its id can be read, and a fact whose id is taken goes beside the tree instead of being
   * refused: the log is what a replay of the same facts gives, in whatever batches they come. An import that names its
   * version (`none` or a number) copies a log from that position on: its facts are known by position, so that
   * repeating it, or going on where it broke off, changes nothing; `version_conflict` when another body stands at one
   * of them, or the log does not reach so far. With `any`, facts are known by id.
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
  /** One for each fact given, in order: as stored now, or as stored before for an event that was there already. */
  readonly events: readonly StoredEvent[]
  /** Number of events in the log. */
  readonly version: number
  /** Id of the entry that HEAD means; null for the empty HEAD. */
  readonly headId: string | null
}
