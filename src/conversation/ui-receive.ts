/** Takes in what `useChat` of the AI SDK posts to a server. */

import { canonicalJson } from '../event/encode.ts'
import { hasCode } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { MessageEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { anchorOf, type Entry } from '../log/entry.ts'
import { loadedEvent } from '../log/loaded-event.ts'
import { findEventIn } from '../log/log.ts'
import { fromUIMessage } from '../messages/ai-sdk/ui-read.ts'
import type { UIPart } from '../messages/ai-sdk/ui-types.ts'
import type { State } from '../state/state.ts'
import { invalidArgument } from '../store/kit/query/check-value.ts'
import type { Conversation } from './conversation.ts'
import { decideEdit, openCallsOf } from './decide.ts'
import { keyedId } from './keyed-id.ts'
import type { UIStreamOptions } from './ui-stream.ts'

/**
 * Takes in what `useChat` has posted, and tells which reply to stream: a new message is appended, under its own id and
 * once however often it is posted; one that was edited is said anew beside the old one, once too; `regenerate` goes
 * back to the message as it was said last; and what the user has decided about calls is approved or rejected. Run the
 * conversation then. O(depth) for `regenerate` behind an edit.
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
    const { id } = event
    const to = await conversation.read((state) => latestVersion(state, id))
    await conversation.navigate(to)
    return { to }
  }
  if (typeof messageId === 'string' && messageId === event.id)
    return { to: await edit(conversation, messageId, event) }
  const [appended] = await conversation.append(event)
  return appended?.id ? { to: appended.id } : {}
}

/**
 * A client keeps the id of a message that it edits, which the log has for the old words: what stands in its place on
 * HEAD's branch was said last. O(depth) where that is another one.
 * @throws ColloquyError `evicted`.
 */
function latestVersion({ log }: State, messageId: string): string {
  const message = findEventIn(log, messageId)
  if (message === undefined || isOnPathIn(message, log.head)) return messageId
  const before = anchorOf(message.parent)
  let at: Entry | null = log.head
  // What HEAD's branch has directly behind the same event; state updates between them are no message.
  for (; at !== null && at !== before; at = at.parent)
    if (anchorOf(at.parent) === before && isOfUser(at)) return at.id ?? messageId
  return messageId
}

/** Whether a user has said it. @throws ColloquyError `evicted` where that is no longer known. */
function isOfUser(entry: Entry): boolean {
  const event = loadedEvent(entry, ['MessageEvent'])
  return event?.kind === 'MessageEvent' && event.source === 'user'
}

/** Says a message in other words, under an id that the same words have again; gives that id. */
async function edit(conversation: Conversation, messageId: string, said: MessageEvent): Promise<string> {
  const id = keyedId('edit', conversation.id, `${messageId}\n${canonicalJson(said.llm_message)}`)
  for (;;) {
    const { state, events } = await conversation.read((state) => ({
      state,
      events: findEventIn(state.log, id) === undefined ? decideEdit(state, messageId, { ...said, id }) : null,
    }))
    if (events === null) {
      // Where something was said since it is gone back to; else it was posted twice.
      if (state.branch.lastUserMessage?.id !== id) await conversation.navigate(id)
      return id
    }
    // To where HEAD is: nothing is appended, and it is refused while a run is live.
    await conversation.navigate(state.log.head?.id ?? null)
    try {
      // A run that has begun since has appended something, so that this version is gone.
      await conversation.append(events, { expected: state.log.entries.length })
      return id
    } catch (error) {
      if (!hasCode(error, 'version_conflict') && !hasCode(error, 'id_conflict')) throw error
    }
  }
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
