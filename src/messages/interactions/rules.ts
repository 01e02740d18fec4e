import { asObject, byKey, formRules, label, listed } from '../request-form.ts'
import { type Part, type Rules, shapesOf, storedFields, type Violation, written } from '../request-form.ts'
import { each, functionNameFault, imageUrlFault, isBase64, judge } from '../rules.ts'
import { nonEmpty, sharedRules, type Step, turnsOf } from '../rules.ts'
import { boolean, byType, either, listOf, object, objects, open, optional, record, string } from '../shape.ts'
import type { Shape, ShapeOf, Typed } from '../shape.ts'
import { KINDS } from './blocks.ts'

const text = { text: string, annotations: optional(objects as Shape<never[]>) } as const
const media = { data: optional(string), uri: optional(string), mime_type: optional(string) } as const
const contents = { text, image: media, audio: media, document: media, video: media } as const
const content = byType(contents)
/** Content of a model's output, whose media can have further fields. */
const output = byKey('type', { ...shapesOf(contents, open), text: record(text) }) as typeof content
const STEPS = {
  user_input: { content: listOf(content) },
  model_output: { content: listOf(output), error: optional(object) },
  thought: { signature: written(string), summary: optional(objects as Shape<InteractionsText[]>) },
  function_call: { id: string, name: string, arguments: object, signature: optional(string) },
  function_result: {
    call_id: string,
    name: written(string),
    result: either([string, listOf(content)]),
    is_error: optional(boolean),
  },
} as const
const stored = shapesOf(storedFields(KINDS), open)
const step = byKey('type', { ...shapesOf(STEPS, record), ...stored }) as Shape<InteractionsStep>
const shape = record({ system_instruction: optional(string), input: listOf(step) })

/** A text content of a step. */
export type InteractionsText = Typed<Pick<typeof contents, 'text'>>
/** A file, as base64 or by its address. */
export type InteractionsMedia = Typed<Omit<typeof contents, 'text'>>
/** A part of a step's content: a text or a file. */
export type InteractionsContent = ShapeOf<typeof content>
/** A step of a request. Steps of the provider's own tools are sent back unchanged. */
export type InteractionsStep = Typed<typeof STEPS>
/** The fields of an `interactions.create` request that are written from the log. */
export type InteractionsRequest = ShapeOf<typeof shape>

type View = ReturnType<typeof viewOf>

const USER: ReadonlySet<unknown> = new Set(['user_input', 'function_result'])

function viewOf(request: unknown) {
  const steps = listed(asObject(request)['input'], 'input')
  const contents = steps
    .filter(({ body }) => Object.hasOwn(STEPS, label(body['type'])))
    .flatMap(({ path, body }) =>
      ['content', 'result'].flatMap((field) =>
        listed(body[field], `${path}.${field}`).map((part) => ({ ...part, of: body['type'] })),
      ),
    )
  return { request, steps, contents, turns: turnsOf(steps.map(stepOf)) }
}

export const validateInteractions = (request: unknown): Violation[] =>
  judge(interactionsRules, viewOf(request))

function stepOf({ path, body: { type, id, call_id } }: Part): Step {
  if (type === 'function_call') return { call: { id, path } }
  if (type === 'function_result') return { result: { id: call_id, path } }
  return type === 'user_input' ? 'break' : 'assistant'
}

export const interactionsRules: Rules<View> = {
  ...formRules<View>(shape, 'types Step and Content of @google/genai 3.1'),
  'user-ends': [
    'The input is not empty, begins with a user input, and ends with a user input or a result.',
    'guide on stateless conversations: the history, then the new input; the beginning is inferred',
    function* ({ request, steps }) {
      if (!Array.isArray(asObject(request)['input'])) return
      const [first, last] = [steps[0], steps.at(-1)]
      if (first?.body['type'] !== 'user_input')
        yield { path: 'input[0]', message: 'does not begin with a user input' }
      if (!USER.has(last?.body['type'])) yield { path: last?.path ?? 'input', message: 'ends with the model' }
    },
  ],
  'content-nonempty': [
    'Every input and every output has content, and no text of an input or a result is empty.',
    'inferred: generateContent refuses both ("must not be empty")',
    function* ({ steps, contents }) {
      for (const { path, body } of steps) yield* nonEmpty(body['content'], path)
      yield* each(
        contents,
        ({ body, of }) => body['text'] === '' && of !== 'model_output' && 'empty',
        '.text',
      )
    },
  ],
  ...sharedRules<View>({
    'calls-have-results':
      'guide on function calling: call_id is the id of the call; the position is inferred from generateContent',
    'one-result-each': 'inferred: a call_id names one call',
    'results-follow-calls': 'type FunctionResultStep: "ID to match the ID from the function call block."',
    'call-ids-unique': 'type FunctionCallStep: "A unique ID for this specific tool call."',
  }),
  'function-name': [
    'A function name has 1 to 64 letters, digits, underscores, dots, colons and dashes, and begins with a letter or an underscore.',
    'type FunctionDeclaration, which allows 128 since version 2',
    ({ steps }) =>
      each(
        steps,
        ({ body: { type, name } }) => label(type).startsWith('function_') && functionNameFault(name),
        '.name',
      ),
  ],
  'thought-signed': [
    'A thought has a signature.',
    'googleapis/js-genai#1735: a thought with a summary and an empty signature is refused with 400',
    ({ steps }) =>
      each(steps, ({ body: { type, signature } }) => type === 'thought' && !signature && 'no signature'),
  ],
  'first-call-signed': [
    'The first call of a turn has a signature, or a signed thought before it in the turn.',
    'earendil-works/pi#2172: unsigned calls are refused with 400, and skip_thought_signature_validator is accepted',
    ({ steps }) => {
      let isSigned = false
      return each(steps, ({ body: { type, signature } }) => {
        if (USER.has(type)) isSigned = false
        else if ((type === 'thought' || type === 'function_call') && signature) isSigned = true
        return type === 'function_call' && !isSigned && 'no signature'
      })
    },
  ],
  media: [
    'Bytes are base64. Media of a user has one source and a known type, and its address, if any, is an https URL.',
    'types ImageContent, AudioContent, DocumentContent and VideoContent; one source is inferred',
    ({ contents }) => each(contents, mediaFault),
  ],
}

function mediaFault({ body, of }: View['contents'][number]): string | false | undefined {
  const { type, data, uri, mime_type } = body
  if (type === 'text' || !Object.hasOwn(contents, label(type))) return false
  if (typeof data === 'string' && !isBase64(data)) return 'not base64'
  if (of === 'model_output') return false
  if ((data === undefined) === (uri === undefined)) return 'neither bytes nor an address, or both'
  const [kind] = label(mime_type).split('/')
  if (kind !== type && !(type === 'document' && kind === 'application')) return label(mime_type)
  return imageUrlFault(uri, ['https:'])
}
