/** OpenAI Responses: the rules for `instructions` and `input`. */

import {
  asList,
  asObject,
  faults,
  fields,
  illFormedText,
  imageUrlFault,
  inputFile,
  inputFileFault,
  isBlank,
  type JsonObject,
  judge,
  notJson,
  orphans,
  parseObject,
  type Ref,
  repeats,
  type Rule,
  secondResults,
  type Step,
  textOr,
  type Turn,
  turnsOf,
  type Violation,
  withoutResult,
  byKey,
} from '../rules.ts'
import {
  anything,
  boolean as flag,
  listOf,
  open as loose,
  object,
  oneOf,
  nullable as orNull,
  string as text,
} from '../shape.ts'

export const serverRules: readonly Rule<View>[] = [
  {
    id: 'server-pairs',
    rule: 'A call that a server may execute has its output before the next user message, except that a program and a search may wait for it at the end; an output has its call.',
    source: 'inferred from "No tool call found for … with call_id …" and "No tool output found for …"',
    *check({ items }) {
      const open = new Map<string, { readonly path: string; readonly waits: boolean }>()
      for (const { path, type, role, body } of items) {
        const id = body['call_id']
        if (role === 'user') {
          for (const call of open.values()) yield { path: call.path, message: 'without an output' }
          open.clear()
        } else if (id !== null && id !== undefined && typeof type === 'string') {
          const waits = SERVER_CALLS.get(type)
          if (waits !== undefined) open.set(`${type} ${String(id)}`, { path, waits })
          else if (isServerOutput(type) && !open.delete(`${callOf(type)} ${String(id)}`))
            yield { path, message: 'without its call' }
        }
      }
      for (const { path, waits } of open.values()) if (!waits) yield { path, message: 'without an output' }
    },
  },
  {
    id: 'async-pairs',
    rule: 'An async call has at most one output, anywhere after it.',
    source:
      'developers.openai.com/api/docs/guides/async-tool-calling; SDK type ResponseFunctionToolCall.async',
    *check({ items }) {
      const isAsync = asyncIds(items)
      const open = new Set<unknown>()
      for (const { path, type, body } of items) {
        const id = body['call_id']
        if (!isAsync.has(id)) continue
        if (isCall(type)) open.add(id)
        else if (isOutput(type) && !open.delete(id))
          yield { path, message: 'without an async call that waits' }
      }
    },
  },
  {
    id: 'approval-follows-request',
    rule: 'An approval settles an earlier request, once.',
    source: 'inferred: an approval names its request by id, and a server approves one call of a tool',
    *check({ items }) {
      const requests = new Set<unknown>()
      for (const { path, type, body } of items) {
        if (type === 'mcp_approval_request') requests.add(body['id'])
        if (type === 'mcp_approval_response' && !requests.delete(body['approval_request_id']))
          yield { path, message: 'without a request that waits' }
      }
    },
  },
]

interface Part {
  readonly path: string
  readonly body: JsonObject
}

interface Item extends Part {
  readonly type: unknown
  readonly role: unknown
  readonly content: unknown
  readonly parts: readonly Part[]
}

export interface View {
  readonly request: unknown
  readonly input: unknown
  readonly items: readonly Item[]
  readonly calls: readonly (Item & Ref)[]
  readonly turns: readonly Turn[]
}

