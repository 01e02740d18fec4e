import {
  asObject,
  byKey,
  fields,
  formRules,
  label,
  listed,
  shapesOf,
  storedFields,
  textOr,
  written,
} from '../request-form.ts'
import {
  ANY_URL,
  argumentsFault,
  blankFault,
  each,
  imageUrlFault,
  inputFileFault,
  judge,
  lengthFault,
  nameFault,
  nonEmpty,
  sharedRules,
  repeats,
  turnsOf,
  userFirst,
} from '../rules.ts'
import type { ByKey, Rules, Violation } from '../request-form.ts'
import type { Step } from '../rules.ts'
import {
  anything,
  boolean as flag,
  listOf,
  open as loose,
  object,
  oneOf,
  nullable as orNull,
  record,
  string as text,
} from '../shape.ts'
import type { Shape, ShapeOf } from '../shape.ts'
import { KINDS } from './blocks.ts'

export const serverRules: Rules<View> = {
  'server-pairs': [
    'A call that a server may execute has its output before the next user message, and an output has its call. At the end of a request, a program or tool search may lack its output.',
    'inferred from "No tool call found for … with call_id …" and "No tool output found for …"',
    function* ({ items }) {
      const open = new Map<string, { readonly path: string; readonly waits: boolean }>()
      for (const { path, type, role, body } of items) {
        const id = body['call_id']
        if (role === 'user') {
          for (const call of open.values()) yield { path: call.path, message: 'without an output' }
          open.clear()
        } else if (id !== null && id !== undefined && typeof type === 'string') {
          const waits = SERVER_CALLS.get(type)
          if (waits !== undefined) open.set(`${type} ${label(id)}`, { path, waits })
          else if (isServerOutput(type) && !open.delete(`${callOf(type)} ${label(id)}`))
            yield { path, message: 'without its call' }
        }
      }
      for (const { path, waits } of open.values()) if (!waits) yield { path, message: 'without an output' }
    },
  ],
  'async-pairs': [
    'An async call has at most one output, anywhere after it.',
    'developers.openai.com/api/docs/guides/async-tool-calling; SDK type ResponseFunctionToolCall.async',
    ({ items }) => {
      const isAsync = asyncIds(items)
      const open = new Set<unknown>()
      return each(items, ({ type, body: { call_id: id } }) => {
        if (!isAsync.has(id)) return false
        if (isCall(type)) open.add(id)
        return !isCall(type) && isOutput(type) && !open.delete(id) && 'without an async call that waits'
      })
    },
  ],
  'approval-follows-request': [
    'An approval names an earlier request, and no other approval names this request.',
    'inferred: an approval names its request by id, and a server approves one call of a tool',
    ({ items }) => {
      const requests = new Set<unknown>()
      return each(items, ({ type, body: { id, approval_request_id } }) => {
        if (type === 'mcp_approval_request') requests.add(id)
        const isApproval = type === 'mcp_approval_response'
        return isApproval && !requests.delete(approval_request_id) && 'without a request that waits'
      })
    },
  ],
}

