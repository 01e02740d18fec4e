/** Google Gemini: the rules for contents and system instruction. */

import {
  asList,
  asObject,
  faults,
  faultsOf,
  customShape,
  fields,
  type Finding,
  illFormedText,
  isBase64,
  isObject,
  type JsonObject,
  judge,
  notJson,
  repeats,
  type Rule,
  type Violation,
} from '../rules.ts'
import { boolean as flag, listOf, object, oneOf, type Shape, string as text } from '../shape.ts'

interface Part {
  readonly path: string
  readonly body: JsonObject
}

interface Content {
  readonly path: string
  readonly role: unknown
  readonly parts: readonly Part[]
  readonly calls: readonly Part[]
  readonly results: readonly Part[]
}

interface View {
  readonly request: unknown
  readonly contents: readonly Content[]
  readonly parts: readonly Part[]
}

const blob = fields({ mimeType: text, data: text }, { displayName: text })

const DATA: Readonly<Record<string, Shape<unknown>>> = {
  text,
  inlineData: blob,
  fileData: fields({ mimeType: text, fileUri: text }, { displayName: text }),
  functionCall: fields({ name: text }, { id: text, args: object }),
  functionResponse: fields(
    { name: text, response: object },
    { id: text, parts: listOf(fields({ inlineData: blob })) },
  ),
  executableCode: fields({ code: text, language: text }, { id: text }),
  codeExecutionResult: fields({ outcome: text }, { output: text, id: text }),
  toolCall: object,
  toolResponse: object,
  audioTranscription: object,
}

const PART_FIELDS: Readonly<Record<string, Shape<unknown>>> = {
  thought: flag,
  thoughtSignature: text,
  mediaProcessing: text,
  mediaResolution: object,
  partMetadata: object,
  speechMetadata: object,
  videoMetadata: object,
}

const anyPart = fields({}, { ...DATA, ...PART_FIELDS })

const part = customShape((value, { path, findings }) => {
  const present = isObject(value) ? Object.keys(DATA).filter((name) => value[name] !== undefined) : ['']
  const message = `has ${present.join(' and ') || 'no data'}`
  findings.push(...faultsOf(anyPart, value, path))
  if (present.length !== 1) findings.push({ fault: 'unknown-type', path, message })
})

const anyContent = fields({ role: text, parts: listOf(part) })

const content = customShape((value, { path, findings }) => {
  findings.push(...faultsOf(anyContent, value, path))
  const { role } = asObject(value)
  if (typeof role === 'string' && role !== 'user' && role !== 'model')
    findings.push({ fault: 'unknown-role', path: `${path}.role`, message: JSON.stringify(role) })
})

const shape = fields(
  { contents: listOf(content) },
  { systemInstruction: fields({ parts: listOf(fields({ text })) }, { role: oneOf('user', 'system') }) },
)

function viewOf(request: unknown): View {
  const body = asObject(request)
  const contents = asList(body['contents']).map((value, index): Content => {
    const path = `contents[${index}]`
    const { role, parts: rawParts } = asObject(value)
    const parts = partsOf(rawParts, `${path}.parts`)
    return {
      path,
      role,
      parts,
      calls: partsWith(parts, 'functionCall'),
      results: partsWith(parts, 'functionResponse'),
    }
  })
  const system = partsOf(asObject(body['systemInstruction'])['parts'], 'systemInstruction.parts')
  return { request, contents, parts: [...system, ...contents.flatMap(({ parts }) => parts)] }
}

const partsOf = (value: unknown, path: string): Part[] =>
  asList(value).map((one, index) => ({ path: `${path}[${index}]`, body: asObject(one) }))

const partsWith = (parts: readonly Part[], name: string): Part[] =>
  parts.filter(({ body }) => body[name] !== undefined)

export function validateGoogle(request: unknown): Violation[] {
  return judge(googleRules, viewOf(request))
}

