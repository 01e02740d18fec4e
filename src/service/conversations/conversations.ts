/** What all faces share: conversations by id, with those left running by a dead process recovered. */

import type { Conversation } from '../../conversation/conversation.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { LoggedEvent } from '../../conversation/logged-event.ts'
import type { Look } from '../../conversation/replica.ts'
import { hasCode } from '../../event/errors.ts'
import type { Content, JsonObject, Message } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { HttpProblem } from '../http/problem.ts'
import { getConversationOr404 } from './find-conversation.ts'
import { wholeInfoOf } from './info.ts'
import { wasHandled } from './run-progress.ts'
import type { Runs } from './runs.ts'
import type { Starts } from './starts.ts'

/** The conversations of a service, and their runs. */
export interface Lifecycle {
  readonly engine: Engine
  readonly runs: Runs
  /** What they were started with. */
  readonly starts: Starts
}

/** A conversation as a request finds it. */
export interface Found extends Look {
  readonly conversation: Conversation
}

/**
 * Finds a conversation by the id that a client wrote, or by its record, which is read once. One whose status is running
 * while no process runs it was left by a process that died: it is taken over before a client sees it.
 * @throws HttpProblem 404.
 */
export async function find(lifecycle: Lifecycle, given: string | ConversationRecord): Promise<Found> {
  const { engine, runs } = lifecycle
  const found = typeof given === 'string' ? await getConversationOr404(engine.store, given) : given
  const conversation = await engine.open(found)
  const { state, record } = await conversation.look(found)
  if (state.header.status !== 'running' || runs.has(conversation.id)) return { conversation, state, record }
  const isChanged = await runs.takeOver(conversation)
  return { conversation, ...(isChanged ? await conversation.look() : { state, record }) }
}

/** The same, for callers that need no status. @throws HttpProblem 404. */
export const open = async (lifecycle: Lifecycle, given: string | ConversationRecord): Promise<Conversation> =>
  (await find(lifecycle, given)).conversation

/** Whether an error says that there is no such conversation, or no more. */
export const isUnknown = (error: unknown): boolean =>
  hasCode(error, 'unknown_conversation') || (error instanceof HttpProblem && error.status === 404)

/** What clients read of a conversation. @throws ColloquyError `unknown_conversation`. */
export async function describe({ engine }: Lifecycle, conversation: Conversation): Promise<JsonObject> {
  const { record, state } = await conversation.look()
  return wholeInfoOf(engine.store, record, state)
}

/** The position after which a run has to look at what was appended. */
export const endOf = (events: readonly { readonly seq: number }[]): number => (events.at(-1)?.seq ?? -1) + 1

/** A message of a client, as its schema has it. */
interface Said {
  readonly content: readonly object[]
  readonly key?: string | undefined
  readonly sender?: string | undefined
}

/** Appends it as a user's message, once for its key. @throws ColloquyError as `sendMessage` does. */
export const sendUserMessage = (
  conversation: Conversation,
  { content, key, sender }: Said,
): Promise<readonly LoggedEvent[]> =>
  conversation.sendMessage(userMessageOf(content), {
    ...(key !== undefined && { key }),
    ...(sender !== undefined && { sender }),
  })

/**
 * Appends it, and has the conversation run where that is asked for; what cannot be run is refused before it is said, so
 * that it is not said twice. @throws ColloquyError as `sendMessage` does; HttpProblem 429.
 */
export async function sayAndRun(
  { runs }: Lifecycle,
  conversation: Conversation,
  said: Said,
  run: boolean,
): Promise<readonly LoggedEvent[]> {
  if (!run) return sendUserMessage(conversation, said)
  const { sent } = await runs.ask(conversation.id, async (place) => {
    place()
    const sent = await sendUserMessage(conversation, said)
    return { conversation, from: endOf(sent), sent }
  })
  return sent
}

/** What a client said, which was checked by its schema, as a user's message. */
export const userMessageOf = (content: readonly object[]): Message => ({
  role: 'user',
  content: content as readonly Content[],
})

/** What to say. */
interface OutgoingMessage {
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
  if (!run || (await wasHandled(engine.store, conversation.id, end))) return
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const stop = (): void => resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([runs.join(conversation, end), stopped])
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
}
