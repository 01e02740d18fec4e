/** Validates AI SDK model messages, also with the SDK's own schema. */

import {
  assistantModelMessageSchema,
  modelMessageSchema,
  systemModelMessageSchema,
  toolModelMessageSchema,
  userModelMessageSchema,
} from 'ai'
import { ownField } from '../../src/event/json.ts'
import { isExecuted, shape, type View, viewOf } from './ai-sdk-form.ts'
import {
  asList,
  asObject,
  faults,
  illFormedText,
  isObject,
  notJson,
  type Rules,
  type Violation,
} from '../../src/messages/request-form.ts'
import {
  IMAGE_TYPES,
  imageUrlFault,
  isBase64,
  isBlank,
  judge,
  orphans,
  repeatedCalls,
  secondResults,
  withoutResult,
} from '../../src/messages/rules.ts'

export function validateAiSdk(request: unknown): Violation[] {
  return judge(aiSdkRules, viewOf(request))
}

/** Members of `modelMessageSchema`. The whole schema collects errors of its other members before one fits. */
const SCHEMA_OF_ROLE = {
  system: systemModelMessageSchema,
  user: userModelMessageSchema,
  assistant: assistantModelMessageSchema,
  tool: toolModelMessageSchema,
}

export const aiSdkRules: Rules<View> = {
  'json-only': [
    'The messages are plain JSON, except URL objects where the SDK expects them.',
    'inferred: messages are stored and sent between processes',
    ({ request }) => notJson(request, 'messages', (value) => value instanceof URL),
  ],
  'text-well-formed': [
    'No string contains a lone surrogate.',
    'inferred from the providers behind the SDK',
    ({ request }) => illFormedText(request, 'messages'),
  ],
  'messages-nonempty': [
    'There is at least one message.',
    'standardizePrompt: InvalidPromptError "messages must not be empty"',
    function* ({ request }) {
      if (Array.isArray(request) && request.length === 0) yield { path: 'messages', message: 'empty' }
    },
  ],
  'sdk-schema': [
    "Each message passes the SDK's own modelMessageSchema.",
    'ai: modelMessageSchema',
    function* ({ request }) {
      for (const [index, message] of asList(request).entries()) {
        const { role } = asObject(message)
        const member =
          typeof role === 'string' ? ownField<typeof modelMessageSchema>(SCHEMA_OF_ROLE, role) : null
        if (member?.safeParse(message).success === true) continue
        const parsed = modelMessageSchema.safeParse(message)
        if (!parsed.success) yield { path: `messages[${index}]`, message: parsed.error.message }
      }
    },
  ],
  'wrong-type': [
    'Every field has its type of the SDK.',
    'SDK type ModelMessage',
    faults(shape, 'messages', 'wrong-type'),
  ],
  'missing-field': [
    'Every required field is present.',
    'SDK type ModelMessage',
    faults(shape, 'messages', 'missing-field'),
  ],
  'unknown-field': [
    'The SDK knows every field: its schema drops others silently.',
    'modelMessageSchema consists of z.object, which removes unknown fields',
    faults(shape, 'messages', 'unknown-field'),
  ],
  'known-role': [
    'A role is system, user, assistant or tool.',
    'SDK type ModelMessage; InvalidMessageRoleError',
    faults(shape, 'messages', 'unknown-role'),
  ],
  'known-part': [
    'User messages contain text, files and images, tool messages results, assistant messages any part of a reply.',
    'SDK types UserContent, AssistantContent, ToolContent, without parts that the library never sends',
    faults(shape, 'messages', 'unknown-type'),
  ],
  'system-first': [
    'There is at most one system message, and it is the first message.',
    'SDK: "not all providers support several system messages"; version 7 accepts one only with allowSystemInMessages',
    function* ({ messages }) {
      for (const { path, role } of messages.slice(1)) {
        if (role === 'system') yield { path, message: 'system message behind the first' }
      }
    },
  ],
  'user-first': [
    'The first message after the system message is from the user.',
    'inferred from the Anthropic rule: the SDK does not insert a user message',
    function* ({ messages }) {
      const first = messages.find(({ role }) => role !== 'system')
      if (first === undefined && messages.length > 0) {
        yield { path: 'messages', message: 'no user message' }
      } else if (first !== undefined && first.role !== 'user') {
        yield { path: first.path, message: `begins with ${String(first.role)}` }
      }
    },
  ],
  'content-nonblank': [
    'Content has at least one part, and no text is blank.',
    'convertToLanguageModelPrompt drops empty text parts and empty tool messages and sends the rest; blank: inferred from Anthropic',
    function* ({ messages, inner }) {
      for (const { path, content } of messages) {
        const empty = typeof content === 'string' ? isBlank(content) : asList(content).length === 0
        if (empty) yield { path: `${path}.content`, message: 'no content' }
      }
      for (const { path, type, body } of [...messages.flatMap(({ parts }) => parts), ...inner]) {
        if (type === 'text' && typeof body['text'] === 'string' && isBlank(body['text'])) {
          yield { path, message: 'blank text' }
        }
      }
    },
  ],
  'calls-have-results': [
    'Each call has a result in the tool messages directly after its assistant message.',
    'MissingToolResultsError "Tool result is missing for tool call …"',
    ({ turns }) => withoutResult(turns),
  ],
  'results-follow-calls': [
    'Each tool result belongs to a call of the assistant message before it.',
    'inferred: the SDK accepts it, every provider rejects it',
    ({ turns }) => orphans(turns),
  ],
  'provider-results': [
    'The result of a call that the provider executed follows the call in an assistant message.',
    'SDK: toResponseMessages puts both into the assistant message; inferred: Anthropic and OpenAI reject one without the other',
    function* ({ messages }) {
      const open = new Set<unknown>()
      for (const { role, parts } of messages) {
        for (const part of role === 'assistant' ? parts : []) {
          const id = part.body['toolCallId']
          if (part.type === 'tool-call' && isExecuted(part)) open.add(id)
          else if (part.type === 'tool-result' && !open.delete(id))
            yield { path: part.path, message: `no call ${String(id)} that the provider executed` }
        }
      }
    },
  ],
  'one-result-each': [
    'No call has two results.',
    'inferred: the SDK accepts it, the providers reject it',
    ({ turns }) => secondResults(turns),
  ],
  'call-ids-unique': [
    'No two calls of the request share an id.',
    'vercel/ai#13307: a repeated toolCallId causes "Duplicate item found with id" from OpenAI',
    ({ turns }) => repeatedCalls(turns),
  ],
  'call-id-form': [
    'A call id has 1 to 64 letters, digits, underscores and dashes.',
    'inferred: the SDK passes ids unchanged; Anthropic limits the characters, OpenAI Responses the length',
    function* ({ calls, results }) {
      for (const { path, body } of [...calls, ...results]) {
        const id = body['toolCallId']
        if (typeof id === 'string' && !/^[a-zA-Z0-9_-]{1,64}$/.test(id)) {
          yield { path: `${path}.toolCallId`, message: JSON.stringify(id) }
        }
      }
    },
  ],
  'call-name': [
    'A tool name has 1 to 64 letters, digits, underscores and dashes.',
    'inferred: the SDK passes names unchanged; OpenAI limits characters and length',
    function* ({ calls, results }) {
      for (const { path, body } of [...calls, ...results]) {
        const name = body['toolName']
        if (typeof name === 'string' && !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
          yield { path: `${path}.toolName`, message: JSON.stringify(name) }
        }
      }
    },
  ],
  'result-name': [
    'A result has the tool name of its call.',
    'SDK: toolName is the "Name of the tool that generated this result"',
    function* ({ turns }) {
      for (const { calls, results } of turns) {
        for (const { id, name, path } of results) {
          const call = calls.find((candidate) => candidate.id === id)
          if (call !== undefined && call.name !== name) {
            yield { path: `${path}.toolName`, message: `${String(name)}, called ${String(call.name)}` }
          }
        }
      }
    },
  ],
  'input-object': [
    'The input of a call is an object.',
    'SDK: "a JSON-serializable object that matches the tool\'s input schema"',
    function* ({ calls }) {
      for (const { path, body } of calls) {
        const { input } = body
        if (input !== undefined && !isObject(input)) yield { path: `${path}.input`, message: 'not an object' }
      }
    },
  ],
  'error-result': [
    'An error result is not empty.',
    'inferred: the Anthropic provider sends is_error, with which Anthropic rejects empty content',
    function* ({ results }) {
      for (const { path, body } of results) {
        const { type, value } = asObject(body['output'])
        if (type === 'error-text' && value === '') yield { path: `${path}.output`, message: 'empty error' }
      }
    },
  ],
  'reasoning-followed': [
    'Reasoning is not the last part of an assistant message.',
    'inferred: Anthropic rejects a final thinking block, OpenAI a reasoning item without the item after it',
    function* ({ messages }) {
      for (const { role, parts } of messages) {
        const last = parts.at(-1)
        if (role === 'assistant' && last?.type === 'reasoning')
          yield { path: last.path, message: 'last part' }
      }
    },
  ],
  'media-type': [
    'A file has a media type or its top-level segment; an image is a jpeg, png, gif or webp.',
    'SDK: full media type or top-level segment; the image formats that the providers accept',
    function* ({ media }) {
      for (const { path, mediaType } of media) {
        if (typeof mediaType !== 'string' || isMediaType(mediaType)) continue
        yield { path: `${path}.mediaType`, message: mediaType }
      }
    },
  ],
  'media-data': [
    'Image data is an http(s) URL, a base64 data URL or base64; tagged data is never a data URL.',
    'InvalidDataContentError "Data URLs are not valid inline data", "Content string is not a base64-encoded media"',
    function* ({ media }) {
      for (const { path, data, mediaType } of media) {
        const isFile = typeof mediaType === 'string' && !/^image(?:\/|$)/.test(mediaType)
        const fault = isFile ? fileFault(data) : dataFault(data)
        if (fault !== undefined) yield { path, message: fault }
      }
    },
  ],
}

