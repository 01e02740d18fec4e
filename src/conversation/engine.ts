/// <reference lib="esnext.disposable" preserve="true" />

/** The engine: all live conversations of a process over one store. */

import { monotonicFactory } from 'ulid'
import { hasCode } from '../event/errors.ts'
import { checkOptionNames, invalidArgument } from '../store/kit/query/check-value.ts'
import type { ConversationRecord, NewConversation } from '../store/contract/conversation-record.ts'
import { checkConversationId, formatInstant, microsNow } from '../store/kit/record.ts'
import { initialHeader } from '../state/header.ts'
import type { Store } from '../store/contract/store.ts'
import { Conversation } from './conversation.ts'
import { recordIn } from './replica.ts'
import type { DeletionReport } from './deletion-report.ts'
import {
  applyRetention,
  deleteConversations,
  type DeletionFilter,
  type RetentionOptions,
} from './retention.ts'
import { follow, type Follower, type FollowOptions, type FollowHandler } from './follow/follow.ts'
import { type ConversationRecovery, recoverAll } from './recover.ts'
import { EngineContext } from './engine-context.ts'

/** Options of an engine. */
export interface EngineOptions {
  readonly store: Store
  /** Microseconds since 1970, for event times. Default: the system's clock. */
  readonly clock?: () => bigint
  /** Creates ids of events and conversations. Default: ULIDs, which sort by time. */
  readonly newId?: () => string
  /**
   * Approximate bytes of idle conversations in memory, besides the last used one. 0 keeps none. Default: 256
   * MiB.
   */
  readonly cacheBytes?: number
  /**
   * Whether other processes receive a reply's deltas. While one listens, deltas pass through store items,
   * about four times a second, until the reply is in the log. Default: false: one process, or no partial text
   * in the store.
   */
  readonly shareReplies?: boolean
}

const OPTIONS = {
  store: true,
  clock: true,
  newId: true,
  cacheBytes: true,
  shareReplies: true,
} satisfies Record<keyof EngineOptions, true>

/** Live conversations over one store. */
export interface Engine {
  readonly store: Store
  readonly size: number
  /** Creates a conversation. @throws ColloquyError `conversation_exists`, `invalid_id`, `invalid_argument`. */
  create(options?: Partial<NewConversation>): Promise<Conversation>
  /**
   * Opens a conversation. Passing its record saves the read. @throws ColloquyError `unknown_conversation`.
   */
  open(conversation: string | ConversationRecord): Promise<Conversation>
  /**
   * Opens a conversation, or creates it when it does not exist: for clients that make their own ids.
   * Concurrent callers all get the same conversation.
   * @param options how to create it; ignored when it exists
   * @throws ColloquyError `invalid_id`, `invalid_argument`.
   *
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
   * Deletes all conversations of an owner, with some tags, or without a change since an instant, and the conversations
   * that their calls opened. Each is deleted whole; a call that failed can be repeated and deletes the rest. What stays
   * elsewhere is on the page erasure.md. O(conversations that the filter looks at, and what is deleted).
   * @throws ColloquyError `invalid_argument` for a filter that names nothing, `invalid_query`.
   *
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create({ owner: 'u1' })
   * await conversation.sendMessage('Hello')
   * const { conversations, events } = await engine.deleteConversations({ owner: 'u1' })
   * [conversations, events] // [1, 1]
   * await engine.close()
   */
  deleteConversations(filter: DeletionFilter): Promise<DeletionReport>
  /**
   * Removes the conversations without a change for `olderThan` milliseconds, except the `keepLast` that changed last.
   * A conversation that a subagent's call opened goes with its parent, and one with an active run stays. Any number of
   * processes can call it at any time: one works, and null is returned to the others. When that process dies another
   * continues after `leaseTtl`. Forks are conversations of their own and keep all that they have. Times are those of
   * the engine's clock. O(conversations that the filter looks at, and what is removed).
   * @throws ColloquyError `invalid_argument`.
   *
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * for (const id of ['a', 'b', 'c']) await engine.create({ id })
   * const report = await engine.applyRetention({ keepLast: 2 })
   * report?.conversations // 1
   * await engine.close()
   */
  applyRetention(options: RetentionOptions): Promise<DeletionReport | null>
  /**
   * Recovers every conversation whose lease expired without being released because its process died: see
   * `Conversation.recover`. Returns the outcome of each; a failure does not affect the others. Leases that
   * have not expired yet (`leaseTtl`, 45 s by default) are left for a later call. O(unreleased leases), and
   * the events of the recovered conversations.
   *
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const recoveries = await engine.recoverAll()
   * recoveries.filter(({ outcome }) => outcome === 'recovered').length // 0
   * await engine.close()
   */
  recoverAll(): Promise<readonly ConversationRecovery[]>
  /**
   * Delivers to a handler what happens in all conversations, in every process: each event, and each change
   * and deletion of a conversation, at least once, and in order per conversation. The history of a deleted
   * conversation may be missing, but its deletion is delivered. Each call of the handler gets items of one
   * shard of the conversations. When it resolves, their position is stored and the next items follow. When it
   * throws, the same items are delivered again, with growing delays. Resolves when the start position of the
   * name is stored.
   *
   * Processes with the same `name` divide the 64 shards by leases. A new process gets its share; a dead
   * process's shards go to the others when its leases expire. That process may only be slow, so a handler
   * must tolerate repeated delivery: it can store the ids or positions of events with its own results.
   *
   * A poll without news is one query. Otherwise the cost depends on what happened, not on the number of
   * conversations.
   * @throws ColloquyError `invalid_argument` for invalid options, `closed`, and the store's errors.
   *
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
 * Creates an engine over a store. Conversations are opened on use, kept in memory while the cache allows, and
 * reopened when needed. Any number of engines, in any number of processes, can share a store.
 *
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
  } = options ?? {}
  checkOptionNames(options, OPTIONS)
  if (typeof cacheBytes !== 'number' || Number.isNaN(cacheBytes) || cacheBytes < 0)
    invalidArgument('cacheBytes', 'must be a number of bytes from 0')
  const bytes = Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(cacheBytes)))
  if (typeof store?.append !== 'function') invalidArgument('store', 'must be a store, such as memoryStore()')
  const context = new EngineContext(store, { newId, now: () => formatInstant(clock()) }, bytes, shareReplies)
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
    get size() {
      return context.size
    },
    create,
    open,
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
    deleteConversations: (filter) => deleteConversations(context, filter),
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

/** ULIDs by the engine's clock, each greater than the previous one. */
function ulids(clock: () => bigint): () => string {
  const next = monotonicFactory()
  return () => next(Number(clock() / 1000n))
}
