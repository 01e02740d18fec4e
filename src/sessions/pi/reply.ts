/** Reads a reply in a session of pi, by the grammar of the provider that made it. */

import { fromAnthropic } from '../../messages/anthropic/read.ts'
import { type Found, frozenInput, objectOf, objectsOf, stringOf } from '../../messages/found.ts'
import { fromOpenAIChat } from '../../messages/openai-chat/read.ts'
import { fromOpenAIResponses } from '../../messages/openai-responses/read.ts'
import type { Reply } from '../../messages/reply-events.ts'

/** The events of a reply; null for one of which nothing came. O(size). */
export function replyOf(message: Found, entry: string): Reply | null {
  const blocks = objectsOf(message['content'])
  if (blocks.length === 0) return null
  const id = stringOf(message['responseId']) || `reply-${entry}`
  const model = stringOf(message['model'])
  const api = stringOf(message['api'])
  if (api.startsWith('anthropic') || (api === '' && message['provider'] === 'anthropic'))
    return fromAnthropic({
      id,
      model,
      content: blocks.map(anthropicBlock),
      stop_reason: stopOf(message, 'tool_use', 'end_turn', 'max_tokens'),
      usage: {
        input_tokens: countOf(message, 'input'),
        output_tokens: countOf(message, 'output'),
        cache_read_input_tokens: countOf(message, 'cacheRead'),
        cache_creation_input_tokens: countOf(message, 'cacheWrite'),
      },
    } as Parameters<typeof fromAnthropic>[0])
  const usage = {
    input: countOf(message, 'input') + countOf(message, 'cacheRead'),
    cached: countOf(message, 'cacheRead'),
    output: countOf(message, 'output'),
  }
  if (api.startsWith('openai-responses') || api.startsWith('openai-codex'))
    return fromOpenAIResponses({
      id,
      model,
      status: message['stopReason'] === 'length' ? 'incomplete' : 'completed',
      output: blocks.map(responsesItem),
      usage: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        input_tokens_details: { cached_tokens: usage.cached },
      },
    } as Parameters<typeof fromOpenAIResponses>[0])
  return fromOpenAIChat({
    id,
    model,
    choices: [
      { message: chatMessage(blocks), finish_reason: stopOf(message, 'tool_calls', 'stop', 'length') },
    ],
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
    },
  } as Parameters<typeof fromOpenAIChat>[0])
}

const countOf = (message: Found, field: string): number => {
  const count = objectOf(message['usage'])[field]
  return typeof count === 'number' ? count : 0
}

function stopOf({ stopReason }: Found, calls: string, end: string, limit: string): string {
  return stopReason === 'toolUse' ? calls : stopReason === 'length' ? limit : end
}

function anthropicBlock(block: Found): object {
  const { type, thinking, thinkingSignature: signature, redacted, id, name } = block
  if (type === 'thinking' && redacted === true) return { type: 'redacted_thinking', data: signature ?? '' }
  if (type === 'thinking')
    return { type, thinking, ...(typeof signature === 'string' && signature !== '' ? { signature } : {}) }
  return type === 'toolCall' ? { type: 'tool_use', id, name, input: block['arguments'] } : textOnly(block)
}

/** A text carries the id of its item too, which this grammar has no place for. */
const textOnly = ({ type, text }: Found): object => ({ type, text })

/** Reasoning is kept as the text of its item; the id of a call as that of the call and of its item. */
function responsesItem(block: Found): object {
  const { type, text, thinking, thinkingSignature: signature, id, name } = block
  if (type === 'thinking')
    return itemIn(signature) ?? { type: 'reasoning', summary: [{ type: 'summary_text', text: thinking }] }
  if (type !== 'toolCall')
    return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: stringOf(text) }] }
  const [call_id = '', item] = stringOf(id).split('|')
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
  const calls = blocks.filter(({ type }) => type === 'toolCall')
  const wordsOf = (type: string, field: string): string =>
    blocks.reduce((words, block) => (block['type'] === type ? words + stringOf(block[field]) : words), '')
  const reasoning = wordsOf('thinking', 'thinking')
  return {
    role: 'assistant',
    content: wordsOf('text', 'text'),
    // Under this name since the log does not say that its server wants it back.
    ...(reasoning === '' ? {} : { reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: input }) => ({
            id,
            type: 'function',
            // An object need not be read again from its text.
            function: { name, arguments: frozenInput(input) ?? JSON.stringify(input ?? {}) },
          })),
        }),
  }
}