const ANY_IMAGE = [...IMAGE_TYPES, 'image', 'image/*']
const isMediaType = (type: string): boolean =>
  ANY_IMAGE.includes(type) || /^(?!image)[a-z]+(?:\/[\w.+*-]+)?$/.test(type)

const SCHEMES = ['https:', 'http:', 'data:']

/** Why a file that is not an image is invalid. */
function fileFault(data: unknown): string | undefined {
  if (data instanceof URL) return undefined
  if (typeof data === 'string')
    return isBase64(data) || URL.canParse(data) ? undefined : 'neither a URL nor base64'
  const { type, data: bytes, url, text, reference } = asObject(data)
  if (type === 'data') return typeof bytes === 'string' && isBase64(bytes) ? undefined : 'no base64'
  if (type === 'text') return typeof text === 'string' && !isBlank(text) ? undefined : 'blank'
  if (type === 'reference') return Object.keys(asObject(reference)).length > 0 ? undefined : 'no reference'
  return type === 'url' && url instanceof URL ? undefined : 'no data'
}

/** An untagged string is a URL when it parses as one, as in the SDK. */
function dataFault(data: unknown): string | undefined {
  if (data instanceof URL) return imageUrlFault(data.href, SCHEMES)
  if (typeof data === 'string') {
    if (URL.canParse(data)) return imageUrlFault(data, SCHEMES)
    return isBase64(data) ? undefined : 'neither a URL nor base64'
  }
  const { type, data: bytes, url } = asObject(data)
  if (type === 'url' && url instanceof URL) return imageUrlFault(url.href, SCHEMES)
  if (type === 'data' && typeof bytes === 'string' && isBase64(bytes)) return undefined
  return 'neither a URL nor base64 data'
}
