/** Amazon Bedrock's Converse: the rules for messages and system prompt. */

import {
  asList,
  asObject,
  customShape,
  each,
  fields,
  formRules,
  isBlank,
  judge,
  listed,
  nameFault,
  oneData,
  pairRules,
  type Part,
  repeats,
  type Rule,
  type Step,
  type Turn,
  turnsOf,
  type Violation,
} from '../rules.ts'
import { either, listOf, object, oneOf, open, type Shape, string as text } from '../shape.ts'

const isBytes = (value: unknown): boolean => value instanceof Uint8Array

const anyBytes = customShape(() => undefined)
const image = open({ format: oneOf('png', 'jpeg', 'gif', 'webp'), source: open({}) })
const result = oneData({ text, image, json: object, document: object, video: object, searchResult: object })
const CONTENT: Readonly<Record<string, Shape<unknown>>> = {
  text,
  image,
  document: fields({ format: text, name: text, source: open({}) }, { context: text, citations: object }),
  video: open({}),
  audio: open({}),
  toolUse: fields({ toolUseId: text, name: text, input: object }, { type: text }),
  toolResult: fields(
    { toolUseId: text, content: listOf(either([result, open({ text })])) },
    { status: oneOf('success', 'error'), type: text },
  ),
  reasoningContent: oneData({
    reasoningText: fields({ text }, { signature: text }),
    redactedContent: anyBytes,
  }),
  citationsContent: fields({ content: listOf(fields({ text })), citations: listOf(object) }),
  searchResult: object,
  guardContent: object,
  cachePoint: object,
  toolAddition: object,
  toolRemoval: object,
}

const shape = fields(
  { messages: listOf(fields({ role: oneOf('user', 'assistant'), content: listOf(oneData(CONTENT)) })) },
  { system: listOf(oneData({ text, cachePoint: object, guardContent: object })) },
)

interface Message extends Part {
  readonly role: unknown
  readonly blocks: readonly Part[]
}

type Block = Part & { readonly role: unknown }

interface View {
  readonly request: unknown
  readonly messages: readonly Message[]
  /** The blocks of the system prompt, of messages, and of results. */
  readonly blocks: readonly Block[]
  readonly turns: readonly Turn[]
}

export function validateBedrock(request: unknown): Violation[] {
  const { system, messages: list } = asObject(request)
  const messages = listed(list, 'messages').map(({ path, body }) => {
    return { path, body, role: body['role'], blocks: listed(body['content'], `${path}.content`) }
  })
  const ofMessages = messages.flatMap(({ role, blocks }) => blocks.map((block) => ({ ...block, role })))
  const ofResults = ofMessages.flatMap(({ path, body: { toolResult }, role }) =>
    listed(asObject(toolResult)['content'], `${path}.toolResult.content`).map((block) => ({
      ...block,
      role,
    })),
  )
  const ofSystem = listed(system, 'system').map((block) => ({ ...block, role: 'system' }))
  const blocks = [...ofSystem, ...ofMessages, ...ofResults]
  return judge(bedrockRules, { request, messages, blocks, turns: turnsOf(ofMessages.map(stepOf)) })
}

function stepOf({ path, role, body: { toolUse, toolResult } }: Block): Step {
  const { toolUseId, type } = asObject(toolUse)
  if (role === 'assistant')
    return toolUse === undefined || type !== undefined ? 'assistant' : { call: { id: toolUseId, path } }
  return toolResult === undefined ? 'break' : { result: { id: asObject(toolResult)['toolUseId'], path } }
}

const hasDocument = ({ body }: Part): boolean => body['document'] !== undefined

