/**
 * Status fields, tools without kinds and messages of an editor extension become the shapes of the interface.
 */

import { edit, editObject, without } from '../json.ts'
import type { JsonObject, JsonValue } from '../shapes.ts'
import { upcaster, type Upcaster, namesOfTool } from './upcaster.ts'
import { isTextOrNull, toContent } from './result-fields.ts'

export const TAB: readonly Upcaster[] = [
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
  upcaster(
    'tab.action_kind',
    ['ActionEvent'],
    'An action named no kind; it gets the one of its tool.',
    (raw) => editObject(raw, 'action', (action) => withKind(action, raw, 'action')),
  ),
  upcaster(
    'tab.observation_kind',
    ['ObservationEvent'],
    'An observation named no kind; it gets the one of its tool. stdout and stderr of a terminal become content.',
    (raw) =>
      editObject(raw, 'observation', (observation) => {
        const named = withKind(observation, raw, 'observation')
        return named === observation ? observation : printed(named)
      }),
  ),
  upcaster(
    'tab.message_content',
    ['MessageEvent'],
    'The content of a message was a string or null; it becomes a list with that text, or an empty one.',
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

/** An exit code other than 0 is a fact about the command, not an error of the tool. */
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

export const EARLY: readonly Upcaster[] = [
  upcaster(
    'early.activated_microagents',
    ['MessageEvent'],
    'activated_microagents is called activated_skills now. A message that has both stays as it is.',
    (raw) => {
      const { activated_microagents: names, activated_skills: skills = null } = raw
      if (names === undefined || skills !== null) return raw
      return { ...without(raw, 'activated_microagents'), activated_skills: names }
    },
  ),
  upcaster(
    'early.condensation_llm_response_id',
    ['Condensation'],
    'A Condensation did not name its LLM response; it gets the empty id.',
    (raw) => ((raw['llm_response_id'] ?? null) === null ? { ...raw, llm_response_id: '' } : raw),
  ),
  upcaster(
    'early.tool_kinds',
    ['ActionEvent', 'ObservationEvent'],
    'ExecuteBash… and StrReplaceEditor… are kinds of Terminal… and FileEditor… now. The name of the tool stays.',
    (raw) => editObject(editObject(raw, 'action', renameKind), 'observation', renameKind),
  ),
]
