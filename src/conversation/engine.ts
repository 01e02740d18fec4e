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
import { follow, type Follower, type FollowOptions, type FollowHandler } from './follow/follow.ts'
import { type ConversationRecovery, recoverAll } from './recover.ts'
import { EngineContext } from './engine-context.ts'

/** How an engine is made. */
export interface EngineOptions {
  readonly store: Store
  /** Microseconds since 1970, for the times of events. Default: the system's clock. */
  readonly clock?: () => bigint
  /** Makes ids for events and conversations. Default: ULIDs, which sort by time. */
  readonly newId?: () => string
  /**
   * Bytes that idle conversations may take in memory, roughly; the last used of those that alone take more stays
   * besides. 0: none stays. Default: 256 MiB.
   */
  readonly cacheBytes?: number
  /**
   * Whether subscribers of other processes get a reply word by word too: while one of them listens, what is said goes
   * through items of the store, some four times a second, and is taken out when the reply stands in the log. Default:
   * false, for a program that is the only one, or that keeps words from its store.
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
  /** How many conversations are in memory. */
  readonly size: number
  /** Creates a conversation. @throws ColloquyError `conversation_exists`, `invalid_id`, `invalid_argument`. */
  create(options?: Partial<NewConversation>): Promise<Conversation>
  /**
   * Opens a conversation; one whose record is given is not looked for. @throws ColloquyError `unknown_conversation`.
   */
  open(conversation: string | ConversationRecord): Promise<Conversation>
  /**
   * Opens a conversation, or creates it where there is none: for clients that make their ids themselves. Of several
   * that ask at the same time, all get the one that the first has created.
   * @param given what it is created with beside its id; one that is there stays as it is
   * @throws ColloquyError `invalid_id`, `invalid_argument`.
   *
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.openOrCreate('chat-1', { title: 'Trees' })
   * const again = await engine.openOrCreate('chat-1')
   * conversation.id === again.id // true
   * await engine.close()
   */
  openOrCreate(id: string, given?: Omit<Partial<NewConversation>, 'id'>): Promise<Conversation>
  /** Deletes a conversation with its log; false when there was none. */
  delete(id: string): Promise<boolean>
  /**
   * Recovers every conversation whose lease has expired without being given back, since its process died: see
   * `Conversation.recover`. Says of each what that came to; a failure costs the others nothing. Leases that a process
   * which died holds still (`leaseTtl`, 45 s by default) are left for a later call. O(leases that were not given back),
   * and the events of what is recovered.
   *
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const recoveries = await engine.recoverAll()
   * recoveries.filter(({ outcome }) => outcome === 'recovered').length // 0
   * await engine.close()
   */
  recoverAll(): Promise<readonly ConversationRecovery[]>
  /**
   * Gives a handler what happens in all conversations, by whatever process: each event, and each change and deletion of
   * a conversation, at least once, and in order for each conversation. Of what has become of a deleted conversation
   * before, it may be given the deletion only. The handler is called with items of one shard of the conversations; when
   * it ends well, the next ones are its place; when it throws, it is called with them again, later and later. Resolves
   * when it is written down where the name begins.
   *
   * Processes that follow by one name divide the 64 shards, by leases: one more gets its part, and what one held that
   * died the others are given once its lease has run out. Who was at work then may be at it still, so that a handler
   * must bear to be called twice: it may keep the ids of events, or their positions, with what it makes of them.
   *
   * A look where nothing happened is one query; else it costs what happened, whatever the number of conversations.
   * @throws ColloquyError `invalid_argument` for options that are none, `closed`, and what the store throws.
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
  /** Interrupts runs, ends subscriptions and followers, and waits for what is under way; the store stays open. */
  close(): Promise<void>
}

/**
 * An engine over a store. Conversations are opened when they are used, kept in memory for as long as it allows, and
 * opened again when they are asked for. Any number of engines, in any number of processes, may share a store.
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
  const create: Engine['create'] = async (given = {}) => {
    context.check()
    const { id } = await store.createConversation({
      status: initialHeader().status,
      ...given,
      id: given.id ?? newId(),
    })
    return new Conversation(context, id)
  }
  const open: Engine['open'] = async (given) => {
    context.check()
    const { id } = typeof given === 'string' ? await recordIn(store, given) : { ...given }
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
    async openOrCreate(id, given = {}) {
      try {
        // What came as JSON may be anything: a record would be opened without being looked for.
        checkConversationId('id', id)
        return await open(id)
      } catch (error) {
        if (!hasCode(error, 'unknown_conversation')) throw error
      }
      try {
        return await create({ ...given, id })
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
    async recoverAll() {
      context.check()
      return recoverAll(context)
    },
    follow: (given, handler) => follow(context, given, handler),
    close: () => context.close(),
  }
}

/** ULIDs by the engine's clock, each above the one before. */
function ulids(clock: () => bigint): () => string {
  const next = monotonicFactory()
  return () => next(Number(clock() / 1000n))
}
