/** Reads the messages of the AI SDK's user interfaces, versions 4 and later. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { fromAiSdk } from '../../messages/ai-sdk/read.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../../messages/text.ts'
import { moreOf } from '../../messages/reply.ts'
import { contentOf, textIn } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { type Origin, SessionWriter } from '../writer.ts'
import { addPrompt, elementsOf, isAside, keepUnknown, promptsOf, sessionOf } from './elements.ts'

/** Messages of `useChat`. A message of the model may hold several replies, one for each step. O(size). */
export function readUIMessages(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const prompts = promptsOf(elements, promptIn)
  for (const element of elements) {
    const { line, no, found } = element
    if (isAside(element, 'ui-messages', writer)) continue
    const id = stringOf(found['id']) || `message-${no}`
    const origin = { line, id, time: found['createdAt'] }
    const { role } = found
    if (role !== 'system' && role !== 'user' && role !== 'assistant') {
      keepUnknown(element, writer)
      continue
    }
    const parts = partsOf(found, origin, writer)
    if (role === 'system') addPrompt(element, parts, prompts, origin, writer)
    else if (role === 'user') addUser(parts, origin, writer)
    else addReplies(parts, origin, writer)
    const about = aboutOf(found)
    if (about !== null)
      writer.update('ui-messages.message', { id, ...about }, { ...origin, id: `${id}-about` })
  }
  return sessionOf('ui-messages', writer)
}

/** What a system prompt says: in version 4 it has words alone. */
const promptIn = ({ parts, content }: Found): unknown => textIn(parts) || content

function addUser(parts: readonly Found[], origin: Origin, writer: SessionWriter): void {
  const content = parts.flatMap((part) => {
    const { type, url, mediaType, filename } = part
    if (type === 'text') return contentOf([part])
    if (type !== 'file' || typeof url !== 'string') {
      writer.note(`parts of a user's message that say nothing to a model: ${stringOf(type)}`, origin.line)
      return []
    }
    if (stringOf(mediaType).startsWith('image')) return [{ type: 'image' as const, image_urls: [url] }]
    return [{ type: 'file', mediaType, data: url, ...(typeof filename === 'string' ? { filename } : {}) }]
  })
  writer.say('user', content, origin)
}

/** The replies of a message, divided where a step starts. */
function addReplies(parts: readonly Found[], origin: Origin, writer: SessionWriter): void {
  const steps: Found[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  }
  for (const [at, step] of steps.filter((some) => some.length > 0).entries())
    addStep(step, { ...origin, id: at === 0 ? origin.id : `${origin.id}.${at + 1}` }, writer)
}

const isTool = ({ type }: Found): boolean => type === 'dynamic-tool' || stringOf(type).startsWith('tool-')

/** The states in which a call has its result. */
const DONE: ReadonlySet<unknown> = new Set(['output-available', 'output-error', 'output-denied'])

function addStep(step: readonly Found[], origin: Origin, writer: SessionWriter): void {
  const id = origin.id ?? `line-${origin.line}`
  const calls = step.filter((part) => isTool(part) && part['state'] !== 'input-streaming')
  const content = step.flatMap((part) => contentPart(part, origin, writer))
  if (content.length === 0) return writer.note('replies without content', origin.line)
  const own = calls.filter(({ providerExecuted }) => providerExecuted !== true)
  const reply = fromAiSdk({
    content,
    finishReason: own.length > 0 ? 'tool-calls' : 'stop',
    response: { id: `reply-${id}` },
  } as Parameters<typeof fromAiSdk>[0])
  const origins = own.length < 2 ? [origin] : own.map((_, at) => ({ ...origin, id: `${id}-call-${at + 1}` }))
  writer.reply(reply, origins, (callId) =>
    own.some((call) => call['toolCallId'] === callId && DONE.has(call['state'])),
  )
  for (const [at, call] of own.entries()) addResult(call, { ...origin, id: `${id}-result-${at + 1}` }, writer)
}

function contentPart(part: Found, { line }: Origin, writer: SessionWriter): object[] {
  const { type, text, state, toolCallId, input, output, errorText } = part
  const options = part['providerMetadata'] === undefined ? {} : { providerMetadata: part['providerMetadata'] }
  if (type === 'text' || type === 'reasoning') return text === '' ? [] : [{ type, text, ...options }]
  if (isTool(part) && state === 'input-streaming') {
    writer.note('calls that were cut off', line)
    return []
  }
  if (isTool(part)) {
    const toolName = stringOf(part['toolName']) || stringOf(type).slice('tool-'.length)
    const isProviders = part['providerExecuted'] === true
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: input ?? part['rawInput'] ?? {},
      ...(isProviders ? { providerExecuted: true } : {}),
      ...(part['callProviderMetadata'] === undefined
        ? {}
        : { providerMetadata: part['callProviderMetadata'] }),
    }
    if (!isProviders || !DONE.has(state)) return [call]
    const result =
      state === 'output-available'
        ? { type: 'tool-result', toolCallId, toolName, input, output, providerExecuted: true }
        : { type: 'tool-error', toolCallId, toolName, input, error: errorText, providerExecuted: true }
    return [call, result]
  }
  if (type === 'file') return [{ type, file: { mediaType: part['mediaType'], base64: dataOf(part['url']) } }]
  if (stringOf(type).startsWith('source-'))
    return [{ ...part, type: 'source', sourceType: stringOf(type).slice('source-'.length) }]
  writer.note(`parts that say nothing to a model: ${stringOf(type)}`, line)
  return []
}

