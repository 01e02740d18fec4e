/** The engine: a store goes in, live conversations come out. */

import { monotonicFactory } from 'ulid'
import { refuse } from '../store/check.ts'
import type { NewConversation } from '../store/conversation-record.ts'
import { formatInstant, microsNow } from '../store/record.ts'
import type { Store } from '../store/store.ts'
import { Conversation } from './conversation.ts'
import { unknownConversation } from './open-state.ts'
import { Shared } from './shared.ts'

/** How an engine is made. */
export interface EngineOptions {
  readonly store: Store
  /** Microseconds since 1970, for the times of events. Default: the system's clock. */
  readonly clock?: () => bigint
  /** Makes ids for events and conversations. Default: ULIDs, which sort by time. */
  readonly newId?: () => string
  /** Bytes that conversations nobody uses at the moment may take in memory, roughly; 0 for none. Default: 256 MiB. */
  readonly memory?: number
}

/** Live conversations over one store. */
export interface Engine {
  readonly store: Store
  /** How many conversations are in memory. */
  readonly size: number
  /** Creates a conversation. @throws ColloquyError `conversation_exists`, `invalid_id`, `invalid_query`. */
  create(options?: Partial<NewConversation>): Promise<Conversation>
  /** Opens a conversation. @throws ColloquyError `unknown_conversation`. */
  open(id: string): Promise<Conversation>
  /** Deletes a conversation with its log; false when there was none. */
  delete(id: string): Promise<boolean>
  /** Interrupts its runs, ends its subscriptions, and waits for what is under way; the store stays open. */
  close(): Promise<void>
}

/**
 * An engine over a store. Conversations are opened when they are used, kept in memory for as long as it allows, and opened again when they
 * are asked for. Any number of engines, in any number of processes, may share a store.
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
  const { store, clock = microsNow, newId = ulids(clock), memory = 256 * 2 ** 20 } = options
  const bytes = Math.min(Number.MAX_SAFE_INTEGER, Math.max(1, Math.floor(memory)))
  if (typeof store?.append !== 'function') refuse('store', 'must be a store, such as memoryStore()')
  const shared = new Shared(store, { newId, now: () => formatInstant(clock()) }, bytes)
  return {
    store,
    get size() {
      return shared.size
    },
    async create(given = {}) {
      shared.check()
      const { id } = await store.createConversation({ ...given, id: given.id ?? newId() })
      return new Conversation(shared, id)
    },
    async open(id) {
      shared.check()
      if ((await store.getConversation(id)) !== null) return new Conversation(shared, id)
      throw unknownConversation(id)
    },
    delete: (id) => shared.delete(id),
    close: () => shared.close(),
  }
}

/** ULIDs by the engine's clock, each above the one before. */
function ulids(clock: () => bigint): () => string {
  const next = monotonicFactory()
  return () => next(Number(clock() / 1000n))
}
