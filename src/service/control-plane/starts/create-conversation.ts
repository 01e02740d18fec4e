/** Makes the conversation of a start task, or finds it when a crash came after it was made. */

import type { Conversation } from '../../../conversation/conversation.ts'
import { hasCode } from '../../../event/errors.ts'
import type { JsonObject } from '../../../event/shapes.ts'
import type { ConversationRecord } from '../../../store/contract/conversation-record.ts'
import type { Store } from '../../../store/contract/store.ts'
import { findConversation, plainId } from '../../conversations/find.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { Lifecycle } from '../../conversations/conversations.ts'
import { type AppMetadata, appOf, withApp } from '../conversations/metadata.ts'
import { sendOnce } from '../../conversations/send-once.ts'
import { isOwnField, type StartRequest } from '../request-schema.ts'
import type { KeptTask } from './start-task.ts'

/** What it is made with, beside the task. */
export interface Making {
  /** Null where there is no sandbox. */
  readonly workingDir: string | null
  readonly signal: AbortSignal
}

/**
 * Each part may be done again, and changes nothing then; when it has come out, its first message is said, and a run of
 * it has begun.
 * @throws HttpProblem 409 when the id was taken meanwhile; the reason of the signal; ColloquyError
 * `unknown_conversation` when it was deleted meanwhile.
 */
export async function makeConversation(
  lifecycle: Lifecycle,
  task: KeptTask,
  { workingDir, signal }: Making,
): Promise<Conversation> {
  const { engine } = lifecycle
  const request = task.request as StartRequest
  const conversation = (await isMade(engine.store, task))
    ? await engine.open(task.planned_id)
    : await make(lifecycle, task, workingDir)
  const said = request.initial_message ?? null
  if (said !== null) {
    const { content, run = true } = said
    await sendOnce(lifecycle, conversation, { content, run, key: `start-${task.id}`, signal })
  }
  return conversation
}

/** Whether the conversation of a task is there. @throws HttpProblem 409 when another one has its id. */
export async function isMade(store: Store, task: KeptTask): Promise<boolean> {
  const found = await findConversation(store, task.planned_id)
  if (found === null) return false
  if (appOf(found).start_task_id === task.id) return true
  throw taken(plainId(task.planned_id))
}

/** That an id has been given. */
export const taken = (id: string): HttpProblem =>
  new HttpProblem(409, `Conversation ${JSON.stringify(id)} exists already.`)

async function make({ engine }: Lifecycle, task: KeptTask, workingDir: string | null): Promise<Conversation> {
  const { title, public: open, tags, parent_conversation_id } = task.request as StartRequest
  const start = Object.fromEntries(Object.entries(task.request).filter(([name]) => !isOwnField(name)))
  const parentId = parent_conversation_id ?? null
  const parent = parentId === null ? null : await findConversation(engine.store, parentId)
  const id = task.planned_id
  try {
    return await engine.create({
      id,
      title: title ?? `Conversation ${Array.from(id).slice(0, 5).join('')}`,
      public: open ?? false,
      tags: tags ?? {},
      metadata: withApp(
        {
          metadata: {
            start,
            start_ref: task.start_ref ?? null,
            ...(workingDir !== null && { workspace: { working_dir: workingDir } }),
          },
        },
        appFor(task, parent),
      ),
      parentConversationId: parent?.id ?? null,
      sandboxId: task.sandbox_id,
    })
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
    // Another service works on the same task, or another process was faster.
    if (await isMade(engine.store, task)) return engine.open(id)
    throw taken(plainId(id))
  }
}

/** A child works on what its parent does, unless it is given its own. */
function appFor(task: KeptTask, parent: ConversationRecord | null): AppMetadata {
  const request = task.request as StartRequest
  const inherited = parent === null ? null : appOf(parent)
  return {
    selected_repository: request.selected_repository ?? inherited?.selected_repository ?? null,
    selected_branch: request.selected_branch ?? inherited?.selected_branch ?? null,
    git_provider: request.git_provider ?? inherited?.git_provider ?? null,
    llm_model: request.llm_model ?? inherited?.llm_model ?? null,
    trigger: request.trigger ?? null,
    pr_number: request.pr_number ?? [],
    observability_metadata: (request.observability_metadata ?? {}) as JsonObject,
    observability_tags: request.observability_tags ?? [],
    observability_span_name: request.observability_span_name ?? null,
    sandbox_id: task.sandbox_id,
    start_task_id: task.id,
  }
}
