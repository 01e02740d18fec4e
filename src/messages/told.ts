/**
 * What a grammar is told, in words, of a part of a reply that it cannot say. One table for all grammars, apart from
 * those of what goes back: a writer needs the words of every grammar, and of what goes back its own alone.
 */

import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { isTyped, kindName } from './blocks.ts'
import { jsonOf } from './digest.ts'

/**
 * The fields of a kind that help a model beside its name, with spaces between them. Null where no other provider is told of it: reasoning, and
 * what only adds to words that are told anyway.
 */
export type Said = string | null

/** What is said of each kind. Of parts that name their own type those without a row go by name. */
export const SAID: Readonly<Record<string, Readonly<Record<string, Said>>>> = {
  anthropic: {
    thinking: null,
    redacted_thinking: null,
    server_tool_use: 'name input',
    code_execution_tool_result: 'content',
    bash_code_execution_tool_result: 'content',
    text_editor_code_execution_tool_result: 'content',
    mcp_tool_use: 'name input',
    mcp_tool_result: 'content',
    mcp_tool_listing: 'mcp_server_name',
    container_upload: 'file_id',
    compaction: 'content',
  },
  'ai-sdk': {
    reasoning: null,
    'reasoning-file': null,
    'tool-call': 'toolName input',
    'tool-result': 'toolName output',
    file: 'mediaType filename',
    custom: 'kind',
  },
  google: {
    text: '',
    functionCall: '',
    functionResponse: '',
    inlineData: 'mimeType displayName',
    fileData: 'mimeType fileUri',
    executableCode: 'code',
    codeExecutionResult: 'output',
    toolCall: 'toolType args',
    toolResponse: 'toolType response',
    audioTranscription: 'text',
    thought: '',
    thoughtSignature: '',
    mediaProcessing: '',
    mediaResolution: '',
    partMetadata: '',
    speechMetadata: '',
    videoMetadata: '',
  },
  'openai-chat': {
    content: '',
    refusal: '',
    tool_calls: '',
    function_call: 'name arguments',
    annotations: null,
    audio: 'transcript',
    reasoning_content: null,
    reasoning_details: null,
    extra_content: null,
  },
  'openai-responses': {
    reasoning: null,
    file_search_call: 'queries',
    web_search_call: 'action',
    code_interpreter_call: 'code outputs',
    image_generation_call: 'revised_prompt',
    mcp_list_tools: 'server_label',
    mcp_call: 'name arguments output error',
    mcp_approval_request: 'name arguments',
    program: 'code',
    program_output: 'result',
    tool_search_call: 'arguments',
    shell_call: 'action',
    apply_patch_call: 'operation',
    shell_call_output: 'output',
    apply_patch_call_output: 'status output',
  },
}

/** How long the words of a placeholder may be, in UTF-16 units. */
const WORDS = 400

/** What the table says of a kind of a grammar; undefined where it does not know it. O(1). */
export function saidOf(grammar: unknown, name: string): Said | undefined {
  if (typeof grammar !== 'string' || !Object.hasOwn(SAID, grammar)) return undefined
  const table = SAID[grammar]
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}

/**
 * The words that stand for a part where it cannot be sent: its kind by name, and behind it what of it helps a model.
 * Null for what no other provider is told of. Depends on the part alone. O(size).
 * @example
 * replyPlaceholder('openai-responses', { type: 'file_search_call', queries: ['oak'] }) // '[file_search_call: ["oak"]]'
 */
export function replyPlaceholder(grammar: unknown, value: JsonObject): string | null {
  const name = kindName(value)
  const said = saidOf(grammar, name)
  // Of an unknown field nothing tells whether it is content at all.
  if (said === null || (said === undefined && !isTyped(value))) return null
  const { [name]: inner } = value
  const holder = isTyped(value) ? value : isObject(inner) ? inner : {}
  const words = (said ?? '')
    .split(' ')
    .flatMap((field) => wordsOf(holder[field]))
    .join(' ')
  const label = /^[\w.-]{1,64}$/.test(name) ? name : 'content'
  return words === '' ? `[${label}]` : `[${label}: ${clipped(words)}]`
}

/** An id, a name or a text as it is, all else as JSON. */
function wordsOf(value: JsonValue | undefined): string[] {
  if (value === null || value === undefined || value === '') return []
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object') return [String(value)]
  const json = jsonOf(value) === null ? '{}' : JSON.stringify(value, withoutSeals)
  return json === '{}' || json === '[]' ? [] : [json]
}

/** What only its provider can read helps no other. */
const withoutSeals = (key: string, value: unknown): unknown =>
  key.startsWith('encrypted_') || key === 'signature' ? undefined : value

const clipped = (words: string): string => (words.length <= WORDS ? words : `${words.slice(0, WORDS)}…`)
