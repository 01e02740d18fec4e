/** Reads the messages of the AI SDK's user interfaces, versions 4 and later. */

import type { JsonValue } from '../../event/shapes.ts'
import { fromAiSdk } from '../../messages/ai-sdk/read.ts'
import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import { contentOf, textIn } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { type Origin, SessionWriter } from '../writer.ts'
import { addPrompt, elementsOf, isAside, keepUnknown, promptsOf, sessionOf } from './elements.ts'
import { aboutOf, partsOf } from './ui-parts.ts'

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
