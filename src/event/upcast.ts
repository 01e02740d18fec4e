import { edit, editEach, editObject, isObject, without } from './json.ts'
import { EVENT_KINDS, type EventKind } from './kinds.ts'
import { type Shape, shapeOfKind, TEXT, walkShapes } from './nested-shapes.ts'
import { actionChecks, observationChecks } from './published/payload-schema.ts'
import type { JsonObject, JsonValue } from './shapes.ts'

/**
 * A conversion of one older or foreign form of an event. `upcast` accepts any JSON object, never throws, and
 * returns the same object if nothing changes. A second call changes nothing.
 */
export interface Upcaster {
  readonly name: string
  /** How the form differs, how it is converted, and every field that is removed. */
  readonly description: string
  readonly kinds: readonly EventKind[]
  readonly applies: (raw: JsonObject) => boolean
  readonly upcast: (raw: JsonObject) => JsonObject
}

function upcaster(
  name: string,
  kinds: readonly EventKind[],
  description: string,
  change: (raw: JsonObject) => JsonObject,
): Upcaster {
  const concerned: ReadonlySet<unknown> = new Set(kinds)
  const upcast = (raw: JsonObject): JsonObject => (concerned.has(raw['kind']) ? change(raw) : raw)
  return Object.freeze({
    name,
    description,
    kinds: Object.freeze(kinds),
    applies: (raw: JsonObject) => upcast(raw) !== raw,
    upcast,
  })
}

/** Stem of a tool's class names, by tool name. Tools whose stem is their name in PascalCase are not listed. */
const STEMS: Readonly<Record<string, string>> = {
  execute_bash: 'Terminal',
  str_replace_editor: 'FileEditor',
  switch_llm: 'SwitchLLM',
  classify_and_switch_llm: 'ClassifyAndSwitchLLM',
  inspect_image_with_vision: 'VisionInspect',
}

/** Returns the class names of a built-in tool; undefined for any other tool. */
export function namesOfTool(name: string) {
  const stem = Object.hasOwn(STEMS, name)
    ? STEMS[name]
    : name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const action = `${stem}Action`
  if (!actionChecks.has(action)) return undefined
  const observation = `${stem}Observation`
  // The browser's tools share one kind of observation.
  return {
    tool: `${stem}Tool`,
    action,
    observation: observationChecks.has(observation) ? observation : 'BrowserObservation',
  }
}

const TAB: readonly Upcaster[] = [
  upcaster(
    'tab.agent_status',
    ['ConversationStateUpdateEvent'],
    'agent_status becomes the value of the key execution_status, in lower case.',
    (raw) => {
      const { agent_status: status } = raw
      return typeof status === 'string' && hasNoValue(raw)
        ? { ...without(raw, 'agent_status'), key: 'execution_status', value: status.toLowerCase() }
        : raw
    },
  ),
  upcaster(
    'tab.iteration',
    ['ConversationStateUpdateEvent'],
    'iteration becomes the value of the key iteration.',
    (raw) => {
      const { iteration } = raw
      return typeof iteration === 'number' && hasNoValue(raw)
        ? { ...without(raw, 'iteration'), key: 'iteration', value: iteration }
        : raw
    },
  ),
  upcaster('tab.action_kind', ['ActionEvent'], 'An action without a kind gets the kind of its tool.', (raw) =>
    editObject(raw, 'action', (action) => withKind(action, raw, 'action')),
  ),
  upcaster(
    'tab.observation_kind',
    ['ObservationEvent'],
    'An observation without a kind gets the kind of its tool. The stdout and stderr of a terminal become content.',
    (raw) =>
      editObject(raw, 'observation', (observation) => {
        const named = withKind(observation, raw, 'observation')
        return named === observation ? observation : printed(named)
      }),
  ),
  upcaster(
    'tab.message_content',
    ['MessageEvent'],
    'Message content that is a string becomes a list with this text. Content that is null becomes an empty list.',
    (raw) =>
      editObject(raw, 'llm_message', (message) =>
        edit(message, 'content', (content) =>
          content === null || typeof content === 'string' ? toContent(content) : content,
        ),
      ),
  ),
]

const hasNoValue = ({ key = null, value }: JsonObject): boolean => key === null && value === undefined

function withKind(payload: JsonObject, event: JsonObject, part: 'action' | 'observation'): JsonObject {
  const { tool_name: tool } = event
  const names = typeof tool === 'string' && !Object.hasOwn(payload, 'kind') ? namesOfTool(tool) : undefined
  return names === undefined ? payload : { ...payload, kind: names[part] }
}

