/** Masks old tool results in messages, to save tokens; rarely, since each time costs cache and reasoning behind it. */

import type { Content } from '../event/shapes.ts'
import type { NeutralMessage, ToolMessage } from '../messages/message.ts'
import { checkNumber } from './check-number.ts'
import { counted, type CountTokens, estimateTokens } from './estimate.ts'

export interface MaskingOptions {
  /** Maximum tokens of a request. Default: 128,000. */
  readonly budget?: number
  /**
   * How many tokens are saved each time, at least: old results are masked when that many can be saved, all at once.
   * Until then the messages before stay the same, and so do what a provider has cached and the reasoning that is bound
   * to them. Default: a quarter of the budget.
   */
  readonly stride?: number
  /** Minimum number of the latest results that are not masked. Default: 10. */
  readonly keepLast?: number
  /** Default: `estimateTokens`. */
  readonly count?: CountTokens
  /** Replaces a masked result. */
  readonly placeholder?: string
}

/** Changing it changes every cached prefix. */
const PLACEHOLDER = '[An old result was left out here to save room.]'

/**
 * A function that replaces the content of old tool results with a short text, in the messages only. Each call keeps its
 * result and whether that failed; one that takes no more tokens than the placeholder stays. What it does depends on the
 * messages alone: as messages are added, what is masked stays masked, and what was sent before changes at most
 * tokens / stride times. Masking twice is masking once (law K7). O(content).
 * @throws ColloquyError `invalid_argument` for numbers that are none; the function throws it for a count that is none.
 * @example
 * const mask = observationMasking({ keepLast: 0, stride: 1, placeholder: '[old]' })
 * const result = { role: 'tool', content: [{ text: 'a long result' }], tool_call_id: 'c', name: 'ls', is_error: false }
 * mask([result])[0].content // [{ type: 'text', text: '[old]' }]
 */
export function observationMasking(
  options: MaskingOptions = {},
): (messages: readonly NeutralMessage[]) => NeutralMessage[] {
  const { placeholder = PLACEHOLDER, count = estimateTokens } = options
  const budget = checkNumber('budget', options.budget ?? 128_000, { least: 1, whole: false })
  const stride = checkNumber('stride', options.stride ?? budget / 4, { least: 0, whole: false })
  const keepLast = checkNumber('keepLast', options.keepLast ?? 10, { least: 0 })
  return (messages) => {
    const out = [...messages]
    let left = messages.filter(({ role }) => role === 'tool').length - keepLast
    let saved = 0
    let waiting: { readonly at: number; readonly mask: ToolMessage }[] = []
    for (const [at, message] of messages.entries()) {
      if (message.role !== 'tool') continue
      if ((left -= 1) < 0) break
      const mask = masked(message, placeholder)
      const saves = counted(count, [message]) - counted(count, [mask])
      if (saves <= 0) continue
      waiting.push({ at, mask })
      saved += saves
      if (saved < stride) continue
      for (const old of waiting) out[old.at] = old.mask
      waiting = []
      saved = 0
    }
    return out
  }
}

function masked(message: ToolMessage, placeholder: string): ToolMessage {
  const isMarked = message.content.some((part) => part.cache_prompt === true)
  const text: Content = { type: 'text', text: placeholder, ...(isMarked ? { cache_prompt: true } : {}) }
  return { ...message, content: [text] }
}
