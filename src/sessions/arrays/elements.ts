/** What arrays of messages hold, whichever way they came, and what of it is no message. */

import { replyOf } from '../../event/reply.ts'
import type { JsonValue } from '../../event/shapes.ts'
import { type Found, objectOf } from '../../messages/text.ts'
import { moreOf, type Reply } from '../../messages/reply.ts'
import { contentOf, textIn } from '../content.ts'
import type { Session, SessionFormat, SessionRecord } from '../session.ts'
import type { HasResult, Origin, SessionWriter } from '../writer.ts'

/** An element of an array, and where it stands. */
export interface Element {
  readonly line: number
  /** Its number among the elements, from 1. */
  readonly no: number
  /** Empty where it is no object. */
  readonly found: Found
  /** Where it is none, as it stands there. */
  readonly stray: SessionRecord | null
  /** Whether it is what a request says beside its messages. */
  readonly isAbout: boolean
  /** Whether it is the system prompt that a request has in a field of its own. */
  readonly isOwnPrompt: boolean
}

/** What a reply of Responses says of itself, where it repeats what it was asked. */
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
 * The elements of an array, whichever way it came: each a record, or all of them in one, as a request has them. What a
 * request says beside them comes first, then its own system prompt, as a message. O(fields and elements).
 */
export function elementsOf(records: readonly SessionRecord[], field: 'messages' | 'input'): Element[] {
  const elements: Element[] = []
  const add = (element: Pick<Element, 'line' | 'found'> & Partial<Element>): void => {
    elements.push({
      no: elements.length + 1 - abouts,
      stray: null,
      isAbout: false,
      isOwnPrompt: false,
      ...element,
    })
  }
  let abouts = 0
  for (const record of records) {
    const { line, value } = record
    const found = objectOf(value)
    const list = Array.isArray(found[field]) ? (found[field] as readonly JsonValue[]) : null
    const isReply = field === 'input' && isWhole(found)
    if (list === null && !isReply) {
      add({ line, found, stray: found === value ? null : record })
      continue
    }
    const about = aboutOf(found, field, isReply)
    if (about !== null) {
      abouts += 1
      add({ line, found: about, no: abouts, isAbout: true })
    }
    let at = 0
    // A reply without its request may be one of many lines, and stands in its own.
    const next = (): number => (list === null ? line : (at += 1))
    const system = found[promptIn(found)]
    if (textIn(system) !== '')
      add({ line: next(), found: { role: 'system', content: system }, isOwnPrompt: true })
    for (const element of list ?? []) {
      const inner = objectOf(element)
      const no = next()
      add({ line: no, found: inner, stray: inner === element ? null : strayOf(element, no) })
    }
    if (isReply) add({ line: next(), found: { ...found, [field]: undefined } })
  }
  return elements
}

/** Whether an element is a whole reply of Responses, which repeats what it was asked. O(1). */
export const isWhole = ({ type, role, output }: Found): boolean =>
  type === undefined && role === undefined && Array.isArray(output)

/** Which field of a request has the system prompt. */
const promptIn = (request: Found): string =>
  (request['system'] ?? null) === null ? 'instructions' : 'system'

const strayOf = (value: JsonValue, line: number): SessionRecord => ({
  line,
  raw: JSON.stringify(value),
  value,
})

/** The fields of a request that are read nowhere else; null where there are none. */
function aboutOf(request: Found, field: string, isReply: boolean): Found | null {
  const prompt = promptIn(request)
  const isRead = (key: string): boolean =>
    (key === field && Array.isArray(request[key])) ||
    (key === prompt && textIn(request[prompt]) !== '') ||
    (isReply && OF_REPLY.has(key))
  const rest = Object.entries(request).filter(([key, value]) => !isRead(key) && value !== null)
  return rest.length === 0 ? null : Object.fromEntries(rest)
}

/** Adds a reply, or counts it where it says nothing. */
export function addReply(
  reply: Reply,
  origins: readonly Origin[],
  hasResult: HasResult,
  writer: SessionWriter,
): void {
  if (saysNothing(reply)) writer.note('replies without content', origins[0]?.line ?? 1)
  else writer.reply(reply, origins, hasResult)
}

/** Whether an element is no message; it is kept then. O(its size). */
export function isAside(
  { line, no, found, stray, isAbout }: Element,
  format: SessionFormat,
  writer: SessionWriter,
): boolean {
  if (isAbout)
    writer.update(`${format}.request`, found as JsonValue, { line, id: `request-${no}`, time: null })
  else if (stray !== null) writer.keep(stray, 'no message')
  return isAbout || stray !== null
}

/** Keeps what a message says beside the fields that are read of it. O(fields). */
export function keepMore(
  found: Found,
  read: readonly string[],
  format: SessionFormat,
  origin: Origin,
  writer: SessionWriter,
): void {
  const more = moreOf(found, ...read)
  if (more === null) return
  const { id } = origin
  writer.update(`${format}.message`, { id, ...more }, { ...origin, id: `${id}-about` })
}

/** Keeps an object that is no message. */
export function keepUnknown({ line, found }: Element, writer: SessionWriter): void {
  writer.keep({ line, raw: JSON.stringify(found), value: found as JsonValue }, 'no message')
}

/** The session of an array, which has neither name nor times. */
export const sessionOf = (format: SessionFormat, writer: SessionWriter): Session => ({
  format,
  id: null,
  title: null,
  parentId: null,
  createdAt: null,
  facts: writer.facts,
  notes: writer.notes(),
  children: [],
})

/** The system prompts that an array begins with: a log has one in front, which says all of it. */
export interface Prompts {
  readonly front: ReadonlySet<Element>
  readonly text: string
}

/** Finds them; `contentIn` is what a message of a form says. O(prompts in front). */
export function promptsOf(elements: readonly Element[], contentIn: (found: Found) => unknown): Prompts {
  const front = new Set<Element>()
  const texts: string[] = []
  for (const element of elements) {
    if (element.isAbout) continue
    const { role } = element.found
    if (role !== 'system' && role !== 'developer') break
    front.add(element)
    const text = textIn(contentIn(element.found))
    if (text !== '') texts.push(text)
  }
  return { front, text: texts.join('\n\n') }
}

/** Adds a system prompt. One that stands among the messages stays there, in the words of the environment. */
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
  if (!isFront && !element.isOwnPrompt) {
    writer.say('environment', contentOf(content), origin)
    return
  }
  const words = isFront ? text : textIn(content)
  writer.add(
    { kind: 'SystemPromptEvent', source: 'agent', system_prompt: { type: 'text', text: words }, tools: [] },
    origin,
  )
}

/** Whether nothing at all was said, counted or decided: no words, no calls, and nothing of a provider's own. */
function saysNothing({ events }: Reply): boolean {
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
