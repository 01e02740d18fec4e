import { checkNumber, checkOptionNames, invalid, invalidArgument } from '../../event/check-value.ts'
import type { Condensation } from '../../event/types.ts'
import { toMessages } from '../../messages/neutral.ts'
import { isWhitespace } from '../../messages/text.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { isWaitingForSummary } from '../../state/summary-failure.ts'
import { type Unit, unitEvents } from '../../view/units.ts'
import { type Block, blocksBefore, blocksOf, type Permissions } from '../blocks.ts'
import { firstFit, withoutBlocks, type WriteMessages } from '../budget.ts'
import { counted, type CountTokens, estimateTokens } from '../estimate.ts'
import type {
  CondensationTrigger,
  Condenser,
  CondenserDecision,
  RefusalCode,
  RefusalReason,
} from './condenser.ts'
import { checkBudget, type SummaryBudget, type SummaryRequest, summaryRequest } from './summary-request.ts'

/** When a view is condensed, and by how much. */
export interface CondensationLimits extends Permissions {
  /** Maximum number of events in the view. A longer view is cut to about half the maximum. Default: 240. */
  readonly maxEvents?: number
  /** Maximum tokens of a request. A longer request is cut to about half the maximum. Default: unlimited. */
  readonly maxTokens?: number
  /** Counts tokens. Default: `estimateTokens`. */
  readonly count?: CountTokens
  /** Returns the messages whose tokens are counted. Default: `toMessages`. */
  readonly write?: WriteMessages
  /** Number of events that stay at the start of the view, rounded up to a cut point. Default: 2. */
  readonly keepFirst?: number
  /**
   * Minimum share of the view's events, above 0 and below 1, that an optional condensation must forget.
   * Default: 0.1.
   */
  readonly minimumProgress?: number
}

const LIMIT_NAMES =
  'maxEvents maxTokens count write keepFirst minimumProgress forgetSystemPrompt forgetLastUserMessage'

type CheckedLimits = Permissions & Required<Omit<CondensationLimits, keyof Permissions>>

function checkLimits(limits: CondensationLimits): CheckedLimits {
  const { maxEvents = 240, maxTokens = Infinity, keepFirst = 2, minimumProgress = 0.1 } = limits
  checkNumber('maxEvents', maxEvents, { least: 1 })
  checkNumber('maxTokens', maxTokens, { least: 1, whole: false })
  checkNumber('keepFirst', keepFirst, { least: 0 })
  if (!(minimumProgress > 0 && minimumProgress < 1))
    throw invalid(`\`minimumProgress\` must be above 0 and below 1, not ${String(minimumProgress)}.`, {
      minimumProgress,
    })
  if (Math.floor(maxEvents / 2) - keepFirst - 1 <= 0) {
    const needed = 2 * (keepFirst + 2)
    throw invalid(
      `With \`keepFirst\` ${keepFirst}, \`maxEvents\` must be ${needed} or more, not ${maxEvents}.`,
      { maxEvents, keepFirst },
    )
  }
  const { count = estimateTokens, write = toMessages } = limits
  return { ...limits, maxEvents, maxTokens, keepFirst, minimumProgress, count, write }
}

/** A summary, and the id of the model's reply that contains it. */
export interface Summary {
  readonly text: string
  readonly llmResponseId?: string
}

/**
 * Writes a summary, usually by sending `request.prompt` to a model. If the function throws or the summary is
 * too long, the condenser calls the function again with less text, up to `retries` times.
 */
export type Summarise = (request: SummaryRequest, signal?: AbortSignal) => Promise<string | Summary>

/** Options of `rollingCondenser`. */
export interface RollingOptions extends CondensationLimits, SummaryBudget {
  readonly summarise: Summarise
  /** Maximum retries of a failed or overlong summary. Each retry halves the limits of input and output. Default: 3. */
  readonly retries?: number
}

/**
 * Returns a condenser that replaces the middle of a view with a summary, as `planCondensation` decides. The
 * summariser reads all forgotten events and the previous summary. A blank summary is refused. With
 * `maxTokens`, the condenser never returns a condensation that leaves a request above that limit.
 *
 * `run` records each failed optional condensation in the log. The condenser then waits for 16 events before
 * it calls the summariser again. Each further failure doubles the wait, up to 512 events. A condensation that
 * the log or the token limit requires does not wait. Costs as much as `planCondensation` and the
 * summariser's calls.
 * @throws ColloquyError `invalid_argument` for invalid options.
 * @example
 * const condenser = rollingCondenser({ maxEvents: 8, summarise: async ({ events }) => `${events.length} messages` })
 * const message = (id) => ({ kind: 'MessageEvent', id, source: 'agent', llm_message: { role: 'assistant',
 *   content: [{ text: id }] } })
 * const state = replay(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(message))
 * const { event } = await condenser.condense(state)
 * event.summary // '6 messages'
 * reduce(state, event).branch.view.length // 4
 */
