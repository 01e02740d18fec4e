import type { State } from '../../state/state.ts'
import { eventCount, isDerived, isNoReply, isPending, stretchStarts, type Unit } from '../../view/units.ts'
import type { View } from '../../view/view.ts'
import { fixedUnits } from '../../context/blocks.ts'
import { estimateTokens } from '../../context/estimate.ts'
import { batchMessages } from '../../messages/results.ts'
import { memoize } from '../../messages/digest.ts'
import type { SystemPromptEvent } from '../../event/types.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import { isSent, renderMessage } from '../../messages/neutral.ts'

export interface Reading {
  readonly state: State
  readonly units: readonly Unit[]
  readonly tokens: Tokens
  readonly sizes: Float64Array
  /** 1 for each position whose event is in a unit, even in a pending batch. */
  readonly marks: Uint8Array
  /** For each unit, the index of the first unit of its stretch. */
  readonly starts: Int32Array
  /** Tokens of the units, without system prompt and tools. */
  readonly messageTokens: Tokens
}

const SLICE = 64

/** Counts a view's tokens, yielding between steps. Units of the earlier reading `before` are not counted again. */
export function* reading(state: State, before: Reading | null = null): Generator<undefined, Reading> {
  const units = state.branch.view.units.slice()
  const same = before === null ? 0 : sameUnits(before.units, units)
  const messageTokens = { ...(before?.messageTokens ?? NO_TOKENS) }
  const marks = extended(new Uint8Array(state.log.entries.length), before?.marks)
  const sizes = extended(new Float64Array(units.length), before?.sizes.subarray(0, same))
  for (let index = same; index < (before?.units.length ?? 0); index += 1) {
    const unit = before?.units[index] as Unit
    add(messageTokens, unit, -1)
    mark(unit, marks, 0)
    if (index % SLICE === SLICE - 1) yield
  }
  for (let index = same; index < units.length; index += 1) {
    const unit = units[index] as Unit
    add(messageTokens, unit, 1)
    mark(unit, marks, 1)
    sizes[index] = totalOf(tokensOfUnit(unit))
    if (index % SLICE === SLICE - 1) yield
  }
  const front = frontTokens(state)
  const tokens = {
    ...messageTokens,
    system: messageTokens.system + front.system,
    tools: messageTokens.tools + front.tools,
  }
  yield
  return { state, units, tokens, sizes, marks, starts: startsOf(units, same, before?.starts), messageTokens }
}

