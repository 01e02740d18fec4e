/** The published kinds of action and observation (interface 2.4) as types, with the fields of the wire. */

import type { Action, JsonObject, Observation } from '../shapes.ts'

/** Views, creates or changes a file. */
interface FileEditing {
  readonly command: 'view' | 'create' | 'str_replace' | 'insert' | 'undo_edit'
  readonly path: string
  readonly file_text?: string | null
  readonly old_str?: string | null
  readonly new_str?: string | null
  readonly insert_line?: number | null
  readonly view_range?: readonly number[] | null
}

/** One line of a plan; `status` defaults to todo. */
interface TaskItem {
  readonly title: string
  readonly notes?: string
  readonly status?: 'todo' | 'in_progress' | 'done'
}

interface ActionFields {
  /** A call of a tool on an MCP server; `data` (default empty) holds its arguments. */
  readonly MCPToolAction: { readonly data?: JsonObject }
  /** The end of the task, with a message for the user. */
  readonly FinishAction: { readonly message: string }
  /** Loads a skill by name. */
  readonly InvokeSkillAction: { readonly name: string }
  /** A change of model. */
  readonly SwitchLLMAction: { readonly profile_name: string; readonly reason: string }
  readonly ClassifyAndSwitchLLMAction: object
  /** A note of the model to itself. */
  readonly ThinkAction: { readonly thought: string }
  /** A question about an image in the conversation. */
  readonly VisionInspectAction: {
    readonly image_index: number
    readonly question: string
    readonly profile_name?: string | null
  }
  /** Applies a patch. */
  readonly ApplyPatchAction: { readonly patch: string }
  readonly BrowserAction: object
  /** Clicks the element with an index. */
  readonly BrowserClickAction: { readonly index: number; readonly new_tab?: boolean }
  /** Closes a tab. */
  readonly BrowserCloseTabAction: { readonly tab_id: string }
  /** Reads the page's text, starting at `start_from_char`. */
  readonly BrowserGetContentAction: { readonly extract_links?: boolean; readonly start_from_char?: number }
  /** Lists the page's elements. */
  readonly BrowserGetStateAction: { readonly include_screenshot?: boolean }
  readonly BrowserGetStorageAction: object
  readonly BrowserGoBackAction: object
  readonly BrowserListTabsAction: object
  /** Opens an address. */
  readonly BrowserNavigateAction: { readonly url: string; readonly new_tab?: boolean }
  /** Scrolls the page; `direction` defaults to down. */
  readonly BrowserScrollAction: { readonly direction?: 'up' | 'down' }
  /** Sets cookies and local storage. */
  readonly BrowserSetStorageAction: { readonly storage_state: JsonObject }
  readonly BrowserStartRecordingAction: object
  readonly BrowserStopRecordingAction: object
  /** Switches to a tab. */
  readonly BrowserSwitchTabAction: { readonly tab_id: string }
  /** Types text into the element with an index. */
  readonly BrowserTypeAction: { readonly index: number; readonly text: string }
  /** Starts agents, or assigns tasks to them. */
  readonly DelegateAction: {
    readonly command: 'spawn' | 'delegate'
    readonly ids?: readonly string[] | null
    readonly agent_types?: readonly string[] | null
    readonly tasks?: Readonly<Record<string, string>> | null
  }
  readonly FileEditorAction: FileEditing
  /** Replaces text in a file; `expected_replacements` defaults to 1. */
  readonly EditAction: {
    readonly file_path: string
    readonly old_string: string
    readonly new_string: string
    readonly expected_replacements?: number
  }
  /** Lists a folder, by default the working folder. */
  readonly ListDirectoryAction: { readonly dir_path?: string; readonly recursive?: boolean }
  /** Reads a file. */
  readonly ReadFileAction: {
    readonly file_path: string
    readonly offset?: number | null
    readonly limit?: number | null
  }
  /** Writes a file. */
  readonly WriteFileAction: { readonly file_path: string; readonly content: string }
  /** Finds files by name. */
  readonly GlobAction: { readonly pattern: string; readonly path?: string | null }
  /** Finds text in files. */
  readonly GrepAction: {
    readonly pattern: string
    readonly path?: string | null
    readonly include?: string | null
  }
  readonly PlanningFileEditorAction: FileEditing
  /** A task for another agent; `subagent_type` defaults to "general-purpose". */
  readonly TaskAction: {
    readonly prompt: string
    readonly description?: string | null
    readonly subagent_type?: string
    readonly resume?: string | null
  }
  /** Views (the default) or writes the plan. */
  readonly TaskTrackerAction: { readonly command?: 'view' | 'plan'; readonly task_list?: readonly TaskItem[] }
  /** A command for the terminal; `timeout` in seconds. */
  readonly TerminalAction: {
    readonly command: string
    readonly is_input?: boolean
    readonly timeout?: number | null
    readonly reset?: boolean
  }
  readonly SleeptimeComputeAction: object
  /** Runs a script in the workflow engine; `max_concurrency` is 1 to 64, by default 8. */
  readonly WorkflowAction: {
    readonly name: string
    readonly script: string
    readonly max_concurrency?: number
  }
}