/** Makes `content` from terminal output. Does not set `is_error`: an exit code is not an error of the tool. */
function printed(observation: JsonObject): JsonObject {
  const { kind, content, stdout = null, stderr = null } = observation
  if (kind !== 'TerminalObservation' || content !== undefined) return observation
  if (!isTextOrNull(stdout) || !isTextOrNull(stderr)) return observation
  return { ...without(observation, 'stdout', 'stderr'), content: toContent(stdout, stderr) }
}

const RENAMED: ReadonlyMap<JsonValue, string> = new Map([
  ['ExecuteBashAction', 'TerminalAction'],
  ['ExecuteBashObservation', 'TerminalObservation'],
  ['StrReplaceEditorAction', 'FileEditorAction'],
  ['StrReplaceEditorObservation', 'FileEditorObservation'],
])

const renameKind = (tool: JsonObject): JsonObject => edit(tool, 'kind', (kind) => RENAMED.get(kind) ?? kind)

const EARLY: readonly Upcaster[] = [
  upcaster(
    'early.activated_microagents',
    ['MessageEvent'],
    'activated_microagents becomes activated_skills. A message that has both is unchanged.',
    (raw) => {
      const { activated_microagents: names, activated_skills: skills = null } = raw
      if (names === undefined || skills !== null) return raw
      return { ...without(raw, 'activated_microagents'), activated_skills: names }
    },
  ),
  upcaster(
    'early.condensation_llm_response_id',
    ['Condensation'],
    'A Condensation without an llm_response_id gets an empty one.',
    (raw) => ((raw['llm_response_id'] ?? null) === null ? { ...raw, llm_response_id: '' } : raw),
  ),
  upcaster(
    'early.tool_kinds',
    ['ActionEvent', 'ObservationEvent'],
    'The kinds ExecuteBash… and StrReplaceEditor… become Terminal… and FileEditor…. The name of the tool stays.',
    (raw) => editObject(editObject(raw, 'action', renameKind), 'observation', renameKind),
  ),
]

const COMPLETION: readonly Upcaster[] = [
  upcaster(
    'completion.tool_calls',
    ['ActionEvent', 'MessageEvent'],
    'In a tool call, name and arguments move up from the field function. index and type are removed.',
    (raw) =>
      editObject(editObject(raw, 'tool_call', liftCall), 'llm_message', (message) =>
        editEach(message, 'tool_calls', liftCall),
      ),
  ),
  upcaster(
    'completion.tools',
    ['SystemPromptEvent'],
    'In a tool, the fields of function move up; name becomes title. Tools that are not built in become MCP tools. type is removed.',
    (raw) => editEach(raw, 'tools', liftTool),
  ),
]

function liftCall(call: JsonObject): JsonObject {
  const { function: called, type = 'function' } = call
  if (type !== 'function' || !isObject(called)) return call
  if (typeof called['name'] !== 'string' || typeof called['arguments'] !== 'string') return call
  return mergeFields(call, without(call, 'function', 'type', 'index'), called, { origin: 'completion' })
}

function liftTool(tool: JsonObject): JsonObject {
  const { type, function: described } = tool
  if (type !== 'function' || !isObject(described) || typeof described['name'] !== 'string') return tool
  const { name, description } = described
  const names = namesOfTool(name)
  const today = {
    ...(names && { kind: names.tool }),
    title: name,
    description: description ?? '',
    action_type: names?.action ?? 'MCPToolAction',
    observation_type: names?.observation ?? 'MCPToolObservation',
  }
  return mergeFields(
    tool,
    today,
    without(described, 'name', 'description'),
    without(tool, 'type', 'function'),
  )
}

/** Returns the merged parts. If two parts have the same key, returns `object` unchanged. */
function mergeFields(object: JsonObject, ...parts: readonly JsonObject[]): JsonObject {
  const entries = parts.flatMap((part) => Object.entries(part))
  const joint = Object.fromEntries(entries)
  return Object.keys(joint).length === entries.length ? joint : object
}

const dropTruncation = (value: JsonObject, shape: Shape): JsonObject =>
  shape === TEXT && Object.hasOwn(value, 'enable_truncation') ? without(value, 'enable_truncation') : value

const SURPLUS: readonly Upcaster[] = [
  upcaster(
    'surplus.enable_truncation',
    ['ActionEvent', 'MessageEvent', 'ObservationEvent', 'SystemPromptEvent'],
    'enable_truncation, a former setting of text content, is removed.',
    (raw) => walkShapes(raw, shapeOfKind(raw['kind'] as EventKind), dropTruncation),
  ),
]