export function rollingCondenser(options: RollingOptions): Condenser {
  checkOptionNames(options, LIMIT_NAMES, 'eventBudget totalBudget summarise retries')
  const limits = checkLimits(options)
  // Without this check, the mistake would appear only as a failed summary of a long conversation.
  if (typeof options.summarise !== 'function') invalidArgument('summarise', 'must be a function')
  const budget = checkBudget(options)
  const retries = checkNumber('retries', options.retries ?? 3, { least: 0 })
  return {
    handlesRequests: true,
    async condense(state, cancellation = {}) {
      checkOptionNames(cancellation, 'signal')
      const { signal } = cancellation
      signal?.throwIfAborted()
      const plan = planWithin(state, limits)
      if (plan.type !== 'plan') return plan
      const waits = refuse('summariser_waits', plan.triggers)
      if (!waits.reason.required && isWaitingForSummary(state)) return waits
      let refusal: CondenserDecision = refuse('summariser_failed', plan.triggers)
      for (let attempt = 0; attempt <= retries; attempt += 1) {
        const request = summaryRequest(plan, budget, attempt)
        let event: Condensation | null
        try {
          // Each attempt depends on the previous one.
          // oxlint-disable-next-line no-await-in-loop
          event = condensationEvent(plan, await options.summarise(request, signal))
        } catch (cause) {
          signal?.throwIfAborted()
          refusal = refuse('summariser_failed', plan.triggers, { cause })
          continue
        }
        signal?.throwIfAborted()
        if (event === null) return refuse('blank_summary', plan.triggers)
        if (limits.maxTokens === Infinity || !exceedsTokenLimit(reduce(state, event), limits))
          return { type: 'condense', event }
        refusal = refuse('summary_too_long', plan.triggers)
      }
      return refusal
    },
  }
}

function condensationEvent(plan: CondensationPlan, returned: string | Summary): Condensation | null {
  const { text, llmResponseId }: Summary = typeof returned === 'string' ? { text: returned } : returned
  // An untyped caller may return anything.
  return typeof text !== 'string' || isWhitespace(text) ? null : condensationOf(plan, text, llmResponseId)
}

const exceedsTokenLimit = (state: State, { maxTokens, count, write }: CheckedLimits): boolean =>
  maxTokens < Infinity && counted(count, write(state)) > maxTokens

/** The events to forget: whole stretches (U5), none of them pending. */
export interface CondensationPlan {
  readonly type: 'plan'
  readonly triggers: readonly CondensationTrigger[]
  readonly units: readonly Unit[]
  readonly forgottenIds: readonly string[]
  readonly summaryOffset: number
  /** Tokens that the kept events leave for the summary and later events; null without `maxTokens`. */
  readonly room: number | null
}

/** Minimum number of events to forget. A summary of fewer events would not make the view shorter. */
const LEAST = 2

const ROOM = 1 / 4

/**
 * Decides which events of a view to forget, and why, without calling a model. Returns `keep` if the view is
 * within the limits and the log requests no condensation. Returns `refuse` if too little can be forgotten.
 * The first events and the end of the view stay. Together with the summary, they fill about half of the
 * limit, or half of the view if the log requests a condensation. Pending calls always stay. By default, the
 * system prompt and the last user message stay too. The summary is placed after the last forgotten event. If
 * too little would be forgotten, a condensation that the log or the token limit requires can also forget the
 * first events and the end of the view.
 *
 * O(view), and with `maxTokens` O(log n) calls of the counter, each O(view).
 * @throws ColloquyError `invalid_argument` for invalid limits; the errors of the caller's functions.
 * @example
 * const message = (id) => ({ kind: 'MessageEvent', id, source: 'agent', llm_message: { role: 'assistant',
 *   content: [{ text: id }] } })
 * const state = replay(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(message))
 * planCondensation(state, { maxEvents: 8 }).forgottenIds // ['c', 'd', 'e', 'f', 'g', 'h']
 */
export function planCondensation(
  state: State,
  limits: CondensationLimits = {},
): CondensationPlan | Exclude<CondenserDecision, { type: 'condense' }> {
  checkOptionNames(limits, LIMIT_NAMES)
  return planWithin(state, checkLimits(limits))
}

