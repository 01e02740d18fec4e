/** A start task: its plan, the information that clients read, and the conversation that it creates. */

import type { Conversation } from '../../conversation/conversation.ts'
import { hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { type Lifecycle, sendOnce } from '../conversations/conversations.ts'
import {
  dashedId,
  findConversation,
  plainId,
  refuseReserved,
  shownId,
} from '../conversations/find-conversation.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import type { ControlPlaneContext } from './app-conversations.ts'
import { type AppMetadata, appOf, withApp } from './app-metadata.ts'
import { isServiceField, type StartRequest } from '../request-schema.ts'
import { newId } from './sandboxes.ts'

/** In order; the last two are final. */
export const TASK_STATUSES = [
  'WORKING',
  'WAITING_FOR_SANDBOX',
  'PREPARING_REPOSITORY',
  'RUNNING_SETUP_SCRIPT',
  'SETTING_UP_GIT_HOOKS',
  'SETTING_UP_SKILLS',
  'STARTING_CONVERSATION',
  'READY',
  'ERROR',
] as const

export type TaskStatus = (typeof TASK_STATUSES)[number]

/** The information about a task that clients read. */
export interface StartTask {
  readonly id: string
  readonly created_by_user_id: null
  readonly status: TaskStatus
  readonly detail: string | null
  /** Null until the conversation exists. */
  readonly app_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly agent_server_url: string | null
  readonly request: JsonObject
  readonly created_at: string
  readonly updated_at: string
}

/** The stored part of a task. */
export interface StoredTask extends StartTask {
  /** The future conversation's id, so that a continued task creates no second one. */
  readonly planned_id: string
  readonly makes_sandbox: boolean
  /** Where the secrets of the request are stored; null without secrets. */
  readonly start_ref: string | null
}

export const isOver = ({ status }: Pick<StartTask, 'status'>): boolean =>
  status === 'READY' || status === 'ERROR'

export const shown = ({
  planned_id: _planned,
  makes_sandbox: _makes,
  start_ref: _ref,
  ...task
}: StoredTask): StartTask => {
  const { app_conversation_id: made } = task
  return { ...task, app_conversation_id: made === null ? null : shownId(made) }
}

export const startKey = (taskId: string): string => `start-${taskId}`

interface Making {
  readonly workingDir: string | null
  readonly signal: AbortSignal
}

/**
 * Creates a task's conversation, sends its first message and starts a run. Each part can be repeated.
 * @throws HttpProblem 409 if the id was used meanwhile; the reason of the signal; ColloquyError
 *   `unknown_conversation` when it was deleted meanwhile.
 */
export async function makeConversation(
  lifecycle: Lifecycle,
  task: StoredTask,
  { workingDir, signal }: Making,
): Promise<Conversation> {
  const { engine } = lifecycle
  const request = task.request as StartRequest
  const conversation = (await isMade(engine.store, task))
    ? await engine.open(task.planned_id)
    : await make(lifecycle, task, workingDir)
  const message = request.initial_message ?? null
  if (message !== null) {
    const { content, run = true } = message
    await sendOnce(lifecycle, conversation, { content, run, key: startKey(task.id), signal })
  }
  return conversation
}

/**
 * Whether the conversation of a task exists.
 * @throws HttpProblem 409 if another one has its id.
 */
export async function isMade(store: Store, task: StoredTask): Promise<boolean> {
  const record = await findConversation(store, task.planned_id)
  if (record === null) return false
  if (appOf(record).start_task_id === task.id) return true
  throw idInUse(plainId(task.planned_id))
}

export const idInUse = (id: string): HttpProblem =>
  new HttpProblem(409, `Conversation ${JSON.stringify(id)} already exists.`)

async function make(
  { engine }: Lifecycle,
  task: StoredTask,
  workingDir: string | null,
): Promise<Conversation> {
  const { title, public: open, tags, parent_conversation_id } = task.request as StartRequest
  const start = Object.fromEntries(Object.entries(task.request).filter(([name]) => !isServiceField(name)))
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
    // Another process works on the same task, or used the id.
    if (await isMade(engine.store, task)) return engine.open(id)
    throw idInUse(plainId(id))
  }
}

/** A child inherits its parent's repository and model unless the request sets them. */
function appFor(task: StoredTask, parent: ConversationRecord | null): AppMetadata {
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

/**
 * Plans a task without starting it. Stores nothing except the request's secrets. Ids are chosen now, so continuing the task elsewhere
 * creates nothing twice.
 * @param origin where the service is reached
 * @throws HttpProblem 409 for a used id, 422 for an unknown parent or sandbox.
 */
export async function planTask(
  { lifecycle, sandboxes }: ControlPlaneContext,
  request: StartRequest,
  origin: string,
): Promise<StoredTask> {
  const { store } = lifecycle.engine
  const wanted = request.conversation_id ?? null
  const parentId = request.parent_conversation_id ?? null
  const sandboxId = request.sandbox_id ?? null
  refuseReserved(wanted, 'conversation_id')
  if (wanted !== null && (await findConversation(store, wanted)) !== null) throw idInUse(wanted)
  const parent = parentId === null ? null : await findConversation(store, parentId)
  if (parentId !== null && parent === null) throw missing('parent_conversation_id', 'conversation', parentId)
  if (sandboxId !== null && (await sandboxes.find(sandboxId)) === null)
    throw missing('sandbox_id', 'sandbox', sandboxId)
  // A child uses its parent's sandbox while it exists.
  const inherited = parent === null ? null : appOf(parent).sandbox_id
  const isInheritable = inherited !== null && (await sandboxes.find(inherited)) !== null
  const known = sandboxId ?? (isInheritable ? inherited : null)
  const now = new Date().toISOString()
  const fields = Object.entries(request as object as JsonObject)
  const { start, start_ref } = await lifecycle.starts.store(
    Object.fromEntries(fields.filter(([name]) => !isServiceField(name))),
    { observability_metadata: request.observability_metadata },
  )
  return {
    id: newId(),
    created_by_user_id: null,
    status: 'WORKING',
    detail: null,
    app_conversation_id: null,
    sandbox_id: known ?? (sandboxes.possible ? newId() : null),
    agent_server_url: origin,
    request: { ...Object.fromEntries(fields.filter(([name]) => isServiceField(name))), ...start },
    start_ref,
    created_at: now,
    updated_at: now,
    // The agent server's form, so that the store rejects a second conversation that is created there.
    planned_id: wanted === null ? newId() : dashedId(wanted),
    makes_sandbox: known === null && sandboxes.possible,
  }
}

const missing = (field: string, what: string, id: string): HttpProblem =>
  invalid({
    type: 'value_error',
    loc: ['body', field],
    msg: `Value error, ${what} ${JSON.stringify(id)} was not found`,
    input: id,
  })
