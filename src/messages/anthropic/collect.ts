/** Collects a streamed reply of Anthropic Messages, so that it is read as if it had come whole. */

import type { StreamingDeltaEvent } from '../../event/types.ts'
import { readArguments } from '../arguments.ts'
import { type ReplyCollector, reasoningDelta, textDelta } from '../collector.ts'
import { type Failure, failedWith, failureOf, type Found, objectOf, stringOf } from '../found.ts'
import type { ReadOptions } from '../reply-events.ts'
import { fromAnthropic } from './read.ts'

/** A block on its way. */
interface StreamedBlock {
  readonly start: Found
  /** The texts that were added to a field; joined at the end, so that the cost is linear. */
  readonly added: Map<string, string[]>
  readonly citations: unknown[]
  readonly set: Record<string, unknown>
}

/**
 * Collects the events of a stream, as the `@anthropic-ai/sdk` package gives them with `stream: true`. `push` gives
 * what to publish of each; `end` gives the reply, the same as `fromAnthropic` gives of the whole. A stream that ends
 * without a stop reason has broken off, one with an `error` event has failed: then there are no events to append.
 * Throws nothing. O(length).
 * @example
 * const stream = collectAnthropic()
 * stream.push({ type: 'message_start', message: { id: 'msg_1', content: [] } })
 * stream.push({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
 * stream.push({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } })[0].content // 'hi'
 * stream.push({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectAnthropic(options: ReadOptions = {}): ReplyCollector {
  let message: Found = {}
  let usage: Found = {}
  let failure: Failure | null = null
  let isEnded = false
  const blocks = new Map<unknown, StreamedBlock>()

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const event = objectOf(given)
    switch (event['type']) {
      case 'message_start':
        message = { ...objectOf(event['message']) }
        usage = objectOf(message['usage'])
        break
      case 'content_block_start': {
        const start = objectOf(event['content_block'])
        blocks.set(event['index'], { start, added: new Map(), citations: [], set: {} })
        return deltaOf(stringOf(start['text']), stringOf(start['thinking']))
      }
      case 'content_block_delta': {
        const block = blocks.get(event['index'])
        if (block !== undefined) return addDelta(block, objectOf(event['delta']))
        break
      }
      case 'message_delta': {
        message = { ...message, ...said(objectOf(event['delta'])) }
        usage = { ...usage, ...said(objectOf(event['usage'])) }
        isEnded ||= typeof message['stop_reason'] === 'string'
        break
      }
      case 'message_stop':
        isEnded = true
        break
      case 'error':
        failure = failureOf(event) ?? failedWith(null)
        break
    }
    return []
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: failure }
      const content = [...blocks.values()].map(closed)
      if (isEnded) return fromAnthropic({ ...message, usage, content } as { content: Found[] }, options)
      const texts = content.filter(({ type }) => type === 'text').map(({ text }) => stringOf(text))
      return { events: [], outcome: { type: 'broken_off', text: texts.join('') } }
    },
  }
}

/** The fields that are not null: a later event takes nothing back. */
const said = (value: Found): Found =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null && field !== undefined))

const deltaOf = (text: string, thinking: string): readonly StreamingDeltaEvent[] => [
  ...textDelta(text),
  ...reasoningDelta(thinking),
]

/** Adds a delta to its block: texts to the field that they continue, all else in place of what was there. */
function addDelta({ added, citations, set }: StreamedBlock, delta: Found): readonly StreamingDeltaEvent[] {
  if (delta['type'] === 'citations_delta') {
    citations.push(delta['citation'])
    return []
  }
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue
    if (typeof value !== 'string') {
      set[key] = value
      continue
    }
    const texts = added.get(key)
    if (texts === undefined) added.set(key, [value])
    else texts.push(value)
  }
  return deltaOf(stringOf(delta['text']), stringOf(delta['thinking']))
}

/** The block as it would stand in a whole reply. Arguments that are no JSON stay the text that they are. */
function closed({ start, added, citations, set }: StreamedBlock): Found {
  const block: Record<string, unknown> = { ...start, ...said(set) }
  for (const [key, texts] of added) {
    if (key !== 'partial_json') block[key] = stringOf(start[key]) + texts.join('')
  }
  const json = added.get('partial_json')?.join('') ?? ''
  if (json !== '') block['input'] = readArguments(json) ?? json
  if (citations.length > 0)
    block['citations'] = [...(Array.isArray(start['citations']) ? start['citations'] : []), ...citations]
  return block
}
