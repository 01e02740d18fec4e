/** The published kinds of observation as types, with the fields of the wire. */

import type { JsonObject, Observation } from '../shapes.ts'
import type { TaskItem } from './actions.ts'

/** An observation without fields of its own. */
export interface BareObservation<K extends string> extends Observation {
  readonly kind: K
}

/** The result of a tool on an MCP server. */
export interface MCPToolObservation extends Observation {
  readonly kind: 'MCPToolObservation'
  readonly tool_name: string
}

/** A skill was loaded. */
export interface InvokeSkillObservation extends Observation {
  readonly kind: 'InvokeSkillObservation'
  readonly skill_name: string
}

/** The model was changed. */
export interface SwitchLLMObservation extends Observation {
  readonly kind: 'SwitchLLMObservation'
  readonly profile_name: string
  readonly reason?: string | null
  readonly active_model?: string | null
}

export interface ClassifyAndSwitchLLMObservation extends Observation {
  readonly kind: 'ClassifyAndSwitchLLMObservation'
  readonly chosen_class?: string | null
  readonly model?: string | null
  readonly active_model?: string | null
}

/** A vision model's answer about an image. */
export interface VisionInspectObservation extends Observation {
  readonly kind: 'VisionInspectObservation'
  readonly image_index: number
  readonly question: string
  readonly profile_name?: string | null
  readonly model?: string | null
  readonly base_url?: string | null
  readonly answer?: string | null
}

/** Result of a patch; `fuzz` counts the lines that were matched inexactly. */
export interface ApplyPatchObservation extends Observation {
  readonly kind: 'ApplyPatchObservation'
  readonly message?: string
  readonly fuzz?: number
  readonly commit?: JsonObject | null
}

/** The state of the browser; `screenshot_data` is base64. */
export interface BrowserObservation extends Observation {
  readonly kind: 'BrowserObservation'
  readonly screenshot_data?: string | null
  readonly full_output_save_dir?: string | null
}

/** Agents were started, or tasks were assigned. */
export interface DelegateObservation extends Observation {
  readonly kind: 'DelegateObservation'
  readonly command: string
}

/** Result of an edit; old and new content are for display, not for the model. */
export interface FileEdited<K extends string> extends Observation {
  readonly kind: K
  readonly command: string
  readonly path?: string | null
  readonly prev_exist?: boolean
  readonly old_content?: string | null
  readonly new_content?: string | null
}

/** Result of a replacement. */
export interface EditObservation extends Observation {
  readonly kind: 'EditObservation'
  readonly file_path?: string | null
  readonly is_new_file?: boolean
  readonly replacements_made?: number
  readonly old_content?: string | null
  readonly new_content?: string | null
}

/** One entry of a folder; it may have further fields. */
export interface DirectoryEntry {
  readonly name: string
  readonly path: string
}

/** A folder's entries. */
export interface ListDirectoryObservation extends Observation {
  readonly kind: 'ListDirectoryObservation'
  readonly dir_path?: string | null
  readonly entries?: readonly DirectoryEntry[]
  readonly total_count?: number
  readonly is_truncated?: boolean
}

/** A file's text; `lines_shown` holds the first and the last line. */
export interface ReadFileObservation extends Observation {
  readonly kind: 'ReadFileObservation'
  readonly file_path: string
  readonly file_content?: string
  readonly is_truncated?: boolean
  readonly lines_shown?: readonly number[] | null
  readonly total_lines?: number | null
}

/** A file was written. */
export interface WriteFileObservation extends Observation {
  readonly kind: 'WriteFileObservation'
  readonly file_path?: string | null
  readonly is_new_file?: boolean
  readonly old_content?: string | null
  readonly new_content?: string | null
}

/** File names that matched. */
export interface GlobObservation extends Observation {
  readonly kind: 'GlobObservation'
  readonly files: readonly string[]
  readonly pattern: string
  readonly search_path: string
  readonly truncated?: boolean
}

/** Files with matching text. */
export interface GrepObservation extends Observation {
  readonly kind: 'GrepObservation'
  readonly matches: readonly string[]
  readonly pattern: string
  readonly search_path: string
  readonly include_pattern?: string | null
  readonly truncated?: boolean
}

/** Status of another agent's task. */
export interface TaskObservation extends Observation {
  readonly kind: 'TaskObservation'
  readonly task_id: string
  readonly subagent: string
  readonly status: string
}

/** The plan. */
export interface TaskTrackerObservation extends Observation {
  readonly kind: 'TaskTrackerObservation'
  readonly command: string
  readonly task_list?: readonly TaskItem[]
}

/** Where and how a command ran; -1 means unknown. */
export interface CommandMetadata {
  readonly exit_code?: number
  readonly pid?: number
  readonly username?: string | null
  readonly hostname?: string | null
  readonly working_dir?: string | null
  readonly py_interpreter_path?: string | null
  readonly prefix?: string
  readonly suffix?: string
}

/** Output of a command. `command` is omitted on disk where it is null. */
export interface TerminalObservation extends Observation {
  readonly kind: 'TerminalObservation'
  readonly command?: string | null
  readonly exit_code?: number | null
  readonly timeout?: boolean
  readonly metadata?: CommandMetadata
  readonly full_output_save_dir?: string | null
}

/** What the agent computed while it was idle. */
export interface SleeptimeComputeObservation extends Observation {
  readonly kind: 'SleeptimeComputeObservation'
  readonly message?: string
  readonly sessions_processed?: number
}

/** How a workflow ended. */
export interface WorkflowObservation extends Observation {
  readonly kind: 'WorkflowObservation'
  readonly name: string
  readonly status: 'completed' | 'error'
}

/** Any observation of a published kind, distinguished by `kind`. */
export type PublishedObservation =
  | BareObservation<'FinishObservation'>
  | BareObservation<'ThinkObservation'>
  | BareObservation<'ClientToolObservation'>
  | MCPToolObservation
  | InvokeSkillObservation
  | SwitchLLMObservation
  | ClassifyAndSwitchLLMObservation
  | VisionInspectObservation
  | ApplyPatchObservation
  | BrowserObservation
  | DelegateObservation
  | FileEdited<'FileEditorObservation'>
  | FileEdited<'PlanningFileEditorObservation'>
  | EditObservation
  | ListDirectoryObservation
  | ReadFileObservation
  | WriteFileObservation
  | GlobObservation
  | GrepObservation
  | TaskObservation
  | TaskTrackerObservation
  | TerminalObservation
  | SleeptimeComputeObservation
  | WorkflowObservation

/** The published observation of one kind. */
export type ObservationOf<K extends PublishedObservation['kind']> = Extract<
  PublishedObservation,
  { readonly kind: K }
>
