/** Appends a user's message once, also when a crash came between, and returns when a run will look at it. */

import type { Conversation } from '../../conversation/conversation.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { Store } from '../../store/contract/store.ts'
import { endOf, type Lifecycle, sendUserMessage } from './conversations.ts'

/** What to say. */
export interface OutgoingMessage {
  readonly content: readonly object[]
  /** Under it, it is said once, however often it is tried, by however many services. */
  readonly key: string
  readonly run: boolean
  /** Ends the waiting, and with it nothing else. */
  readonly signal: AbortSignal
}

/**
 * May be done again until it has come back, and changes nothing then. O(events since it was said).
 * @throws the reason of `signal`; ColloquyError as `sendMessage` does.
 */
export async function sendOnce(
  { engine, runs }: Lifecycle,
  conversation: Conversation,
  { content, key, run, signal }: OutgoingMessage,
): Promise<void> {
  signal.throwIfAborted()
  const end = endOf(await sendUserMessage(conversation, { content, key }))
  // The sender may have been cut off before it was run, or after.
  if (!run || (await wasPickedUp(engine.store, conversation.id, end))) return
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const stop = (): void => resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([runs.join(conversation, end), stopped])
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
}

/** How many events are read at once. */
const PAGE = 100

/**
 * Whether a run has begun, or has gone on, from a position of the log on. A state in memory may have evicted what shows
 * it; the store has it.
 */
async function wasPickedUp(store: Store, id: string, from: number): Promise<boolean> {
  for (let at = from; ; at += PAGE) {
    const events = await store.read(id, { from: at, limit: PAGE })
    if (events.some(({ fact }) => isOfRun(fact))) return true
    if (events.length < PAGE) return false
  }
}

const isOfRun = (fact: Fact): boolean =>
  !isQuarantined(fact) &&
  (fact.source === 'agent' ||
    (fact.kind === 'ConversationStateUpdateEvent' &&
      fact.key === 'execution_status' &&
      fact.value === 'running'))
