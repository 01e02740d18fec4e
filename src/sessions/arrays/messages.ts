/** Reads arrays of messages of Anthropic and OpenAI, and whole replies. */

import { type Draft, produce } from 'immer'
import { fromAnthropic } from '../../messages/anthropic/read.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../../messages/text.ts'
import { moreOf, type Reply } from '../../messages/reply.ts'
import { fromOpenAIChat } from '../../messages/openai-chat/read.ts'
import { blocksOf, contentOf } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { resultsOnDemand, type HasResult, type Origin, SessionWriter } from '../writer.ts'
import {
  addPrompt,
  addReply,
  type Element,
  elementsOf,
  keepNonMessage,
  keepMore,
  keepUnknown,
  promptsOf,
} from './elements.ts'

const contentIn = ({ content }: RawObject): unknown => content

/** Messages of Anthropic, or one reply. O(size). */
export function readAnthropic(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const prompts = promptsOf(elements, contentIn)
  const hasResult = resultsOnDemand(() =>
    elements.flatMap(({ fields }) =>
      objectsOf(fields['content']).map((block) => stringOf(block['tool_use_id'])),
    ),
  )
  for (const element of elements) {
    const { line, number, fields } = element
    const origin = { line, id: `message-${number}`, time: null }
    if (keepNonMessage(element, 'anthropic', writer)) continue
    if (fields['role'] === 'system') addPrompt(element, fields['content'], prompts, origin, writer)
    else if (fields['role'] === 'assistant') {
      const reply = fromAnthropic({
        ...fields,
        id: stringOf(fields['id']) || `reply-${number}`,
        content: blocksOf(fields['content'], 'text'),
      } as Parameters<typeof fromAnthropic>[0])
      addReply(reply, originsOf(reply, origin), hasResult, writer)
    } else if (fields['role'] === 'user') addUser(fields, origin, writer)
    else keepUnknown(element, writer)
  }
  return writer.session('anthropic')
}

function originsOf({ events }: Reply, origin: Origin): Origin[] {
  const origins: Origin[] = []
  for (const { kind } of events)
    if (kind === 'ActionEvent') origins.push({ ...origin, id: `${origin.id}.${origins.length + 1}` })
  return origins.length < 2 ? [origin] : origins
}

/** Results are added first, as the provider requires; other content follows. */
function addUser(fields: RawObject, origin: Origin, writer: SessionWriter): void {
  const { content } = fields
  const rest: RawObject[] = []
  let results = 0
  for (const block of blocksOf(content, 'text')) {
    if (block['type'] !== 'tool_result') {
      rest.push(block)
      continue
    }
    results += 1
    const { tool_use_id, content, is_error } = block
    const result = { callId: stringOf(tool_use_id), content: contentOf(content), isError: is_error === true }
    writer.result(result, { ...origin, id: `${origin.id}-result-${results}` })
  }
  const others = contentOf(results === 0 ? content : rest)
  if (results === 0 || others.length > 0) writer.say('user', others, origin)
}

/** Messages of OpenAI Chat Completions, or one reply. O(size). */
export function readOpenAIChat(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = withCallIds(elementsOf(records, 'messages'))
  const prompts = promptsOf(elements, contentIn)
  const hasResult = resultsOnDemand(() => elements.map(({ fields }) => stringOf(fields['tool_call_id'])))
  for (const element of elements) {
    const { line, number, fields } = element
    const origin = { line, id: `message-${number}`, time: null }
    const { role, content } = fields
    if (keepNonMessage(element, 'openai-chat', writer)) continue
    if (Array.isArray(fields['choices'])) addChatReply(fields, origin, hasResult, writer)
    else if (role === 'system' || role === 'developer') addPrompt(element, content, prompts, origin, writer)
    else if (role === 'assistant') {
      const calls = objectsOf(fields['tool_calls'])
      const choice = { message: fields, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }
      addChatReply({ id: `reply-${number}`, choices: [choice] }, origin, hasResult, writer)
    } else if (role === 'tool' || role === 'function') {
      const callId = stringOf(fields['tool_call_id'])
      const tool = stringOf(fields['name']) || 'unknown'
      writer.result({ callId, tool, content: contentOf(content), isError: false }, origin)
    } else if (role === 'user') writer.say('user', contentOf(content), origin, stringOf(fields['name']))
    else {
      keepUnknown(element, writer)
      continue
    }
    // The other fields of a reply are in its record.
    if (role !== 'assistant' && typeof role === 'string')
      keepMore(fields, READ, 'openai-chat', origin, writer)
  }
  return writer.session('openai-chat')
}

