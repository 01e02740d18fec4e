/** Elements of message arrays: messages, requests, system prompts and unknown values. */

import { replyOf } from '../../event/reply.ts'
import type { JsonValue } from '../../event/shapes.ts'
import { type RawObject, objectOf } from '../../messages/text.ts'
import { moreOf, type Reply } from '../../messages/reply.ts'
import { contentOf, textIn } from '../content.ts'
import type { SessionFormat, SessionRecord } from '../session.ts'
import type { HasResult, Origin, SessionWriter } from '../writer.ts'

export interface Element {
  readonly line: number
  readonly number: number
  readonly fields: RawObject
  readonly stray: SessionRecord | null
  readonly isRequest: boolean
  readonly isPromptField: boolean
}

const OF_REPLY: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'error',
  'incomplete_details',
  'model',
  'output',
  'usage',
])

/**
 * Returns the elements of an array of records. A record is one element, or a request: an element with its
 * other fields, one with its system prompt, then its list. O(fields and elements).
 */
export function elementsOf(records: readonly SessionRecord[], field: 'messages' | 'input'): Element[] {
  const elements: Element[] = []
  const add = (element: Pick<Element, 'line' | 'fields'> & Partial<Element>): void => {
    elements.push({
      number: elements.length + 1 - requests,
      stray: null,
      isRequest: false,
      isPromptField: false,
      ...element,
    })
  }
  let requests = 0
  for (const record of records) {
    const { line, value } = record
    const fields = objectOf(value)
    const list = Array.isArray(fields[field]) ? (fields[field] as readonly JsonValue[]) : null
    const isReply = field === 'input' && isWhole(fields)
    if (list === null && !isReply) {
      add({ line, fields, stray: fields === value ? null : record })
      continue
    }
    const other = otherFields(fields, field, isReply)
    if (other !== null) {
      requests += 1
      add({ line, fields: other, number: requests, isRequest: true })
    }
    let index = 0
    // A reply without its request may be one of many lines, and keeps its own line.
    const next = (): number => (list === null ? line : (index += 1))
    const system = fields[promptIn(fields)]
    if (textIn(system) !== '')
      add({ line: next(), fields: { role: 'system', content: system }, isPromptField: true })
    for (const element of list ?? []) {
      const inner = objectOf(element)
      const position = next()
      add({ line: position, fields: inner, stray: inner === element ? null : strayOf(element, position) })
    }
    if (isReply) add({ line: next(), fields: { ...fields, [field]: undefined } })
  }
  return elements
}

/** Whether an element is a whole Responses reply, which repeats fields of its request. O(1). */
export const isWhole = ({ type, role, output }: RawObject): boolean =>
  type === undefined && role === undefined && Array.isArray(output)

const promptIn = (request: RawObject): string =>
  (request['system'] ?? null) === null ? 'instructions' : 'system'

const strayOf = (value: JsonValue, line: number): SessionRecord => ({
  line,
  raw: JSON.stringify(value),
  value,
})

function otherFields(request: RawObject, field: string, isReply: boolean): RawObject | null {
  const prompt = promptIn(request)
  const isRead = (key: string): boolean =>
    (key === field && Array.isArray(request[key])) ||
    (key === prompt && textIn(request[prompt]) !== '') ||
    (isReply && OF_REPLY.has(key))
  const rest = Object.entries(request).filter(([key, value]) => !isRead(key) && value !== null)
  return rest.length === 0 ? null : Object.fromEntries(rest)
}

export function addReply(
  reply: Reply,
  origins: readonly Origin[],
  hasResult: HasResult,
  writer: SessionWriter,
): void {
  if (isBlank(reply)) writer.note('replies without content', origins[0]?.line ?? 1)
  else writer.reply(reply, origins, hasResult)
}

/** Keeps an element that is not a message, and returns whether it did. O(its size). */
export function keepNonMessage(
  { line, number, fields, stray, isRequest }: Element,
  format: SessionFormat,
  writer: SessionWriter,
): boolean {
  if (isRequest)
    writer.update(`${format}.request`, fields as JsonValue, { line, id: `request-${number}`, time: null })
  else if (stray !== null) writer.keep(stray, 'not a message')
  return isRequest || stray !== null
}

/** Keeps the fields of a message that have no place in an event. O(fields). */
export function keepMore(
  fields: RawObject,
  read: readonly string[],
  format: SessionFormat,
  origin: Origin,
  writer: SessionWriter,
): void {
  const more = moreOf(fields, ...read)
  if (more === null) return
  const { id } = origin
  writer.update(`${format}.message`, { id, ...more }, { ...origin, id: `${id}-about` })
}

export function keepUnknown({ line, fields }: Element, writer: SessionWriter): void {
  writer.keep({ line, raw: JSON.stringify(fields), value: fields as JsonValue }, 'not a message')
}

/** The system prompts at the start of an array; a log has one, with the text of all. */
interface Prompts {
  readonly front: ReadonlySet<Element>
  readonly text: string
}

/** Finds the system prompts at the start; `contentIn` returns the content of a message. O(prompts). */
export function promptsOf(elements: readonly Element[], contentIn: (fields: RawObject) => unknown): Prompts {
  const front = new Set<Element>()
  const texts: string[] = []
  for (const element of elements) {
    if (element.isRequest) continue
    const { role } = element.fields
    if (role !== 'system' && role !== 'developer') break
    front.add(element)
    const text = textIn(contentIn(element.fields))
    if (text !== '') texts.push(text)
  }
  return { front, text: texts.join('\n\n') }
}

/** Adds a system prompt. A later one becomes a message of the environment in its position. */
export function addPrompt(
  element: Element,
  content: unknown,
  { front, text }: Prompts,
  origin: Origin,
  writer: SessionWriter,
): void {
  const isFront = front.has(element)
  const [first] = front
  if (isFront && element !== first) return
  if (!isFront && !element.isPromptField) {
    writer.say('environment', contentOf(content), origin)
    return
  }
  const prompt = isFront ? text : textIn(content)
  writer.add(
    { kind: 'SystemPromptEvent', source: 'agent', system_prompt: { type: 'text', text: prompt }, tools: [] },
    origin,
  )
}

function isBlank({ events }: Reply): boolean {
  const [first] = events
  if (first === undefined) return true
  if (events.length > 1 || first.kind !== 'MessageEvent') return false
  const { content, thinking_blocks, reasoning_content, responses_reasoning_item } = first.llm_message
  const { parts, outcome, tokens } = { ...replyOf(first) }
  return (
    textIn(content) === '' &&
    (content ?? []).every((part) => 'text' in part) &&
    (thinking_blocks ?? []).length === 0 &&
    (reasoning_content ?? '') === '' &&
    (responses_reasoning_item ?? null) === null &&
    [parts, outcome, tokens].every((field) => field === undefined)
  )
}
