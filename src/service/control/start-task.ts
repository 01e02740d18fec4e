/** A start task: what was asked for and how far it has come go in, what clients are told of it comes out. */

import type { JsonObject } from '../../event/shapes.ts'

/** In order; the last two are ends. */
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

/** What was asked for, as it was checked by the schema. */
export interface StartRequest {
  readonly sandbox_id?: string | null | undefined
  readonly conversation_id?: string | null | undefined
  readonly parent_conversation_id?: string | null | undefined
  readonly initial_message?:
    | { readonly content: readonly object[]; readonly run?: boolean | undefined }
    | null
    | undefined
  readonly title?: string | null | undefined
  readonly public?: boolean | null | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly llm_model?: string | null | undefined
  readonly selected_repository?: string | null | undefined
  readonly selected_branch?: string | null | undefined
  readonly git_provider?: string | null | undefined
}

/** What is told of a task. */
export interface StartTask {
  readonly id: string
  readonly created_by_user_id: null
  readonly status: TaskStatus
  /** Why it failed. */
  readonly detail: string | null
  /** Null until the conversation is there. */
  readonly app_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly agent_server_url: string | null
  readonly request: JsonObject
  readonly created_at: string
  readonly updated_at: string
}

/** What is kept of a task. */
export interface KeptTask extends StartTask {
  /** The id that the conversation will have, so that whoever goes on with the task makes no second one. */
  readonly planned_id: string
  /** The service that works on it. */
  readonly owner: string
}

export const isOver = ({ status }: Pick<StartTask, 'status'>): boolean =>
  status === 'READY' || status === 'ERROR'

export function shown({ planned_id: _planned, owner: _owner, ...task }: KeptTask): StartTask {
  return task
}
