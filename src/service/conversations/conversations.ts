import { orAborted } from '../../conversation/async.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { AppendedEvent } from '../../conversation/logged-event.ts'
import type { Look } from '../../conversation/replica.ts'
import { monotonicUlids } from '../../conversation/stamp.ts'
import { keyedId } from '../../event/ids.ts'
import { hasCode } from '../../event/errors.ts'
import type { Content, JsonObject } from '../../event/shapes.ts'
import type { MessageEvent } from '../../event/types.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { HttpProblem } from '../http/problem.ts'
import { getConversationOr404 } from './find-conversation.ts'
import { wholeInfoOf } from './info.ts'
import { wasHandled } from './run-progress.ts'
import type { Runs } from './runs.ts'
import type { Starts } from './starts.ts'

export interface Lifecycle {
  readonly engine: Engine
  readonly runs: Runs
  readonly starts: Starts
}

export interface OpenConversation extends Look {
  readonly conversation: Conversation
}

/** Opens a conversation by its record, or by its id in any form. First recovers a run whose process died. */
export async function openConversation(
  { engine, runs }: Lifecycle,
  idOrRecord: string | ConversationRecord,
): Promise<OpenConversation> {
  const known =
    typeof idOrRecord === 'string' ? await getConversationOr404(engine.store, idOrRecord) : idOrRecord
  const conversation = await engine.open(known)
  const { state, record } = await conversation.look(known)
  if (state.header.status !== 'running' || runs.has(conversation.id)) return { conversation, state, record }
  const isChanged = await runs.takeOver(conversation)
  return { conversation, ...(isChanged ? await conversation.look() : { state, record }) }
}

/**
 * Calls `append` with the conversation. Does not query the store for a cached conversation, because `append`
 * fails if the conversation was deleted. @throws HttpProblem 404; what `append` throws.
 */
export async function appendTo<T>(
  lifecycle: Lifecycle,
  id: string,
  append: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const cached = lifecycle.engine.opened(id)
  // If the status is `running`, the process of the run may have died, and the run must be recovered first.
  if (cached !== null && cached.status !== 'running')
    try {
      return await append(cached.conversation)
    } catch (error) {
      if (!isUnknown(error)) throw error
    }
  return append((await openConversation(lifecycle, id)).conversation)
}

export const isUnknown = (error: unknown): boolean =>
  hasCode(error, 'unknown_conversation') || (error instanceof HttpProblem && error.status === 404)

export function ifDeleted(error: unknown): null {
  if (isUnknown(error)) return null
  throw error
}

export async function describeConversation(
  { engine }: Lifecycle,
  conversation: Conversation,
): Promise<JsonObject> {
  const { record, state } = await conversation.look()
  return wholeInfoOf(engine.store, record, state)
}

export const newEventId: () => string = monotonicUlids()

const endOf = (events: readonly { readonly seq: number }[]): number => (events.at(-1)?.seq ?? -1) + 1

interface ClientMessage {
  readonly content: readonly Content[]
  /** Idempotency key: a second message with the same key is not appended. */
  readonly key?: string | undefined
  readonly sender?: string | undefined
}

/**
 * Appends a message. With `run`, also requests a run; if no slot is free for the run, appends nothing.
 * @throws ColloquyError as `conversation.sendMessage` does; HttpProblem 429 for too many runs.
 */
export async function sendMessage(
  { runs }: Lifecycle,
  conversation: Conversation,
  { content, key, sender }: ClientMessage,
  run: boolean,
): Promise<readonly AppendedEvent[]> {
  const id = key === undefined ? newEventId() : keyedId('message', conversation.id, key)
  const llm_message = { role: 'user', content } as const
  const named = sender !== undefined && { sender }
  const message: MessageEvent = { kind: 'MessageEvent', source: 'user', llm_message, id, ...named }
  if (!run) return conversation.append(message)
  const { sent } = await runs.request(conversation.id, async (reserve) => {
    await reserve(id)
    const sent = await conversation.append(message)
    return { conversation, from: endOf(sent), sent }
  })
  return sent
}

interface OutgoingMessage {
  readonly content: readonly Content[]
  readonly key: string
  readonly run: boolean
  /** Aborting this signal ends the wait for the run, but not the run. */
  readonly signal: AbortSignal
}

/**
 * Appends a message only once per key, even after a crash. With `run`, resolves as soon as it is certain that
 * a run will handle the message.
 */
export async function sendOnce(
  { engine, runs }: Lifecycle,
  conversation: Conversation,
  { content, key, run, signal }: OutgoingMessage,
): Promise<void> {
  signal.throwIfAborted()
  const end = endOf(await conversation.sendMessage({ role: 'user', content }, { key }))
  // An earlier attempt may have crashed after the run.
  if (!run || (await wasHandled(engine.store, conversation.id, end))) return
  await orAborted(runs.join(conversation, end), signal)
  signal.throwIfAborted()
}
