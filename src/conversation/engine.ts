/// <reference lib="esnext.disposable" preserve="true" />

import { nullOn } from '../event/errors.ts'
import type { BlobMode } from '../store/contract/blobs.ts'
import { BLOB_MODES } from '../store/kit/blobs.ts'
import { checkBoolean, checkOneOf, checkOptionNames, invalidArgument } from '../event/check-value.ts'
import type { ConversationRecord, NewConversation } from '../store/contract/conversation-record.ts'
import { checkConversationId, microsNow } from '../store/kit/record.ts'
import { initialHeader } from '../state/header.ts'
import type { Status } from '../state/status.ts'
import type { Store } from '../store/contract/store.ts'
import { Conversation } from './conversation.ts'
import { recordIn } from './replica.ts'
import type { DeletionFilter, RetentionOptions } from './retention.ts'
import { applyRetention, deleteConversations } from './retention.ts'
import { follow, type Follower, type FollowOptions, type FollowHandler } from './follow/follow.ts'
import { type ConversationRecovery, recoverAll } from './recover.ts'
import { type DeletionOptions, type DeletionReport, EngineContext } from './engine-context.ts'
import { checkLeaseTtl, DEFAULT_LEASE_TTL } from './run/lease.ts'
import { monotonicUlids } from './stamp.ts'

/** Options of an engine. */
export interface EngineOptions {
  readonly store: Store
  /** Returns microseconds since 1970, for event times, default ids and retention. Default: system clock. */
  readonly clock?: () => bigint
  /** Returns a new id for an event or conversation. Default: ULIDs, which sort by time. */
  readonly newId?: () => string
  /**
   * Approximate maximum bytes of idle conversations in memory. Of the conversations that are larger than
   * this, only the most recently used is kept; 0 keeps none. Default: 256 MiB.
   */
  readonly cacheBytes?: number
  /**
   * Whether other processes receive the deltas of a reply. While another process listens, the deltas are
   * written to store items about four times a second, and deleted about ten seconds after the reply is in the
   * log. Has no effect with a redacting store. Default: false.
   */
  readonly shareReplies?: boolean
  /**
   * Milliseconds after which the run of a dead process can be recovered. Must exceed the longest time for which
   * a process or the database may be suspended. A run can override it. Default: 45,000.
   */
  readonly leaseTtl?: number
  /**
   * `refs` keeps long strings of users' files and of tool results out of memory: `state()` has references
   * instead, and the strings are read for each request, hook and condenser. Default: `whole`.
   */
  readonly blobs?: BlobMode
}

