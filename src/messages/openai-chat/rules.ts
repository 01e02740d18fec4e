/** OpenAI Chat Completions: the rules for `messages`. */

import {
  asList,
  asObject,
  chatFileFault,
  chatFiles,
  faults,
  fields,
  illFormedText,
  imageUrlFault,
  type JsonObject,
  judge,
  notJson,
  orphans,
  parseObject,
  repeatedCalls,
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
import { listOf, object, oneOf, nullable as orNull, string as text } from '../shape.ts'

interface Part {
  readonly path: string
  readonly body: JsonObject
}

interface Call extends Part {
  readonly id: unknown
  readonly name: unknown
  readonly args: unknown
}

interface Message extends Part {
  readonly role: unknown
  readonly content: unknown
  readonly parts: readonly Part[]
  readonly calls: readonly Call[]
}

interface View {
  readonly request: unknown
  readonly messages: readonly Message[]
  readonly calls: readonly Call[]
  readonly turns: readonly Turn[]
}

const cached = { prompt_cache_breakpoint: object }
const image = fields({ url: text }, { detail: oneOf('auto', 'low', 'high', 'original') })
const partShapes = {
  text: fields({ text }, cached),
  image_url: fields({ image_url: image }, cached),
  ...chatFiles(cached),
}
const content = textOr(listOf(byKey('type', partShapes)))
const reply = textOr(listOf(byKey('type', { ...partShapes, refusal: fields({ refusal: text }) })))
/** Signatures of Gemini's own servers and of proxies, which accept them back. */
const serverFields = { extra_content: object, provider_specific_fields: object }
const call = byKey('type', {
  function: fields({ id: text, function: fields({ name: text, arguments: text }) }, serverFields),
  custom: fields({ id: text, custom: fields({ name: text, input: text }) }, serverFields),
})
const shape = listOf(
  byKey('role', {
    system: fields({ content }, { name: text }),
    developer: fields({ content }, { name: text }),
    user: fields({ content }, { name: text }),
    assistant: fields(
      {},
      {
        content: orNull(reply),
        refusal: orNull(text),
        name: text,
        tool_calls: listOf(call),
        // Fields of replies that are sent back, as in the SDK's examples; the last ones are of other servers.
        annotations: listOf(object),
        reasoning_content: text,
        reasoning: text,
        thinking_blocks: listOf(object),
        reasoning_details: listOf(object),
        extra_content: object,
      },
    ),
    tool: fields({ content, tool_call_id: text }),
  }),
)

function viewOf(request: unknown): View {
  const messages = asList(request).map((message, index): Message => {
    const path = `messages[${index}]`
    const body = asObject(message)
    const parts = asList(body['content']).map((part, position) => ({
      path: `${path}.content[${position}]`,
      body: asObject(part),
    }))
    const calls = asList(body['tool_calls']).map((item, position): Call => {
      const itemBody = asObject(item)
      const { name, arguments: args } = asObject(itemBody['function'] ?? itemBody['custom'])
      return { path: `${path}.tool_calls[${position}]`, body: itemBody, id: itemBody['id'], name, args }
    })
    return { path, body, role: body['role'], content: body['content'], parts, calls }
  })
  const turns = turnsOf(messages.flatMap(stepsOf))
  return { request, messages, calls: messages.flatMap(({ calls }) => calls), turns }
}

function stepsOf({ role, body, path, calls }: Message): Step[] {
  if (role === 'tool') return [{ result: { id: body['tool_call_id'], path } }]
  return ['break', ...calls.map((made) => ({ call: made }))]
}

export function validateOpenAiChat(request: unknown): Violation[] {
  return judge(openAiChatRules, viewOf(request))
}

export const openAiChatRules: readonly Rule<View>[] = [
  {
    id: 'json-only',
    rule: 'The request is plain JSON: no undefined, no class instance, no cycle.',
    source: 'error: "We could not parse the JSON body of your request"',
    check: ({ request }) => notJson(request, 'messages'),
  },
  {
    id: 'text-well-formed',
    rule: 'No string has a lone surrogate.',
    source:
      'error: "lone leading surrogate in hex escape" (a compatible server, JohnnyZ93/oai-compatible-copilot#271)',
    check: ({ request }) => illFormedText(request, 'messages'),
  },
  {
    id: 'messages-nonempty',
    rule: 'There is at least one message.',
    source: 'error: "Invalid \'messages\': empty array. Expected an array with minimum length 1"',
    *check({ request }) {
      if (Array.isArray(request) && request.length === 0) yield { path: 'messages', message: 'empty' }
    },
  },
  {
    id: 'wrong-type',
    rule: 'Every field has the type of the API reference.',
    source:
      'SDK type ChatCompletionMessageParam; error: "Invalid value for \'content\': expected a string, got null"',
    check: faults(shape, 'messages', 'wrong-type'),
  },
  {
    id: 'missing-field',
    rule: 'Every required field is present.',
    source: 'SDK type ChatCompletionMessageParam',
    check: faults(shape, 'messages', 'missing-field'),
  },
  {
    id: 'unknown-field',
    rule: 'There is no field that the API reference does not name.',
    source:
      "error: \"Additional properties are not allowed ('id' was unexpected) - 'messages.0'\"; later servers are laxer",
    check: faults(shape, 'messages', 'unknown-field'),
  },
  {
    id: 'known-role',
    rule: 'A role is system, developer, user, assistant or tool (function is deprecated).',
    source: 'SDK type ChatCompletionRole',
    check: faults(shape, 'messages', 'unknown-role'),
  },
  {
    id: 'known-part',
    rule: 'Content parts are text, image_url, file and input_audio, in assistant messages also refusal; calls are of type function or custom.',
    source: 'SDK types ChatCompletionContentPart and ChatCompletionMessageFunctionToolCall',
    check: faults(shape, 'messages', 'unknown-type'),
  },
  {
    id: 'system-first',
    rule: 'There is at most one system or developer message, and it is first.',
    source: "inferred: the library's own promise, and what stricter compatible servers demand",
    *check({ messages }) {
      for (const { path, role } of messages.slice(1)) {
        if (isSystem(role)) yield { path, message: `${String(role)} message after the first` }
      }
    },
  },
  {
    id: 'user-first',
    rule: 'After the system message the history begins with a user message.',
    source: 'inferred: OpenAI accepts any order, the providers behind compatible servers do not',
    *check({ messages }) {
      const first = messages.find(({ role }) => !isSystem(role))
      if (first === undefined && messages.length > 0) {
        yield { path: 'messages', message: 'no user message' }
      } else if (first !== undefined && first.role !== 'user') {
        yield { path: first.path, message: `begins with ${String(first.role)}` }
      }
    },
  },
  {
    id: 'content-nonempty',
    rule: "System and user text, content arrays and text parts are not empty; a tool's text may be.",
    source:
      'OpenAPI: content arrays have minItems 1; "" in system and user messages and text parts: inferred',
    *check({ messages }) {
      for (const { path, role, content, parts } of messages) {
        const contentPath = `${path}.content`
        if (content === '' && (role === 'user' || isSystem(role)))
          yield { path: contentPath, message: 'empty' }
        if (Array.isArray(content) && content.length === 0)
          yield { path: contentPath, message: 'empty array' }
        for (const part of parts) {
          if (part.body['text'] === '') yield { path: part.path, message: 'empty text part' }
        }
      }
    },
  },
  {
    id: 'assistant-content-or-calls',
    rule: 'An assistant message without tool calls has content or a refusal.',
    source:
      'API reference: "content … Required unless tool_calls or function_call is specified"; error: "expected a string, got null"',
    *check({ messages }) {
      for (const { path, role, content, body } of messages) {
        if (role !== 'assistant' || body['tool_calls'] !== undefined) continue
        const silent = content === undefined || content === null || content === ''
        if (silent && typeof body['refusal'] !== 'string') {
          yield { path: `${path}.content`, message: 'no content, no refusal and no tool calls' }
        }
      }
    },
  },
  {
    id: 'reasoning-with-calls',
    rule: 'Only assistant messages with tool calls have the reasoning_content of compatible servers.',
    source:
      'DeepSeek, thinking mode with tool calls: reasoning_content "must be passed back"; without them its reasoner refuses it',
    *check({ messages }) {
      for (const { path, body } of messages) {
        if (body['reasoning_content'] !== undefined && body['tool_calls'] === undefined)
          yield { path: `${path}.reasoning_content`, message: 'reasoning without tool calls' }
      }
    },
  },
  {
    id: 'tool-calls-nonempty',
    rule: 'A tool_calls array, when there is one, has at least one call.',
    source:
      'error: "Invalid \'messages[1].tool_calls\': empty array. Expected an array with minimum length 1" (openai/openai-node#1341)',
    *check({ messages }) {
      for (const { path, body } of messages) {
        const calls = body['tool_calls']
        if (Array.isArray(calls) && calls.length === 0) {
          yield { path: `${path}.tool_calls`, message: 'empty array' }
        }
      }
    },
  },
  {
    id: 'calls-have-results',
    rule: 'Each call has its result in a tool message directly after the assistant message that made it.',
    source:
      "error: \"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'\"",
    check: ({ turns }) => withoutResult(turns),
  },
  {
    id: 'results-follow-calls',
    rule: 'Each tool message is for a call of the assistant message directly before its run.',
    source:
      "error: \"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'\"",
    check: ({ turns }) => orphans(turns),
  },
  {
    id: 'one-result-each',
    rule: 'No call has two results.',
    source:
      "error: \"Duplicate value for 'tool_call_id' of '…', in messages[7] and messages[8]\" (agno-agi/agno#5116)",
    check: ({ turns }) => secondResults(turns),
  },
  {
    id: 'call-ids-unique',
    rule: 'No two calls of the request share an id.',
    source:
      'error of compatible servers: "duplicate tool_call_id" (openclaw/openclaw#47136); across turns inferred',
    check: ({ turns }) => repeatedCalls(turns),
  },
  {
    id: 'call-id-length',
    rule: 'A call id has 1 to 40 characters.',
    source:
      'error: "Invalid \'messages[1].tool_calls[0].id\': string too long. Expected a string with maximum length 40"',
    *check({ calls }) {
      for (const { id, path } of calls) {
        if (typeof id === 'string' && (id.length < 1 || id.length > 40)) {
          yield { path: `${path}.id`, message: `${id.length} characters` }
        }
      }
    },
  },
  {
    id: 'call-id-charset',
    rule: 'A call id is made of visible ASCII characters.',
    source: 'inferred: OpenAI states no pattern, and ids like functions.bash:0 must pass',
    *check({ calls }) {
      for (const { id, path } of calls) {
        if (typeof id === 'string' && !/^[!-~]*$/.test(id)) yield { path: `${path}.id`, message: id }
      }
    },
  },
  {
    id: 'call-name',
    rule: 'A function name has 1 to 64 letters, digits, underscores and dashes.',
    source:
      "error: \"Invalid 'messages[9].tool_calls[0].function.name': … the pattern '^[a-zA-Z0-9_-]+$'\"; SDK: maximum length of 64",
    *check({ calls }) {
      for (const { name, path } of calls) {
        if (typeof name === 'string' && !NAME.test(name)) {
          yield { path: `${path}.function.name`, message: JSON.stringify(name) }
        }
      }
    },
  },
  {
    id: 'message-name',
    rule: 'The name of a message has 1 to 64 letters, digits, underscores and dashes.',
    source:
      'error: "Invalid \'messages[5].name\': string does not match pattern" (FlowiseAI/Flowise#2948); length inferred',
    *check({ messages }) {
      for (const { path, body } of messages) {
        const name = body['name']
        if (typeof name === 'string' && !NAME.test(name)) {
          yield { path: `${path}.name`, message: JSON.stringify(name) }
        }
      }
    },
  },
  {
    id: 'arguments-object',
    rule: 'The arguments of a call are the JSON text of an object.',
    source: 'API reference: "The arguments to call the function with … in JSON format"; object inferred',
    *check({ calls }) {
      for (const { args, path } of calls) {
        if (typeof args === 'string' && parseObject(args) === undefined) {
          yield { path: `${path}.function.arguments`, message: 'not the JSON text of an object' }
        }
      }
    },
  },
  {
    id: 'images-from-user',
    rule: 'Only user messages have images, files and audio.',
    source:
      "error: \"Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL\"",
    *check({ messages }) {
      for (const { role, parts } of messages) {
        for (const { path, body } of parts) {
          if (['image_url', 'file', 'input_audio'].includes(String(body['type'])) && role !== 'user') {
            yield { path, message: `image in a message with role ${String(role)}` }
          }
        }
      }
    },
  },
  {
    id: 'file-source',
    rule: 'A file is a named data URL or an id, and audio is base64.',
    source: 'SDK types ChatCompletionContentPart.File and ChatCompletionContentPartInputAudio',
    *check({ messages }) {
      for (const { path, body } of messages.flatMap(({ parts }) => parts)) {
        const fault = chatFileFault(body)
        if (fault !== undefined) yield { path, message: fault }
      }
    },
  },
  {
    id: 'image-url',
    rule: 'An image is an http(s) URL or a base64 data URL of a jpeg, png, gif or webp.',
    source:
      "errors: \"Expected a base64-encoded data URL with an image MIME type … but got empty base64-encoded bytes\", \"unsupported image … ['png', 'jpeg', 'gif', 'webp']\"",
    *check({ messages }) {
      for (const { path, body } of messages.flatMap(({ parts }) => parts)) {
        const { url } = asObject(body['image_url'])
        if (typeof url !== 'string') continue
        const fault = imageUrlFault(url, ['https:', 'http:', 'data:'])
        if (fault !== undefined) yield { path: `${path}.image_url.url`, message: fault }
      }
    },
  },
]

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

function isSystem(role: unknown): boolean {
  return role === 'system' || role === 'developer'
}
