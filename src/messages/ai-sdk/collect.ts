/** Collects a streamed step of the AI SDK, so that it is read as if it had come whole. */

import type { StreamingDeltaEvent } from '../../event/types.ts'
import { type ReplyCollector, reasoningDelta, textDelta } from '../collector.ts'
import { type Found, objectOf, stringOf } from '../found.ts'
import type { ReadOptions } from '../reply-events.ts'
import { fromAiSdk } from './read.ts'

/** A part on its way. */
interface StreamedPart {
  readonly rest: Record<string, unknown>
  /** The texts of which it is made; joined at the end, so that the cost is linear. */
  readonly texts: string[]
}

/**
 * Collects the parts of a step, as `fullStream` of `streamText` gives them, up to its `finish-step`; what comes behind
 * that is another step, and passed over. `push` gives what to publish of each; `end` gives the reply, the same as
 * `fromAiSdk` gives of the whole. A stream that ends without `finish-step`, or was aborted, has broken off, one with an
 * `error` has failed: then there are no events to append. Throws nothing. O(length).
 * @example
 * const stream = collectAiSdk()
 * stream.push({ type: 'text-start', id: '0' })
 * stream.push({ type: 'text-delta', id: '0', text: 'hi' })[0].content // 'hi'
 * stream.push({ type: 'finish-step', finishReason: 'stop' })
 * stream.end().outcome // { type: 'done' }
 */
export function collectAiSdk(options: ReadOptions = {}): ReplyCollector {
  let finish: Found | null = null
  let failure: string | null = null
  let isAborted = false
  const parts: StreamedPart[] = []
  /** The parts that are not at their end, by kind and id. */
  const open = new Map<string, StreamedPart>()

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const event = objectOf(given)
    if (finish !== null) return []
    const { type } = event
    switch (type) {
      case 'text-start':
      case 'reasoning-start':
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end':
        return addText(event, ...(type.split('-') as ['text' | 'reasoning', string]))
      case 'custom':
      case 'source':
      case 'file':
      case 'reasoning-file':
      case 'tool-call':
      case 'tool-result':
      case 'tool-error':
      case 'tool-approval-request':
      case 'tool-approval-response':
        parts.push({ rest: event, texts: [] })
        return []
      case 'finish-step':
        finish = event
        return []
      case 'abort':
        isAborted = true
        return []
      case 'error':
        failure = textOfError(event['error'])
    }
    return []
  }

  const addText = (
    event: Found,
    type: 'text' | 'reasoning',
    what: string,
  ): readonly StreamingDeltaEvent[] => {
    const key = `${type} ${stringOf(event['id'])}`
    let part = open.get(key)
    if (part === undefined || what === 'start') {
      part = { rest: { type }, texts: [] }
      parts.push(part)
      open.set(key, part)
    }
    const { providerMetadata, citations } = event
    // The latest that says something counts, as in the SDK.
    if (providerMetadata !== undefined && providerMetadata !== null)
      part.rest['providerMetadata'] = providerMetadata
    if (citations !== undefined && citations !== null) part.rest['citations'] = citations
    if (what === 'end') open.delete(key)
    if (what !== 'delta') return []
    const text = stringOf(event['text'])
    part.texts.push(text)
    return type === 'text' ? textDelta(text) : reasoningDelta(text)
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: { type: 'failed', explanation: failure || null } }
      const content = parts.map(({ rest, texts }) =>
        rest['type'] === 'text' || rest['type'] === 'reasoning' ? { ...rest, text: texts.join('') } : rest,
      )
      if (finish !== null && !isAborted) return fromAiSdk({ ...finish, content }, options)
      const texts = content
        .filter(({ type }) => type === 'text')
        .map((part) => stringOf(objectOf(part)['text']))
      return { events: [], outcome: { type: 'broken_off', text: texts.join('') } }
    },
  }
}

function textOfError(error: unknown): string {
  const { message } = objectOf(error)
  return typeof message === 'string' ? message : stringOf(error)
}