function planWithin(state: State, checked: CheckedLimits): ReturnType<typeof planCondensation> {
  const triggers = triggersOf(state, checked)
  if (triggers.length === 0) return { type: 'keep' }
  const blocks = blocksOf(state, checked)
  const count = state.branch.view.length
  const first = blocksBefore(blocks, checked.keepFirst)

  const end = usualEnd(state, blocks, first, triggers, checked)
  const worth = Math.max(LEAST, count * checked.minimumProgress)
  const ways = [{ first, end, minForgotten: worth, maxRemaining: Infinity }]
  // The end of the view may be one long unit. Keep it if forgetting the rest is enough.
  if (end === blocks.length)
    ways.unshift({ first, end: end - 1, minForgotten: worth, maxRemaining: checked.maxEvents })
  if (isRequired(triggers)) {
    for (const from of [first, 0])
      ways.push({ first: from, end: blocks.length, minForgotten: LEAST, maxRemaining: Infinity })
  }
  let best: CondensationPlan | null = null
  let isOver = false
  for (const way of ways) {
    const forgotten = blocks.slice(way.first, way.end).filter((block) => !block.stays)
    const size = countEvents(forgotten)
    if (size < way.minForgotten || count - size + 1 > way.maxRemaining) continue
    const room = checked.maxTokens - tokensWithout(state, blocks, way.first, way.end, checked)
    if (room >= checked.maxTokens * ROOM) return planOf(forgotten, triggers, room)
    isOver ||= room <= 0
    if (room > (best?.room ?? 0)) best = planOf(forgotten, triggers, room)
  }
  return best ?? refuse(isOver ? 'over_budget' : 'nothing_to_forget', triggers)
}

/**
 * Returns the event that executes a plan. O(forgotten ids).
 * @throws ColloquyError `invalid_argument` for a blank summary, with which the forgotten events would be
 *   lost.
 * @example
 * const plan = { type: 'plan', triggers: ['events'], units: [], forgottenIds: ['a', 'b'], summaryOffset: 0,
 *   room: null }
 * condensationOf(plan, 'A greeting.').summary // 'A greeting.'
 */
export function condensationOf(plan: CondensationPlan, summary: string, llmResponseId = ''): Condensation {
  if (isWhitespace(summary)) throw invalid('The summary of a condensation must not be blank.', { summary })
  return {
    kind: 'Condensation',
    source: 'environment',
    forgotten_event_ids: plan.forgottenIds,
    summary,
    summary_offset: plan.summaryOffset,
    llm_response_id: llmResponseId,
  }
}

function triggersOf(state: State, limits: CheckedLimits): CondensationTrigger[] {
  const { view } = state.branch
  const triggers: CondensationTrigger[] = view.unhandledCondensationRequest ? ['request'] : []
  if (exceedsTokenLimit(state, limits)) triggers.push('tokens')
  if (view.length > limits.maxEvents) triggers.push('events')
  return triggers
}

const isRequired = (triggers: readonly CondensationTrigger[]): boolean =>
  triggers.some((trigger) => trigger !== 'events')

function usualEnd(
  state: State,
  blocks: readonly Block[],
  first: number,
  triggers: readonly CondensationTrigger[],
  limits: CheckedLimits,
): number {
  const { length } = state.branch.view
  const ends = triggers.map((trigger) => {
    if (trigger === 'tokens') {
      const half = Math.floor(limits.maxTokens / 2)
      const fits = (end: number) => tokensWithout(state, blocks, first, end, limits) <= half
      return firstFit(first + 1, blocks.length, fits) ?? blocks.length
    }
    const target = Math.floor((trigger === 'request' ? length : limits.maxEvents) / 2)
    // The summary counts as one event.
    return blocksBefore(blocks, length - Math.max(0, target - limits.keepFirst - 1))
  })
  return Math.max(...ends)
}

function tokensWithout(
  state: State,
  blocks: readonly Block[],
  first: number,
  end: number,
  { maxTokens, count, write }: CheckedLimits,
): number {
  return maxTokens === Infinity ? 0 : counted(count, write(withoutBlocks(state, blocks, first, end)))
}

const countEvents = (blocks: readonly Block[]): number => blocks.reduce((sum, block) => sum + block.count, 0)

function planOf(
  forgotten: readonly Block[],
  triggers: readonly CondensationTrigger[],
  room: number,
): CondensationPlan {
  const last = forgotten.at(-1) as Block
  const units = forgotten.flatMap((block) => block.units)
  return {
    type: 'plan',
    triggers,
    units,
    forgottenIds: units.flatMap((unit) => Array.from(unitEvents(unit), (item) => item.id)),
    // The offset does not count forgotten events.
    summaryOffset: last.position + last.count - countEvents(forgotten),
    room: room === Infinity ? null : room,
  }
}

const MESSAGES: Readonly<Record<RefusalCode, string>> = {
  nothing_to_forget: 'too few events may be forgotten for a summary to make the view shorter',
  over_budget: 'the events that must stay exceed the token limit',
  summariser_failed: 'the summariser failed, even with less input',
  summariser_waits: 'the summariser failed before, and is not called yet',
  blank_summary: 'the summariser returned no text',
  summary_too_long: 'the messages with the summary exceed the token limit',
}

function refuse(
  code: RefusalCode,
  triggers: readonly CondensationTrigger[],
  more: Pick<RefusalReason, 'cause'> = {},
): Extract<CondenserDecision, { type: 'refuse' }> {
  const again = code === 'nothing_to_forget' || code === 'over_budget' ? 'never' : 'later'
  const required = isRequired(triggers)
  return { type: 'refuse', reason: { code, message: MESSAGES[code], triggers, required, again, ...more } }
}