const cached = { prompt_cache_breakpoint: orNull(object) as Shape<never> }
const detail = oneOf('low', 'high', 'auto', 'original', null) as Shape<'low' | 'high' | 'auto' | 'original'>
const ofUser = {
  input_text: fields({ text }, cached),
  input_image: fields({ detail: written(detail) }, { image_url: text, file_id: text, ...cached }),
  input_file: fields(
    {},
    {
      file_data: text,
      file_url: text,
      file_id: text,
      filename: text,
      detail: oneOf('auto', 'low', 'high'),
      ...cached,
    },
  ),
}
const ofModel = {
  output_text: fields(
    { text, annotations: written(listOf(object as Shape<never>)) },
    { logprobs: listOf(object as Shape<never>) },
  ),
  refusal: fields({ refusal: text }),
}
const spoken = byKey('type', ofModel)
const content = textOr(listOf(byKey('type', { ...ofUser, ...ofModel })))
const part = byKey('type', ofUser)
const many = listOf(object)
const withCaller = { async: orNull(flag) as Shape<boolean>, caller: orNull(object) as Shape<never> }
const stored = storedFields(KINDS)
const OPEN = ['image_generation_call', 'shell_call_output', 'apply_patch_call_output']
const serverShapes = {
  ...shapesOf(stored, record),
  // The provider requires fields that a stored item may lack, and accepts more fields than it returns.
  code_interpreter_call: record({
    ...stored['code_interpreter_call'],
    code: orNull(text),
    outputs: orNull(many),
  }),
  ...shapesOf(Object.fromEntries(Object.entries(stored).filter(([kind]) => OPEN.includes(kind))), loose),
  shell_call: loose({ call_id: text, action: object }),
  apply_patch_call: loose({ call_id: text, operation: object, status: text }),
}
const SERVER_KINDS: readonly string[] = Object.keys(serverShapes)
const output = textOr(listOf(part))
const status = oneOf('in_progress', 'completed', 'incomplete')
const message = <T>() => fields({ content: content as Shape<T> }, { id: text, status })
const phase = oneOf('commentary', 'final_answer', null) as Shape<'commentary' | 'final_answer'>
const reply = fields({ content }, { id: text, status, phase })
const known = {
  message: byKey('role', {
    user: message<ResponsesPart[]>(),
    system: message<ResponsesText[]>(),
    developer: message<ResponsesText[]>(),
    assistant: reply as Shape<unknown> as Shape<ResponsesReplyMessage>,
  }),
  function_call: fields(
    { call_id: text, name: text, arguments: text },
    { id: text, status, namespace: text, ...withCaller },
  ),
  function_call_output: fields({ call_id: text, output }, { id: text, status }),
  reasoning: fields(
    {
      summary: listOf(byKey('type', { summary_text: fields({ text }) })),
      id: written(text),
      encrypted_content: written(orNull(text) as Shape<string>),
    },
    { content: anything as Shape<never> },
  ),
}
const shape = fields({
  instructions: orNull(text),
  input: listOf(
    byKey(
      'type',
      {
        message: known.message,
        function_call: known.function_call,
        custom_tool_call: fields(
          { call_id: text, name: text, input: text },
          { id: text, namespace: text, ...withCaller },
        ),
        custom_tool_call_output: fields({ call_id: text, output }, { id: text }),
        computer_call: loose({ id: text, call_id: text, pending_safety_checks: many, status: text }),
        computer_call_output: fields(
          { call_id: text, output: fields({ type: text }, { image_url: text, file_id: text }) },
          { acknowledged_safety_checks: orNull(many), status: orNull(text) },
        ),
        mcp_approval_response: fields({ approval_request_id: text, approve: flag }, { reason: orNull(text) }),
        local_shell_call: loose({ id: text, call_id: text, action: object, status: text }),
        local_shell_call_output: loose({ id: text, output: text }),
        ...serverShapes,
        function_call_output: known.function_call_output,
        reasoning: known.reasoning,
      },
      'message',
    ) as Shape<unknown> as Shape<ResponsesItem>,
  ),
})

export type ResponsesText = Extract<ResponsesPart, { type: 'input_text' }>
/** A part of a user's message or of a result. */
export type ResponsesPart = ShapeOf<typeof part>
export type ResponsesOutputPart = ShapeOf<typeof spoken>
export type ResponsesPhase = ShapeOf<typeof phase>
/**
 * A message in the short form, with its text as a string. If this form would lose something, the message is
 * in its original form, which needs an id.
 */
type ResponsesReplyMessage = { phase?: ResponsesPhase } & (
  | { content: string }
  | { id: string; status: 'completed' | 'incomplete'; content: ResponsesOutputPart[] }
)
/** A ResponseInputItem of the `openai` package, or an item of another kind, as the provider made it. */
export type ResponsesItem = ByKey<'type', typeof known>
/** The fields of a Responses request that are written from the log. */
export type ResponsesRequest = ShapeOf<typeof shape>

const itemsIn = (input: unknown) =>
  listed(input, 'input').map(({ path, body }) => {
    const type = body['type'] ?? 'message'
    const inside = isOutput(type) ? 'output' : 'content'
    const content = body[inside]
    const parts = listed(type === 'reasoning' ? [] : content, `${path}.${inside}`)
    return { path, body, type, role: type === 'message' ? body['role'] : undefined, content, parts }
  })

type Item = ReturnType<typeof itemsIn>[number]
type View = ReturnType<typeof viewOf>

function viewOf(request: unknown) {
  const { input } = asObject(request)
  const items = itemsIn(input)
  const parts = items.flatMap(({ type, role, parts: all }) => all.map((part) => ({ ...part, type, role })))
  const calls = items
    .filter(({ type }) => isCall(type))
    .map((item) => ({ ...item, id: item.body['call_id'] }))
  // The rule `async-pairs` checks async calls: their output may be later or still missing.
  const isAsync = asyncIds(items)
  const synchronous = items.filter(({ body }) => !isAsync.has(body['call_id']))
  return { request, input, items, messages: items, parts, calls, turns: turnsOf(synchronous.flatMap(stepOf)) }
}

export const validateOpenAiResponses = (request: unknown): Violation[] =>
  judge(openAiResponsesRules, viewOf(request))

const asyncIds = (items: readonly Item[]): ReadonlySet<unknown> =>
  new Set(
    items.flatMap(({ type, body }) => (isCall(type) && body['async'] === true ? [body['call_id']] : [])),
  )