const dataOf = (url: unknown): string => stringOf(url).replace(/^data:[^,]*;base64,/, '')

function addResult(call: Found, origin: Origin, writer: SessionWriter): void {
  const callId = stringOf(call['toolCallId'])
  switch (call['state']) {
    case 'output-available': {
      const output = call['output'] as JsonValue | undefined
      return writer.result(
        {
          callId,
          content: contentOf(typeof output === 'string' ? output : JSON.stringify(output ?? null)),
          isError: false,
        },
        origin,
      )
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

/** What a message says beside its parts: its metadata, annotations, and a time that is no text. Null for nothing. */
export const aboutOf = (message: Found): JsonObject | null =>
  moreOf(message, ...READ, ...(typeof message['createdAt'] === 'string' ? ['createdAt'] : []))

/** All parts of a message, with `step-start` where a reply begins. What its fields say again is counted. O(size). */
export function partsOf(message: Found, { line }: Origin, writer: SessionWriter): Found[] {
  const { parts, content, reasoning } = message
  const files = objectsOf(message['experimental_attachments']).map(fileOf)
  const calls = objectsOf(message['toolInvocations'])
  if (!Array.isArray(parts)) return [...fromFields(calls, stringOf(reasoning), content), ...files]
  const list = objectsOf(parts)
  const again = (what: string): void => writer.note(`written twice: ${what} of a message`, line)
  const known = new Set(list.map(callIdOf))
  const others = calls.filter(({ toolCallId }) => !known.has(toolCallId))
  if (others.length < calls.length) again('toolInvocations')
  const thoughts = list.filter(({ type }) => type === 'reasoning')
  if (reasoning !== undefined && thoughts.length > 0) again('reasoning')
  const said = list.filter(({ type }) => type === 'text')
  const isSaid = textIn(said) !== ''
  if (typeof content === 'string' && content !== '' && isSaid) {
    if (textIn(said).includes(content)) again('content')
    else writer.note('a content of a message that its parts say otherwise', line)
  }
  return [
    ...(thoughts.length > 0 ? [] : thought(stringOf(reasoning))),
    ...partSteps(list),
    ...fromFields(others, '', isSaid ? '' : content),
    ...files,
  ]
}

/** What was said in fields alone: the calls of each step, and the text behind them, or before those that are open. */
function fromFields(calls: readonly Found[], reasoning: string, content: unknown): Found[] {
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
  const parts = partSteps(calls.map((toolInvocation) => ({ type: 'tool-invocation', toolInvocation })))
  const isDone = calls.length > 0 && calls.every(({ state }) => state === 'result')
  return isDone
    ? [...thought(reasoning), ...parts, { type: 'step-start' }, ...text]
    : [...thought(reasoning), ...text, ...parts]
}

const thought = (text: string): Found[] => (text === '' ? [] : [{ type: 'reasoning', text }])

const fileOf = ({ url, contentType, name }: Found): Found => ({
  type: 'file',
  url,
  mediaType: contentType,
  ...(name === undefined ? {} : { filename: name }),
})

const callIdOf = (part: Found): unknown =>
  objectOf(part['toolInvocation'])['toolCallId'] ?? part['toolCallId']

/** Parts as version 5 has them. Where no step is said to start, a new number of a call and a text behind results do. */
function partSteps(list: readonly Found[]): Found[] {
  const isTold = list.some(({ type }) => type === 'step-start')
  const parts: Found[] = []
  let step: unknown
  let isDone = false
  for (const part of list) {
    const { type } = part
    const isCall = type === 'tool-invocation'
    const { step: no, state } = isCall ? objectOf(part['toolInvocation']) : NONE
    const isNext = isCall
      ? no !== undefined && step !== undefined && no !== step
      : isDone && (type === 'text' || type === 'reasoning')
    if (isNext && !isTold) parts.push({ type: 'step-start' })
    // A call behind the words that begin a step is of it, whatever its number.
    step = no ?? (isNext ? undefined : step)
    isDone = isCall && state === 'result'
    parts.push(oldPart(part))
  }
  return parts
}

const NONE: Found = {}

function oldPart(part: Found): Found {
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
