import { checkNumber, checkOptionNames } from '../event/check-value.ts'
import type { Content } from '../event/shapes.ts'
import type { NeutralMessage, ToolMessage } from '../messages/message.ts'
import { counted, type CountTokens, estimateTokens } from './estimate.ts'

/** Options of `observationMasking`. */
export interface MaskingOptions {
  /** Tokens of a request, from which the default of `stride` is derived. Default: 128,000. */
  readonly budget?: number
  /**
   * Minimum number of tokens that masking more results must save, because each change of earlier messages
   * invalidates the provider's cache and signed reasoning. Default: a quarter of the budget.
   */
  readonly stride?: number
  /** Number of the latest results that are never masked. Default: 10. */
  readonly keepLast?: number
  /** Counts tokens. Default: `estimateTokens`. */
  readonly count?: CountTokens
  /** Text in place of a masked result. Default: `[An old result was removed here to save tokens.]` */
  readonly placeholder?: string
}

/** Text in place of an old result. Changing it changes every cached prefix. */
const PLACEHOLDER = '[An old result was removed here to save tokens.]'

/**
 * Returns a function that replaces old tool results in messages with a placeholder, whenever that saves at
 * least `stride` tokens. Never changes calls, `is_error`, the `keepLast` latest results, or a result that the
 * placeholder would not shorten.
 *
 * The output depends only on the messages. As a conversation grows, a masked result stays masked, and earlier
 * messages change at most once for each `stride` tokens saved. Masking is idempotent (law K7). O(content).
 * @throws ColloquyError `invalid_argument` for an invalid number. The returned function also throws it if the
 *   counter returns an invalid number.
 * @example
 * const mask = observationMasking({ keepLast: 0, stride: 1, placeholder: '[old]' })
 * const result = { role: 'tool', content: [{ text: 'a long result' }], tool_call_id: 'c', name: 'ls', is_error: false }
 * mask([result])[0].content // [{ type: 'text', text: '[old]' }]
 */
export function observationMasking(
  options: MaskingOptions = {},
): (messages: readonly NeutralMessage[]) => NeutralMessage[] {
  checkOptionNames(options, 'budget stride keepLast count placeholder')
  const { placeholder = PLACEHOLDER, count = estimateTokens } = options
  const budget = checkNumber('budget', options.budget ?? 128_000, { least: 1, whole: false })
  const stride = checkNumber('stride', options.stride ?? budget / 4, { least: 0, whole: false })
  const keepLast = checkNumber('keepLast', options.keepLast ?? 10, { least: 0 })
  return (messages) => {
    const out = [...messages]
    let remaining = messages.filter(({ role }) => role === 'tool').length - keepLast
    let saved = 0
    let waiting: { readonly index: number; readonly mask: ToolMessage }[] = []
    for (const [index, message] of messages.entries()) {
      if (message.role !== 'tool') continue
      if ((remaining -= 1) < 0) break
      const mask = masked(message, placeholder)
      const saves = counted(count, [message]) - counted(count, [mask])
      if (saves <= 0) continue
      waiting.push({ index, mask })
      saved += saves
      if (saved < stride) continue
      for (const old of waiting) out[old.index] = old.mask
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
