/** Tool calls and tools in the grammar of OpenAI's chat completions become the shapes of the interface. */

import { editEach, editObject, isObject, without } from '../json.ts'
import type { JsonObject } from '../shapes.ts'
import { namesOfTool, upcaster, type Upcaster } from './upcaster.ts'

export const COMPLETION: readonly Upcaster[] = [
  upcaster(
    'completion.tool_calls',
    ['ActionEvent', 'MessageEvent'],
    'Name and arguments of a tool call were under function; they move up. index and type are removed.',
    (raw) =>
      editObject(editObject(raw, 'tool_call', liftCall), 'llm_message', (message) =>
        editEach(message, 'tool_calls', liftCall),
      ),
  ),
  upcaster(
    'completion.tools',
    ['SystemPromptEvent'],
    'A tool was under function; it moves up, its name as title. If not built in, it counts as an MCP tool. type is removed.',
    (raw) => editEach(raw, 'tools', liftTool),
  ),
]

function liftCall(call: JsonObject): JsonObject {
  const { function: called, type = 'function' } = call
  if (type !== 'function' || !isObject(called)) return call
  if (typeof called['name'] !== 'string' || typeof called['arguments'] !== 'string') return call
  return joined(call, without(call, 'function', 'type', 'index'), called, { origin: 'completion' })
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
  return joined(tool, today, without(described, 'name', 'description'), without(tool, 'type', 'function'))
}

/** The parts as one object; but the object as it was when two of them share a key. */
function joined(object: JsonObject, ...parts: readonly JsonObject[]): JsonObject {
  const entries = parts.flatMap((part) => Object.entries(part))
  const joint = Object.fromEntries(entries)
  return Object.keys(joint).length === entries.length ? joint : object
}
