import * as z from 'zod/mini'
import { isObject } from '../json.ts'
import type { Action, JsonObject, JsonValue, Observation } from '../shapes.ts'
import { type Check, checkers, integer, jsonObject, maybeText } from '../shape-schema.ts'

const maybeFlag = () => z.exactOptional(z.boolean())
const maybeCount = () => z.exactOptional(integer().check(z.gte(0)))
const maybeCountOrNull = () => z.exactOptional(z.nullable(integer().check(z.gte(0))))
const maybeTexts = () => z.exactOptional(z.nullable(z.array(z.string())))

const fileEditing = () => ({
  command: z.enum(['view', 'create', 'str_replace', 'insert', 'undo_edit']),
  path: z.string(),
  file_text: maybeText(),
  old_str: maybeText(),
  new_str: maybeText(),
  insert_line: maybeCountOrNull(),
  view_range: z.exactOptional(z.nullable(z.array(integer()))),
})

const taskList = () =>
  z.exactOptional(
    z.array(
      z.looseObject({
        title: z.string(),
        notes: z.exactOptional(z.string()),
        status: z.exactOptional(z.enum(['todo', 'in_progress', 'done'])),
      }),
    ),
  )

function published<K extends string, Fields extends z.core.$ZodShape>(kind: K, fields: Fields) {
  return z.looseObject({ kind: z.literal(kind), ...fields })
}

/** Returns, for each kind, a function that creates the schema, because most programs need few schemas. */
function byKind<T extends Readonly<Record<string, () => z.core.$ZodShape>>>(fields: T) {
  const makers = Object.entries(fields).map(([kind, shape]) => [kind, () => published(kind, shape())])
  return Object.fromEntries(makers) as {
    [K in keyof T & string]: () => ReturnType<typeof published<K, ReturnType<T[K]>>>
  }
}

export const actionSchemas = byKind({
  /** `data` has the arguments. */
  MCPToolAction: () => ({ data: z.exactOptional(jsonObject()) }),
  FinishAction: () => ({ message: z.string() }),
  InvokeSkillAction: () => ({ name: z.string() }),
  SwitchLLMAction: () => ({ profile_name: z.string(), reason: z.string() }),
  ClassifyAndSwitchLLMAction: () => ({}),
  ThinkAction: () => ({ thought: z.string() }),
  VisionInspectAction: () => ({
    image_index: integer().check(z.gte(0)),
    question: z.string().check(z.minLength(1)),
    profile_name: maybeText(),
  }),
  ApplyPatchAction: () => ({ patch: z.string() }),
  BrowserAction: () => ({}),
  BrowserClickAction: () => ({ index: integer().check(z.gte(0)), new_tab: maybeFlag() }),
  BrowserCloseTabAction: () => ({ tab_id: z.string() }),
  BrowserGetContentAction: () => ({ extract_links: maybeFlag(), start_from_char: maybeCount() }),
  BrowserGetStateAction: () => ({ include_screenshot: maybeFlag() }),
  BrowserGetStorageAction: () => ({}),
  BrowserGoBackAction: () => ({}),
  BrowserListTabsAction: () => ({}),
  BrowserNavigateAction: () => ({ url: z.string(), new_tab: maybeFlag() }),
  BrowserScrollAction: () => ({ direction: z.exactOptional(z.enum(['up', 'down'])) }),
  BrowserSetStorageAction: () => ({ storage_state: jsonObject() }),
  BrowserStartRecordingAction: () => ({}),
  BrowserStopRecordingAction: () => ({}),
  BrowserSwitchTabAction: () => ({ tab_id: z.string() }),
  BrowserTypeAction: () => ({ index: integer().check(z.gte(0)), text: z.string() }),
  DelegateAction: () => ({
    command: z.enum(['spawn', 'delegate']),
    ids: maybeTexts(),
    agent_types: maybeTexts(),
    tasks: z.exactOptional(z.nullable(z.record(z.string(), z.string()))),
  }),
  FileEditorAction: fileEditing,
  EditAction: () => ({
    file_path: z.string(),
    old_string: z.string(),
    new_string: z.string(),
    expected_replacements: maybeCount(),
  }),
  ListDirectoryAction: () => ({ dir_path: z.exactOptional(z.string()), recursive: maybeFlag() }),
  ReadFileAction: () => ({
    file_path: z.string(),
    offset: maybeCountOrNull(),
    limit: z.exactOptional(z.nullable(integer().check(z.gte(1)))),
  }),
  WriteFileAction: () => ({ file_path: z.string(), content: z.string() }),
  GlobAction: () => ({ pattern: z.string(), path: maybeText() }),
  GrepAction: () => ({ pattern: z.string(), path: maybeText(), include: maybeText() }),
  PlanningFileEditorAction: fileEditing,
  TaskAction: () => ({
    prompt: z.string(),
    description: maybeText(),
    subagent_type: z.exactOptional(z.string()),
    resume: maybeText(),
  }),
  TaskTrackerAction: () => ({ command: z.exactOptional(z.enum(['view', 'plan'])), task_list: taskList() }),
  /** `timeout` in seconds. */
  TerminalAction: () => ({
    command: z.string(),
    is_input: maybeFlag(),
    timeout: z.exactOptional(z.nullable(z.number().check(z.gte(0)))),
    reset: maybeFlag(),
  }),
  SleeptimeComputeAction: () => ({}),
  WorkflowAction: () => ({
    name: z.string(),
    script: z.string(),
    max_concurrency: z.exactOptional(integer().check(z.gte(1)).check(z.lte(64))),
  }),
})

