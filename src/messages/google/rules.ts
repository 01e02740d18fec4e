import { asList, asObject, customShape, faultsOf, formRules } from '../request-form.ts'
import { label, listed, oneData } from '../request-form.ts'
import { each, functionNameFault, isBase64, judge, nonEmpty, notUser, repeats, sameRole } from '../rules.ts'
import type { Finding, OneField, Rules, Violation } from '../request-form.ts'
import { listOf, object, oneOf, optional, record, string, type Shape, type ShapeOf } from '../shape.ts'
import { AUDIO, MORE } from './blocks.ts'

const blob = record({ mimeType: string, data: string, displayName: optional(string) })
const inline = { inlineData: blob } as const
const response = object as Shape<object> as Shape<{ output: string } | { error: string }>
const sent = {
  text: string,
  ...inline,
  fileData: record({ mimeType: string, fileUri: string, displayName: optional(string) }),
  functionCall: record({ name: string, id: optional(string), args: optional(object) }),
  functionResponse: record({
    name: string,
    response,
    id: optional(string),
    parts: optional(listOf(record(inline))),
  }),
} as const
const part = oneData(
  {
    ...sent,
    executableCode: record({ code: string, language: string, id: optional(string) }),
    codeExecutionResult: record({ outcome: string, output: optional(string), id: optional(string) }),
    toolCall: object,
    toolResponse: object,
    audioTranscription: object,
  },
  MORE,
) as Shape<GooglePart>
const anyContent = record({ role: string as Shape<'user' | 'model'>, parts: listOf(part) })
const content = customShape<GoogleContent>((value, { path, findings }) => {
  findings.push(...faultsOf(anyContent, value, path))
  const { role } = asObject(value)
  if (typeof role === 'string' && role !== 'user' && role !== 'model')
    findings.push({ fault: 'unknown-role', path: `${path}.role`, message: JSON.stringify(role) })
})
const system = record({ parts: listOf(record({ text: string })), role: optional(oneOf('user', 'system')) })
const shape = record({ contents: listOf(content), systemInstruction: optional(system) })

/** A part of a `generateContent` request. `thoughtSignature` signs the reasoning before the part. */
export type GooglePart = OneField<typeof sent> & { thought?: true; thoughtSignature?: string }
/** A message of a `generateContent` request. */
export type GoogleContent = ShapeOf<typeof anyContent>
/**
 * The fields of a `generateContent` request that are written from the log. With `@google/genai`,
 * `systemInstruction` belongs in `config`; over HTTP, next to `contents`.
 */
export type GoogleRequest = ShapeOf<typeof shape>

type View = ReturnType<typeof viewOf>

function viewOf(request: unknown) {
  const { contents: list, systemInstruction } = asObject(request)
  const contents = listed(list, 'contents').map(({ path, body }) => {
    const parts = listed(body['parts'], `${path}.parts`)
    const partsWith = (name: string) =>
      parts
        .filter((part) => part.body[name] !== undefined)
        .map(({ path, body }) => ({ path, body, data: asObject(body[name]) }))
    const [calls, results] = [partsWith('functionCall'), partsWith('functionResponse')]
    return { path, body, role: body['role'], parts, calls, results }
  })
  const system = listed(asObject(systemInstruction)['parts'], 'systemInstruction.parts')
  const parts = [...system, ...contents.flatMap((content) => content.parts)]
  const calls = contents.flatMap((content) => content.calls)
  return { request, contents, parts, calls, results: contents.flatMap((content) => content.results) }
}

export const validateGoogle = (request: unknown): Violation[] => judge(googleRules, viewOf(request))

