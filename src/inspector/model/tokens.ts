/** Estimated tokens of a state, by what they are for; each unit is counted once, whatever states hold it. */

import { estimateTokens } from '../../context/estimate.ts'
import { fitToBudget } from '../../context/budget.ts'
import { batchMessages } from '../../messages/batch.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import { renderMessage } from '../../messages/render-message.ts'
import type { State } from '../../state/state.ts'
import { isPending, type Unit } from '../../view/unit.ts'

/** What tokens are for, in the order in which they are shown. */
export const PARTS = ['system', 'tools', 'user', 'agent', 'reasoning', 'calls', 'results'] as const

export type Part = (typeof PARTS)[number]

export type Tokens = Readonly<Record<Part, number>>

export const NONE: Tokens = { system: 0, tools: 0, user: 0, agent: 0, reasoning: 0, calls: 0, results: 0 }

const COUNTED = new WeakMap<Unit, Tokens>()

/** What stands in front of a request: the system prompt and, as far as the log tells them, the tools. O(size). */
export function frontTokens({ branch }: State): Pick<Tokens, 'system' | 'tools'> {
  const prompt = branch.systemPrompt?.event
  if (branch.view.length === 0 || prompt === undefined) return { system: 0, tools: 0 }
  const known = FRONT.get(prompt)
  if (known !== undefined) return known
  const content = [prompt.system_prompt, ...(prompt.dynamic_context ? [prompt.dynamic_context] : [])]
  const front = {
    system: estimateTokens([{ role: 'system', content }]),
    tools: prompt.tools.length === 0 ? 0 : ofText(JSON.stringify(prompt.tools)),
  }
  FRONT.set(prompt, front)
  return front
}

const FRONT = new WeakMap<object, Pick<Tokens, 'system' | 'tools'>>()

/** All of them. */
export const totalOf = (tokens: Tokens): number => PARTS.reduce((sum, part) => sum + tokens[part], 0)

/** About how many tokens a unit takes; none while it is pending, and for a system prompt, which is sent once. */
export function tokensOfUnit(unit: Unit): Tokens {
  const known = COUNTED.get(unit)
  if (known !== undefined) return known
  const sums = { ...NONE }
  for (const message of messagesOf(unit)) add(sums, message)
  COUNTED.set(unit, sums)
  return sums
}

function messagesOf(unit: Unit): readonly NeutralMessage[] {
  if (isPending(unit)) return []
  if (unit.type === 'batch') return [...batchMessages(unit, { reason: '', maxResultLength: Infinity })]
  if (unit.item.event.kind === 'SystemPromptEvent') return []
  const said = renderMessage(unit.item.event)
  return said === null ? [] : [said.message]
}

function add(sums: Record<Part, number>, message: NeutralMessage): void {
  if (message.role === 'tool') sums.results += estimateTokens([message])
  else if (message.role === 'user') sums.user += estimateTokens([message])
  else if (message.role === 'system') sums.system += estimateTokens([message])
  else {
    const all = estimateTokens([message])
    const bare = { ...message, thinking_blocks: [], reasoning_content: null, responses_reasoning_item: null }
    const calls = message.tool_calls.map((call) => ({ ...call, responses_reasoning_item: null }))
    const silent = estimateTokens([{ ...bare, tool_calls: calls }])
    const said = estimateTokens([{ ...bare, tool_calls: [] }])
    sums.reasoning += all - silent
    sums.calls += silent - said
    sums.agent += said
  }
}

const ofText = (text: string): number =>
  estimateTokens([{ role: 'system', content: [{ type: 'text', text }] }])

/** What a budget leaves out. */
export interface BudgetLine {
  /** The events of the view before it are left out, but for those that stay; 0 where all of it fits. */
  readonly cut: number
  /** What is left of the budget; below 0 where the least that may be sent is over it. */
  readonly left: number
  readonly refused: string | null
}

/**
 * Where a budget of tokens would cut a state. Each unit counts by itself, so that a message that is joined to the next
 * one counts its frame once more than `fitToBudget` counts it. O(units · log units).
 */
export function budgetLine(state: State, budget: number): BudgetLine {
  const front = frontTokens(state)
  const left = budget - front.system - front.tools
  const units = new WeakMap<NeutralMessage, Unit>()
  const write = ({ branch }: State): NeutralMessage[] =>
    [...branch.view.units]
      .filter((unit) => !isPending(unit))
      .map((unit) => {
        const message: NeutralMessage = { role: 'system', content: [] }
        units.set(message, unit)
        return message
      })
  const count = (messages: readonly NeutralMessage[]): number =>
    messages.reduce((sum, message) => sum + totalOf(tokensOfUnit(units.get(message) as Unit)), 0)
  const fit = fitToBudget(state, count, Math.max(0, left), { write })
  if (fit.type === 'fit') return { cut: fit.cut, left: left - fit.tokens, refused: null }
  const least = fit.reason.tokens + front.system + front.tools
  return { cut: 0, left: budget - least, refused: `the least that may be sent takes ${least} tokens` }
}
