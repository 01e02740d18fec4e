/** What the lifecycle operations share: an engine and runs go in, conversations by id come out, and those left running are recovered. */

import type { Conversation } from '../../conversation/conversation.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { LoggedEvent } from '../../conversation/logged-event.ts'
import { hasCode } from '../../event/errors.ts'
import type { Content, JsonObject, Message } from '../../event/shapes.ts'
import { theConversation } from '../conversation-id.ts'
import { HttpProblem } from '../http/problem.ts'
import { infoOf } from './info.ts'
import type { Runs } from './runs.ts'

/** The conversations of a service, and their runs. */
export interface Lifecycle {
  readonly engine: Engine
  readonly runs: Runs
}

/**
 * Opens a conversation by the id that a client wrote. One that says that it runs while nobody runs it was left so by a process that died:
 * its open calls are answered and the error set, before anybody sees it.
 * @throws HttpProblem 404.
 */
export async function open({ engine, runs }: Lifecycle, id: string): Promise<Conversation> {
  const conversation = await engine.open((await theConversation(engine.store, id)).id)
  if (!runs.has(conversation.id)) {
    const { header } = await conversation.state()
    if (header.status === 'running') await conversation.recover()
  }
  return conversation
}

/** Whether an error says that there is no such conversation, or no more. */
export const isUnknown = (error: unknown): boolean =>
  hasCode(error, 'unknown_conversation') || (error instanceof HttpProblem && error.status === 404)

/** What clients are told of a conversation. @throws ColloquyError `unknown_conversation`. */
export async function describe(conversation: Conversation): Promise<JsonObject> {
  return infoOf(await conversation.record(), await conversation.state())
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
export const sayIn = (
  conversation: Conversation,
  { content, key, sender }: Said,
): Promise<readonly LoggedEvent[]> =>
  conversation.sendMessage(userSays(content), {
    ...(key !== undefined && { key }),
    ...(sender !== undefined && { sender }),
  })

/** What a client said, which was checked by its schema, as a user's message. */
export const userSays = (content: readonly object[]): Message => ({
  role: 'user',
  content: content as readonly Content[],
})
