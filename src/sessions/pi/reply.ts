/** Reads a reply in a session of pi, by the grammar of the provider that made it. */

import { fromAnthropic } from '../../messages/anthropic/read.ts'
import { type Found, frozenInput, objectOf, stringOf } from '../../messages/found.ts'
import { fromOpenAIChat } from '../../messages/openai-chat/read.ts'
import { fromOpenAIResponses } from '../../messages/openai-responses/read.ts'
import type { Reply } from '../../messages/reply-events.ts'
import { blocksOf } from '../content.ts'

/** The events of a reply; null for one of which nothing came. O(size). */
export function replyOf(message: Found, entry: string): Reply | null {
  const blocks = blocksOf(message['content'], 'text')
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

/** Reasoning is kept as the text of its item; the id of a call as that of the call and of its item. */
function responsesItem(block: Found): object {
  const { type, thinking, thinkingSignature: signature, id, name } = block
  if (isThought(block))
    return itemIn(signature) ?? { type: 'reasoning', summary: [{ type: 'summary_text', text: thinking }] }
  if (isText(block)) return { type: 'message', role: 'assistant', content: [textOnly(block, 'output_text')] }
  if (type !== 'toolCall') return block
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