const cached = { prompt_cache_breakpoint: orNull(object) }
const partShapes = {
  input_text: fields({ text }, cached),
  input_image: fields(
    {},
    {
      image_url: text,
      file_id: text,
      detail: oneOf('low', 'high', 'auto', 'original', null),
      ...cached,
    },
  ),
  input_file: inputFile(cached),
  output_text: fields({ text }, { annotations: listOf(object), logprobs: listOf(object) }),
  refusal: fields({ refusal: text }),
}
const content = textOr(listOf(byKey('type', partShapes)))
const { input_text, input_image, input_file } = partShapes
const many = listOf(object)
const idOf = { id: text }
const withStatus = { status: orNull(text) }
const withCallId = { call_id: text }
const withCaller = { caller: orNull(object) }
const serverShapes = {
  file_search_call: fields({ ...idOf, queries: listOf(text), status: text }, { results: orNull(many) }),
  web_search_call: fields({ ...idOf, action: object, status: text }),
  code_interpreter_call: fields({
    ...idOf,
    code: orNull(text),
    container_id: text,
    outputs: orNull(many),
    status: text,
  }),
  image_generation_call: loose({ ...idOf, result: orNull(text), status: text }),
  mcp_list_tools: fields({ ...idOf, server_label: text, tools: many }, { error: anything }),
  mcp_call: fields(
    { ...idOf, arguments: text, name: text, server_label: text },
    { approval_request_id: orNull(text), error: anything, output: orNull(text), ...withStatus },
  ),
  mcp_approval_request: fields({ ...idOf, arguments: text, name: text, server_label: text }),
  program: fields({ ...idOf, ...withCallId, code: text, fingerprint: text }),
  program_output: fields({ ...idOf, ...withCallId, result: text, status: text }),
  tool_search_call: fields(
    { arguments: anything },
    { id: orNull(text), call_id: orNull(text), execution: text, ...withStatus },
  ),
  tool_search_output: fields(
    { tools: many },
    { id: orNull(text), call_id: orNull(text), execution: text, ...withStatus },
  ),
  compaction: fields({ encrypted_content: text }, { id: orNull(text) }),
  shell_call: loose({ ...withCallId, action: object }),
  shell_call_output: loose({ ...withCallId, output: many }),
  apply_patch_call: loose({ ...withCallId, operation: object, status: text }),
  apply_patch_call_output: loose({ ...withCallId, status: text }),
}
const SERVER_KINDS: readonly string[] = Object.keys(serverShapes)
const output = textOr(listOf(byKey('type', { input_text, input_image, input_file })))
const status = oneOf('in_progress', 'completed', 'incomplete')
const message = fields({ content }, { id: text, status })
const phase = oneOf('commentary', 'final_answer', null)
const reply = fields({ content }, { id: text, status, phase })
const shape = fields({
  instructions: orNull(text),
  input: listOf(
    byKey(
      'type',
      {
        message: byKey('role', {
          user: message,
          system: message,
          developer: message,
          assistant: reply,
        }),
        function_call: fields(
          { call_id: text, name: text, arguments: text },
          { id: text, status, namespace: text, async: orNull(flag), ...withCaller },
        ),
        custom_tool_call: fields(
          { call_id: text, name: text, input: text },
          { id: text, namespace: text, async: orNull(flag), ...withCaller },
        ),
        custom_tool_call_output: fields({ call_id: text, output }, { id: text }),
        computer_call: loose({ ...idOf, ...withCallId, pending_safety_checks: many, status: text }),
        computer_call_output: fields(
          { ...withCallId, output: fields({ type: text }, { image_url: text, file_id: text }) },
          { acknowledged_safety_checks: orNull(many), ...withStatus },
        ),
        mcp_approval_response: fields({ approval_request_id: text, approve: flag }, { reason: orNull(text) }),
        local_shell_call: loose({ ...idOf, ...withCallId, action: object, status: text }),
        local_shell_call_output: loose({ ...idOf, output: text }),
        ...serverShapes,
        function_call_output: fields({ call_id: text, output }, { id: text, status }),
        reasoning: fields(
          { summary: listOf(byKey('type', { summary_text: fields({ text }) })) },
          { id: text, encrypted_content: orNull(text), content: anything },
        ),
      },
      'message',
    ),
  ),
})

function viewOf(request: unknown): View {
  const { input } = asObject(request)
  const items = asList(input).map((item, index): Item => {
    const path = `input[${index}]`
    const body = asObject(item)
    const type = body['type'] ?? 'message'
    const inside = isOutput(type) ? 'output' : 'content'
    const content = body[inside]
    const parts = asList(type === 'reasoning' ? [] : content).map((part, position) => ({
      path: `${path}.${inside}[${position}]`,
      body: asObject(part),
    }))
    return { path, body, type, role: type === 'message' ? body['role'] : undefined, content, parts }
  })
  const calls = items
    .filter(({ type }) => isCall(type))
    .map((item) => ({ ...item, id: item.body['call_id'] }))
  // An async call may have its output later, or none yet: `async-pairs` checks those.
  const isAsync = asyncIds(items)
  const synchronous = items.filter(({ body }) => !isAsync.has(body['call_id']))
  return { request, input, items, calls, turns: turnsOf(synchronous.flatMap(stepOf)) }
}

const asyncIds = (items: readonly Item[]): ReadonlySet<unknown> =>
  new Set(
    items.flatMap(({ type, body }) => (isCall(type) && body['async'] === true ? [body['call_id']] : [])),
  )