/** An edit of a file. Old and new content are for display, not for the model. */
const fileEdited = () => ({
  command: z.string(),
  path: maybeText(),
  prev_exist: maybeFlag(),
  old_content: maybeText(),
  new_content: maybeText(),
})

/** Where and how a command ran; an `exit_code` or `pid` of -1 means unknown. */
const commandMetadata = () =>
  z.looseObject({
    exit_code: z.exactOptional(integer()),
    pid: z.exactOptional(integer()),
    username: maybeText(),
    hostname: maybeText(),
    working_dir: maybeText(),
    py_interpreter_path: maybeText(),
    prefix: z.exactOptional(z.string()),
    suffix: z.exactOptional(z.string()),
  })

/** The fields of each published kind of observation. The event's schema checks `content` and `is_error`. */
export const observationSchemas = byKind({
  FinishObservation: () => ({}),
  ThinkObservation: () => ({}),
  ClientToolObservation: () => ({}),
  MCPToolObservation: () => ({ tool_name: z.string() }),
  InvokeSkillObservation: () => ({ skill_name: z.string() }),
  SwitchLLMObservation: () => ({ profile_name: z.string(), reason: maybeText(), active_model: maybeText() }),
  ClassifyAndSwitchLLMObservation: () => ({
    chosen_class: maybeText(),
    model: maybeText(),
    active_model: maybeText(),
  }),
  VisionInspectObservation: () => ({
    image_index: integer(),
    question: z.string(),
    profile_name: maybeText(),
    model: maybeText(),
    base_url: maybeText(),
    answer: maybeText(),
  }),
  /** `fuzz` is the number of lines that were matched inexactly. */
  ApplyPatchObservation: () => ({
    message: z.exactOptional(z.string()),
    fuzz: z.exactOptional(integer()),
    commit: z.exactOptional(z.nullable(jsonObject())),
  }),
  /** `screenshot_data` is base64. */
  BrowserObservation: () => ({ screenshot_data: maybeText(), full_output_save_dir: maybeText() }),
  DelegateObservation: () => ({ command: z.string() }),
  FileEditorObservation: fileEdited,
  PlanningFileEditorObservation: fileEdited,
  EditObservation: () => ({
    file_path: maybeText(),
    is_new_file: maybeFlag(),
    replacements_made: z.exactOptional(integer()),
    old_content: maybeText(),
    new_content: maybeText(),
  }),
  ListDirectoryObservation: () => ({
    dir_path: maybeText(),
    entries: z.exactOptional(z.array(z.looseObject({ name: z.string(), path: z.string() }))),
    total_count: z.exactOptional(integer()),
    is_truncated: maybeFlag(),
  }),
  /** `lines_shown` has the numbers of the first and the last line. */
  ReadFileObservation: () => ({
    file_path: z.string(),
    file_content: z.exactOptional(z.string()),
    is_truncated: maybeFlag(),
    lines_shown: z.exactOptional(z.nullable(z.array(integer()))),
    total_lines: z.exactOptional(z.nullable(integer())),
  }),
  WriteFileObservation: () => ({
    file_path: maybeText(),
    is_new_file: maybeFlag(),
    old_content: maybeText(),
    new_content: maybeText(),
  }),
  GlobObservation: () => ({
    files: z.array(z.string()),
    pattern: z.string(),
    search_path: z.string(),
    truncated: maybeFlag(),
  }),
  GrepObservation: () => ({
    matches: z.array(z.string()),
    pattern: z.string(),
    search_path: z.string(),
    include_pattern: maybeText(),
    truncated: maybeFlag(),
  }),
  TaskObservation: () => ({ task_id: z.string(), subagent: z.string(), status: z.string() }),
  TaskTrackerObservation: () => ({ command: z.string(), task_list: taskList() }),
  TerminalObservation: () => ({
    command: maybeText(),
    exit_code: z.exactOptional(z.nullable(integer())),
    timeout: maybeFlag(),
    metadata: z.exactOptional(commandMetadata()),
    full_output_save_dir: maybeText(),
  }),
  SleeptimeComputeObservation: () => ({
    message: z.exactOptional(z.string()),
    sessions_processed: z.exactOptional(integer()),
  }),
  WorkflowObservation: () => ({ name: z.string(), status: z.enum(['completed', 'error']) }),
})