export const googleRules: readonly Rule<View>[] = [
  {
    id: 'json-only',
    rule: 'The request is plain JSON: no undefined, no class instance, no cycle.',
    source: 'error: "Invalid JSON payload received"',
    check: ({ request }) => notJson(request, ''),
  },
  {
    id: 'text-well-formed',
    rule: 'No string has a lone surrogate.',
    source: 'inferred: protocol buffers encode strings as UTF-8, which cannot represent a lone surrogate',
    check: ({ request }) => illFormedText(request, ''),
  },
  {
    id: 'contents-nonempty',
    rule: 'There is at least one content.',
    source: 'error: "contents is not specified"',
    *check({ request }) {
      const { contents } = asObject(request)
      if (Array.isArray(contents) && contents.length === 0) yield { path: 'contents', message: 'empty' }
    },
  },
  {
    id: 'wrong-type',
    rule: 'Every field has the type of the API reference.',
    source: 'error: "Invalid value at \'contents[0].parts[0].text\'"; SDK type Part',
    check: faults(shape, '', 'wrong-type'),
  },
  {
    id: 'missing-field',
    rule: 'Every required field is present.',
    source: 'SDK types Content, Part, Blob, FunctionCall and FunctionResponse, by their "Required"',
    check: faults(shape, '', 'missing-field'),
  },
  {
    id: 'unknown-field',
    rule: 'There is no field that the API reference does not name.',
    source: 'error: "Invalid JSON payload received. Unknown name \\"cache_control\\" … Cannot find field."',
    check: faults(shape, '', 'unknown-field'),
  },
  {
    id: 'known-role',
    rule: 'A role is user or model.',
    source: 'error: "Please use a valid role: user, model."',
    check: faults(shape, '', 'unknown-role'),
  },
  {
    id: 'one-data-field',
    rule: 'A part has exactly one kind of data.',
    source:
      'error: "contents[2].parts[1].data: required oneof field \'data\' must have one initialized field"',
    check: faults(shape, '', 'unknown-type'),
  },
  {
    id: 'parts-nonempty',
    rule: 'A content has at least one part, and so has the system instruction.',
    source:
      'errors: "contents.parts must not be empty", "must include at least one parts field, which describes the prompt input"',
    *check({ request }) {
      const { contents, systemInstruction } = asObject(request)
      for (const [index, value] of [systemInstruction, ...asList(contents)].entries()) {
        const { parts } = asObject(value)
        const path = index === 0 ? 'systemInstruction' : `contents[${index - 1}]`
        if (Array.isArray(parts) && parts.length === 0) yield { path: `${path}.parts`, message: 'empty' }
      }
    },
  },
  {
    id: 'text-nonempty',
    rule: 'A text is not empty, except with a signature.',
    source:
      'error: "Unable to submit request because Model input cannot be empty"; guide on thought signatures: a part with an empty text can have one',
    *check({ parts }) {
      for (const { path, body } of parts)
        if (body['text'] === '' && body['thoughtSignature'] === undefined)
          yield { path: `${path}.text`, message: 'empty' }
    },
  },
  {
    id: 'user-first',
    rule: 'The contents begin with the user.',
    source:
      'error: "Please ensure that function call turn comes immediately after a user turn or after a function response turn"; inferred for texts',
    *check({ contents: [first] }) {
      if (first !== undefined && first.role !== 'user')
        yield { path: first.path, message: `begins with ${String(first.role)}` }
    },
  },
  {
    id: 'user-last',
    rule: 'The contents end with the user.',
    source: 'error: "Requests ending with a model turn are not supported."',
    *check({ contents }) {
      const last = contents.at(-1)
      if (last !== undefined && last.role !== 'user')
        yield { path: last.path, message: `ends with ${String(last.role)}` }
    },
  },
  {
    id: 'models-apart',
    rule: 'No content of the model follows another one directly.',
    source:
      'error: "Please ensure that function call turn comes immediately after a user turn or after a function response turn"',
    *check({ contents }) {
      for (const [index, { path, role }] of contents.entries())
        if (role === 'model' && contents[index - 1]?.role === 'model')
          yield { path, message: 'follows a content of the model' }
    },
  },
  {
    id: 'parts-by-role',
    rule: 'Calls, thoughts and signatures are of the model, results of the user.',
    source:
      'error: "Please ensure that function response turn comes immediately after a function call turn"; guide on function calling: role user for function responses',
    *check({ contents }) {
      for (const { role, parts } of contents) {
        const others =
          role === 'model' ? ['functionResponse'] : ['functionCall', 'thought', 'thoughtSignature']
        for (const { path, body } of parts)
          for (const name of others)
            if (body[name] !== undefined) yield { path, message: `${name} of role ${String(role)}` }
      }
    },
  },
  {
    id: 'results-alone',
    rule: 'A content with results has no other parts.',
    source:
      'error of Vertex AI, which names something else: "Requests ending with a model turn are not supported." (Prism-Shadow/agenthub#189, dust-tt/dust#32270)',
    *check({ contents }) {
      for (const { path, parts, results } of contents)
        if (results.length > 0 && results.length < parts.length)
          yield { path, message: 'results and other parts' }
    },
  },
  {
    id: 'calls-have-results',
    rule: 'The content after calls has one result for each of them, with the same names in the same order.',
    source:
      'error: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."; order inferred, as ids are optional',
    *check({ contents }) {
      for (const [index, { path, calls }] of contents.entries()) {
        const results = contents[index + 1]?.results ?? []
        if (calls.length === 0) continue
        if (namesIn(calls, 'functionCall') !== namesIn(results, 'functionResponse'))
          yield { path, message: `${calls.length} calls, ${results.length} results, or different names` }
      }
    },
  },
  {
    id: 'results-follow-calls',
    rule: 'Results directly follow a content with calls.',
    source: 'error: "Please ensure that function response turn comes immediately after a function call turn"',
    *check({ contents }) {
      for (const [index, { path, results }] of contents.entries())
        if (results.length > 0 && (contents[index - 1]?.calls ?? []).length === 0)
          yield { path, message: 'no calls directly before' }
    },
  },
  {
    id: 'ids-pair',
    rule: 'A result has the id of its call, or none if the call has none.',
    source:
      'SDK type FunctionResponse: "Populated by the client to match the corresponding function call `id`."',
    *check({ contents }) {
      for (const [index, { calls }] of contents.entries())
        for (const [position, { body }] of (contents[index + 1]?.results ?? []).entries()) {
          const { id } = asObject(body['functionResponse'])
          if (calls[position] !== undefined && asObject(calls[position].body['functionCall'])['id'] !== id)
            yield { path: `contents[${index + 1}].parts[${position}]`, message: `the id ${String(id)}` }
        }
    },
  },
  {
    id: 'call-ids-unique',
    rule: 'No two calls of the request share an id.',
    source: 'SDK type FunctionCall: "The unique id of the function call."',
    *check({ contents }) {
      const calls = contents.flatMap((content) => content.calls)
      yield* repeats(
        calls.flatMap(({ path, body }) => {
          const { id } = asObject(body['functionCall'])
          return id === undefined ? [] : [{ id, path: `${path}.functionCall.id` }]
        }),
        'id of an earlier call',
      )
    },
  },
  {
    id: 'function-name',
    rule: 'A function name has 1 to 64 letters, digits, underscores, dots, colons and dashes, and begins with a letter or an underscore.',
    source:
      'error: "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."',
    *check({ contents }) {
      for (const [path, current] of contents.flatMap(functionsIn)) {
        const { name } = asObject(current)
        if (typeof name === 'string' && !NAME.test(name))
          yield { path: `${path}.name`, message: JSON.stringify(name) }
      }
    },
  },
  {
    id: 'first-call-signed',
    rule: 'The first call of a content has a signature.',
    source:
      'error: "Function call is missing a thought_signature in functionCall parts"; guide on thought signatures: of parallel calls the first one has it, and each step has one',
    *check({ contents }) {
      for (const { calls } of contents) {
        const [first] = calls
        const signature = first?.body['thoughtSignature']
        if (first !== undefined && (typeof signature !== 'string' || signature === ''))
          yield { path: first.path, message: 'no signature' }
      }
    },
  },
  {
    id: 'response-says-which',
    rule: 'A response has either output or error.',
    source:
      'SDK type FunctionResponse: "Use \\"output\\" key to specify function output and \\"error\\" key to specify error details"',
    *check({ contents }) {
      for (const { path, body } of contents.flatMap(({ results }) => results)) {
        const response = asObject(body['functionResponse'])['response']
        if ('output' in asObject(response) === 'error' in asObject(response))
          yield { path: `${path}.functionResponse.response`, message: 'neither output nor error, or both' }
      }
    },
  },
  {
    id: 'media',
    rule: 'Bytes are base64 of a type that the model reads, and an address is an https URL.',
    source:
      'error: "MIME type must be image/png, image/jpeg, image/webp, image/heic, or image/heif."; gif: microsoft/vscode#286628',
    *check({ parts }) {
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
  },
]

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif', 'application/pdf'].concat(
  ['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac'].map((name) => `audio/${name}`),
)

function* blobFaults(blob: unknown, path: string): Generator<Finding> {
  const { mimeType, data } = asObject(blob)
  yield* typeFaults(mimeType, path)
  if (typeof data === 'string' && !isBase64(data)) yield { path, message: 'empty or malformed base64 data' }
}

function* typeFaults(mimeType: unknown, path: string): Generator<Finding> {
  if (typeof mimeType === 'string' && !TYPES.includes(mimeType)) yield { path, message: mimeType }
}

const functionsIn = ({ calls, results }: Content): [path: string, held: unknown][] => [
  ...calls.map(({ path, body }): [string, unknown] => [`${path}.functionCall`, body['functionCall']]),
  ...results.map(({ path, body }): [string, unknown] => [
    `${path}.functionResponse`,
    body['functionResponse'],
  ]),
]

const namesIn = (parts: readonly Part[], field: string): string =>
  JSON.stringify(parts.map(({ body }) => asObject(body[field])['name'] ?? null))
