/** Gemini Interactions: the rules for the steps of a request. */

import {
  asList,
  asObject,
  byKey,
  fields,
  formRules,
  type Finding,
  isBase64,
  judge,
  type JsonObject,
  orphans,
  repeatedCalls,
  type Rule,
  secondResults,
  type Step,
  textOr,
  turnsOf,
  type Violation,
  withoutResult,
} from '../rules.ts'
import { boolean, listOf, object, open, string as text } from '../shape.ts'

const media = fields({}, { data: text, uri: text, mime_type: text })
/** Media of the model can have other fields. */
const generatedMedia = open({})
const content = byKey('type', {
  text: fields({ text }, { annotations: listOf(object) }),
  image: media,
  audio: media,
  document: media,
  video: media,
})
const output = byKey('type', {
  text: fields({ text }, { annotations: listOf(object) }),
  image: generatedMedia,
  audio: generatedMedia,
  document: generatedMedia,
  video: generatedMedia,
})
const call = open({ id: text })
const result = open({ call_id: text })

const step = byKey('type', {
  user_input: fields({ content: listOf(content) }),
  model_output: fields({ content: listOf(output) }, { error: object }),
  thought: fields({}, { signature: text, summary: listOf(object) }),
  function_call: fields({ id: text, name: text, arguments: object }, { signature: text }),
  function_result: fields(
    { call_id: text, result: textOr(listOf(content)) },
    { name: text, is_error: boolean },
  ),
  ...Object.fromEntries(
    [
      'code_execution',
      'file_search',
      'google_maps',
      'google_search',
      'mcp_server_tool',
      'processing',
      'retrieval',
      'url_context',
    ].flatMap((tool) => [
      [`${tool}_call`, call],
      [`${tool}_result`, result],
    ]),
  ),
})

const shape = fields({ input: listOf(step) }, { system_instruction: text })

interface Part {
  readonly path: string
  readonly body: JsonObject
}

interface View {
  readonly request: unknown
  readonly steps: readonly Part[]
  readonly contents: readonly (Part & { readonly of: unknown })[]
}

const listed = (value: unknown, path: string): Part[] =>
  asList(value).map((one, index) => ({ path: `${path}[${index}]`, body: asObject(one) }))

export function validateInteractions(request: unknown): Violation[] {
  const steps = listed(asObject(request)['input'], 'input')
  const contents = steps.flatMap(({ path, body }) =>
    ['content', 'result'].flatMap((field) =>
      listed(body[field], `${path}.${field}`)
        .filter(() => CONTENT.has(body['type']))
        .map((part) => ({ ...part, of: body['type'] })),
    ),
  )
  return judge(interactionsRules, { request, steps, contents })
}

const CONTENT: ReadonlySet<unknown> = new Set(['user_input', 'model_output', 'function_result'])

const USER: ReadonlySet<unknown> = new Set(['user_input', 'function_result'])

const turns = ({ steps }: View) =>
  turnsOf(
    steps.map(({ path, body: { type, id, call_id } }): Step => {
      if (type === 'function_call') return { call: { id, path } }
      if (type === 'function_result') return { result: { id: call_id, path } }
      return type === 'user_input' ? 'break' : 'assistant'
    }),
  )

