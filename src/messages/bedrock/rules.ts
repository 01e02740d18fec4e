import {
  asList,
  asObject,
  fields,
  formRules,
  faultsOf,
  isBlank,
  isObject,
  judge,
  customShape,
  type JsonObject,
  orphans,
  repeatedCalls,
  repeats,
  type Rule,
  secondResults,
  type Step,
  turnsOf,
  type Violation,
  withoutResult,
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

function oneData(shapes: Readonly<Record<string, Shape<unknown>>>): Shape<unknown> {
  const any = fields({}, shapes)
  return customShape((value, { path, findings }) => {
    findings.push(...faultsOf(any, value, path))
    const present = isObject(value) ? Object.keys(shapes).filter((name) => value[name] !== undefined) : ['']
    if (present.length !== 1)
      findings.push({ fault: 'unknown-type', path, message: `has ${present.join(' and ') || 'no data'}` })
  })
}

const shape = fields(
  { messages: listOf(fields({ role: oneOf('user', 'assistant'), content: listOf(oneData(CONTENT)) })) },
  { system: listOf(oneData({ text, cachePoint: object, guardContent: object })) },
)

interface Block {
  readonly path: string
  readonly body: JsonObject
}

interface Message {
  readonly path: string
  readonly role: unknown
  readonly blocks: readonly Block[]
}

interface View {
  readonly request: unknown
  readonly messages: readonly Message[]
  readonly blocks: readonly (Block & { readonly role: unknown })[]
}

const listed = (value: unknown, path: string): Block[] =>
  asList(value).map((one, index) => ({ path: `${path}[${index}]`, body: asObject(one) }))

export function validateBedrock(request: unknown): Violation[] {
  const body = asObject(request)
  const messages = listed(body['messages'], 'messages').map(({ path, body: message }): Message => ({
    path,
    role: message['role'],
    blocks: listed(message['content'], `${path}.content`),
  }))
  const messageBlocks = messages.flatMap(({ role, blocks }) => blocks.map((block) => ({ ...block, role })))
  const results = messageBlocks.flatMap(({ path, body: { toolResult }, role }) =>
    listed(asObject(toolResult)['content'], `${path}.toolResult.content`).map((block) => ({
      ...block,
      role,
    })),
  )
  const system = listed(body['system'], 'system').map((block) => ({ ...block, role: 'system' }))
  return judge(bedrockRules, { request, messages, blocks: [...system, ...messageBlocks, ...results] })
}

const turns = ({ messages }: View) =>
  turnsOf(
    messages.flatMap(({ role, blocks }) =>
      blocks.map(({ path, body: { toolUse, toolResult } }): Step => {
        const call = asObject(toolUse)
        if (role === 'assistant')
          return toolUse === undefined || call['type'] !== undefined
            ? 'assistant'
            : { call: { id: call['toolUseId'], path } }
        return toolResult === undefined
          ? 'break'
          : { result: { id: asObject(toolResult)['toolUseId'], path } }
      }),
    ),
  )

export const bedrockRules: readonly Rule<View>[] = [
  ...formRules(shape, 'API reference of Converse; types of @aws-sdk/client-bedrock-runtime 3.1164', isBytes),
  {
    id: 'user-ends',
    rule: 'The conversation begins and ends with the user.',
    source:
      'error: "A conversation must start with a user message."; at the end: "does not support assistant message prefill"',
    *check({ messages }) {
      for (const message of [messages[0], messages.at(-1)])
        if (message?.role !== 'user')
          yield { path: message?.path ?? 'messages', message: `of ${String(message?.role)}` }
    },
  },
  {
    id: 'roles-alternate',
    rule: 'No message has the role of the one before it.',
    source: 'error: "A conversation must alternate between user and assistant roles."',
    *check({ messages }) {
      for (const [index, { path, role }] of messages.entries())
        if (index > 0 && messages[index - 1]?.role === role)
          yield { path, message: `follows one of ${String(role)}` }
    },
  },
  {
    id: 'content-nonempty',
    rule: 'A message and a result of a call have content.',
    source:
      'error: "The content field in the Message object at messages.0 is empty. Add a ContentBlock object"; inferred for results',
    *check({ messages }) {
      for (const { path, role, blocks } of messages) {
        if (blocks.length === 0) yield { path, message: 'no content' }
        for (const { path: blockPath, body } of blocks)
          if (
            role === 'user' &&
            asList(asObject(body['toolResult'])['content'])[0] === undefined &&
            body['toolResult'] !== undefined
          )
            yield { path: blockPath, message: 'no content' }
      }
    },
  },
  {
    id: 'text-nonblank',
    rule: 'No text of a system prompt, a user or a result is blank.',
    source: 'error: "The text field in the ContentBlock object at messages.0.content.0 is blank."',
    *check({ blocks }) {
      for (const { path, body, role } of blocks)
        if (role !== 'assistant' && typeof body['text'] === 'string' && isBlank(body['text']))
          yield { path, message: 'blank' }
    },
  },
  {
    id: 'blocks-by-role',
    rule: 'Calls and reasoning are of the assistant, results of the user, except those of tools that the provider executes.',
    source:
      'error: "User messages cannot contain tool uses"; "Assistant messages cannot contain tool results" inferred',
    *check({ messages }) {
      for (const { role, blocks } of messages)
        for (const { path, body } of blocks) {
          const isOfClient = asObject(body['toolResult'])['type'] === undefined
          const wrong =
            role === 'assistant'
              ? body['toolResult'] !== undefined && isOfClient
              : (body['toolUse'] ?? body['reasoningContent']) !== undefined
          if (wrong) yield { path, message: `of role ${String(role)}` }
        }
    },
  },
  {
    id: 'calls-have-results',
    rule: 'Each call has one result in the next message, before any other content.',
    source: 'error: "Expected toolResult blocks at messages.2.content for the following Ids"',
    *check(view) {
      yield* withoutResult(turns(view))
      yield* secondResults(turns(view))
    },
  },
  {
    id: 'results-follow-calls',
    rule: 'Each result follows a message with its call.',
    source:
      'error: "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn."',
    check: (view) => orphans(turns(view)),
  },
  {
    id: 'call-ids-unique',
    rule: 'No two calls of the request share an id.',
    source: 'error: "The messages contain duplicate toolUse Ids"; for Claude "tool_use ids must be unique"',
    check: (view) => repeatedCalls(turns(view)),
  },
  {
    id: 'names',
    rule: 'Ids of calls and names of tools have 1 to 64 letters, digits, underscores and dashes.',
    source: 'API reference of ToolUseBlock: pattern [a-zA-Z0-9_-]+, length 1 to 64',
    *check({ messages }) {
      for (const { path, body } of messages.flatMap(({ blocks }) => blocks))
        for (const name of ['toolUseId', 'name']) {
          const value = asObject(body['toolUse'])[name]
          if (
            typeof value === 'string' &&
            asObject(body['toolUse'])['type'] === undefined &&
            !/^[a-zA-Z0-9_-]{1,64}$/.test(value)
          )
            yield { path: `${path}.toolUse.${name}`, message: JSON.stringify(value) }
        }
    },
  },
  {
    id: 'reasoning',
    rule: 'Reasoning has its signature, and is not the last block of a message.',
    source:
      'ReasoningTextBlock: "include the text and its signature unmodified"; for Claude "The final block in an assistant message cannot be `thinking`."',
    *check({ messages }) {
      for (const { blocks } of messages)
        for (const [index, { path, body }] of blocks.entries()) {
          const { reasoningText } = asObject(body['reasoningContent'])
          if (reasoningText !== undefined && !asObject(reasoningText)['signature'])
            yield { path, message: 'no signature' }
          if (body['reasoningContent'] !== undefined && index === blocks.length - 1)
            yield { path, message: 'the last block' }
        }
    },
  },
  {
    id: 'documents',
    rule: 'A message with a document has a text, and no two documents share a name.',
    source:
      'guide on Converse: "you must also include a text content block"; error: "The document names must be unique"',
    *check({ messages }) {
      const named = messages.flatMap(({ blocks }) =>
        blocks.filter(({ body }) => body['document'] !== undefined),
      )
      yield* repeats(
        named.map(({ path, body }) => ({ path, id: asObject(body['document'])['name'] })),
        'name of another',
      )
      for (const { path, blocks } of messages)
        if (
          blocks.some(({ body }) => body['document'] !== undefined) &&
          !blocks.some(({ body }) => body['text'] !== undefined)
        )
          yield { path, message: 'a document without a text' }
    },
  },
  {
    id: 'bytes',
    rule: 'The bytes of an image are a byte array, and not empty.',
    source: 'type ImageSource of the AWS client: bytes is a Uint8Array',
    *check({ blocks }) {
      for (const { path, body } of blocks) {
        const { bytes, s3Location } = asObject(asObject(body['image'])['source'])
        const isSome = bytes instanceof Uint8Array && bytes.length > 0
        if (body['image'] !== undefined && !isSome && s3Location === undefined)
          yield { path, message: 'no bytes' }
      }
    },
  },
]
