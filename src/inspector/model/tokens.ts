/** Estimated tokens of a state, by what they are for; each unit is counted once, whatever states hold it. */

import { estimateTokens } from '../../context/estimate.ts'
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
