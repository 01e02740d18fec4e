/** K1 to K5: condensations, cuts and the requests after them. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { Condensation } from '../../src/event/types.ts'
import { fitToBudget } from '../../src/context/budget.ts'
import {
  type CondensationLimits,
  condensationOf,
  type CondensationPlan,
  planCondensation,
} from '../../src/context/condenser/rolling.ts'
import { summaryRequest } from '../../src/context/condenser/summary-request.ts'
import { estimateTokens } from '../../src/context/estimate.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { isPending, stretchStarts, unitEvents, type ViewItem } from '../../src/view/units.ts'
import { cutPointsIn, viewEventsIn } from '../../src/view/view.ts'
import { readBranch } from '../../test/model/branch.ts'
import { headAt } from '../../test/model/naive.ts'
import { readTree } from '../../test/model/tree.ts'
import { describeBranch, describeReading, describeUnit } from './describe.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { branchesOf, checkGrammars, checkNeutral, checkThinking, checkWords } from './messages.ts'
import { checkUnits } from './view.ts'

export type Condensed =
  | 'condensed'
  | 'request_condensed'
  | 'tokens_condensed'
  | 'nothing_to_forget'
  | 'over_budget'
  | 'around_last_user_message'
  | 'around_system_prompt'
  | 'pending_in_between'
  | 'loop_forgotten'
  | 'summary_forgotten'
  | 'several_times'
  | 'cut'
  | 'cut_refused'

type Met = (situation: Condensed) => void

const TRIES: readonly ((state: State) => CondensationLimits)[] = [
  () => ({ maxEvents: 4, keepFirst: 0 }),
  () => ({ maxEvents: 8 }),
  (state) => ({ maxTokens: Math.max(1, Math.floor(estimateTokens(toMessages(state)) / 2)) }),
]

/** K1 to K5 at HEAD and on other branches. */
export function checkCondensing(facts: readonly Fact[], met: Met = () => undefined): void {
  for (const [index, state] of branchesOf(facts).slice(0, 3).entries()) {
    const before = describeBranch(state.branch)
    for (const limits of TRIES) {
      condenseUntilDone(state, limits(state), met, () => null)
      condenseUntilDone(requested(state, 0), limits(state), met, requested)
    }
    same('K1', 'the state after planning', describeBranch({ ...state.branch }), before)
    if (index === 0) checkAfter(facts, state)
  }
}

const requested = (state: State, round: number): State =>
  reduce(state, { kind: 'CondensationRequest', id: `asked-${round}`, source: 'environment' })

/** K2, K3: each condensation shortens the view, and repetition terminates. */
function condenseUntilDone(
  input: State,
  limits: CondensationLimits,
  met: Met,
  askAgain: (state: State, round: number) => State | null,
): void {
  let state = input
  for (let round = 0; ; round += 1) {
    const plan = total('K3', 'planning', () => planCondensation(state, limits))
    same('K3', 'the second plan', planText(planCondensation(state, limits)), planText(plan))
    const { length, unhandledCondensationRequest: requests } = state.branch.view
    if (plan.type === 'keep') {
      hold('K3', !requests && length <= (limits.maxEvents ?? 240), 'a view that must be condensed was kept')
      break
    }
    if (plan.type === 'refuse') {
      met(plan.reason.code as Condensed)
      hold('K3', plan.reason.again === 'never', 'a refusal is not permanent')
      break
    }
    noteWhat(state, plan, met)
    if (round > 0) met('several_times')
    checkPlan(state, plan)
    checkRequest(plan)
    const event = { ...condensationOf(plan, 'summary'), id: `condensed-${round}` }
    const after = total('K2', 'reduce', () => reduce(state, event))
    checkApplied(state, after, event)
    state = askAgain(after, round + 1) ?? after
  }
}

const planText = (plan: ReturnType<typeof planCondensation>): string =>
  JSON.stringify(plan.type === 'plan' ? { ...plan, units: plan.units.map(describeUnit) } : plan)

