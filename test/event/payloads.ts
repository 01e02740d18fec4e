/** Required fields of each published action and observation, and the list of all kinds. */

import { actionSchemas, observationSchemas } from '../../src/event/published/payload-schema.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Required fields by kind; other kinds require only their name. */
export const REQUIRED: Readonly<Record<string, Fields>> = {
  FinishAction: { message: 'done' },
  InvokeSkillAction: { name: 'git' },
  SwitchLLMAction: { profile_name: 'p', reason: 'r' },
  ThinkAction: { thought: 't' },
  VisionInspectAction: { image_index: 0, question: 'q' },
  ApplyPatchAction: { patch: 'p' },
  BrowserClickAction: { index: 0 },
  BrowserCloseTabAction: { tab_id: 't' },
  BrowserNavigateAction: { url: 'u' },
  BrowserSetStorageAction: { storage_state: {} },
  BrowserSwitchTabAction: { tab_id: 't' },
  BrowserTypeAction: { index: 0, text: 't' },
  DelegateAction: { command: 'spawn' },
  FileEditorAction: { command: 'view', path: '/a' },
  EditAction: { file_path: '/a', old_string: '', new_string: '' },
  ReadFileAction: { file_path: '/a' },
  WriteFileAction: { file_path: '/a', content: '' },
  GlobAction: { pattern: '*' },
  GrepAction: { pattern: '*' },
  PlanningFileEditorAction: { command: 'view', path: '/a' },
  TaskAction: { prompt: 'p' },
  TerminalAction: { command: 'ls' },
  WorkflowAction: { name: 'n', script: 's' },
  MCPToolObservation: { tool_name: 't' },
  InvokeSkillObservation: { skill_name: 's' },
  SwitchLLMObservation: { profile_name: 'p' },
  VisionInspectObservation: { image_index: 0, question: 'q' },
  DelegateObservation: { command: 'spawn' },
  FileEditorObservation: { command: 'view' },
  PlanningFileEditorObservation: { command: 'view' },
  ReadFileObservation: { file_path: '/a' },
  GlobObservation: { files: [], pattern: '*', search_path: '/' },
  GrepObservation: { matches: [], pattern: '*', search_path: '/' },
  TaskObservation: { task_id: 't', subagent: 's', status: 'done' },
  TaskTrackerObservation: { command: 'view' },
  WorkflowObservation: { name: 'n', status: 'error' },
}

/** Every published kind, and the event field that contains it. */
export const PARTS = [
  ...Object.keys(actionSchemas).map((kind) => ['action', kind] as const),
  ...Object.keys(observationSchemas).map((kind) => ['observation', kind] as const),
]