/** Returns an item's step for `turnsOf`. Server calls and outputs have no step: they can be anywhere in a turn. */
function stepOf({ type, role, path, body }: Item): Step[] {
  if (isServerCall(type) || isServerOutput(type)) return []
  const ref = { id: body['call_id'], path }
  if (isCall(type)) return [{ call: ref }]
  if (isOutput(type))
    return [{ result: type === 'local_shell_call_output' ? { ...ref, id: body['id'] } : ref }]
  return type === 'reasoning' || role === 'assistant' || SERVER_KINDS.includes(label(type))
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

/** For each type of call that a server may execute, whether a request may end without the output of the call. */
const SERVER_CALLS: ReadonlyMap<string, boolean> = new Map([
  ['program', true],
  ['tool_search_call', true],
  ['shell_call', false],
  ['apply_patch_call', false],
])

const callOf = (output: string): string =>
  output === 'tool_search_output' ? 'tool_search_call' : output.replace(/_output$/, '')

const isCall = (type: unknown): boolean => CALLS.includes(type)

const isOutput = (type: unknown): boolean => CALLS.some((call) => type === `${label(call)}_output`)

const isServerCall = (type: unknown): boolean => typeof type === 'string' && SERVER_CALLS.has(type)
const isServerOutput = (type: unknown): boolean =>
  typeof type === 'string' && type.endsWith('_output') && SERVER_CALLS.has(callOf(type))

/** Prefixes of item ids, by item type. For types that are not listed, servers do not share a prefix. */
const PREFIXES = new Map([
  ['reasoning', 'rs'],
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
  ['function_call_output', 'fc'],
])

const AFTER_REASONING: readonly unknown[] = [...SERVER_KINDS, ...CALLS]

export const openAiResponsesRules: Rules<View> = {
  ...formRules<View>(shape, 'SDK type ResponseInputItem; Open Responses schema, ItemParam', {
    'json-only': 'error: "We could not parse the JSON body of your request"',
    'text-well-formed': 'inferred from Chat Completions and from strict JSON parsers',
    'missing-field':
      'errors: "Missing required parameter: \'input[7].summary\'", "Missing required parameter: \'input[24].output\'", even when empty',
    'unknown-field':
      'errors: "Unknown parameter: \'input[1].metadata\'", "Unknown parameter: \'input[3].status\'" on a reasoning item (1jehuang/jcode#1028)',
    'known-role': 'SDK type EasyInputMessage',
    'known-kind': 'SDK type ResponseInputItem, less what the library never sends',
  }),
  'input-nonempty': [
    'The input has at least one item.',
    'pydantic/pydantic-ai#3470: a request without input is refused, even with instructions',
    ({ input }) => nonEmpty(input, 'input'),
  ],
  'instructions-nonblank': [
    'Instructions are null or not blank.',
    'inferred: null means no instructions',
    ({ request }) => each([{ path: 'instructions' }], ({ path }) => blankFault(asObject(request)[path])),
  ],
  'user-first': [
    'After the system message the input begins with a user message.',
    'inferred: OpenAI accepts any order, the providers behind compatible servers do not',
    ({ items }) => userFirst(items, 'input'),
  ],
  'content-nonempty': [
    'Message texts, content arrays, output arrays and text parts are not empty; the text of an output may be empty.',
    'inferred: the schema has no lower bound, an empty assistant message breaks pairing (CLIProxyAPI#2132)',
    function* ({ items, parts }) {
      yield* each(items, ({ type, content }) => type === 'message' && content === '' && 'empty', '.content')
      for (const { type, path, content } of items) if (type !== 'reasoning') yield* nonEmpty(content, path)
      yield* each(
        parts,
        ({ body: { text, refusal } }) => (text === '' || refusal === '') && 'empty text part',
      )
    },
  ],
  'part-of-role': [
    'Assistant content is output_text and refusal; all other content is input_text, input_image and input_file.',
    "error: \"Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.\"",
    ({ parts }) =>
      each(parts, ({ type, role, body: { type: kind } }) => {
        const isOfModel = kind === 'output_text' || kind === 'refusal'
        const fits = type !== 'message' || isOfModel === (role === 'assistant')
        return !fits && `${label(kind)} in a message of ${label(role)}`
      }),
  ],
  'images-from-user': [
    'Only user messages and call outputs have images.',
    'Open Responses schema: system and developer content is input_text; SDK: call outputs may be text, image or file',
    ({ parts }) =>
      each(parts, ({ type, role, body: { type: kind } }) => {
        const isFile = kind === 'input_image' || kind === 'input_file'
        return type === 'message' && role !== 'user' && isFile && `image from ${label(role)}`
      }),
  ],
  'image-url': [
    'An image is an http(s) URL or a base64 data URL of a jpeg, png, gif or webp.',
    'error: "Invalid \'input[101].content[1].image_url\'. Expected a base64-encoded data URL with an image MIME type … but got empty base64-encoded bytes"',
    ({ parts }) => each(parts, ({ body }) => imageUrlFault(body['image_url'], ANY_URL), '.image_url'),
  ],
  'file-source': [
    'A file or an image has one source: a data URL, an address, or an id. A file with a data URL has a name.',
    'SDK types ResponseInputFile and ResponseInputImage; guide "File inputs"',
    ({ parts }) =>
      each(parts, ({ body }) => {
        if (body['type'] === 'input_file') return inputFileFault(body)
        const isOne = (body['image_url'] === undefined) !== (body['file_id'] === undefined)
        return body['type'] === 'input_image' && !isOne && 'neither an address nor an id, or both'
      }),
  ],
  ...sharedRules<View>({
    'system-first': "inferred: the library's own promise",
    'calls-have-results':
      'error: "No tool output found for function call …"; OpenAI itself accepts the output anywhere later',
    'results-follow-calls': 'error: "No tool call found for function call output with call_id …"',
    'one-result-each':
      'error: "Duplicate function_call_output for call_id \'…\'. Each function_call must have exactly one matching function_call_output" (a compatible server, NousResearch/hermes-agent#102629)',
  }),
  'call-ids-unique': [
    'No two calls of the request share a call_id.',
    'error of compatible servers: "Duplicate \'call_id\'" (earendil-works/pi#9057); openai/gpt-oss#309',
    ({ calls }) => repeats(calls, 'id of an earlier call'),
  ],
  'call-id-length': [
    'A call_id has 1 to 64 characters.',
    'errors: "Invalid \'input[95].call_id\': string too long. Expected a string with maximum length 64", "empty string. Expected a string with minimum length 1"',
    ({ items }) => each(items, ({ body }) => lengthFault(body['call_id'], 64), '.call_id'),
  ],
  'call-id-charset': [
    'A call_id is made of visible ASCII characters.',
    'inferred: the schema states a length and no pattern',
    ({ items }) =>
      each(
        items,
        ({ body: { call_id } }) => typeof call_id === 'string' && !/^[!-~]*$/.test(call_id) && call_id,
        '.call_id',
      ),
  ],
  'call-name': [
    'A function name has 1 to 64 letters, digits, underscores and dashes.',
    'Open Responses schema, FunctionCallItemParam.name: 1 to 64, ^[a-zA-Z0-9_-]+$',
    ({ calls }) => each(calls, ({ body }) => nameFault(body['name']), '.name'),
  ],
  'arguments-object': [
    'The arguments of a call are the JSON text of an object.',
    'SDK: "A JSON string of the arguments to pass to the function"; object inferred',
    ({ calls }) => each(calls, ({ body }) => argumentsFault(body['arguments']), '.arguments'),
  ],
  'item-ids-unique': [
    'No two items share an id.',
    'error: "Duplicate item found with id …. Remove duplicate items from your input and try again."',
    ({ items }) =>
      repeats(
        items
          .map(({ path, body }) => ({ id: body['id'], path: `${path}.id` }))
          .filter(({ id }) => id !== undefined),
        'id of an earlier item',
      ),
  ],
  'item-id-form': [
    'An item id, if present, has up to 64 letters, digits, underscores and dashes, and the prefix of its type.',
    'errors: "Invalid \'input[66].id\': … Expected an ID that begins with \'rs\'", "… that contains letters, numbers, underscores, or dashes", "… string too long. Expected a string with maximum length 64"',
    ({ items }) =>
      each(
        items,
        ({ type, body: { id } }) => {
          const prefix = PREFIXES.get(label(type)) ?? ''
          const fits = typeof id !== 'string' || (id.startsWith(prefix) && nameFault(id) === false)
          return !fits && `${JSON.stringify(id)}, expected ${prefix}…`
        },
        '.id',
      ),
  ],
  'reasoning-followed': [
    'A reasoning item is directly before the assistant message, the call or the server tool item that it led to.',
    "error: \"Item 'rs_…' of type 'reasoning' was provided without its required following item.\"",
    ({ items }) =>
      each(items, ({ type }, index) => {
        const next = items[index + 1]
        const fits = next?.role === 'assistant' || AFTER_REASONING.includes(next?.type)
        return type === 'reasoning' && !fits && `followed by ${label(next?.role ?? next?.type ?? 'nothing')}`
      }),
  ],
  ...serverRules,
  'reasoning-content-empty': [
    'A reasoning item has no content: only its summary and its encrypted content are sent back.',
    'error: "Invalid \'input[39].content\': array too long. Expected an array with maximum length 0" (musistudio/claude-code-router#1783)',
    ({ items }) =>
      each(
        items,
        ({ type, content }) =>
          type === 'reasoning' &&
          (Array.isArray(content) ? content.length > 0 : (content ?? null) !== null) &&
          'not an empty array',
        '.content',
      ),
  ],
}