/** K1: listed events are in the view, form whole units, and include none that must stay. */
function checkPlan(state: State, plan: CondensationPlan): void {
  const { view, systemPrompt } = state.branch
  const items = [...viewEventsIn(view)]
  const listed = new Set(plan.forgottenIds)
  const points = new Set(cutPointsIn(view))
  hold('K1', listed.size >= 2, 'a condensation lists fewer than two events')
  same(
    'K1',
    'listed ids',
    plan.forgottenIds,
    items.filter(({ id }) => listed.has(id)).map(({ id }) => id),
  )
  for (let index = 0; index <= items.length; index += 1) {
    const [left, right] = [items[index - 1], items[index]].map(
      (item) => item !== undefined && listed.has(item.id),
    )
    hold('K1', left === right || points.has(index), () => `position ${index} is not a cut point`)
  }
  hold('K1', systemPrompt === null || !listed.has(systemPrompt.id), 'the system prompt is removed')
  const lastUser = items.findLast(isUser)
  hold('K1', lastUser === undefined || !listed.has(lastUser.id), 'the last user message is removed')
}

const isUser = ({ event }: ViewItem): boolean => event.kind === 'MessageEvent' && event.source === 'user'

/** K1, K2: only the listed events are missing, a summary follows them, pending calls remain, and the view is shorter. */
function checkApplied(before: State, after: State, event: Condensation & { readonly id: string }): void {
  const listed = new Set(event.forgotten_event_ids)
  const was = [...viewEventsIn(before.branch.view)].map(({ id }) => id)
  const is = [...viewEventsIn(after.branch.view)].map(({ id }) => id)
  const last = was.findLastIndex((id) => listed.has(id))
  const head = was.slice(0, last).filter((id) => !listed.has(id))
  same('K1', 'the view after a condensation', is, [...head, `${event.id}-summary`, ...was.slice(last + 1)])
  same('K1', 'the offset of its summary', event.summary_offset, head.length)
  same('K1', 'pending batches', pendingOf(after), pendingOf(before))
  hold('K2', is.length < was.length, 'a condensation did not shorten the view')
  hold('K2', !after.branch.view.unhandledCondensationRequest, 'a condensation left its request unhandled')
}

const pendingOf = ({ branch: { view } }: State): object[] =>
  [...view.units].filter(isPending).map(describeUnit)

/** K5: the summariser receives every removed event, and summaries verbatim. */
function checkRequest(plan: CondensationPlan): void {
  const items = plan.units.flatMap((unit) => [...unitEvents(unit)])
  const summaries = items.flatMap(({ event }) =>
    event.kind === 'CondensationSummaryEvent' ? [event.summary] : [],
  )
  for (const [eventBudget, totalBudget] of [
    [10_000, 400_000],
    [200, 1_000],
  ] as const) {
    const request = total('K5', 'summaryRequest', () => summaryRequest(plan, { eventBudget, totalBudget }, 0))
    const { previousSummary, events } = request
    same(
      'K5',
      'the previous summary',
      previousSummary,
      summaries.length === 0 ? null : summaries.join('\n\n'),
    )
    const rest = items.filter(({ event }) => event.kind !== 'CondensationSummaryEvent').map(({ id }) => id)
    same(
      'K5',
      'events to be summarised',
      events.map(({ id }) => id),
      rest,
    )
    const lengths = events.map(({ text }) => text.length)
    hold('K5', Math.max(0, ...lengths) <= eventBudget, 'the text of an event is over its budget')
    hold(
      'K5',
      lengths.reduce((sum, length) => sum + length, 0) <= totalBudget,
      'the texts together are over the budget',
    )
  }
}

function noteWhat(state: State, plan: CondensationPlan, met: Met): void {
  met('condensed')
  if (plan.triggers.includes('request')) met('request_condensed')
  if (plan.triggers.includes('tokens')) met('tokens_condensed')
  const gone = new Set(plan.units)
  const units = [...state.branch.view.units]
  const from = units.findIndex((unit) => gone.has(unit))
  const between = units
    .slice(
      from,
      units.findLastIndex((unit) => gone.has(unit)),
    )
    .filter((unit) => !gone.has(unit))
  if (between.some(isPending)) met('pending_in_between')
  const items = between.filter((unit) => !isPending(unit)).flatMap((unit) => [...unitEvents(unit)])
  if (items.some(isUser)) met('around_last_user_message')
  if (items.some(({ id }) => id === state.branch.systemPrompt?.id)) met('around_system_prompt')
  if (plan.units.some((unit) => unit.type === 'batch' && unit.thinking)) met('loop_forgotten')
  if (plan.units.some((unit) => unit.type === 'message' && summarised(unit.item))) met('summary_forgotten')
}