/** Live conversations over one store. See `createEngine`. */
export interface Engine {
  readonly store: Store
  /** Number of conversations in memory. */
  readonly size: number
  /** Milliseconds; see `EngineOptions.leaseTtl`. */
  readonly leaseTtl: number
  /**
   * Creates a conversation. @throws ColloquyError `conversation_exists`, `invalid_id`, `invalid_argument`.
   */
  create(options?: Partial<NewConversation>): Promise<Conversation>
  /** Opens a conversation. Passing its record saves a read. @throws ColloquyError `unknown_conversation`. */
  open(conversation: string | ConversationRecord): Promise<Conversation>
  /**
   * Returns a conversation and its status if the conversation is in memory, else null. Does not read the store,
   * so the latest events of other processes may be missing. O(1).
   */
  opened(id: string): { readonly conversation: Conversation; readonly status: Status } | null
  /**
   * Opens a conversation, or creates it. Use it for ids that clients choose. Concurrent callers get the same
   * conversation.
   * @param options how to create it; ignored when it exists
   * @throws ColloquyError `invalid_id`, `invalid_argument`.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * await engine.openOrCreate('chat-1', { title: 'Trees' })
   * const again = await engine.openOrCreate('chat-1')
   * const { title } = await again.record()
   * title // 'Trees'
   * await engine.delete('chat-1') // true
   * await engine.close()
   */
  openOrCreate(id: string, options?: Omit<Partial<NewConversation>, 'id'>): Promise<Conversation>
  /** Deletes a conversation, its log and its subagents; ends their runs. Returns false if it does not exist. */
  delete(id: string): Promise<boolean>
  /**
   * Deletes the conversations that match a filter (ids, owner, tags or last change), with their subagents'
   * conversations. If the deletion fails, repeat it to delete the rest. O(conversations that the filter scans,
   * and what is deleted).
   * @throws ColloquyError `invalid_argument` for an empty filter or invalid options, `invalid_query`,
   *   `invalid_id`; the errors of `onDelete`.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create({ owner: 'u1' })
   * await conversation.sendMessage('Hello')
   * const { conversations, events } = await engine.deleteConversations({ owner: 'u1' })
   * [conversations, events] // [1, 1]
   * await engine.close()
   */
  deleteConversations(filter: DeletionFilter, options?: DeletionOptions): Promise<DeletionReport>
  /**
   * Removes conversations that have not changed for `olderThan` milliseconds of the engine's clock. Keeps the
   * `keepLast` most recently changed conversations, and conversations with an active run. Subagents'
   * conversations are removed with their parent, but forks are not. Only one process at a time removes
   * conversations; other callers get null. After a crash, another process can continue once `options.leaseTtl`
   * has passed. O(conversations that the filter scans, and what is removed).
   * @throws ColloquyError `invalid_argument`, `invalid_query`; the reason of `options.signal` if it is
   *   aborted; the errors of `onDelete`.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * for (const id of ['a', 'b', 'c']) await engine.create({ id })
   * const report = await engine.applyRetention({ keepLast: 2 })
   * report?.conversations // 1
   * await engine.close()
   */
  applyRetention(options: RetentionOptions): Promise<DeletionReport | null>
  /**
   * Recovers every conversation whose run died: the lease has expired, or the status is `running` without a
   * lease, as after an import. Unexpired leases are left for a later call, and a failure does not stop the
   * other recoveries. See `Conversation.recover`. O(expired leases, conversations that are running or have no
   * recorded status, and events of the recovered ones).
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const recoveries = await engine.recoverAll()
   * recoveries.filter(({ outcome }) => outcome === 'recovered').length // 0
   * await engine.close()
   */
  recoverAll(): Promise<readonly ConversationRecovery[]>
  /**
   * Delivers the events, changes and deletions of all conversations to a handler: at least once, and in order
   * per conversation. Resolves when the follower's start position is stored. When a conversation is deleted,
   * the handler may miss the conversation's last events, but always gets the deletion.
   *
   * Conversations are divided into 64 shards, and each call of the handler gets items of one shard. When the
   * handler resolves, the position after the items is stored. When the handler throws, the items are
   * delivered again, with growing delays. Processes with the same `name` divide the shards by leases. A slow
   * process can lose its leases, so a handler must tolerate repeated items. For example, it can store the
   * position of each item together with the handler's results.
   *
   * A poll without news is one query; otherwise the cost depends on what happened, not on the number of
   * conversations.
   * @throws ColloquyError `invalid_argument` for invalid options, `closed`, and the store's errors.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const { promise, resolve } = Promise.withResolvers()
   * const follower = await engine.follow({ name: 'mail' }, (items) => {
   *   for (const item of items) if (item.type === 'event') resolve(`${item.conversationId} ${item.seq}`)
   * })
   * const conversation = await engine.create({ id: 'c' })
   * await conversation.sendMessage('Hello')
   * await promise // 'c 0'
   * await follower.close()
   * await engine.close()
   */
  follow(options: FollowOptions, handler: FollowHandler): Promise<Follower>
  /** Interrupts runs, ends subscriptions and followers, and waits for their writes. The store stays open. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Creates an engine over a store. Conversations are opened on use and cached. Any number of engines and
 * processes can share a store. @throws ColloquyError `invalid_argument` for invalid options.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create({ title: 'First' })
 * await conversation.sendMessage('What is 2 + 2?')
 * await conversation.run(async function* () {
 *   yield { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content: [{ text: '4' }] } }
 * })
 * const { header } = await conversation.state()
 * header.status // 'finished'
 * await engine.close()
 */
export function createEngine(options: EngineOptions): Engine {
  const {
    store,
    clock = microsNow,
    newId = ulids(clock),
    cacheBytes = 256 * 2 ** 20,
    shareReplies = false,
    leaseTtl = DEFAULT_LEASE_TTL,
    blobs,
  } = options ?? {}
  // Checked first: the error of createEngine(store) must be about the store, not about unknown options.
  if (typeof store?.append !== 'function')
    invalidArgument('store', 'must be a store, such as `memoryStore()`')
  checkOptionNames(options, 'store clock newId cacheBytes shareReplies leaseTtl blobs')
  checkLeaseTtl(leaseTtl)
  checkBoolean('shareReplies', shareReplies, invalidArgument)
  if (typeof cacheBytes !== 'number' || Number.isNaN(cacheBytes) || cacheBytes < 0)
    invalidArgument('cacheBytes', 'must be 0 or more bytes')
  const bytes = Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(cacheBytes)))
  const mode = checkOneOf('blobs', blobs, BLOB_MODES, invalidArgument) ?? 'whole'
  const context = new EngineContext(store, { newId, clock }, bytes, shareReplies, leaseTtl, mode)
  const create: Engine['create'] = async (record = {}) => {
    context.check()
    if (typeof record !== 'object' || record === null)
      invalidArgument('record', 'must be an object, such as `{ id }`')
    const { id } = await store.createConversation({
      status: initialHeader().status,
      ...record,
      id: record.id ?? newId(),
    })
    return new Conversation(context, id)
  }
  const open: Engine['open'] = async (target) => {
    context.check()
    const { id } = typeof target === 'string' ? await recordIn(store, target) : { ...target }
    checkConversationId('id', id)
    return new Conversation(context, id)
  }
  return {
    store,
    leaseTtl,
    get size() {
      return context.size
    },
    create,
    open,
    opened(id) {
      const state = context.cachedState(id)
      return state && { conversation: new Conversation(context, id), status: state.header.status }
    },
    async openOrCreate(id, record = {}) {
      // Untyped input may contain a record, which `open` would accept without reading the store.
      checkConversationId('id', id)
      const known = await open(id).catch(nullOn('unknown_conversation'))
      const created = known ?? (await create({ ...record, id }).catch(nullOn('conversation_exists')))
      // Another caller has created it first.
      return created ?? open(id)
    },
    async delete(id) {
      checkConversationId('id', id)
      return context.delete(id)
    },
    deleteConversations: (filter, how) => deleteConversations(context, filter, how),
    applyRetention: (input) => applyRetention(context, input, clock()),
    async recoverAll() {
      context.check()
      return recoverAll(context)
    },
    follow: (query, handler) => follow(context, query, handler),
    close: () => context.close(),
    [Symbol.asyncDispose]: () => context.close(),
  }
}

function ulids(clock: () => bigint): () => string {
  const next = monotonicUlids()
  return () => next(Number(clock() / 1000n))
}
