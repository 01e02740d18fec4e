/** Creates and forks conversations. */

import type { Conversation } from '../../conversation/conversation.ts'
import { hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { NewConversation } from '../../store/contract/conversation-record.ts'
import { withMasks } from '../conversations/starts.ts'
import { newConversationId } from '../conversations/new-id.ts'
import { findConversation, refuseReserved } from '../conversations/find.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { endOf, type Lifecycle, open, sendUserMessage } from '../conversations/conversations.ts'
import { beyond, type ForkBody, type StartBody } from './request-schema.ts'

/** Creates a conversation, unless there is one with its id, and begins with its first message. */
export async function create(
  lifecycle: Lifecycle,
  body: StartBody,
): Promise<{ readonly isNew: boolean; readonly conversation: Conversation }> {
  const { engine, runs, starts } = lifecycle
  const id = body.conversation_id ?? null
  const said = body.initial_message ?? null
  refuseReserved(id, 'conversation_id')
  const found = id === null ? null : await findConversation(engine.store, id)
  if (found !== null) return { isNew: false, conversation: await open(lifecycle, found) }
  const given = { id: id ?? newConversationId(), ...(await recordOf(lifecycle, body)) }
  // What cannot be run is refused before it is created.
  if (said !== null && runs.possible) runs.check(id ?? '')
  let conversation
  try {
    conversation = await engine.create(given)
  } catch (error) {
    await starts.forget(given)
    if (id === null || !hasCode(error, 'conversation_exists')) throw error
    return { isNew: false, conversation: await open(lifecycle, id) }
  }
  const { confirmation_policy: policy } = body
  if (policy !== undefined && policy !== null) await conversation.setConfirmationPolicy(policy as JsonObject)
  if (said !== null) {
    const { run: _run, ...message } = said
    runs.join(conversation, endOf(await sendUserMessage(conversation, message)))
  }
  return { isNew: true, conversation }
}

async function recordOf(
  { engine, starts }: Lifecycle,
  body: StartBody,
): Promise<Omit<NewConversation, 'id'> & { readonly metadata: JsonObject }> {
  const { tags, workspace, max_iterations } = body
  const parent = body.parent_conversation_id ?? null
  const found = parent === null ? null : await findConversation(engine.store, parent)
  if (parent !== null && found === null) {
    throw invalid({
      type: 'value_error',
      loc: ['body', 'parent_conversation_id'],
      msg: `Value error, there is no conversation ${JSON.stringify(parent)}`,
      input: parent,
    })
  }
  return {
    title: body.title ?? null,
    tags: tags ?? {},
    parentConversationId: found?.id ?? null,
    metadata: {
      ...(await starts.keep(beyond(body))),
      ...(workspace !== undefined && { workspace: withMasks(workspace as JsonObject) }),
      ...(max_iterations !== undefined && { max_iterations }),
    },
  }
}

/**
 * Forks a conversation; the workspace and the bound of its runs come along.
 * @throws HttpProblem 409 when the id is taken; ColloquyError `unknown_event`.
 */
export async function fork(
  { engine, starts }: Lifecycle,
  source: Conversation,
  body: ForkBody,
): Promise<Conversation> {
  const id = body.id ?? null
  const title = body.title ?? null
  const from = body.from_event_id ?? null
  refuseReserved(id, 'id')
  // A UUID may be taken in its other form.
  if (id !== null && (await findConversation(engine.store, id)) !== null) {
    throw new HttpProblem(409, `Conversation ${JSON.stringify(id)} exists already.`)
  }
  const record = await source.record()
  const { workspace, max_iterations } = record.metadata
  const metadata: JsonObject = {
    ...(await starts.copy(record)),
    ...(workspace !== undefined && { workspace }),
    ...(max_iterations !== undefined && { max_iterations }),
    forked_from_conversation_id: source.id,
    forked_from_event_id: from,
  }
  const forked = await source.fork({
    id: id ?? newConversationId(),
    ...(title !== null && { title }),
    ...(from !== null && { from }),
    tags: body.tags ?? {},
    metadata,
  })
  if (body.reset_metrics === false) return forked
  const { version } = await forked.record()
  await engine.store.updateConversation(forked.id, { metadata: { ...metadata, counted_from: version } })
  return forked
}