const summarised = (item: ViewItem): boolean => item.event.kind === 'CondensationSummaryEvent'

/** K1: laws V and M hold after the condensation. */
function checkAfter(facts: readonly Fact[], state: State): void {
  const plan = planCondensation(requested(state, 0), { maxEvents: 4, keepFirst: 0 })
  if (plan.type !== 'plan') return
  const parent = state.log.head?.id ?? null
  const log = [...facts, { ...condensationOf(plan, 'summary'), id: 'condensed', parent_id: parent }]
  const nodes = readTree(log)
  const naive = describeReading(readBranch(nodes, headAt(nodes, log.length)))
  same('V1', 'the view after a planned condensation', describeBranch(replay(log).branch), naive)
  for (const check of [checkUnits, checkGrammars, checkNeutral, checkThinking, checkWords]) check(log)
}

/** K4: a cut fits the budget, is at a cut point, keeps what must stay, and removes no more than necessary. */
export function checkFit(facts: readonly Fact[], met: Met = () => undefined): void {
  for (const state of branchesOf(facts).slice(0, 3)) {
    const all = estimateTokens(toMessages(state))
    const points = cutPointsIn(state.branch.view)
    for (const budget of [all, all - 1, Math.floor(all / 2), Math.floor(all / 8), 0]) {
      if (budget < 0) continue
      const fit = total('K4', 'fitToBudget', () => fitToBudget(state, estimateTokens, budget))
      hold(
        'K4',
        fit.calls <= 2 + Math.ceil(Math.log2(points.length)),
        `tokens were counted ${fit.calls} times, more than a binary search needs`,
      )
      if (fit.type === 'refuse') {
        met('cut_refused')
        hold('K4', fit.reason.tokens > budget, 'a cut that fits the budget was refused')
        continue
      }
      if (fit.cut > 0) met('cut')
      same('K4', 'tokens of the messages', estimateTokens(fit.messages), fit.tokens)
      hold('K4', fit.tokens <= budget, `the messages have ${fit.tokens} tokens, over the budget of ${budget}`)
      hold('K4', points.includes(fit.cut), `position ${fit.cut} is not a cut point`)
      hold('K4', fit.messages.length > 0 || all === 0, 'the cut removed all messages')
      same('K4', 'messages after the cut', fit.messages, toMessages(cutAt(state, fit.cut)))
      const before = points[points.indexOf(fit.cut) - 1]
      if (before === undefined) continue
      const longer = estimateTokens(toMessages(cutAt(state, before)))
      hold(
        'K4',
        longer > budget,
        `the cut is at ${fit.cut}, although an earlier cut at ${before} fits the budget`,
      )
    }
  }
}

/** Naive cut: one condensation of all events before it. */
function cutAt(state: State, cut: number): State {
  const items = [...viewEventsIn(state.branch.view)]
  const ids = items.map(({ id }) => id)
  const lastUser = items.findLast(isUser)?.id
  // A derived summary may share its id with an event.
  const all = [...state.branch.view.units].flatMap((unit) => Array.from(unitEvents(unit), ({ id }) => id))
  const stays = new Set([
    lastUser,
    state.branch.systemPrompt?.id,
    ...all.filter((id, index) => all.indexOf(id) < index),
    ...goneOnWith(state),
  ])
  const forgotten = wholeUnits(state, stays, ids.slice(0, cut))
  return reduce(state, {
    kind: 'Condensation',
    id: 'cut',
    llm_response_id: '',
    forgotten_event_ids: forgotten,
  })
}

function goneOnWith({ branch }: State): string[] {
  const units = [...branch.view.units]
  const starts = stretchStarts(units)
  const waiting = new Set(units.flatMap((unit, index) => (isPending(unit) ? [starts[index]] : [])))
  return units.flatMap((unit, index) =>
    waiting.has(starts[index]) ? Array.from(unitEvents(unit), ({ id }) => id) : [],
  )
}

function wholeUnits(state: State, stays: ReadonlySet<string | undefined>, ids: readonly string[]): string[] {
  const points = cutPointsIn(state.branch.view)
  return points.flatMap((from, index) => {
    const part = ids.slice(from, points[index + 1])
    return part.some((id) => stays.has(id)) ? [] : part
  })
}
