/** Explains whether a budget omits an event from the request, or whether a mask replaces the event. */

import { type FitOptions, fitToBudget } from '../context/budget.ts'
import { type CountTokens, estimateTokens } from '../context/estimate.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import type { State } from '../state/state.ts'
import { isPending } from '../view/units.ts'
import type { NoteCode, Reason } from './explanation.ts'
import { findUnit, type Subject } from './subject.ts'

/** How your program shortens requests. */
export interface SentOptions extends Omit<FitOptions, 'write'> {
  /** Maximum tokens of a request, as for `fitToBudget`. Default: unlimited. */
  readonly budget?: number
  /** Counts the tokens of messages. Default: `estimateTokens`. */
  readonly count?: CountTokens
  /** Shortens old results, as `observationMasking` does. Default: none. */
  readonly mask?: (messages: readonly NeutralMessage[]) => readonly NeutralMessage[]
}

export function sentNotes(state: State, subject: Subject, options: SentOptions): Reason<NoteCode>[] {
  const { budget, mask, count = estimateTokens, ...limits } = options
  let sent = state
  if (budget !== undefined) {
    const states = new Map<readonly NeutralMessage[], State>()
    const write = (each: State): readonly NeutralMessage[] => {
      const plain = toMessages(each)
      const messages = mask === undefined ? plain : mask(plain)
      states.set(messages, each)
      return messages
    }
    const fit = fitToBudget(state, count, budget, { ...limits, write })
    if (fit.type === 'refuse') return [overBudget(`nothing is sent: ${fit.reason.message}`)]
    sent = states.get(fit.messages) ?? state
    if (findUnit(sent.branch.view, subject) === undefined) {
      const which = `one of the ${fit.cut} oldest events of the view that may be omitted`
      return [overBudget(`the budget of ${budget} tokens omits it, because it is ${which}`)]
    }
  }
  if (mask === undefined || !isMasked(sent, subject, mask)) return []
  const text = 'the mask replaces it with a short text, because it is old'
  return [{ code: 'masked', rule: 'D24', law: null, text, ids: [] }]
}

const overBudget = (text: string) => ({ code: 'over_budget', rule: 'U8', law: null, text, ids: [] }) as const

function isMasked(state: State, { entry }: Subject, mask: NonNullable<SentOptions['mask']>): boolean {
  const plain = toMessages(state)
  const results = [...state.branch.view.units].flatMap((unit) =>
    unit.type === 'batch' && !isPending(unit) ? Array.from(unit.results, (one) => one.entry.seq) : [],
  )
  const resultIndex = results.indexOf(entry.seq)
  if (resultIndex < 0) return false
  const messageIndex = plain.flatMap(({ role }, index) => (role === 'tool' ? [index] : []))[resultIndex]
  return messageIndex !== undefined && mask(plain)[messageIndex] !== plain[messageIndex]
}
