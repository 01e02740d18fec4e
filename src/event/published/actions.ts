/** The published kinds of action (interface 2.4) as types, with the fields of the wire. */

import type { Action, JsonObject } from '../shapes.ts'

/** A call of a tool on an MCP server; `data` (default empty) holds its arguments. */
export interface MCPToolAction extends Action {
  readonly kind: 'MCPToolAction'
  readonly data?: JsonObject
}

/** The end of the task, with a message for the user. */
export interface FinishAction extends Action {
  readonly kind: 'FinishAction'
  readonly message: string
}

/** Loads a skill by name. */
export interface InvokeSkillAction extends Action {
  readonly kind: 'InvokeSkillAction'
  readonly name: string
}

/** A change of model. */
export interface SwitchLLMAction extends Action {
  readonly kind: 'SwitchLLMAction'
  readonly profile_name: string
  readonly reason: string
}

/** A note of the model to itself. */
export interface ThinkAction extends Action {
  readonly kind: 'ThinkAction'
  readonly thought: string
}

/** A question about an image in the conversation. */
export interface VisionInspectAction extends Action {
  readonly kind: 'VisionInspectAction'
  readonly image_index: number
  readonly question: string
  readonly profile_name?: string | null
}

/** Applies a patch. */
export interface ApplyPatchAction extends Action {
  readonly kind: 'ApplyPatchAction'
  readonly patch: string
}

/** An action without fields of its own. */
export interface BareAction<K extends string> extends Action {
  readonly kind: K
}

/** Clicks the element with an index. */
export interface BrowserClickAction extends Action {
  readonly kind: 'BrowserClickAction'
  readonly index: number
  readonly new_tab?: boolean
}

/** Closes a tab. */
export interface BrowserCloseTabAction extends Action {
  readonly kind: 'BrowserCloseTabAction'
  readonly tab_id: string
}

/** Reads the page's text, starting at `start_from_char`. */
export interface BrowserGetContentAction extends Action {
  readonly kind: 'BrowserGetContentAction'
  readonly extract_links?: boolean
  readonly start_from_char?: number
}

/** Lists the page's elements. */
export interface BrowserGetStateAction extends Action {
  readonly kind: 'BrowserGetStateAction'
  readonly include_screenshot?: boolean
}

/** Opens an address. */
export interface BrowserNavigateAction extends Action {
  readonly kind: 'BrowserNavigateAction'
  readonly url: string
  readonly new_tab?: boolean
}

/** Scrolls the page; `direction` defaults to down. */
export interface BrowserScrollAction extends Action {
  readonly kind: 'BrowserScrollAction'
  readonly direction?: 'up' | 'down'
}

/** Sets cookies and local storage. */
export interface BrowserSetStorageAction extends Action {
  readonly kind: 'BrowserSetStorageAction'
  readonly storage_state: JsonObject
}

/** Switches to a tab. */
export interface BrowserSwitchTabAction extends Action {
  readonly kind: 'BrowserSwitchTabAction'
  readonly tab_id: string
}

/** Types text into the element with an index. */
export interface BrowserTypeAction extends Action {
  readonly kind: 'BrowserTypeAction'
  readonly index: number
  readonly text: string
}

/** Starts agents, or assigns tasks to them. */
export interface DelegateAction extends Action {
  readonly kind: 'DelegateAction'
  readonly command: 'spawn' | 'delegate'
  readonly ids?: readonly string[] | null
  readonly agent_types?: readonly string[] | null
  readonly tasks?: Readonly<Record<string, string>> | null
}

/** Views, creates or changes a file. */
export interface FileEditing<K extends string> extends Action {
  readonly kind: K
  readonly command: 'view' | 'create' | 'str_replace' | 'insert' | 'undo_edit'
  readonly path: string
  readonly file_text?: string | null
  readonly old_str?: string | null
  readonly new_str?: string | null
  readonly insert_line?: number | null
  readonly view_range?: readonly number[] | null
}

