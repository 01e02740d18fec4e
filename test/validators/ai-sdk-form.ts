/** The form of AI SDK model messages: their fields, and the rules' view of them. */

import { asList, asObject, fields, type JsonObject, textOr, byKey } from '../../src/messages/request-form.ts'
import { type Ref, type Step, type Turn, turnsOf } from '../../src/messages/rules.ts'
import { anything, boolean as flag, listOf, object, string as text } from '../../src/messages/shape.ts'

export interface Part {
  readonly path: string
  readonly type: unknown
  readonly body: JsonObject
}

export interface Message {
  readonly path: string
  readonly role: unknown
  readonly content: unknown
  readonly parts: readonly Part[]
}

export interface ToolRef extends Ref {
  readonly name: unknown
}

/** A file anywhere in the messages. */
export interface Media {
  readonly path: string
  readonly data: unknown
  readonly mediaType: unknown
}

export interface View {
  readonly request: unknown
  readonly messages: readonly Message[]
  readonly calls: readonly Part[]
  readonly results: readonly Part[]
  /** The parts inside `content` outputs. */
  readonly inner: readonly Part[]
  readonly media: readonly Media[]
  readonly turns: readonly Turn<ToolRef>[]
}

const options = { providerOptions: object }
const tool = { toolCallId: text, toolName: text }
const textShape = fields({ text }, options)
const file = fields({ data: anything, mediaType: text }, { filename: text, ...options })
const value = fields({ value: text }, options)
const json = fields({ value: anything }, options)
const output = byKey('type', {
  text: value,
  json,
  'error-text': value,
  'error-json': json,
  'execution-denied': fields({}, { reason: text, ...options }),
  content: fields({
    value: listOf(
      byKey('type', {
        text: textShape,
        file,
        custom: fields({}, options),
        'image-data': fields({ data: text, mediaType: text }, options),
        'image-url': fields({ url: text }, options),
      }),
    ),
  }),
})
const userPart = byKey('type', {
  text: textShape,
  file,
  image: fields({ image: anything }, { mediaType: text, ...options }),
})
const assistantPart = byKey('type', {
  text: textShape,
  reasoning: textShape,
  'tool-call': fields({ ...tool, input: anything }, { providerExecuted: flag, ...options }),
  'tool-result': fields({ ...tool, output }, options),
  file,
  'reasoning-file': fields({ data: text, mediaType: text }, options),
  custom: fields({ kind: text }, options),
})
const result = byKey('type', { 'tool-result': fields({ ...tool, output }, options) })
export const shape = listOf(
  byKey('role', {
    system: fields({ content: text }, options),
    user: fields({ content: textOr(listOf(userPart)) }, options),
    assistant: fields({ content: textOr(listOf(assistantPart)) }, options),
    tool: fields({ content: listOf(result) }, options),
  }),
)

/** The rules' view of a request, which may be any value. */
export function viewOf(request: unknown): View {
  const messages = asList(request).map((message, index): Message => {
    const path = `messages[${index}]`
    const { role, content } = asObject(message)
    return { path, role, content, parts: partsOf(content, `${path}.content`) }
  })
  const parts = messages.flatMap((message) => message.parts)
  const calls = parts.filter(({ type }) => type === 'tool-call')
  const results = parts.filter(({ type }) => type === 'tool-result')
  const inner = results.flatMap(({ path, body }) => {
    const { type, value } = asObject(body['output'])
    return type === 'content' ? partsOf(value, `${path}.output.value`) : []
  })
  const media = [...parts, ...inner].flatMap(mediaOf)
  return { request, messages, calls, results, inner, media, turns: turnsOf(messages.flatMap(stepsOf)) }
}

function partsOf(content: unknown, path: string): Part[] {
  return asList(content).map((part, index) => {
    const body = asObject(part)
    return { path: `${path}[${index}]`, type: body['type'], body }
  })
}

function mediaOf({ path, type, body }: Part): Media[] {
  const { data, url, image, mediaType = 'image' } = body
  if (type === 'file') return [{ path, data, mediaType }]
  if (type === 'image') return [{ path, data: image, mediaType }]
  if (type === 'image-data') return [{ path, data: { type: 'data', data }, mediaType }]
  if (type !== 'image-url' || typeof url !== 'string') return []
  return [{ path, data: { type: 'url', url: URL.canParse(url) ? new URL(url) : url }, mediaType }]
}

const refOf = ({ path, body }: Part): ToolRef => ({ path, id: body['toolCallId'], name: body['toolName'] })

function stepsOf({ role, parts }: Message): Step<ToolRef>[] {
  if (role === 'tool') {
    return parts.filter(({ type }) => type === 'tool-result').map((part) => ({ result: refOf(part) }))
  }
  const calls = parts.filter((part) => part.type === 'tool-call' && !isExecuted(part))
  return ['break', ...calls.map((part) => ({ call: refOf(part) }))]
}

/** Whether the provider has executed the call, so that a reply may also contain its result. */
export const isExecuted = ({ body }: Part): boolean => body['providerExecuted'] === true