export const interactionsRules: readonly Rule<View>[] = [
  ...formRules(shape, 'types Step and Content of @google/genai 3.1'),
  {
    id: 'user-ends',
    rule: 'The input is not empty, begins with the user, and ends with the user or a result.',
    source: 'guide on stateless conversations: the history, then the new input; the beginning is inferred',
    *check({ request, steps }) {
      if (!Array.isArray(asObject(request)['input'])) return
      const [first, last] = [steps[0], steps.at(-1)]
      if (first?.body['type'] !== 'user_input')
        yield { path: 'input[0]', message: 'does not begin with a user input' }
      if (!USER.has(last?.body['type'])) yield { path: last?.path ?? 'input', message: 'ends with the model' }
    },
  },
  {
    id: 'content-nonempty',
    rule: 'An input and an output have content, and a text is not empty.',
    source: 'inferred: generateContent refuses both ("must not be empty")',
    *check({ steps, contents }) {
      for (const { path, body } of steps)
        if (Array.isArray(body['content']) && body['content'].length === 0)
          yield { path, message: 'no content' }
      for (const { path, body, of } of contents)
        if (body['text'] === '' && of !== 'model_output') yield { path: `${path}.text`, message: 'empty' }
    },
  },
  {
    id: 'calls-have-results',
    rule: 'Each call has one result, directly after its turn.',
    source:
      'guide on function calling: call_id is the id of the call; the position is inferred from generateContent',
    *check(view) {
      yield* withoutResult(turns(view))
      yield* secondResults(turns(view))
    },
  },
  {
    id: 'results-follow-calls',
    rule: 'Each result follows a turn with its call.',
    source: 'type FunctionResultStep: "ID to match the ID from the function call block."',
    check: (view) => orphans(turns(view)),
  },
  {
    id: 'call-ids-unique',
    rule: 'No two calls of the request share an id.',
    source: 'type FunctionCallStep: "A unique ID for this specific tool call."',
    check: (view) => repeatedCalls(turns(view)),
  },
  {
    id: 'function-name',
    rule: 'A function name has 1 to 64 letters, digits, underscores, dots, colons and dashes, and begins with a letter or an underscore.',
    source: 'type FunctionDeclaration, which allows 128 since version 2',
    *check({ steps }) {
      for (const { path, body } of steps)
        if (
          typeof body['name'] === 'string' &&
          String(body['type']).startsWith('function_') &&
          !NAME.test(body['name'])
        )
          yield { path: `${path}.name`, message: JSON.stringify(body['name']) }
    },
  },
  {
    id: 'thought-signed',
    rule: 'A thought has a signature.',
    source: 'googleapis/js-genai#1735: a thought with a summary and an empty signature is refused with 400',
    *check({ steps }) {
      for (const { path, body } of steps)
        if (body['type'] === 'thought' && !body['signature']) yield { path, message: 'no signature' }
    },
  },
  {
    id: 'first-call-signed',
    rule: 'The first call of a turn has a signature, or a signed thought before it in the turn.',
    source:
      'earendil-works/pi#2172: unsigned calls are refused with 400, and skip_thought_signature_validator is accepted',
    *check({ steps }) {
      let isSigned = false
      for (const { path, body } of steps) {
        const { type, signature } = body
        if (USER.has(type)) isSigned = false
        else if ((type === 'thought' || type === 'function_call') && signature) isSigned = true
        if (type === 'function_call' && !isSigned) yield { path, message: 'no signature' }
      }
    },
  },
  {
    id: 'media',
    rule: 'Bytes are base64; media of a user has one source, a known type, and an https URL if it has an address.',
    source: 'types ImageContent, AudioContent, DocumentContent and VideoContent; one source is inferred',
    *check({ contents }) {
      for (const { path, body, of } of contents) yield* mediaFaults(body, path, of === 'model_output')
    },
  },
]

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

function* mediaFaults(
  { type, data, uri, mime_type }: JsonObject,
  path: string,
  isMade: boolean,
): Generator<Finding> {
  if (!/^(?:image|audio|document|video)$/.test(String(type))) return
  if (typeof data === 'string' && !isBase64(data)) yield { path, message: 'not base64' }
  if (isMade) return
  if ((data === undefined) === (uri === undefined))
    yield { path, message: 'neither bytes nor an address, or both' }
  if (typeof uri === 'string' && !(URL.canParse(uri) && uri.startsWith('https://')))
    yield { path, message: 'not an https URL' }
  const [kind] = String(mime_type).split('/')
  if (kind !== type && !(type === 'document' && kind === 'application'))
    yield { path, message: String(mime_type) }
}
