/** What a user said while a conversation was not ready goes in; it is said once, and comes back when a run has begun that looks at it. */

import type { Conversation } from '../../conversation/conversation.ts'
import type { State } from '../../state/state.ts'
import { endOf, type Lifecycle, userSays } from '../lifecycle/lifecycle.ts'

/** What to say. */
export interface Saying {
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
export async function sayOnce(
  { runs }: Lifecycle,
  conversation: Conversation,
  { content, key, run, signal }: Saying,
): Promise<void> {
  signal.throwIfAborted()
  const end = endOf(await conversation.sendMessage(userSays(content), { key }))
  // Whoever said it before may have been cut off before it was run, or after.
  if (!run || isLookedAt(await conversation.state(), end)) return
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const stop = (): void => resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([runs.join(conversation, end), stopped])
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
}

/** Whether a run has begun, or has gone on, from a position of the log on. */
function isLookedAt({ log: { entries } }: State, from: number): boolean {
  for (let at = from; at < entries.length; at += 1) {
    const event = entries.get(at)?.event
    if (event?.source === 'agent') return true
    if (event?.kind !== 'ConversationStateUpdateEvent' || event.key !== 'execution_status') continue
    if (event.value === 'running') return true
  }
  return false
}