const dropIfNull = (value: JsonObject, key: string): JsonObject =>
  value[key] === null ? without(value, key) : value

function dropNulls(value: JsonObject, { defaults }: Shape): JsonObject {
  let result = value
  for (const key of Object.keys(defaults)) result = dropIfNull(result, key)
  return result
}

const NULLS: readonly Upcaster[] = [
  upcaster(
    'nulls.defaults',
    EVENT_KINDS,
    'A null in a field whose default is not null, such as thinking_blocks, is removed, so the default applies.',
    (raw) => walkShapes(raw, shapeOfKind(raw['kind'] as EventKind), dropNulls),
  ),
  upcaster('nulls.identity', EVENT_KINDS, 'A null id or timestamp is removed.', (raw) =>
    dropIfNull(dropIfNull(raw, 'id'), 'timestamp'),
  ),
  upcaster(
    'nulls.state_key',
    ['ConversationStateUpdateEvent'],
    'A null key of a state update is removed.',
    (raw) => dropIfNull(raw, 'key'),
  ),
]

const OWN_MESSAGE: ReadonlySet<JsonValue | undefined> = new Set([
  'ApplyPatchObservation',
  'SleeptimeComputeObservation',
])

const toContent = (...texts: readonly JsonValue[]): readonly JsonValue[] =>
  texts.filter((text) => typeof text === 'string' && text !== '').map((text) => ({ type: 'text', text }))

const isTextOrNull = (value: JsonValue): boolean => value === null || typeof value === 'string'

const RESULTS: readonly Upcaster[] = [
  upcaster(
    'results.text_content',
    ['ObservationEvent'],
    'Content that is a string becomes a list with this text.',
    (raw) =>
      editObject(raw, 'observation', (observation) =>
        typeof observation['content'] === 'string'
          ? { ...observation, content: toContent(observation['content']) }
          : observation,
      ),
  ),
  upcaster(
    'results.output_and_error',
    ['ObservationEvent'],
    'message, output and error become content and is_error. An error that is a text becomes the last part of the content.',
    (raw) => editObject(raw, 'observation', joinOutput),
  ),
]

function joinOutput(observation: JsonObject): JsonObject {
  const { kind, content = null, output = null, error = null } = observation
  // In a user's own tool, these fields can have any meaning, so only published kinds are converted.
  if (content !== null || !observationChecks.has(kind as string)) return observation
  const taken = ['output', 'error', ...(OWN_MESSAGE.has(kind) ? [] : ['message'])]
  if (!taken.some((key) => Object.hasOwn(observation, key))) return observation
  const message = taken.includes('message') ? (observation['message'] ?? null) : null
  const readable = isTextOrNull(output) && isTextOrNull(message)
  if (!readable || !(isTextOrNull(error) || typeof error === 'boolean')) return observation
  const failed = typeof error === 'string' ? error !== '' : error === true
  return {
    ...without(observation, ...taken),
    content: toContent(message, output, error),
    ...(Object.hasOwn(observation, 'error') && { is_error: failed || observation['is_error'] === true }),
  }
}

/** All upcasters, in the order in which they run: later upcasters need the kinds that earlier upcasters set. */
export const UPCASTERS: readonly Upcaster[] = Object.freeze([
  ...TAB,
  ...EARLY,
  ...RESULTS,
  ...COMPLETION,
  ...SURPLUS,
  ...NULLS,
])

const BY_KIND: ReadonlyMap<JsonValue | undefined, readonly Upcaster[]> = new Map(
  EVENT_KINDS.map((kind) => [kind, UPCASTERS.filter(({ kinds }) => kinds.includes(kind))]),
)

/** A converted value, and the names of the upcasters that changed it. */
export interface Upcast {
  readonly value: JsonValue
  readonly applied: readonly string[]
}

/**
 * Converts plain JSON of an older or foreign form of an event to the current form. Keeps unknown fields and
 * kinds, which decoding reports. An event in the current form stays unchanged. Never throws. O(size).
 * @example
 * upcast({ kind: 'Condensation' }).value // { kind: 'Condensation', llm_response_id: '' }
 * upcast({ kind: 'Condensation' }).applied // ['early.condensation_llm_response_id']
 */
export function upcast(value: JsonValue): Upcast {
  const upcasters = isObject(value) ? BY_KIND.get(value['kind']) : undefined
  if (upcasters === undefined) return { value, applied: [] }
  const applied: string[] = []
  let result = value as JsonObject
  for (const upcaster of upcasters) {
    const next = upcaster.upcast(result)
    if (next === result) continue
    applied.push(upcaster.name)
    result = next
  }
  return { value: result, applied }
}
