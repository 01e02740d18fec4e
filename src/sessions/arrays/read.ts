/** Reads arrays of messages as they are sent to Anthropic and to OpenAI, and whole replies of these. */

import { fromAnthropic } from '../../messages/anthropic/read.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../../messages/found.ts'
import { fromOpenAIChat } from '../../messages/openai-chat/read.ts'
import { contentOf, textIn } from '../content.ts'
import type { Reply } from '../../messages/reply-events.ts'
import type { Session, SessionFormat, SessionRecord } from '../session.ts'
import { askedLater, type HasResult, type Origin, SessionWriter } from '../writer.ts'

/** What each element of an array is, and where it stands. */
export interface Element {
  readonly line: number
  readonly found: Found
  /** Null where the element is no object. */
  readonly record: SessionRecord | null
}

/**
 * The elements of an array, whichever way it came: each a record, or all of them in one, as a request has them. A
 * request's own system prompt comes first, as a message.
 */
export function elementsOf(records: readonly SessionRecord[], field: 'messages' | 'input'): Element[] {
  const elements: Element[] = []
  for (const record of records) {
    const { line, value } = record
    const found = objectOf(value)
    const list = found[field]
    if (!Array.isArray(list)) {
      elements.push({ line, found, record: found === value ? null : record })
      continue
    }
    const system = found['system'] ?? found['instructions']
    const first =
      textIn(system) === '' ? [] : [{ line, found: { role: 'system', content: system }, record: null }]
    // A reply of Responses repeats what it was asked.
    const reply = Array.isArray(found['output'])
      ? [{ found: { ...found, [field]: undefined }, record: null }]
      : []
    const all = [...first, ...objectsOf(list).map((element) => ({ found: element, record: null })), ...reply]
    for (const [at, element] of all.entries()) elements.push({ line: at + 1, ...element })
  }
  return elements
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

export function addPrompt(content: unknown, origin: Origin, writer: SessionWriter): void {
  writer.add(
    {
      kind: 'SystemPromptEvent',
      source: 'agent',
      system_prompt: { type: 'text', text: textIn(content) },
      tools: [],
    },
    origin,
  )
}

/** Messages of Anthropic, or a reply of it. O(size). */
export function readAnthropic(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const hasResult = askedLater(() =>
    elements.flatMap(({ found }) =>
      objectsOf(found['content']).map((block) => stringOf(block['tool_use_id'])),
    ),
  )
  for (const [at, { line, found, record }] of elements.entries()) {
    const origin = { line, id: `message-${at + 1}`, time: null }
    if (record !== null) writer.keep(record, 'no message')
    else if (found['role'] === 'system') addPrompt(found['content'], origin, writer)
    else if (found['role'] === 'assistant') {
      const { content } = found
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content)
      if (blocks.length === 0) {
        writer.note('replies without content', line)
        continue
      }
      const reply = fromAnthropic({
        ...found,
        id: stringOf(found['id']) || `reply-${at + 1}`,
        content: blocks,
      } as Parameters<typeof fromAnthropic>[0])
      writer.reply(reply, originsOf(reply, origin), hasResult)
    } else if (found['role'] === 'user') addUser(found, origin, writer)
    else writer.keep({ line, raw: JSON.stringify(found), value: undefined }, 'no message')
  }
  return sessionOf('anthropic', writer)
}

/** A place for each call of a reply; one alone stands where its message does. */
function originsOf({ events }: Reply, origin: Origin): Origin[] {
  const origins: Origin[] = []
  for (const { kind } of events)
    if (kind === 'ActionEvent') origins.push({ ...origin, id: `${origin.id}.${origins.length + 1}` })
  return origins.length < 2 ? [origin] : origins
}

/** Results come first, as the provider wants them; what is said beside them follows. */
function addUser(found: Found, origin: Origin, writer: SessionWriter): void {
  const { content } = found
  const rest: Found[] = []
  let results = 0
  for (const block of objectsOf(content)) {
    if (block['type'] !== 'tool_result') {
      rest.push(block)
      continue
    }
    results += 1
    writer.result(
      {
        callId: stringOf(block['tool_use_id']),
        content: contentOf(block['content']),
        isError: block['is_error'] === true,
      },
      { ...origin, id: `${origin.id}-result-${results}` },
    )
  }
  const said = contentOf(results === 0 ? content : rest)
  if (results === 0 || said.length > 0) writer.say('user', said, origin)
}

/** Messages of OpenAI Chat Completions, or a reply of it. O(size). */
export function readOpenAIChat(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const hasResult = askedLater(() => elements.map(({ found }) => stringOf(found['tool_call_id'])))
  for (const [at, { line, found, record }] of elements.entries()) {
    const origin = { line, id: `message-${at + 1}`, time: null }
    const { role, content } = found
    if (record !== null) writer.keep(record, 'no message')
    else if (Array.isArray(found['choices'])) addChatReply(found, origin, hasResult, writer)
    else if (role === 'system' || role === 'developer') addPrompt(content, origin, writer)
    else if (role === 'assistant') {
      const calls = objectsOf(found['tool_calls'])
      if (calls.length === 0 && textIn(content) === '' && stringOf(found['refusal']) === '') {
        writer.note('replies without content', line)
        continue
      }
      const choice = { message: found, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }
      addChatReply({ id: `reply-${at + 1}`, choices: [choice] }, origin, hasResult, writer)
    } else if (role === 'tool' || role === 'function') {
      const callId = stringOf(found['tool_call_id']) || stringOf(found['name'])
      writer.result({ callId, content: contentOf(content), isError: false }, origin)
    } else if (role === 'user') writer.say('user', contentOf(content), origin)
    else writer.keep({ line, raw: JSON.stringify(found), value: undefined }, 'no message')
  }
  return sessionOf('openai-chat', writer)
}

function addChatReply(reply: Found, origin: Origin, hasResult: HasResult, writer: SessionWriter): void {
  const given = fromOpenAIChat(reply as unknown as Parameters<typeof fromOpenAIChat>[0])
  writer.reply(given, originsOf(given, origin), hasResult)
}