export function readAtOnce(state: State, before: Reading | null = null): Reading {
  const steps = reading(state, before)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

function sameUnits(some: readonly Unit[], others: readonly Unit[]): number {
  const different = some.findIndex((unit, index) => unit !== others[index])
  return different < 0 ? some.length : different
}

function extended<T extends Uint8Array | Int32Array | Float64Array>(array: T, start: T | undefined): T {
  if (start !== undefined) array.set(start.subarray(0, array.length))
  return array
}

function startsOf(units: readonly Unit[], same: number, known: Int32Array | undefined): Int32Array {
  // Earlier starts are known, so begin at the last independent unit before the first difference.
  let from = Math.max(0, Math.min(same, units.length) - 1)
  while (from > 0 && !isNoReply(units[from] as Unit)) from -= 1
  const starts = extended(new Int32Array(units.length), known?.subarray(0, from))
  for (const [index, start] of stretchStarts(units.slice(from)).entries()) starts[from + index] = from + start
  return starts
}

function add(sums: Record<keyof Tokens, number>, unit: Unit, by: 1 | -1): void {
  const ownTokens = tokensOfUnit(unit)
  for (const part of TOKEN_GROUPS) sums[part] += by * ownTokens[part]
}

function mark(unit: Unit, marks: Uint8Array, as: 0 | 1): void {
  if (unit.type === 'message') {
    // A derived summary is not in the log.
    if ('seq' in unit.item) marks[(unit.item as { readonly seq: number }).seq] = as
    return
  }
  for (const { seq } of unit.calls) marks[seq] = as
  for (const { entry } of unit.results) marks[entry.seq] = as
}

export interface UnitRow {
  readonly unit: Unit
  readonly index: number
  readonly position: number
  readonly isCut: boolean
  readonly isPending: boolean
  readonly summaryOf: string | null
}

/** Returns the rows of units from index `from`. If `starts` is null, the rows have no cut points. */
export function unitRows({ units, length }: View, from: number, starts: Int32Array | null): UnitRow[] {
  const slice = units.slice(from)
  let position = length - slice.reduce((sum, unit) => sum + eventCount(unit), 0)
  return slice.map((unit, offset) => {
    const index = from + offset
    const row = {
      unit,
      index,
      position,
      isCut: starts?.[index] === index,
      isPending: isPending(unit),
      summaryOf: summaryOf(unit),
    }
    position += eventCount(unit)
    return row
  })
}

const SUMMARY = '-summary'

function summaryOf(unit: Unit): string | null {
  if (unit.type === 'batch' || !isDerived(unit) || !unit.item.id.endsWith(SUMMARY)) return null
  return unit.item.id.slice(0, -SUMMARY.length)
}

export interface BudgetLine {
  /** Index in the view. Earlier events are omitted, except those that always stay; 0 if none are omitted. */
  readonly cut: number
  /** Remaining tokens of the budget; negative if even the minimum request exceeds the budget. */
  readonly remaining: number
  readonly refused: string | null
}

/** Estimates where `fitToBudget` would cut. Counts units separately, even if a request merges them. */
export function budgetLine(
  { state, units, sizes, starts, messageTokens }: Reading,
  budget: number,
): BudgetLine {
  const { system, tools } = frontTokens(state)
  const front = system + tools
  let tokens = totalOf(messageTokens) + front
  const limit = Math.max(budget, front)
  if (tokens <= limit) return { cut: 0, remaining: budget - tokens, refused: null }
  const fixed = fixedUnits(units, state.branch.systemPrompt?.id ?? null)
  const stays = (unit: Unit): boolean => fixed.has(unit) || isPending(unit)
  const last = lastCut(units, starts, stays)
  let position = 0
  for (let from = 0; from < last;) {
    let end = from + 1
    while (starts[end] === from) end += 1
    let [size, isKept] = [0, false]
    for (let index = from; index < end; index += 1) {
      const unit = units[index] as Unit
      position += eventCount(unit)
      size += sizes[index] ?? 0
      isKept ||= stays(unit)
    }
    if (!isKept) tokens -= size
    if (tokens <= limit && position > 0) return { cut: position, remaining: budget - tokens, refused: null }
    from = end
  }
  return { cut: 0, remaining: budget - tokens, refused: `the minimum request has ${tokens} tokens` }
}

function lastCut(units: readonly Unit[], starts: Int32Array, stays: (unit: Unit) => boolean): number {
  const stored = new Set<number>()
  for (const [index, unit] of units.entries()) if (stays(unit)) stored.add(starts[index] as number)
  let last = 0
  for (let index = units.length - 1; index >= 0; index -= 1) {
    if (!isSent(units[index] as Unit)) continue
    const start = starts[index] as number
    if (stored.has(start)) return units.length
    last = Math.max(last, start)
  }
  return last
}

export const TOKEN_GROUPS = ['system', 'tools', 'user', 'agent', 'reasoning', 'calls', 'results'] as const

type TokenGroup = (typeof TOKEN_GROUPS)[number]

export type Tokens = Readonly<Record<TokenGroup, number>>

export const NO_TOKENS = Object.fromEntries(TOKEN_GROUPS.map((group) => [group, 0])) as Tokens

type FrontTokens = Pick<Tokens, 'system' | 'tools'>

export function frontTokens({ branch }: State): FrontTokens {
  const prompt = branch.systemPrompt?.event
  return branch.view.length === 0 || prompt === undefined ? NO_TOKENS : promptTokens(prompt)
}

const promptTokens = memoize(({ system_prompt, dynamic_context, tools }: SystemPromptEvent): FrontTokens => {
  const content = [system_prompt, ...(dynamic_context ? [dynamic_context] : [])]
  return {
    system: estimateTokens([{ role: 'system', content }]),
    tools: tools.length === 0 ? 0 : ofText(JSON.stringify(tools)),
  }
})

export const totalOf = (tokens: Tokens): number => TOKEN_GROUPS.reduce((sum, part) => sum + tokens[part], 0)

/** Returns a unit's tokens; 0 while the unit is pending, and for a system prompt. */
export const tokensOfUnit = memoize((unit: Unit): Tokens => {
  const sums = { ...NO_TOKENS }
  for (const message of unitMessages(unit)) addMessage(sums, message)
  return sums
})

function unitMessages(unit: Unit): readonly NeutralMessage[] {
  if (isPending(unit)) return []
  if (unit.type === 'batch') return [...batchMessages(unit, { reason: '', maxResultLength: Infinity })]
  if (unit.item.event.kind === 'SystemPromptEvent') return []
  const messageTokens = renderMessage(unit.item.event)
  return messageTokens === null ? [] : [messageTokens.message]
}

function addMessage(sums: Record<TokenGroup, number>, message: NeutralMessage): void {
  const all = estimateTokens([message])
  if (message.role !== 'assistant') {
    sums[message.role === 'tool' ? 'results' : message.role] += all
    return
  }
  const bare = { ...message, thinking_blocks: [], reasoning_content: null, responses_reasoning_item: null }
  const calls = message.tool_calls.map((call) => ({ ...call, responses_reasoning_item: null }))
  const silent = estimateTokens([{ ...bare, tool_calls: calls }])
  const agent = estimateTokens([{ ...bare, tool_calls: [] }])
  sums.reasoning += all - silent
  sums.calls += silent - agent
  sums.agent += agent
}

const ofText = (text: string): number =>
  estimateTokens([{ role: 'system', content: [{ type: 'text', text }] }])
