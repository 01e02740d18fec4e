import { parseJson } from '../event/json.ts'
import type { State } from '../state/state.ts'
import { checkBound, checkOptionNames } from '../event/check-value.ts'
import { maskSecrets } from '../event/mask.ts'
import { quote } from '../event/text.ts'
import { earlyEndOf } from '../event/reply.ts'
import { isOnlyRecord } from '../messages/neutral.ts'
import type { ActionEvent, MessageEvent, ToolResultEvent } from '../event/types.ts'
import { type BatchUnit, isPending, type Unit, unitEvents } from '../view/units.ts'
import type { Branch } from '../state/branch.ts'
import { canonicalJson } from '../event/encode.ts'
import { KINDS } from '../event/kinds.ts'
import { unreachable } from '../event/errors.ts'
import { ellipsize, textsOf } from './text.ts'

/** Detects loops. One detector serves any number of conversations. */
export interface StuckDetector {
  readonly thresholds: StuckThresholds
  readonly verdict: (state: State) => StuckVerdict | null
  /**
   * Returns a text for `nudgeMessage` after exactly `action_error` equal failed calls; otherwise null. Also
   * returns null if a nudge has already followed the first of these calls.
   */
  readonly nudge: (state: State) => string | null
  readonly reason: (state: State) => string | null
}

/**
 * Returns a detector of loops on HEAD's branch since the last user message. A step is a reply in the view
 * with its calls and results. Thoughts, pauses, hooks, state updates and forgotten events do not count. Calls
 * without an action are compared by their arguments. All rejections count as equal results.
 *
 * Each query is O(content of the latest steps), whatever the length of the log.
 * @throws ColloquyError `invalid_argument` unless each threshold is a positive integer or Infinity.
 * @example
 * const llm_message = { role: 'assistant', content: [{ text: 'Let me see.' }] }
 * const say = (id) => ({ kind: 'MessageEvent', id, source: 'agent', llm_message })
 * const { verdict } = stuckDetector({ monologue: 2 })
 * verdict(replay([say('a')])) // null
 * verdict(replay([say('a'), say('b')])).eventIds // ['a', 'b']
 */
export function stuckDetector(options: StuckOptions = {}): StuckDetector {
  checkOptionNames(options, 'action_observation action_error monologue alternating_pattern')
  const thresholds = thresholdsOf(options)
  const size = windowOf(thresholds)
  const verdict = ({ branch }: State): StuckVerdict | null => verdictOf(readWindow(branch, size), thresholds)
  return Object.freeze({
    thresholds,
    verdict,
    nudge: (state: State): string | null => {
      const window = readWindow(state.branch, size)
      return verdictOf(window, thresholds) === null ? nudgeOf(window, thresholds.action_error) : null
    },
    reason: (state: State): string | null => verdict(state)?.reason ?? null,
  })
}

/** The loop of a stuck branch, and the events that prove the loop. */
export interface StuckVerdict {
  readonly pattern: StuckPattern
  /** Ids of the events of the repeated steps, in the order of the view. */
  readonly eventIds: readonly string[]
  readonly reason: string
}

function verdictOf(window: Window, thresholds: StuckThresholds): StuckVerdict | null {
  const { action_observation, action_error, monologue, alternating_pattern } = thresholds
  return (
    repetition(window, action_observation) ??
    errorVerdict(window, action_error + 1) ??
    speech(window, monologue) ??
    alternation(window, alternating_pattern)
  )
}

/** Counts the latest steps whose calls are equal and all failed, up to a limit. The errors may differ. */
function errorStreak({ turns }: Window, limit: number): number {
  const first = turns[0]
  if (first === undefined) return 0
  const end = turns.slice(0, limit).findIndex((turn) => !turn.failed || !didSame(turn, first))
  return end < 0 ? Math.min(limit, turns.length) : end
}

function repetition({ turns }: Window, count: number): StuckVerdict | null {
  const latest = turns.slice(0, count)
  const [first] = latest
  // Errors have their own threshold.
  if (first === undefined || latest.length < count || first.failed) return null
  if (!latest.every((turn) => isEqualTurn(turn, first))) return null
  return verdict(
    'action_observation',
    latest,
    `The same ${callsOf(first)} had the same result ${times(count)}.`,
  )
}

function errorVerdict(window: Window, count: number): StuckVerdict | null {
  if (errorStreak(window, count) < count) return null
  const latest = window.turns.slice(0, count)
  return verdict('action_error', latest, `The same ${callsOf(latest[0] as Turn)} failed ${times(count)}.`)
}

