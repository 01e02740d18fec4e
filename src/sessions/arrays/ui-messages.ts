/** Reads the messages of the AI SDK's user interfaces, versions 4 and later. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { fromAiSdk } from '../../messages/ai-sdk/read.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../../messages/text.ts'
import { moreOf } from '../../messages/reply.ts'
import { contentOf, textIn } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { type Origin, SessionWriter } from '../writer.ts'
import { addPrompt, elementsOf, keepNonMessage, keepUnknown, promptsOf } from './elements.ts'

/** Messages of `useChat`. An assistant message may contain several replies, one for each step. O(size). */
export function readUIMessages(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const prompts = promptsOf(elements, promptIn)
  for (const element of elements) {
    const { line, number, fields } = element
    if (keepNonMessage(element, 'ui-messages', writer)) continue
    const id = stringOf(fields['id']) || `message-${number}`
    const origin = { line, id, time: fields['createdAt'] }
    const { role } = fields
    if (role !== 'system' && role !== 'user' && role !== 'assistant') {
      keepUnknown(element, writer)
      continue
    }
    const parts = partsOf(fields, origin, writer)
    if (role === 'system') addPrompt(element, parts, prompts, origin, writer)
    else if (role === 'user') addUser(parts, origin, writer)
    else addReplies(parts, origin, writer)
    const other = otherFields(fields)
    if (other !== null)
      writer.update('ui-messages.message', { id, ...other }, { ...origin, id: `${id}-about` })
  }
  return writer.session('ui-messages')
}

const promptIn = ({ parts, content }: RawObject): unknown => textIn(parts) || content

function addUser(parts: readonly RawObject[], origin: Origin, writer: SessionWriter): void {
  const content = parts.flatMap((part) => {
    const { type, url, mediaType, filename } = part
    if (type === 'text') return contentOf([part])
    if (type !== 'file' || typeof url !== 'string') {
      writer.note(`parts of a user message that models do not read: ${stringOf(type)}`, origin.line)
      return []
    }
    if (stringOf(mediaType).startsWith('image')) return [{ type: 'image' as const, image_urls: [url] }]
    return [{ type: 'file', mediaType, data: url, ...(typeof filename === 'string' ? { filename } : {}) }]
  })
  writer.say('user', content, origin)
}

function addReplies(parts: readonly RawObject[], origin: Origin, writer: SessionWriter): void {
  const steps: RawObject[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  }
  for (const [index, step] of steps.filter((some) => some.length > 0).entries())
    addStep(step, { ...origin, id: index === 0 ? origin.id : `${origin.id}.${index + 1}` }, writer)
}

const isTool = ({ type }: RawObject): boolean => type === 'dynamic-tool' || stringOf(type).startsWith('tool-')

const DONE: ReadonlySet<unknown> = new Set(['output-available', 'output-error', 'output-denied'])

function addStep(step: readonly RawObject[], origin: Origin, writer: SessionWriter): void {
  const id = origin.id ?? `line-${origin.line}`
  const calls = step.filter((part) => isTool(part) && part['state'] !== 'input-streaming')
  const content = step.flatMap((part) => contentPart(part, origin, writer))
  if (content.length === 0) return writer.note('replies without content', origin.line)
  const clientCalls = calls.filter(({ providerExecuted }) => providerExecuted !== true)
  const reply = fromAiSdk({
    content,
    finishReason: clientCalls.length > 0 ? 'tool-calls' : 'stop',
    response: { id: `reply-${id}` },
  } as Parameters<typeof fromAiSdk>[0])
  const origins =
    clientCalls.length < 2
      ? [origin]
      : clientCalls.map((_, index) => ({ ...origin, id: `${id}-call-${index + 1}` }))
  writer.reply(reply, origins, (callId) =>
    clientCalls.some((call) => call['toolCallId'] === callId && DONE.has(call['state'])),
  )
  for (const [index, call] of clientCalls.entries())
    addResult(call, { ...origin, id: `${id}-result-${index + 1}` }, writer)
}

function contentPart(part: RawObject, { line }: Origin, writer: SessionWriter): object[] {
  const { type, text, state, toolCallId, input, output, errorText } = part
  const options = part['providerMetadata'] === undefined ? {} : { providerMetadata: part['providerMetadata'] }
  if (type === 'text' || type === 'reasoning') return text === '' ? [] : [{ type, text, ...options }]
  if (isTool(part) && state === 'input-streaming') {
    writer.note('unfinished calls', line)
    return []
  }
  if (isTool(part)) {
    const toolName = stringOf(part['toolName']) || stringOf(type).slice('tool-'.length)
    const isProviderExecuted = part['providerExecuted'] === true
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: input ?? part['rawInput'] ?? {},
      ...(isProviderExecuted ? { providerExecuted: true } : {}),
      ...(part['callProviderMetadata'] === undefined
        ? {}
        : { providerMetadata: part['callProviderMetadata'] }),
    }
    if (!isProviderExecuted || !DONE.has(state)) return [call]
    const result =
      state === 'output-available'
        ? { type: 'tool-result', toolCallId, toolName, input, output, providerExecuted: true }
        : { type: 'tool-error', toolCallId, toolName, input, error: errorText, providerExecuted: true }
    return [call, result]
  }
  if (type === 'file') return [{ type, file: { mediaType: part['mediaType'], base64: dataOf(part['url']) } }]
  if (stringOf(type).startsWith('source-'))
    return [{ ...part, type: 'source', sourceType: stringOf(type).slice('source-'.length) }]
  writer.note(`parts that models do not read: ${stringOf(type)}`, line)
  return []
}

