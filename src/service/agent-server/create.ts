/** Creates and forks conversations. */

import type { Conversation } from '../../conversation/conversation.ts'
import { hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord, NewConversation } from '../../store/contract/conversation-record.ts'
import { withMasks } from '../conversations/starts.ts'
import { newConversationId } from '../conversations/new-id.ts'
import { findConversation, refuseReserved } from '../conversations/find.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { endOf, type Lifecycle, open, sendUserMessage } from '../conversations/conversations.ts'
import { beyond, type ForkBody, type StartBody } from './request-schema.ts'

/**
 * Creates a conversation, unless there is one with its id, and begins with its first message. The process that
 * created one may have died before that: a client that asks again has it said.
 */
export async function create(
  lifecycle: Lifecycle,
  body: StartBody,
): Promise<{ readonly isNew: boolean; readonly conversation: Conversation }> {
  const { engine, runs, starts } = lifecycle
  const id = body.conversation_id ?? null
  const said = body.initial_message ?? null
  refuseReserved(id, 'conversation_id')
  const found = id === null ? null : await findConversation(engine.store, id)
  if (found !== null) return again(lifecycle, found, body)
  const given = { id: id ?? newConversationId(), ...(await recordOf(lifecycle, body)) }
  // What cannot be run is refused before it is created.
  if (said !== null && runs.possible) runs.check(id ?? '')
  let conversation
  try {
    conversation = await engine.create(given)
  } catch (error) {
    await starts.forget(given)
    if (id === null || !hasCode(error, 'conversation_exists')) throw error
    return again(lifecycle, id, body)
  }
  await begin(lifecycle, conversation, body)
  return { isNew: true, conversation }
}

async function again(
  lifecycle: Lifecycle,
  given: string | ConversationRecord,
  body: StartBody,
): Promise<{ readonly isNew: false; readonly conversation: Conversation }> {
  const conversation = await open(lifecycle, given)
  const { record, state } = await conversation.look()
  // Nothing stands there but a policy and the message, and no run has looked at it.
  const isNew = state.header.status === 'idle' && state.log.entries.length <= 2
  if (isNew && record.metadata['begins'] === true) await begin(lifecycle, conversation, body)
  return { isNew: false, conversation }
}

/** Says the policy and the first message, once however many ask. */
async function begin(
  { runs }: Lifecycle,
  conversation: Conversation,
  { confirmation_policy: policy, initial_message: said }: StartBody,
): Promise<void> {
  const isFirst = (await conversation.state()).log.entries.length === 0
  if (isFirst && policy !== undefined && policy !== null)
    await conversation.setConfirmationPolicy(policy as JsonObject)
  if (said === undefined || said === null) return
  const { run: _run, ...message } = said
  try {
    const sent = await sendUserMessage(conversation, { key: 'initial', ...message })
    await runs.join(conversation, endOf(sent))
  } catch (error) {
    // Another one has begun it, with other words.
    if (!hasCode(error, 'id_conflict')) throw error
  }
}

async function recordOf(
  { engine, starts }: Lifecycle,
  body: StartBody,
): Promise<Omit<NewConversation, 'id'> & { readonly metadata: JsonObject }> {
  const { tags, workspace, max_iterations } = body
  const begins = (body.initial_message ?? null) !== null
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
      ...(begins && { begins }),
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