/** A call that a server may have executed is anywhere in its turn, with its output. */
function stepOf({ type, role, path, body }: Item): Step[] {
  if (isServerCall(type) || isServerOutput(type)) return []
  const ref = { id: body['call_id'], path }
  if (isCall(type)) return [{ call: ref }]
  if (isOutput(type))
    return [{ result: type === 'local_shell_call_output' ? { ...ref, id: body['id'] } : ref }]
  return type === 'reasoning' || role === 'assistant' || SERVER_KINDS.includes(String(type))
    ? ['assistant']
    : ['break']
}

const CALLS: readonly unknown[] = [
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
]

/** Calls that a server may execute, and whether their output may be later. */
const SERVER_CALLS: ReadonlyMap<string, boolean> = new Map([
  ['program', true],
  ['tool_search_call', true],
  ['shell_call', false],
  ['apply_patch_call', false],
])

const callOf = (output: string): string =>
  output === 'tool_search_output' ? 'tool_search_call' : output.replace(/_output$/, '')

const isCall = (type: unknown): boolean => CALLS.includes(type)

const isOutput = (type: unknown): boolean => CALLS.some((call) => type === `${String(call)}_output`)

const isServerCall = (type: unknown): boolean => typeof type === 'string' && SERVER_CALLS.has(type)

const isServerOutput = (type: unknown): boolean =>
  typeof type === 'string' && type.endsWith('_output') && SERVER_CALLS.has(callOf(type))

/** Prefixes of item ids; other types have no prefix that all servers share. */
const PREFIXES = new Map([
  ['reasoning', 'rs'],
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
  ['function_call_output', 'fc'],
])

const AFTER_REASONING: readonly string[] = [
  ...SERVER_KINDS,
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
]

export function validateOpenAiResponses(request: unknown): Violation[] {
  return judge(openAiResponsesRules, viewOf(request))
}

