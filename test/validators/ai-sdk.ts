/** Validates AI SDK model messages, using the SDK's schema too. Returns the broken rules. */

import { modelMessageSchema } from 'ai'
import { isExecuted, shape, type View, viewOf } from './ai-sdk-form.ts'
import {
  asList,
  asObject,
  faults,
  illFormedText,
  isObject,
  notJson,
  type Rule,
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

export const aiSdkRules: readonly Rule<View>[] = [
  {
    id: 'json-only',
    rule: 'The messages are plain JSON; a URL object may stand where the SDK wants one.',
    source: 'inferred: messages are kept and sent between processes',
    check: ({ request }) => notJson(request, 'messages', (value) => value instanceof URL),
  },
  {
    id: 'text-well-formed',
    rule: 'No string holds a lone surrogate.',
    source: 'inferred from the providers behind the SDK',
    check: ({ request }) => illFormedText(request, 'messages'),
  },
  {
    id: 'messages-nonempty',
    rule: 'There is at least one message.',
    source: 'standardizePrompt: InvalidPromptError "messages must not be empty"',
    *check({ request }) {
      if (Array.isArray(request) && request.length === 0) yield { path: 'messages', message: 'empty' }
    },
  },
  {
    id: 'sdk-schema',
    rule: "Each message passes the SDK's own modelMessageSchema.",
    source: 'ai: modelMessageSchema',
    *check({ request }) {
      for (const [index, message] of asList(request).entries()) {
        const parsed = modelMessageSchema.safeParse(message)
        if (!parsed.success) yield { path: `messages[${index}]`, message: parsed.error.message }
      }
    },
  },
  {
    id: 'wrong-type',
    rule: 'Every field has the type that the SDK gives it.',
    source: 'SDK type ModelMessage',
    check: faults(shape, 'messages', 'wrong-type'),
  },
  {
    id: 'missing-field',
    rule: 'Every required field is there.',
    source: 'SDK type ModelMessage',
    check: faults(shape, 'messages', 'missing-field'),
  },
  {
    id: 'unknown-field',
    rule: 'There is no field that the SDK does not name: its schema would drop it silently.',
    source: 'modelMessageSchema is made of z.object, which strips',
    check: faults(shape, 'messages', 'unknown-field'),
  },
  {
    id: 'known-role',
    rule: 'A role is system, user, assistant or tool.',
    source: 'SDK type ModelMessage; InvalidMessageRoleError',
    check: faults(shape, 'messages', 'unknown-role'),
  },
  {
    id: 'known-part',
    rule: 'Users send text, files and images, tools their results, the assistant whatever it can have said.',
    source: 'SDK types UserContent, AssistantContent, ToolContent, less what the library never sends',
    check: faults(shape, 'messages', 'unknown-type'),
  },
  {
    id: 'system-first',
    rule: 'One system message at most, and it stands first.',
    source:
      'SDK: "not all providers support several system messages"; version 7 takes even one only with allowSystemInMessages',
    *check({ messages }) {
      for (const { path, role } of messages.slice(1)) {
        if (role === 'system') yield { path, message: 'system message behind the first' }
      }
    },
  },
  {
    id: 'user-first',
    rule: 'Behind the system message the history begins with a user message.',
    source: 'inferred from the Anthropic rule, which the SDK does not repair',
    *check({ messages }) {
      const first = messages.find(({ role }) => role !== 'system')
      if (first === undefined && messages.length > 0) {
        yield { path: 'messages', message: 'no user message' }
      } else if (first !== undefined && first.role !== 'user') {
        yield { path: first.path, message: `begins with ${String(first.role)}` }
      }
    },
  },
  {
    id: 'content-nonblank',
    rule: 'Content has at least one part, and its texts have more than white space.',
    source:
      'convertToLanguageModelPrompt drops empty text parts and empty tool messages and sends what is left; blank: inferred from Anthropic',
    *check({ messages, inner }) {
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
  },
  {
    id: 'calls-have-results',
    rule: 'Each call is answered in the tool messages directly behind the assistant message that made it.',
    source: 'MissingToolResultsError "Tool result is missing for tool call …"',
    check: ({ turns }) => withoutResult(turns),
  },
  {
    id: 'results-follow-calls',
    rule: 'Each tool result is for a call of the assistant message directly before its run.',
    source: 'inferred: the SDK lets it through, every provider refuses it',
    check: ({ turns }) => orphans(turns),
  },
  {
    id: 'provider-results',
    rule: 'The result of a call that the provider executed stands behind it, in a message of the assistant.',
    source:
      'SDK: toResponseMessages puts both into the assistant message; inferred: Anthropic and OpenAI refuse a half',
    *check({ messages }) {
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
  },
  {
    id: 'one-result-each',
    rule: 'No call has two results.',
    source: 'inferred: the SDK lets it through, the providers refuse it',
    check: ({ turns }) => secondResults(turns),
  },
  {
    id: 'call-ids-unique',
    rule: 'No two calls of the request share an id.',
    source: 'vercel/ai#13307: a repeated toolCallId gives "Duplicate item found with id" from OpenAI',
    check: ({ turns }) => repeatedCalls(turns),
  },
  {
    id: 'call-id-form',
    rule: 'A call id has 1 to 64 letters, digits, underscores and dashes.',
    source:
      'inferred: the SDK hands ids on as they are, Anthropic sets the pattern, OpenAI Responses the length',
    *check({ calls, results }) {
      for (const { path, body } of [...calls, ...results]) {
        const id = body['toolCallId']
        if (typeof id === 'string' && !/^[a-zA-Z0-9_-]{1,64}$/.test(id)) {
          yield { path: `${path}.toolCallId`, message: JSON.stringify(id) }
        }
      }
    },
  },
  {
    id: 'call-name',
    rule: 'A tool name has 1 to 64 letters, digits, underscores and dashes.',
    source: 'inferred: the SDK hands names on as they are, OpenAI sets pattern and length',
    *check({ calls, results }) {
      for (const { path, body } of [...calls, ...results]) {
        const name = body['toolName']
        if (typeof name === 'string' && !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
          yield { path: `${path}.toolName`, message: JSON.stringify(name) }
        }
      }
    },
  },
  {
    id: 'result-name',
    rule: 'A result names the tool that its call named.',
    source: 'SDK: toolName is the "Name of the tool that generated this result"',
    *check({ turns }) {
      for (const { calls, results } of turns) {
        for (const { id, name, path } of results) {
          const call = calls.find((made) => made.id === id)
          if (call !== undefined && call.name !== name) {
            yield { path: `${path}.toolName`, message: `${String(name)}, called ${String(call.name)}` }
          }
        }
      }
    },
  },
  {
    id: 'input-object',
    rule: 'The input of a call is an object.',
    source: 'SDK: "a JSON-serializable object that matches the tool\'s input schema"',
    *check({ calls }) {
      for (const { path, body } of calls) {
        const { input } = body
        if (input !== undefined && !isObject(input)) yield { path: `${path}.input`, message: 'not an object' }
      }
    },
  },
  {
    id: 'error-result',
    rule: 'An error result says something.',
    source: 'inferred: the Anthropic provider sends is_error, which refuses empty content',
    *check({ results }) {
      for (const { path, body } of results) {
        const { type, value } = asObject(body['output'])
        if (type === 'error-text' && value === '') yield { path: `${path}.output`, message: 'empty error' }
      }
    },
  },
  {
    id: 'reasoning-followed',
    rule: 'Reasoning is not the last part of an assistant message.',
    source:
      'inferred: Anthropic refuses a final thinking block, OpenAI a reasoning item without its following item',
    *check({ messages }) {
      for (const { role, parts } of messages) {
        const last = parts.at(-1)
        if (role === 'assistant' && last?.type === 'reasoning')
          yield { path: last.path, message: 'last part' }
      }
    },
  },
  {
    id: 'media-type',
    rule: 'A file has a media type or its top-level segment; an image is a jpeg, png, gif or webp.',
    source: 'SDK: full media type or top-level segment; the formats of images that the providers take',
    *check({ media }) {
      for (const { path, mediaType } of media) {
        if (typeof mediaType !== 'string' || isMediaType(mediaType)) continue
        yield { path: `${path}.mediaType`, message: mediaType }
      }
    },
  },
  {
    id: 'media-data',
    rule: 'Image data is an http(s) URL, a base64 data URL or base64; tagged data is never a data URL.',
    source:
      'InvalidDataContentError "Data URLs are not valid inline data", "Content string is not a base64-encoded media"',
    *check({ media }) {
      for (const { path, data, mediaType } of media) {
        const isFile = typeof mediaType === 'string' && !/^image(?:\/|$)/.test(mediaType)
        const fault = isFile ? fileFault(data) : dataFault(data)
        if (fault !== undefined) yield { path, message: fault }
      }
    },
  },
]

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
