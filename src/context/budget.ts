import { checkNumber, checkOptionNames } from '../event/check-value.ts'
import { firstIndex } from '../event/json.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { isSent, toMessages } from '../messages/neutral.ts'
import type { State } from '../state/state.ts'
import { type Block, blocksBefore, blocksOf, type Permissions, withUnits } from './blocks.ts'
import { counted, type CountTokens } from './estimate.ts'

/** Returns the messages of a state as the program sends them, for example by `toMessages` with options. */
export type WriteMessages = (state: State) => readonly NeutralMessage[]

/** Options of `fitToBudget`. */
export interface FitOptions extends Permissions {
  /** Number of events that always stay at the start of the view, rounded up to a cut point. Default: 0. */
  readonly keepFirst?: number
  /** Returns the messages whose tokens are counted. Default: `toMessages`. */
  readonly write?: WriteMessages
}

/** The part of a view that fits: the longest possible end of the view, and the units that always stay. */
export interface Fit {
  readonly type: 'fit'
  /** Cut point before which events are left out, except those that always stay; 0 if all fit. */
  readonly cut: number
  readonly tokens: number
  /** Number of calls of the counter: at most 2 + ceil(log2(cut points)). */
  readonly calls: number
  readonly messages: readonly NeutralMessage[]
}

/** The result if even the units that always stay exceed the budget. */
export interface NoFit {
  readonly type: 'refuse'
  readonly reason: {
    readonly code: 'over_budget'
    readonly message: string
    readonly tokens: number
    readonly budget: number
  }
  readonly calls: number
}

/**
 * Leaves out as few stretches (design U5) as possible from the start of a view, so that its messages fit a
 * budget. The first `keepFirst` events and, by default, the system prompt and the last user message stay. If
 * they exceed the budget, the result has the type `refuse`. O(log n) calls of the counter, each O(view). If a
 * counter counts more for fewer messages, more may be left out than necessary.
 * @param count your own counter, or `estimateTokens`
 * @param budget maximum tokens
 * @throws ColloquyError `invalid_argument` for invalid numbers; the errors of `count` and `options.write`.
 * @example
 * const say = (id, text) => ({ kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user',
 *   content: [{ text }] } })
 * const state = replay([say('m1', 'long ago, '.repeat(100)), say('m2', 'now')])
 * fitToBudget(state, estimateTokens, 50).cut // 1
 */
export function fitToBudget(
  state: State,
  count: CountTokens,
  budget: number,
  options: FitOptions = {},
): Fit | NoFit {
  checkOptionNames(options, 'keepFirst write forgetSystemPrompt forgetLastUserMessage')
  const { keepFirst = 0, write = toMessages } = options
  checkNumber('budget', budget, { least: 0, whole: false })
  checkNumber('keepFirst', keepFirst, { least: 0 })
  let calls = 0
  const tokensOf = (messages: readonly NeutralMessage[]): number => {
    calls += 1
    return counted(count, messages)
  }

  const whole = write(state)
  const all = tokensOf(whole)
  if (all <= budget) return { type: 'fit', cut: 0, tokens: all, calls, messages: whole }

  const blocks = blocksOf(state, options)
  const first = blocksBefore(blocks, keepFirst)
  let best: Fit | null = null
  let least = all
  firstFit(first + 1, lastCut(blocks, first), (end) => {
    const messages = write(withoutBlocks(state, blocks, first, end))
    const tokens = tokensOf(messages)
    least = Math.min(least, tokens)
    if (tokens > budget || messages.length === 0) return false
    best = { type: 'fit', cut: blocks[end]?.position ?? state.branch.view.length, tokens, calls, messages }
    return true
  })
  const fit = best as Fit | null
  if (fit !== null) return { ...fit, calls }
  const message = `the minimum request has ${least} tokens, and the budget is ${budget}`
  return { type: 'refuse', reason: { code: 'over_budget', message, tokens: least, budget }, calls }
}

export function withoutBlocks(state: State, blocks: readonly Block[], first: number, end: number): State {
  const omitted = new Set(blocks.slice(first, end).flatMap((block) => (block.stays ? [] : block.units)))
  return withUnits(state, (unit) => !omitted.has(unit))
}

/** Returns the latest possible cut, as an index in `blocks`. At least one block with messages must stay. */
function lastCut(blocks: readonly Block[], first: number): number {
  const stays = blocks.some((block, index) => (block.stays || index < first) && block.units.some(isSent))
  if (stays) return blocks.length
  return blocks.findLastIndex((block) => block.units.some(isSent))
}

/** Returns the smallest number from `from` to `to` that fits, or null. All numbers above it must fit too. */
export const firstFit = (from: number, to: number, fits: (index: number) => boolean): number | null =>
  from > to || !fits(to) ? null : firstIndex(from, to, fits)