type ReadonlyDeep<T> = T extends JsonObject
  ? JsonObject extends T
    ? T
    : ReadonlyFields<T>
  : T extends readonly (infer Item)[]
    ? readonly ReadonlyDeep<Item>[]
    : T extends object
      ? ReadonlyFields<T>
      : T

/** Readonly fields without a loose object's index signature, which would accept a misspelled field. */
type ReadonlyFields<T> = {
  readonly [K in keyof T as string extends K ? (unknown extends T[K] ? never : K) : K]: ReadonlyDeep<T[K]>
}

type FieldsOf<Schema extends z.ZodMiniType> = ReadonlyDeep<z.input<Schema>>

/** The published action of one kind. */
export type ActionOf<K extends keyof typeof actionSchemas> = Action &
  FieldsOf<ReturnType<(typeof actionSchemas)[K]>>

/** Any action of a published kind (interface section 2.4), distinguished by `kind`. */
export type PublishedAction = { [K in keyof typeof actionSchemas]: ActionOf<K> }[keyof typeof actionSchemas]

/** The published observation of one kind. */
export type ObservationOf<K extends keyof typeof observationSchemas> = Observation &
  FieldsOf<ReturnType<(typeof observationSchemas)[K]>>

/** Any observation of a published kind, distinguished by `kind`. */
export type PublishedObservation = {
  [K in keyof typeof observationSchemas]: ObservationOf<K>
}[keyof typeof observationSchemas]

export const actionChecks = checkers(actionSchemas)

export const observationChecks = checkers(observationSchemas)

/**
 * Whether an action is of this published kind and has its fields. An action with wrong fields is still valid,
 * but decodes with a warning (design D14). O(size) for a new object, then O(1).
 * @example
 * const action = { kind: 'TerminalAction', command: 'ls' }
 * isAction(action, 'TerminalAction') && action.command // 'ls'
 * isAction({ kind: 'TerminalAction' }, 'TerminalAction') // false
 */
export function isAction<K extends PublishedAction['kind']>(
  action: Action | null | undefined,
  kind: K,
): action is ActionOf<K> {
  return isPayloadOf(action, kind, actionChecks, ACTIONS)
}

/**
 * Whether an observation is of this published kind and has its fields. An observation with wrong fields is
 * still valid, but decodes with a warning (design D14). O(size) for a new object, then O(1).
 * @example
 * const observation = { kind: 'TerminalObservation', exit_code: 1 }
 * isObservation(observation, 'TerminalObservation') && observation.exit_code // 1
 * isObservation({ kind: 'TerminalObservation', exit_code: '1' }, 'TerminalObservation') // false
 */
export function isObservation<K extends PublishedObservation['kind']>(
  observation: Observation | null | undefined,
  kind: K,
): observation is ObservationOf<K> {
  return isPayloadOf(observation, kind, observationChecks, OBSERVATIONS)
}

const ACTIONS = new WeakMap<object, boolean>()
const OBSERVATIONS = new WeakMap<object, boolean>()

function isPayloadOf(
  value: Action | Observation | null | undefined,
  kind: string,
  checks: ReadonlyMap<JsonValue | undefined, Check>,
  known: WeakMap<object, boolean>,
): boolean {
  if (!isObject(value as JsonValue | undefined) || value?.kind !== kind) return false
  const cached = known.get(value)
  if (cached !== undefined) return cached
  const fit = checks.get(kind)?.(value as object as JsonValue).length === 0
  if (Object.isFrozen(value)) known.set(value, fit)
  return fit
}