export const bedrockRules: readonly Rule<View>[] = [
  ...formRules<View>(
    shape,
    'API reference of Converse; types of @aws-sdk/client-bedrock-runtime 3.1164',
    {},
    { accept: isBytes },
  ),
  {
    id: 'user-ends',
    rule: 'The conversation begins and ends with the user.',
    source:
      'error: "A conversation must start with a user message."; at the end: "does not support assistant message prefill"',
    check: ({ messages }) =>
      each(
        [messages[0], messages.at(-1)].map((message) => message ?? { path: 'messages', role: undefined }),
        ({ role }) => role !== 'user' && `of ${String(role)}`,
      ),
  },
  {
    id: 'roles-alternate',
    rule: 'No message has the role of the one before it.',
    source: 'error: "A conversation must alternate between user and assistant roles."',
    check: ({ messages }) =>
      each(
        messages,
        ({ role }, index) =>
          messages[index - 1]?.role === role && index > 0 && `follows one of ${String(role)}`,
      ),
  },
  {
    id: 'content-nonempty',
    rule: 'A message and a result of a call have content.',
    source:
      'error: "The content field in the Message object at messages.0 is empty. Add a ContentBlock object"; inferred for results',
    *check({ messages }) {
      yield* each(messages, ({ blocks }) => blocks.length === 0 && 'no content')
      for (const { role, blocks } of messages)
        yield* each(
          blocks,
          ({ body: { toolResult } }) =>
            role === 'user' &&
            toolResult !== undefined &&
            asList(asObject(toolResult)['content'])[0] === undefined &&
            'no content',
        )
    },
  },
  {
    id: 'text-nonblank',
    rule: 'No text of a system prompt, a user or a result is blank.',
    source: 'error: "The text field in the ContentBlock object at messages.0.content.0 is blank."',
    check: ({ blocks }) =>
      each(
        blocks,
        ({ body: { text }, role }) =>
          role !== 'assistant' && typeof text === 'string' && isBlank(text) && 'blank',
      ),
  },
  {
    id: 'blocks-by-role',
    rule: 'Calls and reasoning are of the assistant, results of the user, except those of tools that the provider executes.',
    source:
      'error: "User messages cannot contain tool uses"; "Assistant messages cannot contain tool results" inferred',
    check: ({ messages }) =>
      each(
        messages.flatMap(({ role, blocks }) => blocks.map((block) => ({ ...block, role }))),
        ({ role, body: { toolUse, toolResult, reasoningContent } }) =>
          (role === 'assistant'
            ? toolResult !== undefined && asObject(toolResult)['type'] === undefined
            : (toolUse ?? reasoningContent) !== undefined) && `of role ${String(role)}`,
      ),
  },
  ...pairRules<View>({
    'calls-have-results': 'error: "Expected toolResult blocks at messages.2.content for the following Ids"',
    'one-result-each': 'inferred from the number of blocks that the next error counts',
    'results-follow-calls':
      'error: "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn."',
    'call-ids-unique':
      'error: "The messages contain duplicate toolUse Ids"; for Claude "tool_use ids must be unique"',
  }),
  {
    id: 'names',
    rule: 'Ids of calls and names of tools have 1 to 64 letters, digits, underscores and dashes.',
    source: 'API reference of ToolUseBlock: pattern [a-zA-Z0-9_-]+, length 1 to 64',
    *check({ messages }) {
      const blocks = messages.flatMap((message) => message.blocks)
      for (const name of ['toolUseId', 'name'])
        yield* each(
          blocks,
          ({ body }) => {
            const { [name]: value, type } = asObject(body['toolUse'])
            return type === undefined && nameFault(value)
          },
          `.toolUse.${name}`,
        )
    },
  },
  {
    id: 'reasoning',
    rule: 'Reasoning has its signature, and is not the last block of a message.',
    source:
      'ReasoningTextBlock: "include the text and its signature unmodified"; for Claude "The final block in an assistant message cannot be `thinking`."',
    *check({ messages }) {
      for (const { blocks } of messages) {
        const thoughts = blocks.filter(({ body }) => body['reasoningContent'] !== undefined)
        yield* each(thoughts, ({ body }) => {
          const { reasoningText } = asObject(body['reasoningContent'])
          return reasoningText !== undefined && !asObject(reasoningText)['signature'] && 'no signature'
        })
        yield* each(thoughts, (block) => block === blocks.at(-1) && 'the last block')
      }
    },
  },
  {
    id: 'documents',
    rule: 'A message with a document has a text, and no two documents share a name.',
    source:
      'guide on Converse: "you must also include a text content block"; error: "The document names must be unique"',
    *check({ messages }) {
      const documents = messages.flatMap(({ blocks }) => blocks.filter(hasDocument))
      yield* repeats(
        documents.map(({ path, body }) => ({ path, id: asObject(body['document'])['name'] })),
        'name of another',
      )
      yield* each(
        messages,
        ({ blocks }) =>
          blocks.some(hasDocument) &&
          !blocks.some(({ body }) => body['text'] !== undefined) &&
          'a document without a text',
      )
    },
  },
  {
    id: 'bytes',
    rule: 'The bytes of an image are a byte array, and not empty.',
    source: 'type ImageSource of the AWS client: bytes is a Uint8Array',
    check: ({ blocks }) =>
      each(blocks, ({ body: { image } }) => {
        const { bytes, s3Location } = asObject(asObject(image)['source'])
        const isSome = bytes instanceof Uint8Array && bytes.length > 0
        return image !== undefined && !isSome && s3Location === undefined && 'no bytes'
      }),
  },
]
