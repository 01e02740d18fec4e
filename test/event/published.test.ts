/**
 * The published actions and observations: a missing or invalid field is a warning, and unknown fields are
 * kept (law E7).
 */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import {
  isAction,
  isObservation,
  actionSchemas,
  observationSchemas,
} from '../../src/event/published/payload-schema.ts'
import type { Action, Observation } from '../../src/event/shapes.ts'
import { type Fields, PARTS, REQUIRED } from './payloads.ts'
import { sampleOf } from './samples.ts'

function issuesIn(part: 'action' | 'observation', value: unknown): string[] {
  const { minimal } = sampleOf(part === 'action' ? 'ActionEvent' : 'ObservationEvent')
  const decoded = decodeEvent({ ...minimal, [part]: value })
  expect(decoded.ok).toBe(
    part === 'action' || !('content' in Object(value)) || Array.isArray(Object(value).content),
  )
  return (decoded.ok ? decoded.warnings : decoded.issues).map(({ loc, type }) => `${loc.join('.')} ${type}`)
}

describe('the published kinds', () => {
  it('are the 37 actions of interface 2.4, and 24 observations', () => {
    const listed =
      'MCPToolAction, FinishAction, InvokeSkillAction, SwitchLLMAction, ClassifyAndSwitchLLMAction, ThinkAction, VisionInspectAction, ApplyPatchAction, BrowserAction, BrowserClickAction, BrowserCloseTabAction, BrowserGetContentAction, BrowserGetStateAction, BrowserGetStorageAction, BrowserGoBackAction, BrowserListTabsAction, BrowserNavigateAction, BrowserScrollAction, BrowserSetStorageAction, BrowserStartRecordingAction, BrowserStopRecordingAction, BrowserSwitchTabAction, BrowserTypeAction, DelegateAction, FileEditorAction, EditAction, ListDirectoryAction, ReadFileAction, WriteFileAction, GlobAction, GrepAction, PlanningFileEditorAction, TaskAction, TaskTrackerAction, TerminalAction, SleeptimeComputeAction, WorkflowAction'
    expect(Object.keys(actionSchemas).join(', ')).toBe(listed)
    expect(Object.keys(observationSchemas)).toHaveLength(24)
  })

  it.each(PARTS)('need exactly the required fields of the %s %s, and accept extra ones', (part, kind) => {
    const required = REQUIRED[kind] ?? {}
    expect(issuesIn(part, { kind, ...required, own: { deep: [1] } })).toEqual([])
    for (const key of Object.keys(required)) {
      const { [key]: _, ...rest } = required
      expect(issuesIn(part, { kind, ...rest })).toEqual([`${part}.${key} missing`])
    }
  })

  it.each<[string, Fields, string]>([
    ['TerminalAction', { timeout: -1 }, 'timeout greater_than_equal'],
    ['TerminalAction', { timeout: 'soon' }, 'timeout float_type'],
    ['TerminalAction', { is_input: null }, 'is_input bool_type'],
    ['FileEditorAction', { command: 'delete' }, 'command enum'],
    ['FileEditorAction', { view_range: [1, 1.5] }, 'view_range.1 int_type'],
    ['FileEditorAction', { insert_line: -1 }, 'insert_line greater_than_equal'],
    ['VisionInspectAction', { question: '' }, 'question string_too_short'],
    ['BrowserScrollAction', { direction: 'left' }, 'direction enum'],
    ['DelegateAction', { tasks: { a: 1 } }, 'tasks.a string_type'],
    ['ReadFileAction', { limit: 0 }, 'limit greater_than_equal'],
    ['WorkflowAction', { max_concurrency: 65 }, 'max_concurrency less_than_equal'],
    ['TaskTrackerAction', { task_list: [{ title: 't', status: 'later' }] }, 'task_list.0.status enum'],
    ['TaskTrackerAction', { task_list: [{}] }, 'task_list.0.title missing'],
    ['MCPToolAction', { data: [] }, 'data dict_type'],
  ])('%s with %j is reported: %s', (kind, fields, issue) => {
    expect(issuesIn('action', { kind, ...REQUIRED[kind], ...fields })).toEqual([`action.${issue}`])
  })

  it.each<[string, Fields, string]>([
    ['TerminalObservation', { exit_code: 'one' }, 'exit_code int_type'],
    ['TerminalObservation', { metadata: { pid: null } }, 'metadata.pid int_type'],
    ['WorkflowObservation', { status: 'running' }, 'status enum'],
    ['FileEditorObservation', { prev_exist: null }, 'prev_exist bool_type'],
    ['FinishObservation', { content: 'text' }, 'content list_type'],
    ['ListDirectoryObservation', { entries: [{ name: 'a' }] }, 'entries.0.path missing'],
  ])('%s with %j is reported: %s', (kind, fields, issue) => {
    expect(issuesIn('observation', { kind, ...REQUIRED[kind], ...fields })).toEqual([`observation.${issue}`])
  })

  it('accept a null or absent command and exit code (W35, W36)', () => {
    expect(issuesIn('observation', { kind: 'TerminalObservation' })).toEqual([])
    expect(issuesIn('observation', { kind: 'TerminalObservation', command: null, exit_code: null })).toEqual(
      [],
    )
  })

  it('an unpublished kind may have any fields', () => {
    expect(issuesIn('action', { kind: 'OwnAction', command: 5, path: null })).toEqual([])
    expect(issuesIn('action', { kind: 'toString' })).toEqual([])
    expect(issuesIn('observation', { kind: 'OwnObservation', command: 5, exit_code: 'x' })).toEqual([])
  })
})

describe('isAction and isObservation', () => {
  const action: Action = { kind: 'TerminalAction', command: 'ls', own: 1 }
  const observation: Observation = { kind: 'GlobObservation', files: ['a'], pattern: '*', search_path: '/' }

  it('narrow to the published type', () => {
    expect(isAction(action, 'TerminalAction') ? action.command.length : 0).toBe(2)
    expect(isAction(action, 'FinishAction')).toBe(false)
    expect(isObservation(observation, 'GlobObservation') ? observation.files : []).toEqual(['a'])
    expect(isObservation(observation, 'GrepObservation')).toBe(false)
  })

  it('return false for a mismatch, and check a mutable payload on every call', () => {
    for (const payload of [
      { kind: 'GlobObservation', pattern: '*' },
      Object.freeze({ kind: 'GlobObservation' }),
    ]) {
      expect([1, 2].map(() => isObservation(payload, 'GlobObservation'))).toEqual([false, false])
    }
    const changing: Record<string, unknown> & Action = { kind: 'TerminalAction' }
    expect(isAction(changing, 'TerminalAction')).toBe(false)
    changing['command'] = 'ls'
    expect(isAction(changing, 'TerminalAction')).toBe(true)
  })

  it('return false for null and undefined', () => {
    expect(isAction(null, 'TerminalAction')).toBe(false)
    expect(isAction(undefined, 'TerminalAction')).toBe(false)
    expect(isObservation(undefined, 'GlobObservation')).toBe(false)
  })
})
