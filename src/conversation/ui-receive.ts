/** Takes in what `useChat` of the AI SDK posts to a server. */

import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { fromUIMessage } from '../messages/ai-sdk/ui-read.ts'
import type { UIPart } from '../messages/ai-sdk/ui-types.ts'
import { invalidArgument } from '../store/kit/query/check-value.ts'
import type { Conversation } from './conversation.ts'
import { openCallsOf } from './decide.ts'
import type { UIStreamOptions } from './ui-stream.ts'

/**
 * Takes in what `useChat` has posted, and tells which reply to stream: a new message is appended, under its own id and
 * once however often it is posted; one that was edited is said anew beside the old one; `regenerate` goes back to the
 * message; and what the user has decided about calls is approved or rejected. Run the conversation then.
 *
 * @throws ColloquyError `invalid_argument` for what cannot be read, `already_running` while a run is live and the past
 * would be changed, and what appending throws.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
 * await receiveUIMessages(conversation, { messages: [message], trigger: 'submit-message' }) // { to: 'm' }
 * await engine.close()
 */
export async function receiveUIMessages(
  conversation: Conversation,
  posted: unknown,
): Promise<Pick<UIStreamOptions, 'to' | 'from'>> {
  const { messages, trigger, messageId } = isObject(posted as JsonValue) ? (posted as JsonObject) : {}
  const last = Array.isArray(messages) ? (messages.at(-1) as JsonValue | undefined) : undefined
  if (!isObject(last)) invalidArgument('messages', 'must be a list of messages')
  if (last['role'] === 'assistant') {
    const parts = Array.isArray(last['parts']) ? (last['parts'] as JsonValue[]) : []
    await decideCalls(conversation, parts)
    return { from: parts as unknown as UIPart[] }
  }
  const event = fromUIMessage(last)
  if (trigger === 'regenerate-message' && event.id !== undefined) {
    await conversation.navigate(event.id)
    return { to: event.id }
  }
  const [appended] =
    typeof messageId === 'string' && messageId === event.id
      ? (await conversation.editAndResend(messageId, event.llm_message)).slice(-1)
      : await conversation.append(event)
  return appended?.id ? { to: appended.id } : {}
}

/** Approves and rejects what the user has decided of the calls that still wait. */
async function decideCalls(conversation: Conversation, parts: readonly JsonValue[]): Promise<void> {
  const waiting = new Set(openCallsOf(await conversation.state()).map(({ id }) => id))
  for (const part of parts) {
    const approval = isObject(part) && part['state'] === 'approval-responded' ? part['approval'] : null
    if (!isObject(approval)) continue
    const { id, approved, reason } = approval
    if (typeof id !== 'string' || !waiting.has(id)) continue
    if (approved === true) await conversation.approve([id])
    else await conversation.reject([id], typeof reason === 'string' ? reason : undefined)
  }
}
