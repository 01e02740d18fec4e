/** A start task: what was asked for, how far it has come, and what clients see of it. */

import type { JsonObject } from '../../../event/shapes.ts'
import { plainId, shownId } from '../../conversations/find.ts'
import type { Index } from '../../records/records.ts'

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

/** What clients read of a task. */
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
  /** The id that the conversation will have, so that the process that goes on with the task makes no second one. */
  readonly planned_id: string
  /** Whether its sandbox is its own, to be started, and not one that was there. */
  readonly makes_sandbox: boolean
  /** Where the secrets of the request are stored; null without secrets. */
  readonly start_ref: string | null
}

/** Whether it is over. */
export const isOver = ({ status }: Pick<StartTask, 'status'>): boolean =>
  status === 'READY' || status === 'ERROR'

/** What clients read of it. */
export const shown = ({
  planned_id: _planned,
  makes_sandbox: _makes,
  start_ref: _ref,
  ...task
}: KeptTask): StartTask => {
  const { app_conversation_id: made } = task
  return { ...task, app_conversation_id: made === null ? null : shownId(made) }
}

/** By what one is found. One that is not over is due when it was not written for too long. */
export const indexOf = (task: KeptTask, staleAfter: number): Index => ({
  keys: {
    created_at: task.created_at,
    updated_at: task.updated_at,
    planned: plainId(task.planned_id),
    ...(task.app_conversation_id !== null && { conversation: task.app_conversation_id }),
    ...(task.sandbox_id !== null && { sandbox: task.sandbox_id }),
  },
  dueIn: isOver(task) ? null : staleAfter,
})
