/** Appends a user's message once, also when a crash came between, and returns when a run will look at it. */

import type { Conversation } from '../../conversation/conversation.ts'
import { endOf, type Lifecycle, sendUserMessage } from './conversations.ts'
import { wasPickedUp } from './picked-up.ts'

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
