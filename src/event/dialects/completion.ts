/** Tool calls and tools in the grammar of OpenAI's chat completions go in, the contract's own shapes come out. */

import { editEach, editObject, isObject, without } from '../json.ts'
import type { JsonObject } from '../shapes.ts'
import { namesOfTool } from './tools.ts'
import { upcaster, type Upcaster } from './upcaster.ts'

/** Steps for events that carry a provider's shapes as they came. */
export const COMPLETION: readonly Upcaster[] = [
  upcaster(
    'completion.tool_calls',
    ['ActionEvent', 'MessageEvent'],
    'A tool call had its name and arguments under function; they move up, and origin says completion. index and type are taken out.',
    (raw) =>
      editObject(editObject(raw, 'tool_call', liftCall), 'llm_message', (message) =>
        editEach(message, 'tool_calls', liftCall),
      ),
  ),
  upcaster(
    'completion.tools',
    ['SystemPromptEvent'],
    'A tool had its name, description and parameters under function; they move up, the name as title. A tool that is not built in counts as one of an MCP server. type is taken out.',
    (raw) => editEach(raw, 'tools', liftTool),
  ),
]

function liftCall(call: JsonObject): JsonObject {
  const { function: called } = call
  if (!isObject(called) || typeof called['name'] !== 'string' || typeof called['arguments'] !== 'string')
    return call
  return { ...called, ...without(call, 'function', 'type', 'index'), origin: 'completion' }
}

function liftTool(tool: JsonObject): JsonObject {
  const { type, function: described } = tool
  if (type !== 'function' || !isObject(described) || typeof described['name'] !== 'string') return tool
  const { name, description } = described
  const names = namesOfTool(name)
  return {
    ...(names && { kind: names.tool }),
    title: name,
    description: description ?? '',
    action_type: names?.action ?? 'MCPToolAction',
    observation_type: names?.observation ?? 'MCPToolObservation',
    ...without(described, 'name', 'description'),
    ...without(tool, 'type', 'function'),
  }
}
