import { asList, asObject, customShape, formRules, label, listed, oneData, written } from '../request-form.ts'
import { blankFault, each, judge, nameFault, notUser, sharedRules, repeats, turnsOf } from '../rules.ts'
import type { OneField, Rules, Violation } from '../request-form.ts'
import type { Step } from '../rules.ts'
import { either, listOf, object, oneOf, open, optional, record, string } from '../shape.ts'
import type { Shape, ShapeOf } from '../shape.ts'
import { KINDS } from './blocks.ts'

const bytes = customShape<Uint8Array>(() => undefined)
const source = open({ bytes: written(bytes) })
const reasoning = {
  reasoningText: record({ text: string, signature: written(string) }),
  redactedContent: bytes,
} as const
const result = { text: string, image: open({ format: oneOf('png', 'jpeg', 'gif', 'webp'), source }) } as const
const results = oneData({ ...result, json: object, document: object, video: object, searchResult: object })
const document = {
  format: oneOf('pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'),
  name: string,
  source: either([source, open({ s3Location: open({ uri: string }) })]),
} as const
const content = {
  ...result,
  document: record({ ...document, context: optional(string), citations: optional(object as Shape<never>) }),
  toolUse: record({
    toolUseId: string,
    name: string,
    input: object,
    type: optional(string as Shape<'server_tool_use'>),
  }),
  toolResult: record({
    toolUseId: string,
    content: listOf(either([results, open({ text: string })]) as Shape<BedrockResultBlock>),
    status: optional(oneOf('success', 'error')),
    type: optional(string),
  }),
  reasoningContent: oneData(reasoning),
  citationsContent: record({
    content: listOf(record({ text: string })),
    citations: listOf(object as Shape<object>),
  }),
} as const
const others = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, object]))
const block = oneData({ ...others, ...content }) as Shape<BedrockBlock>
const message = record({ role: oneOf('user', 'assistant'), content: listOf(block) })
const front = oneData({ text: string, cachePoint: object, guardContent: object }) as Shape<{ text: string }>
const request = record({ messages: listOf(message), system: optional(listOf(front)) })

/** Bytes of a file. */
export type BedrockBytes = ShapeOf<typeof source>
/** A block of reasoning. */
export type BedrockReasoning = OneField<typeof reasoning>
/** A content block of a tool result. */
export type BedrockResultBlock = OneField<typeof result>
/** A content block of a Converse request. */
export type BedrockBlock = OneField<typeof content>
/** A message of a Converse request. */
export type BedrockMessage = ShapeOf<typeof message>
/** The fields of a `Converse` request that are written from the log. */
export type BedrockRequest = ShapeOf<typeof request>

const NO_MESSAGE = { path: 'messages', role: undefined }

const blocksIn = (value: unknown, path: string, role: unknown) =>
  listed(value, path).map((part) => {
    const [kind = ''] = Object.keys(part.body)
    return { ...part, role, kind, data: asObject(part.body[kind]) }
  })

type Block = ReturnType<typeof blocksIn>[number]
type View = ReturnType<typeof viewOf>

function viewOf(request: unknown) {
  const { system, messages: list } = asObject(request)
  const messages = listed(list, 'messages').map((part) => {
    const { role, content } = part.body
    return { ...part, role, blocks: blocksIn(content, `${part.path}.content`, role) }
  })
  const inMessages = messages.flatMap((each) => each.blocks)
  const inResults = inMessages.flatMap(({ path, role, kind, data }) =>
    kind === 'toolResult' ? blocksIn(data['content'], `${path}.toolResult.content`, role) : [],
  )
  const blocks = [...blocksIn(system, 'system', 'system'), ...inMessages, ...inResults]
  return { request, messages, blocks, turns: turnsOf(inMessages.map(stepOf)) }
}

export const validateBedrock = (request: unknown): Violation[] => judge(bedrockRules, viewOf(request))

function stepOf({ path, role, kind, data: { toolUseId: id, type } }: Block): Step {
  if (role === 'assistant')
    return kind === 'toolUse' && type === undefined ? { call: { id, path } } : 'assistant'
  return kind === 'toolResult' ? { result: { id, path } } : 'break'
}

