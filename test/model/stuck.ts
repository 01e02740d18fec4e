/** A naive reading of loops on HEAD's branch, recomputed from the whole log and compared field by field. */

import { isDeepStrictEqual } from 'node:util'
import type { Fact } from '../../src/event/quarantine.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import type { StuckThresholds } from '../../src/context/stuck.ts'
import { readBranch } from './branch.ts'
import { headAt } from './naive.ts'
import { readTree } from './tree.ts'
import { itemsOf, type Item, hasPendingCall, type Unit } from './unit.ts'

type Batch = Extract<Unit, { readonly type: 'batch' }>

export interface LoopReading {
  readonly pattern: keyof StuckThresholds | null
  readonly ids: readonly string[]
  /** Whether to nudge the model before it is stuck. */
  readonly nudge: boolean
}

/** The reading after all facts; `alternating_pattern` is at least 3. */
export function readLoops(facts: readonly Fact[], thresholds: StuckThresholds): LoopReading {
  const nodes = readTree(facts)
  const { units: allUnits, lastUserMessage } = readBranch(nodes, headAt(nodes, facts.length))
  const { action_observation, action_error, monologue, alternating_pattern } = thresholds
  const size = 10 * Math.max(action_observation, action_error + 1, monologue, alternating_pattern)

  let start = 0
  for (const [index, unit] of allUnits.entries()) {
    const isUserMessage = unit.type === 'message' && sourceOf(unit.item) === 'user'
    if (isUserMessage || hasPendingCall(unit) || unit.rank < (lastUserMessage ?? -1)) start = index + 1
  }
  const units = allUnits.slice(Math.max(start, allUnits.length - size))
  const steps = units.filter((unit): unit is Batch => unit.type === 'batch')
  const last = (count: number) => (steps.length >= count ? steps.slice(-count) : null)

  const repeated = last(action_observation)
  if (repeated?.every((step) => !isFailed(step) && equalSteps(step, repeated[0] as Batch)))
    return stuckBy('action_observation', repeated)
  const errors = last(action_error + 1)
  if (errors?.every((step) => isFailed(step) && equalCalls(step, errors[0] as Batch)))
    return stuckBy('action_error', errors)
  const messages = units
    .slice(units.findLastIndex((unit) => unit.type === 'batch') + 1)
    .filter(isAgentMessage)
  if (messages.length >= monologue) return stuckBy('monologue', messages.slice(-monologue))
  const turns = last(alternating_pattern)
  if (turns?.every((step, index) => index < 2 || equalSteps(step, turns[index - 2] as Batch)) === true)
    if (!equalSteps(turns[0] as Batch, turns[1] as Batch)) return stuckBy('alternating_pattern', turns)

  const streak = last(action_error)
  const before = steps.at(-action_error - 1)
  const newest = steps.at(-1)
  const isStreak = streak?.every((step) => isFailed(step) && equalCalls(step, newest as Batch)) === true
  const isLonger = before !== undefined && isFailed(before) && equalCalls(before, newest as Batch)
  const isNudged = streak !== null && units.slice(units.indexOf(streak[0] as Unit)).some(isNudge)
  return { pattern: null, ids: [], nudge: isStreak && !isLonger && !isNudged }
}

const stuckBy = (pattern: keyof StuckThresholds, proof: readonly Unit[]): LoopReading => ({
  pattern,
  ids: proof.flatMap((unit) => itemsOf(unit).map((item) => item.id)),
  nudge: false,
})

const sourceOf = ({ event }: Item): string | null => (event.kind === 'MessageEvent' ? event.source : null)
const isAgentMessage = (unit: Unit): boolean =>
  unit.type === 'message' &&
  sourceOf(unit.item) === 'agent' &&
  outcomeOf(unit.item) !== 'paused' &&
  !isLost(unit.item)
const outcomeOf = ({ event }: Item): unknown =>
  event.kind === 'MessageEvent' &&
  (event.llm_message as { readonly reply?: { readonly outcome?: unknown } | null }).reply?.outcome
// oxlint-disable-next-line no-control-regex -- Python's white space
const isBlank = (text?: string | null): boolean => /^[\s\u0085\u001c-\u001f]*$/.test(text ?? '')
/** Whether no request contains anything of a failed or broken-off reply. */
function isLost(item: Item): boolean {
  const { event } = item
  if (event.kind !== 'MessageEvent' || !['failed', 'broken_off'].includes(outcomeOf(item) as string))
    return false
  const { role, content, reasoning_content, thinking_blocks, responses_reasoning_item } = event.llm_message
  const { parts } = (event.llm_message as { readonly reply?: { readonly parts?: unknown } }).reply ?? {}
  const isEmpty = [...(content ?? []), ...(event.extended_content ?? [])].every((part) =>
    part.type === 'text'
      ? isBlank(part.text as string)
      : part.type === 'image' && isDeepStrictEqual(part.image_urls, []),
  )
  const hasOthers = Array.isArray(parts) && parts.some((part) => Object.hasOwn(Object(part), 'other'))
  const reasons =
    !isBlank(reasoning_content) || (thinking_blocks ?? []).length > 0 || responses_reasoning_item
  return role === 'tool' || (isEmpty && (role !== 'assistant' || !(reasons || hasOthers)))
}
const isFailed = (step: Batch): boolean =>
  step.results.every(
    ({ event }) =>
      event.kind === 'AgentErrorEvent' ||
      (event.kind === 'ObservationEvent' && event.observation.is_error === true),
  )

function isNudge(unit: Unit): boolean {
  if (unit.type !== 'message' || unit.item.event.kind !== 'MessageEvent') return false
  const { source, llm_message } = unit.item.event
  const texts = (llm_message.content ?? []).map((part) => ('text' in part ? String(part.text) : ''))
  return source === 'environment' && texts.some((text) => text.startsWith('[Repeated error]'))
}

/** Whether both steps made the same calls. */
function equalCalls(one: Batch, other: Batch): boolean {
  return equalSets(
    one.calls.map(({ event }) => callContent(event)),
    other.calls.map(({ event }) => callContent(event)),
  )
}

/** Whether both steps made the same calls with the same results. */
function equalSteps(one: Batch, other: Batch): boolean {
  const read = (step: Batch) =>
    step.results.map(({ event, call }) => [
      callContent(step.calls.find(({ position: index }) => index === call)?.event as Event),
      resultContent(event),
    ])
  return equalSets(read(one), read(other))
}

const equalSets = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  [
    [some, others],
    [others, some],
  ].every(([a = [], b = []]) => a.every((x) => b.some((y) => isDeepStrictEqual(x, y))))

function callContent(event: Event): unknown {
  const { source = 'agent', tool_name, action, tool_call } = event as ActionEvent
  if (action !== null && action !== undefined) return plain({ source, tool_name, action })
  try {
    return plain({ source, tool_name, json: JSON.parse(tool_call.arguments) as unknown })
  } catch {
    return plain({ source, tool_name, text: tool_call.arguments })
  }
}

function resultContent(event: Event): unknown {
  if (event.kind === 'AgentErrorEvent') return plain({ error: event.error })
  if (event.kind === 'ObservationEvent')
    return plain({ tool: event.tool_name, observation: event.observation })
  return 'rejected'
}

/** Serialized, so that 0 and -0 are equal. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
