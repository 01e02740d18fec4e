/** The published kinds of observation as types, field for field what stands on disk and on the wire. */

import type { JsonObject, Observation } from '../shapes.ts'
import type { TaskItem } from './actions.ts'

/** An observation that has only what every observation has. */
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

/** What a vision model said of an image. */
export interface VisionInspectObservation extends Observation {
  readonly kind: 'VisionInspectObservation'
  readonly image_index: number
  readonly question: string
  readonly profile_name?: string | null
  readonly model?: string | null
  readonly base_url?: string | null
  readonly answer?: string | null
}

/** What a patch changed; `fuzz` counts the lines it had to guess. */
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

/** Agents were started, or tasks given. */
export interface DelegateObservation extends Observation {
  readonly kind: 'DelegateObservation'
  readonly command: string
}

/** What an edit did; old and new content are for showing, not for the model. */
export interface FileEdited<K extends string> extends Observation {
  readonly kind: K
  readonly command: string
  readonly path?: string | null
  readonly prev_exist?: boolean
  readonly old_content?: string | null
  readonly new_content?: string | null
}

/** What a replacement did. */
export interface EditObservation extends Observation {
  readonly kind: 'EditObservation'
  readonly file_path?: string | null
  readonly is_new_file?: boolean
  readonly replacements_made?: number
  readonly old_content?: string | null
  readonly new_content?: string | null
}

/** One entry of a folder; what else is known of it stands beside. */
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

/** File names that were found. */
export interface GlobObservation extends Observation {
  readonly kind: 'GlobObservation'
  readonly files: readonly string[]
  readonly pattern: string
  readonly search_path: string
  readonly truncated?: boolean
}

/** Files in which text was found. */
export interface GrepObservation extends Observation {
  readonly kind: 'GrepObservation'
  readonly matches: readonly string[]
  readonly pattern: string
  readonly search_path: string
  readonly include_pattern?: string | null
  readonly truncated?: boolean
}

/** How another agent's task stands. */
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

/** Where and how a command ran; -1 stands for "not known". */
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

/** What a command printed. `command` is left out on disk where it is null. */
export interface TerminalObservation extends Observation {
  readonly kind: 'TerminalObservation'
  readonly command?: string | null
  readonly exit_code?: number | null
  readonly timeout?: boolean
  readonly metadata?: CommandMetadata
  readonly full_output_save_dir?: string | null
}

/** What was worked out while no question was asked. */
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

/** Any observation of a published kind, told apart by `kind`. */
export type PublishedObservation =
  | BareObservation<'FinishObservation'>
  | BareObservation<'ThinkObservation'>
  | BareObservation<'ClientToolObservation'>
  | MCPToolObservation
  | InvokeSkillObservation
  | SwitchLLMObservation
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