export const openAiResponsesRules: readonly Rule<View>[] = [
  {
    id: 'json-only',
    rule: 'The request is plain JSON: no undefined, no class instance, no cycle.',
    source: 'error: "We could not parse the JSON body of your request"',
    check: ({ request }) => notJson(request, ''),
  },
  {
    id: 'text-well-formed',
    rule: 'No string has a lone surrogate.',
    source: 'inferred from Chat Completions and from strict JSON parsers',
    check: ({ request }) => illFormedText(request, ''),
  },
  {
    id: 'input-nonempty',
    rule: 'The input has at least one item.',
    source: 'pydantic/pydantic-ai#3470: a request without input is refused, even with instructions',
    *check({ input }) {
      if (Array.isArray(input) && input.length === 0) yield { path: 'input', message: 'empty' }
    },
  },
  {
    id: 'wrong-type',
    rule: 'Every field has the type of the API reference.',
    source: 'SDK type ResponseInputItem; Open Responses schema, ItemParam',
    check: faults(shape, '', 'wrong-type'),
  },
  {
    id: 'missing-field',
    rule: "Every required field is present: a reasoning item's summary and a call's output too, even when empty.",
    source:
      'errors: "Missing required parameter: \'input[7].summary\'", "Missing required parameter: \'input[24].output\'"',
    check: faults(shape, '', 'missing-field'),
  },
  {
    id: 'unknown-field',
    rule: 'There is no field that the API reference does not name; a reasoning item has no status.',
    source:
      'errors: "Unknown parameter: \'input[1].metadata\'", "Unknown parameter: \'input[3].status\'" on a reasoning item (1jehuang/jcode#1028)',
    check: faults(shape, '', 'unknown-field'),
  },
  {
    id: 'known-role',
    rule: 'The role of a message is user, assistant, system or developer.',
    source: 'SDK type EasyInputMessage',
    check: faults(shape, '', 'unknown-role'),
  },
  {
    id: 'known-type',
    rule: 'Items are messages, calls and outputs, reasoning and items of server tools; parts are text, image and refusal.',
    source: 'SDK type ResponseInputItem, less what the library never sends',
    check: faults(shape, '', 'unknown-type'),
  },
  {
    id: 'instructions-nonblank',
    rule: 'Instructions are null or not blank.',
    source: 'inferred: null means no instructions',
    *check({ request }) {
      const { instructions } = asObject(request)
      if (typeof instructions === 'string' && isBlank(instructions)) {
        yield { path: 'instructions', message: 'blank' }
      }
    },
  },
  {
    id: 'system-first',
    rule: 'There is at most one system or developer message, and it is first.',
    source: "inferred: the library's own promise",
    *check({ items }) {
      for (const { path, role } of items.slice(1)) {
        if (isSystem(role)) yield { path, message: `${String(role)} message after the first item` }
      }
    },
  },
  {
    id: 'user-first',
    rule: 'After the system message the input begins with a user message.',
    source: 'inferred: OpenAI accepts any order, the providers behind compatible servers do not',
    *check({ items }) {
      const first = items.find(({ role }) => !isSystem(role))
      if (first === undefined && items.length > 0) {
        yield { path: 'input', message: 'no user message' }
      } else if (first !== undefined && first.role !== 'user') {
        yield { path: first.path, message: `begins with ${String(first.role ?? first.type)}` }
      }
    },
  },
  {
    id: 'content-nonempty',
    rule: "Message texts, content and output arrays and text parts are not empty; an output's text may be.",
    source:
      'inferred: the schema has no lower bound, an empty assistant message breaks pairing (CLIProxyAPI#2132)',
    *check({ items }) {
      for (const { path, type, content, parts } of items) {
        if (type === 'message' && content === '') {
          yield { path: `${path}.content`, message: 'empty' }
        }
        if (type !== 'reasoning' && Array.isArray(content) && content.length === 0) {
          yield { path, message: 'empty array' }
        }
        for (const part of parts) {
          const { text, refusal } = part.body
          if (text === '' || refusal === '') yield { path: part.path, message: 'empty text part' }
        }
      }
    },
  },
  {
    id: 'part-of-role',
    rule: 'Assistant content is output_text and refusal, all other content is input_text, input_image and input_file.',
    source: "error: \"Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.\"",
    *check({ items }) {
      for (const { role, type, parts } of items) {
        if (type !== 'message') continue
        for (const { path, body } of parts) {
          const isOutputPart = body['type'] === 'output_text' || body['type'] === 'refusal'
          if (isOutputPart !== (role === 'assistant')) {
            yield { path, message: `${String(body['type'])} in a message of ${String(role)}` }
          }
        }
      }
    },
  },
  {
    id: 'images-from-user',
    rule: 'Only user messages and call outputs have images.',
    source:
      'Open Responses schema: system and developer content is input_text; SDK: call outputs may be text, image or file',
    *check({ items }) {
      for (const { role, type, parts } of items) {
        if (type !== 'message' || role === 'user') continue
        for (const { path, body } of parts) {
          if (body['type'] === 'input_image' || body['type'] === 'input_file')
            yield { path, message: `image from ${String(role)}` }
        }
      }
    },
  },
  {
    id: 'image-url',
    rule: 'An image is an http(s) URL or a base64 data URL of a jpeg, png, gif or webp.',
    source:
      'error: "Invalid \'input[101].content[1].image_url\'. Expected a base64-encoded data URL with an image MIME type … but got empty base64-encoded bytes"',
    *check({ items }) {
      for (const { path, body } of items.flatMap(({ parts }) => parts)) {
        const url = body['image_url']
        if (typeof url !== 'string') continue
        const fault = imageUrlFault(url, ['https:', 'http:', 'data:'])
        if (fault !== undefined) yield { path: `${path}.image_url`, message: fault }
      }
    },
  },
  {
    id: 'file-source',
    rule: 'A file has one source: a named data URL, an address, or an id; so has an image.',
    source: 'SDK types ResponseInputFile and ResponseInputImage; guide "File inputs"',
    *check({ items }) {
      for (const { path, body } of items.flatMap(({ parts }) => parts)) {
        const isImage = body['type'] === 'input_image'
        const fault = body['type'] === 'input_file' ? inputFileFault(body) : undefined
        if (fault !== undefined) yield { path, message: fault }
        if (isImage && (body['image_url'] === undefined) === (body['file_id'] === undefined))
          yield { path, message: 'neither an address nor an id, or both' }
      }
    },
  },
  {
    id: 'calls-have-results',
    rule: 'Each function_call has its output after the turn that made it, before any other item.',
    source:
      'error: "No tool output found for function call …"; OpenAI itself accepts the output anywhere later',
    check: ({ turns }) => withoutResult(turns),
  },
  {
    id: 'results-follow-calls',
    rule: 'Each function_call_output is for a call of the turn directly before it.',
    source: 'error: "No tool call found for function call output with call_id …"',
    check: ({ turns }) => orphans(turns),
  },
  {
    id: 'one-result-each',
    rule: 'No call has two outputs.',
    source:
      'error: "Duplicate function_call_output for call_id \'…\'. Each function_call must have exactly one matching function_call_output" (a compatible server, NousResearch/hermes-agent#102629)',
    check: ({ turns }) => secondResults(turns),
  },
  {
    id: 'call-ids-unique',
    rule: 'No two calls of the request share a call_id.',
    source:
      'error of compatible servers: "Duplicate \'call_id\'" (earendil-works/pi#9057); openai/gpt-oss#309',
    check: ({ calls }) => repeats(calls, 'id of an earlier call'),
  },
  {
    id: 'call-id-length',
    rule: 'A call_id has 1 to 64 characters.',
    source:
      'errors: "Invalid \'input[95].call_id\': string too long. Expected a string with maximum length 64", "empty string. Expected a string with minimum length 1"',
    *check({ items }) {
      for (const { path, body } of items) {
        const id = body['call_id']
        if (typeof id === 'string' && (id.length < 1 || id.length > 64)) {
          yield { path: `${path}.call_id`, message: `${id.length} characters` }
        }
      }
    },
  },
  {
    id: 'call-id-charset',
    rule: 'A call_id is made of visible ASCII characters.',
    source: 'inferred: the schema states a length and no pattern',
    *check({ items }) {
      for (const { path, body } of items) {
        const id = body['call_id']
        if (typeof id === 'string' && !/^[!-~]*$/.test(id)) yield { path: `${path}.call_id`, message: id }
      }
    },
  },
  {
    id: 'call-name',
    rule: 'A function name has 1 to 64 letters, digits, underscores and dashes.',
    source: 'Open Responses schema, FunctionCallItemParam.name: 1 to 64, ^[a-zA-Z0-9_-]+$',
    *check({ calls }) {
      for (const { path, body } of calls) {
        const { name } = body
        if (typeof name === 'string' && !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
          yield { path: `${path}.name`, message: JSON.stringify(name) }
        }
      }
    },
  },
  {
    id: 'arguments-object',
    rule: 'The arguments of a call are the JSON text of an object.',
    source: 'SDK: "A JSON string of the arguments to pass to the function"; object inferred',
    *check({ calls }) {
      for (const { path, body } of calls) {
        const args = body['arguments']
        if (typeof args === 'string' && parseObject(args) === undefined) {
          yield { path: `${path}.arguments`, message: 'not the JSON text of an object' }
        }
      }
    },
  },
  {
    id: 'item-ids-unique',
    rule: 'No two items share an id.',
    source: 'error: "Duplicate item found with id …. Remove duplicate items from your input and try again."',
    check: ({ items }) =>
      repeats(
        items.flatMap(({ path, body }) =>
          body['id'] === undefined ? [] : [{ id: body['id'], path: `${path}.id` }],
        ),
        'id of an earlier item',
      ),
  },
  {
    id: 'item-id-form',
    rule: 'An item id, when given, has up to 64 letters, digits, underscores and dashes and begins as its kind does.',
    source:
      'errors: "Invalid \'input[66].id\': … Expected an ID that begins with \'rs\'", "… that contains letters, numbers, underscores, or dashes", "… string too long. Expected a string with maximum length 64"',
    *check({ items }) {
      for (const { path, type, body } of items) {
        const { id } = body
        const prefix = PREFIXES.get(String(type)) ?? ''
        if (typeof id !== 'string') continue
        if (!id.startsWith(prefix) || !/^[a-zA-Z0-9_-]{1,64}$/.test(id)) {
          yield { path: `${path}.id`, message: `${JSON.stringify(id)}, expected ${prefix}…` }
        }
      }
    },
  },
  {
    id: 'reasoning-followed',
    rule: 'A reasoning item is directly before the assistant message, the call or the server tool item that it led to.',
    source: "error: \"Item 'rs_…' of type 'reasoning' was provided without its required following item.\"",
    *check({ items }) {
      for (const [index, { type, path }] of items.entries()) {
        if (type !== 'reasoning') continue
        const next = items[index + 1]
        if (next?.role !== 'assistant' && !AFTER_REASONING.includes(String(next?.type))) {
          yield { path, message: `followed by ${String(next?.role ?? next?.type ?? 'nothing')}` }
        }
      }
    },
  },
  ...serverRules,
  {
    id: 'reasoning-content-empty',
    rule: 'A reasoning item has no content: only its summary and its encrypted content are sent back.',
    source:
      'error: "Invalid \'input[39].content\': array too long. Expected an array with maximum length 0" (musistudio/claude-code-router#1783)',
    *check({ items }) {
      for (const { type, content, path } of items) {
        if (type !== 'reasoning' || content === undefined || content === null) continue
        if (!Array.isArray(content) || content.length > 0) {
          yield { path: `${path}.content`, message: 'not an empty array' }
        }
      }
    },
  },
]

function isSystem(role: unknown): boolean {
  return role === 'system' || role === 'developer'
}