export const googleRules: Rules<View> = {
  ...formRules<View>(shape, 'SDK types Content, Part, Blob, FunctionCall and FunctionResponse', {
    'json-only': 'error: "Invalid JSON payload received"',
    'text-well-formed':
      'inferred: protocol buffers encode strings as UTF-8, which cannot represent a lone surrogate',
    'wrong-type': 'error: "Invalid value at \'contents[0].parts[0].text\'"; SDK type Part',
    'unknown-field':
      'error: "Invalid JSON payload received. Unknown name \\"cache_control\\" … Cannot find field."',
    'known-role': 'error: "Please use a valid role: user, model."',
    'known-kind':
      'error: "contents[2].parts[1].data: required oneof field \'data\' must have one initialized field"',
  }),
  'contents-nonempty': [
    'There is at least one content.',
    'error: "contents is not specified"',
    ({ request }) => nonEmpty(asObject(request)['contents'], 'contents'),
  ],
  'parts-nonempty': [
    'A content has at least one part, and so has the system instruction.',
    'errors: "contents.parts must not be empty", "must include at least one parts field, which describes the prompt input"',
    function* ({ request, contents }) {
      const { systemInstruction } = asObject(request)
      const system = { path: 'systemInstruction', body: asObject(systemInstruction) }
      for (const { path, body } of [system, ...contents]) yield* nonEmpty(body['parts'], `${path}.parts`)
    },
  ],
  'text-nonempty': [
    'A text is not empty, except with a signature.',
    'error: "Unable to submit request because Model input cannot be empty"; guide on thought signatures: a part with an empty text can have one',
    ({ parts }) =>
      each(
        parts,
        ({ body: { text, thoughtSignature } }) => text === '' && thoughtSignature === undefined && 'empty',
        '.text',
      ),
  ],
  'user-first': [
    'The contents begin with the user.',
    'error: "Please ensure that function call turn comes immediately after a user turn or after a function response turn"; inferred for texts',
    ({ contents }) => each(contents.slice(0, 1), notUser('begins with')),
  ],
  'user-last': [
    'The contents end with the user.',
    'error: "Requests ending with a model turn are not supported."',
    ({ contents }) => each(contents.slice(-1), notUser('ends with')),
  ],
  'models-apart': [
    'No two contents of the model are adjacent.',
    'error: "Please ensure that function call turn comes immediately after a user turn or after a function response turn"',
    ({ contents }) => sameRole(contents, 'model'),
  ],
  'parts-by-role': [
    'Calls, thoughts and signatures are in contents of the model, and results in contents of the user.',
    'error: "Please ensure that function response turn comes immediately after a function call turn"; guide on function calling: role user for function responses',
    function* ({ contents }) {
      for (const { role, parts } of contents) {
        const others =
          role === 'model' ? ['functionResponse'] : ['functionCall', 'thought', 'thoughtSignature']
        for (const name of others)
          yield* each(parts, ({ body }) => body[name] !== undefined && `${name} of role ${label(role)}`)
      }
    },
  ],
  'results-alone': [
    'A content with results has no other parts.',
    'error of Vertex AI, which names something else: "Requests ending with a model turn are not supported." (Prism-Shadow/agenthub#189, dust-tt/dust#32270)',
    ({ contents }) =>
      each(
        contents,
        ({ parts, results }) =>
          results.length > 0 && results.length < parts.length && 'results and other parts',
      ),
  ],
  'calls-have-results': [
    'The content after calls has one result for each of them, with the same names in the same order.',
    'error: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."; order inferred, as ids are optional',
    ({ contents }) =>
      each(contents, ({ calls }, index) => {
        const results = contents[index + 1]?.results ?? []
        return (
          calls.length > 0 &&
          namesIn(calls) !== namesIn(results) &&
          `${calls.length} calls, ${results.length} results, or different names`
        )
      }),
  ],
  'results-follow-calls': [
    'Results directly follow a content with calls.',
    'error: "Please ensure that function response turn comes immediately after a function call turn"',
    ({ contents }) =>
      each(
        contents,
        ({ results }, index) =>
          results.length > 0 && (contents[index - 1]?.calls ?? []).length === 0 && 'no calls directly before',
      ),
  ],
  'ids-pair': [
    'A result has the id of its call, or no id if the call has no id.',
    'SDK type FunctionResponse: "Populated by the client to match the corresponding function call `id`."',
    function* ({ contents }) {
      for (const [index, { calls }] of contents.entries())
        yield* each(contents[index + 1]?.results ?? [], ({ data: { id } }, position) => {
          const call = calls[position]
          return call !== undefined && call.data['id'] !== id && `the id ${label(id)}`
        })
    },
  ],
  'call-ids-unique': [
    'No two calls of the request share an id.',
    'SDK type FunctionCall: "The unique id of the function call."',
    ({ calls }) => {
      const ids = calls.map(({ path, data: { id } }) => ({ id, path: `${path}.functionCall.id` }))
      return repeats(
        ids.filter(({ id }) => id !== undefined),
        'id of an earlier call',
      )
    },
  ],
  'function-name': [
    'A function name has 1 to 64 letters, digits, underscores, dots, colons and dashes, and begins with a letter or an underscore.',
    'error: "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."',
    function* ({ calls, results }) {
      yield* each(calls, ({ data }) => functionNameFault(data['name']), '.functionCall.name')
      yield* each(results, ({ data }) => functionNameFault(data['name']), '.functionResponse.name')
    },
  ],
  'first-call-signed': [
    'The first call of a content has a signature.',
    'error: "Function call is missing a thought_signature in functionCall parts"; guide on thought signatures: of parallel calls the first one has it, and each step has one',
    ({ contents }) =>
      each(
        contents.flatMap(({ calls }) => calls.slice(0, 1)),
        ({ body: { thoughtSignature } }) =>
          (typeof thoughtSignature !== 'string' || thoughtSignature === '') && 'no signature',
      ),
  ],
  'response-says-which': [
    'A response has either output or error.',
    'SDK type FunctionResponse: "Use \\"output\\" key to specify function output and \\"error\\" key to specify error details"',
    ({ results }) =>
      each(
        results,
        ({ data }) => {
          const response = asObject(data['response'])
          return 'output' in response === 'error' in response && 'neither output nor error, or both'
        },
        '.functionResponse.response',
      ),
  ],
  media: [
    'Bytes are base64 of a type that the model reads, and an address is an https URL.',
    'error: "MIME type must be image/png, image/jpeg, image/webp, image/heic, or image/heif."; gif: microsoft/vscode#286628',
    function* ({ parts }) {
      for (const { path, body } of parts) {
        const { parts: inner } = asObject(body['functionResponse'])
        const blobs = [body, ...asList(inner).map(asObject)].map(({ inlineData }) => inlineData)
        for (const entry of blobs) yield* blobFaults(entry, path)
        const { mimeType, fileUri } = asObject(body['fileData'])
        yield* typeFaults(mimeType, path)
        if (typeof fileUri === 'string' && !(URL.canParse(fileUri) && fileUri.startsWith('https://')))
          yield { path: `${path}.fileData.fileUri`, message: 'not an https URL' }
      }
    },
  ],
}

const IMAGES = ['png', 'jpeg', 'webp', 'heic', 'heif'].map((name) => `image/${name}`)
const TYPES = [...IMAGES, ...AUDIO, 'application/pdf']

function* blobFaults(blob: unknown, path: string): Generator<Finding> {
  const { mimeType, data } = asObject(blob)
  yield* typeFaults(mimeType, path)
  if (typeof data === 'string' && !isBase64(data)) yield { path, message: 'empty or malformed base64 data' }
}

function* typeFaults(mimeType: unknown, path: string): Generator<Finding> {
  if (typeof mimeType === 'string' && !TYPES.includes(mimeType)) yield { path, message: mimeType }
}

const namesIn = (parts: View['calls']): string =>
  JSON.stringify(parts.map(({ data }) => data['name'] ?? null))
