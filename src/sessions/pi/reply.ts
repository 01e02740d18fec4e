/** Reads a reply in a session of pi, by the grammar of the provider that made it. */

import type { AgentErrorEvent } from '../../event/types.ts'
import { fromAnthropic } from '../../messages/anthropic/read.ts'
import { type Found, frozenInput, moreOf, objectOf, stringOf } from '../../messages/found.ts'
import { fromOpenAIChat } from '../../messages/openai-chat/read.ts'
import { fromOpenAIResponses } from '../../messages/openai-responses/read.ts'
import type { Reply } from '../../messages/reply-events.ts'
import { blocksOf } from '../content.ts'
import type { HasResult } from '../writer.ts'

/** The events of a reply; null for one of which nothing came. O(size). */
export function replyOf(message: Found, entry: string, hasResult: HasResult): Reply | null {
  const blocks = blocksOf(message['content'], 'text')
  if (blocks.length === 0) return null
  const reply = readReply(message, blocks, stringOf(message['responseId']) || `reply-${entry}`)
  const why = ENDED_EARLY.get(message['stopReason'])
  return why === undefined ? reply : unfit(reply, why, hasResult)
}

/**
 * Replies whose calls were never executed: pi drops them, and the arguments of the last may be half of what was meant.
 */
const ENDED_EARLY: ReadonlyMap<unknown, string> = new Map([
  ['aborted', 'its reply was interrupted'],
  ['error', 'its reply failed'],
])

/** A reply whose calls nothing may execute any more, but for those that have a result all the same. O(events). */
function unfit(reply: Reply, why: string, hasResult: HasResult): Reply {
  const told = new Set(
    reply.events.map((event) => (event.kind === 'AgentErrorEvent' ? event.tool_call_id : '')),
  )
  const errors: AgentErrorEvent[] = []
  const events = reply.events.map((event) => {
    if (event.kind !== 'ActionEvent' || hasResult(event.tool_call_id)) return event
    const { tool_name, tool_call_id } = event
    const error = `The call was not executed: ${why}.`
    if (!told.has(tool_call_id))
      errors.push({ kind: 'AgentErrorEvent', source: 'environment', tool_name, tool_call_id, error })
    return { ...event, action: null }
  })
  return { ...reply, events: [...events, ...errors] }
}

/** By the grammar of the provider that made it. */
function readReply(message: Found, blocks: readonly Found[], id: string): Reply {
  const model = stringOf(message['model'])
  const api = stringOf(message['api'])
  const count = (field: string): number => countOf(message, field)
  const [cached, written] = [count('cacheRead'), count('cacheWrite')]
  // What it says beyond the counts, such as the costs, stays in its own words.
  const more = moreOf(objectOf(message['usage']), ...COUNTS)
  if (api.startsWith('anthropic') || (api === '' && message['provider'] === 'anthropic'))
    return fromAnthropic({
      id,
      model,
      content: blocks.map(anthropicBlock),
      stop_reason: stopOf(message, 'tool_use', 'end_turn', 'max_tokens'),
      usage: {
        ...more,
        input_tokens: count('input'),
        output_tokens: count('output'),
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
      },
    } as Parameters<typeof fromAnthropic>[0])
  const input = count('input') + cached + written
  const details = { cached_tokens: cached, cache_write_tokens: written }
  if (api.startsWith('openai-responses') || api.startsWith('openai-codex'))
    return fromOpenAIResponses({
      id,
      model,
      status: message['stopReason'] === 'length' ? 'incomplete' : 'completed',
      output: blocks.map(responsesItem),
      usage: {
        ...more,
        input_tokens: input,
        output_tokens: count('output'),
        input_tokens_details: details,
      },
    } as Parameters<typeof fromOpenAIResponses>[0])
  return fromOpenAIChat({
    id,
    model,
    choices: [
      { message: chatMessage(blocks), finish_reason: stopOf(message, 'tool_calls', 'stop', 'length') },
    ],
    usage: {
      ...more,
      prompt_tokens: input,
      completion_tokens: count('output'),
      prompt_tokens_details: details,
    },
  } as Parameters<typeof fromOpenAIChat>[0])
}

const COUNTS = ['input', 'output', 'cacheRead', 'cacheWrite', 'totalTokens'] as const

const countOf = (message: Found, field: string): number => {
  const count = objectOf(message['usage'])[field]
  return typeof count === 'number' ? count : 0
}

function stopOf({ stopReason }: Found, calls: string, end: string, limit: string): string {
  return stopReason === 'toolUse' ? calls : stopReason === 'length' ? limit : end
}

/** A block of a type that pi does not have is kept as it stands there. */
function anthropicBlock(block: Found): object {
  const { type, thinking, thinkingSignature: signature, redacted, id, name } = block
  if (type === 'thinking' && redacted === true) return { type: 'redacted_thinking', data: signature ?? '' }
  if (type === 'thinking')
    return { type, thinking, ...(typeof signature === 'string' && signature !== '' ? { signature } : {}) }
  return type === 'toolCall'
    ? { type: 'tool_use', id, name, input: block['arguments'] }
    : textOnly(block, 'text')
}

/** A text carries the id of its item too, which no grammar has a place for. */
const textOnly = (block: Found, type: string): object =>
  isText(block) ? { type, text: block['text'] } : block

const isText = ({ type, text }: Found): boolean => type === 'text' && typeof text === 'string'

const isThought = ({ type, thinking }: Found): boolean => type === 'thinking' && typeof thinking === 'string'

/** The id of a call, which OpenAI Responses knows apart from that of its item: pi writes both as one. */
export const callIn = (id: string): string => id.split('|')[0] ?? ''

/** Reasoning is kept as the text of its item. */
function responsesItem(block: Found): object {
  const { type, thinking, thinkingSignature: signature, id, name } = block
  if (isThought(block))
    return itemIn(signature) ?? { type: 'reasoning', summary: [{ type: 'summary_text', text: thinking }] }
  if (isText(block)) return { type: 'message', role: 'assistant', content: [textOnly(block, 'output_text')] }
  if (type !== 'toolCall') return block
  const call_id = callIn(stringOf(id))
  const item = stringOf(id).split('|')[1]
  const args = JSON.stringify(block['arguments'] ?? {})
  return {
    type: 'function_call',
    call_id,
    name,
    arguments: args,
    ...(item === undefined ? {} : { id: item }),
  }
}

function itemIn(signature: unknown): object | null {
  try {
    const item = objectOf(JSON.parse(stringOf(signature)))
    return item['type'] === 'reasoning' ? item : null
  } catch {
    return null
  }
}

function chatMessage(blocks: readonly Found[]): object {
  const content: object[] = []
  const calls: object[] = []
  let reasoning = ''
  for (const block of blocks) {
    const { type, id, name, arguments: input } = block
    if (isThought(block)) reasoning += stringOf(block['thinking'])
    else if (type !== 'toolCall') content.push(textOnly(block, 'text'))
    // An object need not be read again from its text.
    else
      calls.push({
        id,
        type: 'function',
        function: { name, arguments: frozenInput(input) ?? JSON.stringify(input ?? {}) },
      })
  }
  return {
    role: 'assistant',
    content,
    // Under this name since the log does not say that its server wants it back.
    ...(reasoning === '' ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
