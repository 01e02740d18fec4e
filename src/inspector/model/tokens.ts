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

const NONE: Tokens = { system: 0, tools: 0, user: 0, agent: 0, reasoning: 0, calls: 0, results: 0 }

const COUNTED = new WeakMap<Unit, Tokens>()

/** About how many tokens a state takes, by their parts. O(units), and O(content) of the units that are new. */
export function tokensOf({ branch }: State): Tokens {
  const sums = { ...NONE }
  for (const unit of branch.view.units) {
    const tokens = tokensOfUnit(unit)
    for (const part of PARTS) sums[part] += tokens[part]
  }
  const prompt = branch.systemPrompt?.event
  if (branch.view.length === 0 || prompt === undefined) return sums
  const content = [prompt.system_prompt, ...(prompt.dynamic_context ? [prompt.dynamic_context] : [])]
  sums.system = estimateTokens([{ role: 'system', content }])
  sums.tools = prompt.tools.length === 0 ? 0 : ofText(JSON.stringify(prompt.tools))
  return sums
}

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

/** Where a budget of tokens would cut a state. O(content of the view · log units). */
export function budgetLine(state: State, budget: number): BudgetLine {
  const fit = fitToBudget(state, estimateTokens, budget)
  if (fit.type === 'fit') return { cut: fit.cut, left: budget - fit.tokens, refused: null }
  return { cut: 0, left: budget - fit.reason.tokens, refused: fit.reason.message }
}
