import { asObject, byKey, fields, formRules, label, listed, textOr } from '../request-form.ts'
import {
  ANY_URL,
  argumentsFault,
  chatFileFault,
  each,
  imageUrlFault,
  isSystem,
  judge,
  lengthFault,
  nameFault,
  nonEmpty,
  sharedRules,
  turnsOf,
  userFirst,
} from '../rules.ts'
import type { Rules, Violation } from '../request-form.ts'
import type { Step } from '../rules.ts'
import { listOf, object, oneOf, nullable as orNull, string as text } from '../shape.ts'
import type { Shape, ShapeOf } from '../shape.ts'

const cached = { prompt_cache_breakpoint: object as Shape<never> }
const detail = oneOf('auto', 'low', 'high', 'original') as Shape<'auto' | 'low' | 'high'>
const partShapes = {
  text: fields({ text }, cached),
  image_url: fields({ image_url: fields({ url: text }, { detail }) }, cached),
  input_audio: fields({ input_audio: fields({ data: text, format: oneOf('wav', 'mp3') }) }, cached),
  file: fields({ file: fields({}, { file_data: text, file_id: text, filename: text }) }, cached),
}
const part = byKey('type', partShapes)
const content = textOr(listOf(part))
const texts = content as Shape<string | ChatText[]>
const reply = textOr(listOf(byKey('type', { ...partShapes, refusal: fields({ refusal: text }) })))
/** Fields with signatures. Gemini's servers, and proxies, send these fields and accept them back. */
const serverFields = { extra_content: object, provider_specific_fields: object }
const call = byKey('type', {
  function: fields({ id: text, function: fields({ name: text, arguments: text }) }, serverFields),
  custom: fields({ id: text, custom: fields({ name: text, input: text }) }, serverFields),
})
const shape = listOf(
  byKey('role', {
    system: fields({ content: texts }, { name: text }),
    developer: fields({ content: texts }, { name: text }),
    user: fields({ content }, { name: text }),
    assistant: fields(
      {},
      {
        content: orNull(reply) as Shape<string>,
        refusal: orNull(text) as Shape<string>,
        name: text,
        tool_calls: listOf(call),
        // Reply fields that are sent back. All except `annotations` are from servers other than OpenAI.
        annotations: listOf(object),
        reasoning_content: text,
        reasoning: text,
        reasoning_text: text,
        reasoning_opaque: text,
        thinking_blocks: listOf(object),
        reasoning_details: listOf(object),
        extra_content: object,
      },
    ),
    tool: fields({ content: content as Shape<string>, tool_call_id: text }),
  }),
)

type ChatText = Extract<ChatPart, { type: 'text' }>
export type ChatPart = ShapeOf<typeof part>
export type ChatToolCall = ShapeOf<typeof call>
/** A ChatCompletionMessageParam of the `openai` package. */
export type ChatMessage = ShapeOf<typeof shape>[number]

type View = ReturnType<typeof viewOf>

function viewOf(request: unknown) {
  const messages = listed(request, 'messages').map(({ path, body }) => {
    const { role, content, tool_calls } = body
    const calls = listed(tool_calls, `${path}.tool_calls`).map((call) => {
      const { name, arguments: args } = asObject(call.body['function'] ?? call.body['custom'])
      return { ...call, id: call.body['id'], name, args }
    })
    return { path, body, role, content, parts: listed(content, `${path}.content`), calls }
  })
  const steps = messages.flatMap(({ role, body, path, calls }): Step[] =>
    role === 'tool'
      ? [{ result: { id: body['tool_call_id'], path } }]
      : ['break', ...calls.map((call) => ({ call }))],
  )
  return {
    request,
    messages,
    parts: messages.flatMap(({ role, parts }) => parts.map((part) => ({ ...part, role }))),
    calls: messages.flatMap(({ calls }) => calls),
    turns: turnsOf(steps),
  }
}

export const validateOpenAiChat = (request: unknown): Violation[] => judge(openAiChatRules, viewOf(request))