const READ = ['role', 'content', 'name', 'tool_call_id'] as const

const OF_REPLY = ['id', 'object', 'created', 'model', 'choices', 'usage'] as const

function addChatReply(reply: RawObject, origin: Origin, hasResult: HasResult, writer: SessionWriter): void {
  const whole = withCalls(reply, origin, writer)
  const read = fromOpenAIChat(whole as RawObject as never)
  const isFailed = read.outcome.type === 'failed' && objectsOf(reply['choices']).length > 0
  const usable = isFailed ? fromOpenAIChat(cutOff(whole) as never) : read
  if (read.outcome.type === 'failed') writer.note('failed replies, kept up to the failure', origin.line)
  addReply(usable, originsOf(usable, origin), hasResult, writer)
  const { length } = objectsOf(reply['choices'])
  for (let index = 1; index < length; index += 1) writer.note('further choices of a reply', origin.line)
  if (moreOf(objectOf(objectsOf(reply['choices'])[0]), 'index', 'message', 'finish_reason') !== null)
    writer.note('further fields of a choice', origin.line)
  keepMore(reply, OF_REPLY, 'openai-chat', origin, writer)
}

/** A failed reply as a truncated one, to keep its text. */
const cutOff = (reply: RawObject): RawObject =>
  produce(reply, (draft: Draft<RawObject>) => {
    const [choice = {}] = objectsOf(draft['choices'])
    draft['error'] = null
    draft['choices'] = [{ ...choice, finish_reason: 'length' }]
  })

function withCalls(reply: RawObject, { line }: Origin, writer: SessionWriter): RawObject {
  const [choice = {}] = objectsOf(reply['choices'])
  const message = objectOf(choice['message'])
  const tool_calls = writer.objectsIn(message['tool_calls'], 'not a call', line)
  if ((message['tool_calls'] ?? null) === null || message['tool_calls'] === tool_calls) return reply
  return produce(reply, (draft: Draft<RawObject>) => {
    const [first = {}] = objectsOf(draft['choices'])
    Object.assign(objectOf(first['message']), { tool_calls })
  })
}

/** Messages with each function call as a tool call, and each result with its id. O(messages). */
function withCallIds(elements: readonly Element[]): Element[] {
  const last = new Map<string, string>()
  return elements.map((element) => {
    const fields = produce(element.fields, (draft: Draft<RawObject>) => {
      const { role, choices } = draft
      if (role === 'assistant') nameCall(draft, `call-${element.number}`, last)
      else if (Array.isArray(choices))
        for (const choice of objectsOf(choices))
          nameCall(objectOf(choice['message']) as Draft<RawObject>, `call-${element.number}`, last)
      else if ((role === 'function' || role === 'tool') && stringOf(draft['tool_call_id']) === '') {
        const name = stringOf(draft['name'])
        draft['tool_call_id'] = last.get(name) ?? name
      }
    })
    return fields === element.fields ? element : { ...element, fields }
  })
}

function nameCall(message: Draft<RawObject>, id: string, last: Map<string, string>): void {
  const call = message['function_call']
  const name = stringOf(objectOf(call)['name'])
  if (name === '' || (Array.isArray(message['tool_calls']) && message['tool_calls'].length > 0)) return
  last.set(name, id)
  delete message['function_call']
  message['tool_calls'] = [{ id, type: 'function', function: call }]
}
