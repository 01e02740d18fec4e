/** Collects a streamed reply of OpenAI Responses, so that it is read as if it had come whole. */

import type { StreamingDeltaEvent } from '../../event/types.ts'
import { reasoningDelta, type ReplyCollector, textDelta } from '../collector.ts'
import { type Failure, failedWith, failureOf, type Found, objectOf, objectsOf, stringOf } from '../found.ts'
import type { ReadOptions } from '../reply-events.ts'
import { fromOpenAIResponses } from './read.ts'

/**
 * Collects the events of a stream, as the `openai` package gives them with `stream: true`. `push` gives what to
 * publish of each; `end` gives the reply, the same as `fromOpenAIResponses` gives of the whole. A stream that ends
 * before the provider says that the response has ended has broken off, one with an `error` has failed: then there are
 * no events to append. Throws nothing. O(length).
 * @example
 * const stream = collectOpenAIResponses()
 * stream.push({ type: 'response.output_text.delta', delta: 'hi' })[0].content // 'hi'
 * const output = [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }]
 * stream.push({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIResponses(options: ReadOptions = {}): ReplyCollector {
  /** Finished items by their index: some servers leave them out of the response at the end. */
  const items = new Map<number, Found>()
  const texts: string[] = []
  let response: Found | null = null
  let failure: Failure | null = null

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const event = objectOf(given)
    switch (event['type']) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        texts.push(stringOf(event['delta']))
        return textDelta(stringOf(event['delta']))
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return reasoningDelta(stringOf(event['delta']))
      case 'response.output_item.done': {
        const { output_index } = event
        items.set(typeof output_index === 'number' ? output_index : items.size, objectOf(event['item']))
        break
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        response = objectOf(event['response'])
        break
      case 'error':
        failure = failureOf(event) ?? failedWith(event['message'])
        break
    }
    return []
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: failure }
      if (response === null) return { events: [], outcome: { type: 'broken_off', text: texts.join('') } }
      const given = objectsOf(response['output'])
      const inOrder = [...items].toSorted(([a], [b]) => a - b).map(([, item]) => item)
      const output = [given, inOrder].find(({ length }) => length > 0) ?? messageOf(texts.join(''))
      return fromOpenAIResponses({ ...response, output }, options)
    },
  }
}

/** The words of a stream that gave no item. */
const messageOf = (text: string): Found[] =>
  text === '' ? [] : [{ type: 'message', content: [{ type: 'output_text', text }] }]