/** Replaces text in a file; `expected_replacements` defaults to 1. */
export interface EditAction extends Action {
  readonly kind: 'EditAction'
  readonly file_path: string
  readonly old_string: string
  readonly new_string: string
  readonly expected_replacements?: number
}

/** Lists a folder, by default the working folder. */
export interface ListDirectoryAction extends Action {
  readonly kind: 'ListDirectoryAction'
  readonly dir_path?: string
  readonly recursive?: boolean
}

/** Reads a file. */
export interface ReadFileAction extends Action {
  readonly kind: 'ReadFileAction'
  readonly file_path: string
  readonly offset?: number | null
  readonly limit?: number | null
}

/** Writes a file. */
export interface WriteFileAction extends Action {
  readonly kind: 'WriteFileAction'
  readonly file_path: string
  readonly content: string
}

/** Finds files by name. */
export interface GlobAction extends Action {
  readonly kind: 'GlobAction'
  readonly pattern: string
  readonly path?: string | null
}

/** Finds text in files. */
export interface GrepAction extends Action {
  readonly kind: 'GrepAction'
  readonly pattern: string
  readonly path?: string | null
  readonly include?: string | null
}

/** A task for another agent; `subagent_type` defaults to "general-purpose". */
export interface TaskAction extends Action {
  readonly kind: 'TaskAction'
  readonly prompt: string
  readonly description?: string | null
  readonly subagent_type?: string
  readonly resume?: string | null
}

/** One line of a plan; `status` defaults to todo. */
export interface TaskItem {
  readonly title: string
  readonly notes?: string
  readonly status?: 'todo' | 'in_progress' | 'done'
}

/** Views (the default) or writes the plan. */
export interface TaskTrackerAction extends Action {
  readonly kind: 'TaskTrackerAction'
  readonly command?: 'view' | 'plan'
  readonly task_list?: readonly TaskItem[]
}

/** A command for the terminal; `timeout` in seconds. */
export interface TerminalAction extends Action {
  readonly kind: 'TerminalAction'
  readonly command: string
  readonly is_input?: boolean
  readonly timeout?: number | null
  readonly reset?: boolean
}

/** Runs a script in the workflow engine; `max_concurrency` is 1 to 64, by default 8. */
export interface WorkflowAction extends Action {
  readonly kind: 'WorkflowAction'
  readonly name: string
  readonly script: string
  readonly max_concurrency?: number
}

type BareActionKind =
  | 'BrowserAction'
  | 'BrowserGetStorageAction'
  | 'BrowserGoBackAction'
  | 'BrowserListTabsAction'
  | 'BrowserStartRecordingAction'
  | 'BrowserStopRecordingAction'
  | 'ClassifyAndSwitchLLMAction'
  | 'SleeptimeComputeAction'

/** Any action of a published kind (interface 2.4), distinguished by `kind`. */
export type PublishedAction =
  | MCPToolAction
  | FinishAction
  | InvokeSkillAction
  | SwitchLLMAction
  | ThinkAction
  | VisionInspectAction
  | ApplyPatchAction
  | { [K in BareActionKind]: BareAction<K> }[BareActionKind]
  | BrowserClickAction
  | BrowserCloseTabAction
  | BrowserGetContentAction
  | BrowserGetStateAction
  | BrowserNavigateAction
  | BrowserScrollAction
  | BrowserSetStorageAction
  | BrowserSwitchTabAction
  | BrowserTypeAction
  | DelegateAction
  | FileEditing<'FileEditorAction'>
  | FileEditing<'PlanningFileEditorAction'>
  | EditAction
  | ListDirectoryAction
  | ReadFileAction
  | WriteFileAction
  | GlobAction
  | GrepAction
  | TaskAction
  | TaskTrackerAction
  | TerminalAction
  | WorkflowAction

/** The published action of one kind. */
export type ActionOf<K extends PublishedAction['kind']> = Extract<PublishedAction, { readonly kind: K }>