const dataOf = (url: unknown): string => stringOf(url).replace(/^data:[^,]*;base64,/, '')

function addResult(call: RawObject, origin: Origin, writer: SessionWriter): void {
  const callId = stringOf(call['toolCallId'])
  switch (call['state']) {
    case 'output-available': {
      const output = call['output'] as JsonValue | undefined
      const content = contentOf(typeof output === 'string' ? output : JSON.stringify(output ?? null))
      return writer.result({ callId, content, isError: false }, origin)
    }
    case 'output-error':
      return writer.result({ callId, content: contentOf(call['errorText']), isError: true }, origin)
    case 'output-denied':
      return writer.reject(callId, stringOf(objectOf(call['approval'])['reason']), origin)
    default:
      return undefined
  }
}

const READ = [
  'id',
  'role',
  'content',
  'parts',
  'reasoning',
  'toolInvocations',
  'experimental_attachments',
] as const

export const otherFields = (message: RawObject): JsonObject | null =>
  moreOf(message, ...READ, ...(typeof message['createdAt'] === 'string' ? ['createdAt'] : []))

/** A message's parts, with `step-start` before each reply. Counts fields that repeat parts. O(size). */
export function partsOf(message: RawObject, { line }: Origin, writer: SessionWriter): RawObject[] {
  const { parts, content, reasoning } = message
  const files = objectsOf(message['experimental_attachments']).map(fileOf)
  const calls = objectsOf(message['toolInvocations'])
  if (!Array.isArray(parts)) return [...fromFields(calls, stringOf(reasoning), content), ...files]
  const list = objectsOf(parts)
  const countRepeat = (what: string): void => writer.note(`written twice: ${what} of a message`, line)
  const known = new Set(list.map(callIdOf))
  const others = calls.filter(({ toolCallId }) => !known.has(toolCallId))
  if (others.length < calls.length) countRepeat('toolInvocations')
  const thoughts = list.filter(({ type }) => type === 'reasoning')
  if (reasoning !== undefined && thoughts.length > 0) countRepeat('reasoning')
  const texts = list.filter(({ type }) => type === 'text')
  const hasText = textIn(texts) !== ''
  if (typeof content === 'string' && content !== '' && hasText) {
    if (textIn(texts).includes(content)) countRepeat('content')
    else writer.note('message content that differs from its parts', line)
  }
  return [
    ...(thoughts.length > 0 ? [] : thought(stringOf(reasoning))),
    ...partSteps(list),
    ...fromFields(others, '', hasText ? '' : content),
    ...files,
  ]
}

/** Without `parts`: each step's calls, and the text after them, or before open calls. */
function fromFields(calls: readonly RawObject[], reasoning: string, content: unknown): RawObject[] {
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
  const parts = partSteps(calls.map((toolInvocation) => ({ type: 'tool-invocation', toolInvocation })))
  const isDone = calls.length > 0 && calls.every(({ state }) => state === 'result')
  return isDone
    ? [...thought(reasoning), ...parts, { type: 'step-start' }, ...text]
    : [...thought(reasoning), ...text, ...parts]
}

const thought = (text: string): RawObject[] => (text === '' ? [] : [{ type: 'reasoning', text }])

const fileOf = ({ url, contentType, name }: RawObject): RawObject => ({
  type: 'file',
  url,
  mediaType: contentType,
  ...(name === undefined ? {} : { filename: name }),
})

const callIdOf = (part: RawObject): unknown =>
  objectOf(part['toolInvocation'])['toolCallId'] ?? part['toolCallId']

/**
 * Converts parts to version 5. Without `step-start`, a step starts at a call's new step number, or at text
 * after results.
 */
function partSteps(list: readonly RawObject[]): RawObject[] {
  const hasSteps = list.some(({ type }) => type === 'step-start')
  const parts: RawObject[] = []
  let step: unknown
  let isDone = false
  for (const part of list) {
    const { type } = part
    const isCall = type === 'tool-invocation'
    const { step: number, state } = isCall ? objectOf(part['toolInvocation']) : NONE
    const isNext = isCall
      ? number !== undefined && step !== undefined && number !== step
      : isDone && (type === 'text' || type === 'reasoning')
    if (isNext && !hasSteps) parts.push({ type: 'step-start' })
    // A call after the text at the start of a step belongs to that step, whatever its number.
    step = number ?? (isNext ? undefined : step)
    isDone = isCall && state === 'result'
    parts.push(oldPart(part))
  }
  return parts
}

const NONE: RawObject = {}

function oldPart(part: RawObject): RawObject {
  if (part['type'] === 'reasoning' && typeof part['reasoning'] === 'string')
    return { type: 'reasoning', text: part['reasoning'] }
  if (part['type'] !== 'tool-invocation') return part
  const { toolCallId, toolName, args, result, state } = objectOf(part['toolInvocation'])
  const isDone = state === 'result'
  return {
    type: 'dynamic-tool',
    toolName,
    toolCallId,
    input: args,
    state: isDone ? 'output-available' : state === 'call' ? 'input-available' : 'input-streaming',
    ...(isDone ? { output: result } : {}),
  }
}