/** The published action of one kind. */
export type ActionOf<K extends keyof ActionFields> = Action & { readonly kind: K } & ActionFields[K]

/** Any action of a published kind (interface 2.4), distinguished by `kind`. */
export type PublishedAction = { [K in keyof ActionFields]: ActionOf<K> }[keyof ActionFields]

/** Result of an edit; old and new content are for display, not for the model. */
interface FileEdited {
  readonly command: string
  readonly path?: string | null
  readonly prev_exist?: boolean
  readonly old_content?: string | null
  readonly new_content?: string | null
}

/** One entry of a folder; it may have further fields. */
interface DirectoryEntry {
  readonly name: string
  readonly path: string
}

/** Where and how a command ran; -1 means unknown. */
interface CommandMetadata {
  readonly exit_code?: number
  readonly pid?: number
  readonly username?: string | null
  readonly hostname?: string | null
  readonly working_dir?: string | null
  readonly py_interpreter_path?: string | null
  readonly prefix?: string
  readonly suffix?: string
}

interface ObservationFields {
  readonly FinishObservation: object
  readonly ThinkObservation: object
  readonly ClientToolObservation: object
  /** The result of a tool on an MCP server. */
  readonly MCPToolObservation: { readonly tool_name: string }
  /** A skill was loaded. */
  readonly InvokeSkillObservation: { readonly skill_name: string }
  /** The model was changed. */
  readonly SwitchLLMObservation: {
    readonly profile_name: string
    readonly reason?: string | null
    readonly active_model?: string | null
  }
  readonly ClassifyAndSwitchLLMObservation: {
    readonly chosen_class?: string | null
    readonly model?: string | null
    readonly active_model?: string | null
  }
  /** A vision model's answer about an image. */
  readonly VisionInspectObservation: {
    readonly image_index: number
    readonly question: string
    readonly profile_name?: string | null
    readonly model?: string | null
    readonly base_url?: string | null
    readonly answer?: string | null
  }
  /** Result of a patch; `fuzz` counts the lines that were matched inexactly. */
  readonly ApplyPatchObservation: {
    readonly message?: string
    readonly fuzz?: number
    readonly commit?: JsonObject | null
  }
  /** The state of the browser; `screenshot_data` is base64. */
  readonly BrowserObservation: {
    readonly screenshot_data?: string | null
    readonly full_output_save_dir?: string | null
  }
  /** Agents were started, or tasks were assigned. */
  readonly DelegateObservation: { readonly command: string }
  readonly FileEditorObservation: FileEdited
  readonly PlanningFileEditorObservation: FileEdited
  /** Result of a replacement. */
  readonly EditObservation: {
    readonly file_path?: string | null
    readonly is_new_file?: boolean
    readonly replacements_made?: number
    readonly old_content?: string | null
    readonly new_content?: string | null
  }
  /** A folder's entries. */
  readonly ListDirectoryObservation: {
    readonly dir_path?: string | null
    readonly entries?: readonly DirectoryEntry[]
    readonly total_count?: number
    readonly is_truncated?: boolean
  }
  /** A file's text; `lines_shown` holds the first and the last line. */
  readonly ReadFileObservation: {
    readonly file_path: string
    readonly file_content?: string
    readonly is_truncated?: boolean
    readonly lines_shown?: readonly number[] | null
    readonly total_lines?: number | null
  }
  /** A file was written. */
  readonly WriteFileObservation: {
    readonly file_path?: string | null
    readonly is_new_file?: boolean
    readonly old_content?: string | null
    readonly new_content?: string | null
  }
  /** File names that matched. */
  readonly GlobObservation: {
    readonly files: readonly string[]
    readonly pattern: string
    readonly search_path: string
    readonly truncated?: boolean
  }
  /** Files with matching text. */
  readonly GrepObservation: {
    readonly matches: readonly string[]
    readonly pattern: string
    readonly search_path: string
    readonly include_pattern?: string | null
    readonly truncated?: boolean
  }
  /** Status of another agent's task. */
  readonly TaskObservation: {
    readonly task_id: string
    readonly subagent: string
    readonly status: string
  }
  /** The plan. */
  readonly TaskTrackerObservation: { readonly command: string; readonly task_list?: readonly TaskItem[] }
  /** Output of a command. A null `command` is omitted on disk. */
  readonly TerminalObservation: {
    readonly command?: string | null
    readonly exit_code?: number | null
    readonly timeout?: boolean
    readonly metadata?: CommandMetadata
    readonly full_output_save_dir?: string | null
  }
  /** What the agent computed while it was idle. */
  readonly SleeptimeComputeObservation: { readonly message?: string; readonly sessions_processed?: number }
  /** How a workflow ended. */
  readonly WorkflowObservation: { readonly name: string; readonly status: 'completed' | 'error' }
}

/** The published observation of one kind. */
export type ObservationOf<K extends keyof ObservationFields> = Observation & {
  readonly kind: K
} & ObservationFields[K]

/** Any observation of a published kind, distinguished by `kind`. */
export type PublishedObservation = {
  [K in keyof ObservationFields]: ObservationOf<K>
}[keyof ObservationFields]