function speech({ units }: Window, count: number): StuckVerdict | null {
  const step = units.findIndex((unit) => unit.type === 'batch')
  const ids = units
    .slice(0, step < 0 ? units.length : step)
    .flatMap((unit) => (unit.type === 'message' && isSpeech(messageOfUnit(unit)) ? [unit.item.id] : []))
    .slice(0, count)
  if (ids.length < count) return null
  const spoken = count === 1 ? 'a message' : `${count} messages in a row`
  const reason = `The agent has sent ${spoken} without a call, and the user has not written since.`
  return { pattern: 'monologue', eventIds: ids.toReversed(), reason }
}

/** Whether a message is a reply. A paused reply, or a failed one without content, does not count. */
const isSpeech = (message: MessageEvent | null): boolean =>
  message?.source === 'agent' && earlyEndOf(message) !== 'paused' && !isOnlyRecord(message)

function alternation({ turns }: Window, count: number): StuckVerdict | null {
  const latest = turns.slice(0, count)
  const [one, other] = latest
  if (one === undefined || other === undefined || latest.length < count) return null
  const returns = latest.every((turn, index) => index < 2 || isEqualTurn(turn, latest[index - 2] as Turn))
  // One repeated step is a repetition, with its own threshold.
  if (!returns || isEqualTurn(one, other)) return null
  const steps = `${callsOf(other)}, and ${callsOf(one)}`
  const reason = `Two steps alternated, ${count} in a row, each with the same result every time: ${steps}.`
  return verdict('alternating_pattern', latest, reason)
}

/** Returns a reply's tool names. Masks secrets before `quote` cuts a name: a cut secret would not be recognized. */
function callsOf({ unit }: Turn): string {
  const tools = [...new Set(Array.from(unit.calls, ({ event }) => event.tool_name))]
  const named = tools.slice(0, NAMED).map((name) => quote(maskSecrets(name)).toWellFormed())
  const rest = tools.length - NAMED
  const more = rest > 0 ? ` and ${rest} more` : ''
  return `${unit.calls.length === 1 ? 'call' : 'calls'} of ${named.join(', ')}${more}`
}

const NAMED = 3

const times = (count: number): string => (count === 1 ? 'once' : `${count} times in a row`)

function verdict(pattern: StuckPattern, newestFirst: readonly Turn[], reason: string): StuckVerdict {
  const ids = newestFirst.toReversed().flatMap(({ unit }) => Array.from(unitEvents(unit), (item) => item.id))
  return { pattern, eventIds: ids, reason }
}

type Window = ReturnType<typeof readWindow>

/**
 * Returns the units after the last user message and the last pending batch: at most the latest `size`, newest
 * first. O(size).
 */
function readWindow({ view, lastUserMessage }: Branch, size: number) {
  // The message may be forgotten; its position remains known.
  const since = lastUserMessage?.seq ?? -1
  const latest = view.units.slice(Math.max(0, view.units.length - size)).toReversed()
  const end = latest.findIndex((unit) => unit.rank < since || isUsers(unit) || isPending(unit))
  const units = end < 0 ? latest : latest.slice(0, end)
  return { units, turns: units.filter((unit) => unit.type === 'batch').map(turnOf) }
}

const isUsers = (unit: Unit): boolean => messageOfUnit(unit)?.source === 'user'

function messageOfUnit(unit: Unit): MessageEvent | null {
  return unit.type === 'message' && unit.item.event.kind === 'MessageEvent' ? unit.item.event : null
}

/** For each pattern, the number of steps after which it counts as a loop. */
export interface StuckThresholds {
  /** Number of equal calls with equal results, in a row. Default: 4. */
  readonly action_observation: number
  /**
   * Number of equal failed calls in a row after which `nudge` returns a text. One more such call is a loop.
   * Default: 3.
   */
  readonly action_error: number
  /**
   * Number of the agent's messages in a row, without calls between them. A reply that the provider
   * paused does not count. Default: 3.
   */
  readonly monologue: number
  /** Number of alternating steps (a, b, a, b) whose results repeat. Values below 3 count as 3. Default: 6. */
  readonly alternating_pattern: number
}

export type StuckPattern = keyof StuckThresholds

/** Thresholds that replace the defaults: positive integers, or Infinity to disable a pattern. */
export type StuckOptions = Partial<StuckThresholds>

const PUBLISHED: StuckThresholds = Object.freeze({
  action_observation: 4,
  action_error: 3,
  monologue: 3,
  alternating_pattern: 6,
})