export const bedrockRules: Rules<View> = {
  ...formRules<View>(
    request,
    'API reference of Converse; types of @aws-sdk/client-bedrock-runtime 3.1164',
    {},
    { accept: (value) => value instanceof Uint8Array },
  ),
  'user-ends': [
    'The conversation begins and ends with the user.',
    'error: "A conversation must start with a user message."; at the end: "does not support assistant message prefill"',
    ({ messages }) => each([messages[0] ?? NO_MESSAGE, messages.at(-1) ?? NO_MESSAGE], notUser('of')),
  ],
  'content-nonempty': [
    'Every message and every result of a call has content.',
    'error: "The content field in the Message object at messages.0 is empty. Add a ContentBlock object"; inferred for results',
    function* ({ messages, blocks }) {
      yield* each(messages, (each) => each.blocks.length === 0 && 'no content')
      yield* each(blocks, ({ role, kind, data }) => {
        const isEmpty = asList(data['content'])[0] === undefined
        return role === 'user' && kind === 'toolResult' && isEmpty && 'no content'
      })
    },
  ],
  'text-nonblank': [
    'No text in a system prompt, a user message or a result is blank.',
    'error: "The text field in the ContentBlock object at messages.0.content.0 is blank."',
    ({ blocks }) => each(blocks, ({ role, body: { text } }) => role !== 'assistant' && blankFault(text)),
  ],
  'blocks-by-role': [
    'Calls and reasoning are in messages of the assistant. Results are in messages of the user, except results of tools that the provider executes.',
    'error: "User messages cannot contain tool uses"; "Assistant messages cannot contain tool results" inferred',
    ({ blocks }) =>
      each(blocks, ({ role, kind, data: { type } }) => {
        const isOfUser = kind === 'toolResult' && type === undefined
        const isOfModel = kind === 'toolUse' || kind === 'reasoningContent'
        return (role === 'assistant' ? isOfUser : isOfModel) && `of role ${label(role)}`
      }),
  ],
  ...sharedRules<View>({
    'roles-alternate': 'error: "A conversation must alternate between user and assistant roles."',
    'calls-have-results': 'error: "Expected toolResult blocks at messages.2.content for the following Ids"',
    'one-result-each': 'inferred from the number of blocks that the next error counts',
    'results-follow-calls':
      'error: "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn."',
    'call-ids-unique':
      'error: "The messages contain duplicate toolUse Ids"; for Claude "tool_use ids must be unique"',
  }),
  names: [
    'Ids of calls and names of tools have 1 to 64 letters, digits, underscores and dashes.',
    'API reference of ToolUseBlock: pattern [a-zA-Z0-9_-]+, length 1 to 64',
    function* ({ blocks }) {
      const calls = blocks.filter(({ kind, data: { type } }) => kind === 'toolUse' && type === undefined)
      for (const name of ['toolUseId', 'name'])
        yield* each(calls, ({ data }) => nameFault(data[name]), `.toolUse.${name}`)
    },
  ],
  reasoning: [
    'Reasoning has its signature, and is not the last block of a message.',
    'ReasoningTextBlock: "include the text and its signature unmodified"; for Claude "The final block in an assistant message cannot be `thinking`."',
    function* ({ messages, blocks }) {
      yield* each(blocks, ({ kind, data: { reasoningText } }) => {
        const isUnsigned = reasoningText !== undefined && !asObject(reasoningText)['signature']
        return kind === 'reasoningContent' && isUnsigned && 'no signature'
      })
      const last = messages.flatMap((each) => each.blocks.slice(-1))
      yield* each(last, ({ kind }) => kind === 'reasoningContent' && 'the last block')
    },
  ],
  documents: [
    'A message with a document has a text, and no two documents share a name.',
    'guide on Converse: "you must also include a text content block"; error: "The document names must be unique"',
    function* ({ messages }) {
      const documents = messages.flatMap((each) => each.blocks.filter(({ kind }) => kind === 'document'))
      yield* repeats(
        documents.map(({ path, data }) => ({ path, id: data['name'] })),
        'name of another',
      )
      yield* each(messages, (each) => {
        const kinds = each.blocks.map(({ kind }) => kind)
        return kinds.includes('document') && !kinds.includes('text') && 'a document without a text'
      })
    },
  ],
  bytes: [
    'The bytes of an image or a document are a byte array that is not empty.',
    'types ImageSource and DocumentSource of the AWS client: bytes is a Uint8Array',
    ({ blocks }) =>
      each(blocks, ({ kind, data }) => {
        const { bytes: value, s3Location } = asObject(data['source'])
        const isSome = value instanceof Uint8Array && value.length > 0
        return ['image', 'document'].includes(kind) && !isSome && s3Location === undefined && 'no bytes'
      }),
  ],
}