export const openAiChatRules: Rules<View> = {
  ...formRules<View>(
    shape,
    'SDK type ChatCompletionMessageParam',
    {
      'json-only': 'error: "We could not parse the JSON body of your request"',
      'text-well-formed':
        'error: "lone leading surrogate in hex escape" (a compatible server, JohnnyZ93/oai-compatible-copilot#271)',
      'wrong-type':
        'SDK type ChatCompletionMessageParam; error: "Invalid value for \'content\': expected a string, got null"',
      'unknown-field':
        "error: \"Additional properties are not allowed ('id' was unexpected) - 'messages.0'\"; later servers are laxer",
      'known-role': 'SDK type ChatCompletionRole; function is deprecated',
      'known-kind': 'SDK types ChatCompletionContentPart and ChatCompletionMessageFunctionToolCall',
    },
    { root: 'messages' },
  ),
  'messages-nonempty': [
    'There is at least one message.',
    'error: "Invalid \'messages\': empty array. Expected an array with minimum length 1"',
    ({ request }) => nonEmpty(request, 'messages'),
  ],
  'user-first': [
    'After the system message the history begins with a user message.',
    'inferred: OpenAI accepts any order, the providers behind compatible servers do not',
    ({ messages }) => userFirst(messages, 'messages'),
  ],
  'content-nonempty': [
    "System and user text, content arrays and text parts are not empty; a tool's text may be empty.",
    'OpenAPI: content arrays have minItems 1; "" in system and user messages and text parts: inferred',
    function* ({ messages, parts }) {
      for (const { path, content } of messages) yield* nonEmpty(content, `${path}.content`)
      yield* each(
        messages,
        ({ role, content }) => content === '' && (role === 'user' || isSystem(role)) && 'empty',
        '.content',
      )
      yield* each(parts, ({ body }) => body['text'] === '' && 'empty text part')
    },
  ],
  'assistant-content-or-calls': [
    'An assistant message without tool calls has content or a refusal.',
    'API reference: "content … Required unless tool_calls or function_call is specified"; error: "expected a string, got null"',
    ({ messages }) =>
      each(
        messages,
        ({ role, content, body: { tool_calls, refusal } }) =>
          role === 'assistant' &&
          tool_calls === undefined &&
          (content ?? '') === '' &&
          typeof refusal !== 'string' &&
          'no content, no refusal and no tool calls',
        '.content',
      ),
  ],
  'reasoning-with-calls': [
    'Only assistant messages with tool calls have the reasoning_content of compatible servers.',
    'DeepSeek, thinking mode with tool calls: reasoning_content "must be passed back"; without them its reasoner refuses it',
    ({ messages }) =>
      each(
        messages,
        ({ body: { reasoning_content, tool_calls } }) =>
          reasoning_content !== undefined && tool_calls === undefined && 'reasoning without tool calls',
        '.reasoning_content',
      ),
  ],
  'tool-calls-nonempty': [
    'A tool_calls array, if present, has at least one call.',
    'error: "Invalid \'messages[1].tool_calls\': empty array. Expected an array with minimum length 1" (openai/openai-node#1341)',
    function* ({ messages }) {
      for (const { path, body } of messages) yield* nonEmpty(body['tool_calls'], `${path}.tool_calls`)
    },
  ],
  ...sharedRules<View>({
    'system-first': "inferred: the library's own promise, and what stricter compatible servers demand",
    'calls-have-results':
      "error: \"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'\"",
    'results-follow-calls':
      "error: \"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'\"",
    'one-result-each':
      "error: \"Duplicate value for 'tool_call_id' of '…', in messages[7] and messages[8]\" (agno-agi/agno#5116)",
    'call-ids-unique':
      'error of compatible servers: "duplicate tool_call_id" (openclaw/openclaw#47136); across turns inferred',
  }),
  'call-id-length': [
    'A call id has 1 to 40 characters.',
    'error: "Invalid \'messages[1].tool_calls[0].id\': string too long. Expected a string with maximum length 40"',
    ({ calls }) => each(calls, ({ id }) => lengthFault(id, 40), '.id'),
  ],
  'call-id-charset': [
    'A call id is made of visible ASCII characters.',
    'inferred: OpenAI states no pattern, and ids like functions.bash:0 must pass',
    ({ calls }) => each(calls, ({ id }) => typeof id === 'string' && !/^[!-~]*$/.test(id) && id, '.id'),
  ],
  'call-name': [
    'A function name has 1 to 64 letters, digits, underscores and dashes.',
    "error: \"Invalid 'messages[9].tool_calls[0].function.name': … the pattern '^[a-zA-Z0-9_-]+$'\"; SDK: maximum length of 64",
    ({ calls }) => each(calls, ({ name }) => nameFault(name), '.function.name'),
  ],
  'message-name': [
    'The name of a message has 1 to 64 letters, digits, underscores and dashes.',
    'error: "Invalid \'messages[5].name\': string does not match pattern" (FlowiseAI/Flowise#2948); length inferred',
    ({ messages }) => each(messages, ({ body }) => nameFault(body['name']), '.name'),
  ],
  'arguments-object': [
    'The arguments of a call are the JSON text of an object.',
    'API reference: "The arguments to call the function with … in JSON format"; object inferred',
    ({ calls }) => each(calls, ({ args }) => argumentsFault(args), '.function.arguments'),
  ],
  'images-from-user': [
    'Only user messages have images, files and audio.',
    "error: \"Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL\"",
    ({ parts }) =>
      each(
        parts,
        ({ role, body }) =>
          ['image_url', 'file', 'input_audio'].includes(label(body['type'])) &&
          role !== 'user' &&
          `image in a message with role ${label(role)}`,
      ),
  ],
  'file-source': [
    'A file is a named data URL or an id, and audio is base64.',
    'SDK types ChatCompletionContentPart.File and ChatCompletionContentPartInputAudio',
    ({ parts }) => each(parts, ({ body }) => chatFileFault(body)),
  ],
  'image-url': [
    'An image is an http(s) URL or a base64 data URL of a jpeg, png, gif or webp.',
    "errors: \"Expected a base64-encoded data URL with an image MIME type … but got empty base64-encoded bytes\", \"unsupported image … ['png', 'jpeg', 'gif', 'webp']\"",
    ({ parts }) =>
      each(parts, ({ body }) => imageUrlFault(asObject(body['image_url'])['url'], ANY_URL), '.image_url.url'),
  ],
}