function thresholdsOf(options: StuckOptions): StuckThresholds {
  const entries = Object.entries(PUBLISHED).map(
    ([name, published]) => [name, checkBound(name, options[name as StuckPattern] ?? published, 1)] as const,
  )
  const thresholds = Object.fromEntries(entries) as unknown as StuckThresholds
  const alternating_pattern = Math.max(LEAST_ALTERNATION, thresholds.alternating_pattern)
  return Object.freeze({ ...thresholds, alternating_pattern })
}

/** Minimum of `alternating_pattern`: step 3 is the first that repeats an earlier step. */
const LEAST_ALTERNATION = 3

/** Number of units to read, per step of the longest pattern. This bounds the cost, whatever the log's length. */
const SLACK = 10

function windowOf(thresholds: StuckThresholds): number {
  const { action_observation, action_error, monologue, alternating_pattern } = thresholds
  const steps = [action_observation, action_error + 1, monologue, alternating_pattern]
  return SLACK * Math.max(0, ...steps.filter(Number.isFinite))
}

type Turn = ReturnType<typeof turnOf>

/** Returns the calls and the results of one reply, as sets to compare. */
const turnOf = (unit: BatchUnit) => ({
  unit,
  failed: Array.from(unit.results, ({ entry }) => errorOf(entry.event)).every((error) => error !== null),
  calls: once(() => setOf(Array.from(unit.calls, ({ event }) => callKey(event)))),
  whole: once(() =>
    setOf(Array.from(unit.results, ({ entry, call }) => `${callKey(call.event)} ${resultKey(entry.event)}`)),
  ),
})

const didSame = (one: Turn, other: Turn): boolean => one.calls() === other.calls()

const isEqualTurn = (one: Turn, other: Turn): boolean => didSame(one, other) && one.whole() === other.whole()

function errorOf(result: ToolResultEvent): string | null {
  if (result.kind === 'AgentErrorEvent') return result.error
  if (result.kind !== 'ObservationEvent' || result.observation.is_error !== true) return null
  return textsOf(result.observation.content ?? []).join('\n')
}

const setOf = (keys: readonly string[]): string => JSON.stringify([...new Set(keys)].toSorted())

/** Returns equal texts for equal calls. Ignores ids, thought and summary: a new thought alone is no progress. */
function callKey({ source, tool_name, action, tool_call }: ActionEvent): string {
  const by = source ?? KINDS.ActionEvent.defaultSource
  const what = action ?? null
  return canonicalJson([by, tool_name, what === null ? argumentsOf(tool_call.arguments) : { action: what }])
}

/** Returns arguments to compare. JSON is parsed, so that white space and key order do not matter. */
function argumentsOf(text: string): object {
  const value = parseJson(text)
  return value === undefined ? { raw: text } : { arguments: value }
}

/**
 * Returns equal texts for equal results. All rejections are equal: a model that repeats a rejected call
 * ignored the reason.
 */
function resultKey(result: ToolResultEvent): string {
  switch (result.kind) {
    case 'ObservationEvent':
      return canonicalJson([result.tool_name, result.observation])
    case 'AgentErrorEvent':
      return canonicalJson({ error: result.error })
    case 'UserRejectObservation':
      return 'rejected'
    default:
      return unreachable(result, 'kind')
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}

const MARK = '[Repeated error]'

const MAX_ERROR = 1000

function nudgeOf(window: Window, count: number): string | null {
  if (errorStreak(window, count + 1) !== count) return null
  const first = window.turns[count - 1] as Turn
  const since = window.units.slice(0, window.units.indexOf(first.unit))
  return since.some(isNudge) ? null : textFor(window.turns[0] as Turn, count)
}

function isNudge(unit: Unit): boolean {
  const message = messageOfUnit(unit)
  if (message?.source !== 'environment') return false
  return textsOf(message.llm_message.content ?? []).some((text) => text.startsWith(MARK))
}

function textFor(turn: Turn, count: number): string {
  const errors = Array.from(turn.unit.results, ({ entry }) => errorOf(entry.event) ?? '')
  const have = turn.unit.calls.length === 1 ? 'has' : 'have'
  const often = count === 1 ? `${have} failed` : `${have} failed ${count} times in a row`
  const last = ellipsize(maskSecrets(errors.at(-1) ?? ''), MAX_ERROR).toWellFormed()
  return [
    `${MARK} The same ${callsOf(turn)} ${often}. The last error was:`,
    last,
    'The same call will fail again. Change its arguments, use another tool, or tell the user what the problem is.',
  ].join('\n')
}

/**
 * Returns a nudge as an event: a message of the environment with the role `user`.
 * @example
 * nudgeMessage('Try something else.').source // 'environment'
 */
export const nudgeMessage = (text: string): MessageEvent => ({
  kind: 'MessageEvent',
  source: 'environment',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})
