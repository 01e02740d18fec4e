/** A start task goes in, its conversation comes out: made, or found where the task was left after it was made. */

import type { Conversation } from '../../conversation/conversation.ts'
import { hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/conversation-record.ts'
import { findConversation } from '../conversation-id.ts'
import { HttpProblem } from '../http/problem.ts'
import { endOf, userSays } from '../lifecycle/lifecycle.ts'
import { APP, appOf, type Telling } from './app-conversation.ts'
import type { KeptTask, StartRequest } from './start-task.ts'

/** Each part may be done again, and changes nothing then. @throws HttpProblem 409 when the id was taken meanwhile. */
export async function makeConversation(
  { lifecycle }: Telling,
  task: KeptTask,
  workingDir: string | null,
): Promise<Conversation> {
  const { engine, runs } = lifecycle
  const request = task.request as StartRequest
  const { title, tags } = request
  const parentId = request.parent_conversation_id ?? null
  const said = request.initial_message ?? null
  const parent = parentId === null ? null : await findConversation(engine.store, parentId)
  const id = task.planned_id
  try {
    await engine.create({
      id,
      title: title ?? `Conversation ${id.slice(0, 5)}`,
      public: request.public ?? false,
      tags: tags ?? {},
      metadata: metadataOf(task, parent, workingDir),
      parentConversationId: parent?.id ?? null,
    })
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
    const found = await engine.store.getConversation(id)
    if (found === null || appOf(found).start_task_id !== task.id) {
      throw new HttpProblem(409, `Conversation ${JSON.stringify(id)} exists already.`)
    }
  }
  const conversation = await engine.open(id)
  if (said !== null) {
    const sent = await conversation.sendMessage(userSays(said.content), { key: `start-${task.id}` })
    if (said.run !== false) runs.join(conversation, endOf(sent))
  }
  return conversation
}

/** A child works where its parent does, unless told otherwise. */
function metadataOf(
  task: KeptTask,
  parent: ConversationRecord | null,
  workingDir: string | null,
): JsonObject {
  const request = task.request
  const inherited = parent === null ? null : appOf(parent)
  const given = (name: string): JsonObject => {
    const own = request[name] ?? (inherited as Readonly<Record<string, unknown>> | null)?.[name]
    return own === undefined || own === null ? {} : { [name]: own as string }
  }
  const own = (name: string): JsonObject => {
    const value = request[name]
    return value === undefined || value === null ? {} : { [name]: value }
  }
  return {
    [APP]: {
      ...own('trigger'),
      ...own('pr_number'),
      ...own('observability_metadata'),
      ...own('observability_tags'),
      ...own('observability_span_name'),
      ...given('selected_repository'),
      ...given('selected_branch'),
      ...given('git_provider'),
      ...given('llm_model'),
      sandbox_id: task.sandbox_id,
      start_task_id: task.id,
    },
    ...(workingDir !== null && { workspace: { working_dir: workingDir } }),
  }
}
