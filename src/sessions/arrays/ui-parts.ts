/** The parts of a message of the AI SDK, as version 5 has them: version 4 has most of it in fields beside them. */

import type { JsonObject } from '../../event/shapes.ts'
import { type Found, moreOf, objectOf, objectsOf, stringOf } from '../../messages/found.ts'
import { textIn } from '../content.ts'
import type { Origin, SessionWriter } from '../writer.ts'

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
    ...stepsOf(list),
    ...fromFields(others, '', isSaid ? '' : content),
    ...files,
  ]
}

/** What was said in fields alone: the calls of each step, and the text behind them, or before those that are open. */
function fromFields(calls: readonly Found[], reasoning: string, content: unknown): Found[] {
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
  const parts = stepsOf(calls.map((toolInvocation) => ({ type: 'tool-invocation', toolInvocation })))
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
function stepsOf(list: readonly Found[]): Found[] {
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
