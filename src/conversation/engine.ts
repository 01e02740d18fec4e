/// <reference lib="esnext.disposable" preserve="true" />

/** The engine: all live conversations of a process over one store. */

import { hasCode } from '../event/errors.ts'
import type { BlobMode } from '../store/contract/blobs.ts'
import { checkBlobs } from '../store/kit/blobs.ts'
import { checkOptionNames, invalidArgument } from '../store/kit/query/check-value.ts'
import type { ConversationRecord, NewConversation } from '../store/contract/conversation-record.ts'
import { checkConversationId, formatInstant, microsNow } from '../store/kit/record.ts'
import { initialHeader } from '../state/header.ts'
import type { Status } from '../state/status.ts'
import type { Store } from '../store/contract/store.ts'
import { Conversation } from './conversation.ts'
import { recordIn } from './replica.ts'
import {
  applyRetention,
  deleteConversations,
  type DeletionFilter,
  type RetentionOptions,
} from './retention.ts'
import { follow, type Follower, type FollowOptions, type FollowHandler } from './follow/follow.ts'
import { type ConversationRecovery, recoverAll } from './recover.ts'
import { type DeletionOptions, type DeletionReport, EngineContext } from './engine-context.ts'
import { checkLeaseTtl } from './run/options.ts'
import { monotonicUlids } from './stamp.ts'

/** Options of an engine. */
export interface EngineOptions {
  readonly store: Store
  /** Microseconds since 1970, for event times. Default: the system's clock. */
  readonly clock?: () => bigint
  /** Creates ids of events and conversations. Default: ULIDs, which sort by time. */
  readonly newId?: () => string
  /** Approximate bytes of idle conversations in memory, besides the last used. 0: none. Default: 256 MiB. */
  readonly cacheBytes?: number
  /**
   * Whether other processes receive a reply's deltas, through store items about four times a second, while
   * one listens and until the reply is in the log. Default: false: one process, or no partial text in the
   * store.
   */
  readonly shareReplies?: boolean
  /**
   * Milliseconds after which the run of a dead process may be recovered. Must exceed the longest suspension
   * of a process or database. An option of each run, too. Default: 45,000.
   */
  readonly leaseTtl?: number
  /**
   * `refs` keeps the long strings of users' files and of tool results out of memory. `state()` has references
   * for them; each request, hook and condenser gets the strings, which are read again. Default: `whole`.
   */
  readonly blobs?: BlobMode
}

const OPTIONS = {
  store: true,
  clock: true,
  newId: true,
  cacheBytes: true,
  shareReplies: true,
  leaseTtl: true,
  blobs: true,
} satisfies Record<keyof EngineOptions, true>

/** Live conversations over one store. */
export interface Engine {
  readonly store: Store
  readonly size: number
  readonly leaseTtl: number
  /** Creates a conversation. @throws ColloquyError `conversation_exists`, `invalid_id`, `invalid_argument`. */
  create(options?: Partial<NewConversation>): Promise<Conversation>
  /** Opens a conversation. Passing its record saves a read. @throws ColloquyError `unknown_conversation`. */
  open(conversation: string | ConversationRecord): Promise<Conversation>
  /**
   * A conversation in memory, and its status there: other processes' latest events may be missing. Null if it
   * is not in memory. Does not read the store.
   */
  opened(id: string): { readonly conversation: Conversation; readonly status: Status } | null
  /**
   * Opens or creates a conversation, for client-made ids. Concurrent callers get the same conversation.
   * @param options how to create it; ignored when it exists
   * @throws ColloquyError `invalid_id`, `invalid_argument`.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.openOrCreate('chat-1', { title: 'Trees' })
   * const again = await engine.openOrCreate('chat-1')
   * conversation.id === again.id // true
   * await engine.close()
   */
  openOrCreate(id: string, options?: Omit<Partial<NewConversation>, 'id'>): Promise<Conversation>
  delete(id: string): Promise<boolean>
  /**
   * Deletes conversations of an owner, with some tags, or unchanged since an instant, and those that their
   * calls opened. Each is deleted whole; repeat a failed call for the rest. O(conversations that the filter
   * scans, and what is deleted).
   * @throws ColloquyError `invalid_argument` for a filter that names nothing, `invalid_query`.
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
   * Removes conversations unchanged for `olderThan` milliseconds, except the `keepLast` that changed last. A
   * subagent's conversation is removed with its parent; one with an active run stays. One process works, the
   * others return null; if it dies another continues after `leaseTtl`. Forks are independent. Uses the
   * engine's clock. O(conversations that the filter scans, and what is removed).
   * @throws ColloquyError `invalid_argument`.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * for (const id of ['a', 'b', 'c']) await engine.create({ id })
   * const report = await engine.applyRetention({ keepLast: 2 })
   * report?.conversations // 1
   * await engine.close()
   */
  applyRetention(options: RetentionOptions): Promise<DeletionReport | null>
  /**
   * Recovers the conversations of dead processes, whose leases have expired, and conversations with status
   * `running` but no lease, such as imported logs; see `Conversation.recover`. A failure does not affect the
   * others. Unexpired leases are left for a later call. O(unreleased leases, running or never opened
   * conversations, events of the recovered ones).
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const recoveries = await engine.recoverAll()
   * recoveries.filter(({ outcome }) => outcome === 'recovered').length // 0
   * await engine.close()
   */
  recoverAll(): Promise<readonly ConversationRecovery[]>
  /**
   * Delivers every event, change and deletion of all conversations to a handler, at least once, and in order
   * per conversation. A deleted conversation's history may be missing, but not its deletion. Each handler
   * call gets items of one shard. When it resolves, their position is stored; when it throws, they are
   * delivered again, with growing delays. Resolves when the start position of the name is stored.
   *
   * Processes with the same `name` divide the 64 shards by leases. A dead process's shards are reassigned
   * when its leases expire. It may only be slow, so a handler must tolerate repeated delivery, for example by
   * storing event ids or positions with its results.
   *
   * A poll without news is one query. Otherwise the cost depends on what happened, not on the number of
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
  /** Interrupts runs, ends subscriptions and followers, and waits for pending work. The store stays open. */
  close(): Promise<void>
  /** Closes the engine, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Creates an engine over a store. Conversations are opened on use and cached. Any number of engines and
 * processes can share a store.
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
    leaseTtl = 45_000,
    blobs,
  } = options ?? {}
  checkOptionNames(options, OPTIONS)
  checkLeaseTtl(leaseTtl)
  if (typeof cacheBytes !== 'number' || Number.isNaN(cacheBytes) || cacheBytes < 0)
    invalidArgument('cacheBytes', 'must be a number of bytes from 0')
  const bytes = Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(cacheBytes)))
  if (typeof store?.append !== 'function') invalidArgument('store', 'must be a store, such as memoryStore()')
  const stamp = { newId, now: () => formatInstant(clock()) }
  const mode = checkBlobs(blobs, invalidArgument) ? 'refs' : 'whole'
  const context = new EngineContext(store, stamp, bytes, shareReplies, leaseTtl, mode)
  const create: Engine['create'] = async (record = {}) => {
    context.check()
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
      try {
        // Untyped input may contain a record, which `open` would accept without reading the store.
        checkConversationId('id', id)
        return await open(id)
      } catch (error) {
        if (!hasCode(error, 'unknown_conversation')) throw error
      }
      try {
        return await create({ ...record, id })
      } catch (error) {
        // Another caller was faster.
        if (hasCode(error, 'conversation_exists')) return open(id)
        throw error
      }
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
