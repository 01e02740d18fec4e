/** Finds the first pattern that the agent's latest steps make, with the events that prove it. */

import { maskSecrets } from '../../event/mask.ts'
import { quote } from '../../event/text.ts'
import { earlyEndOf } from '../../event/reply.ts'
import type { MessageEvent } from '../../event/types.ts'
import { unitEvents } from '../../view/unit.ts'
import type { StuckPattern, StuckThresholds } from './thresholds.ts'
import { didSame, isSame, type Turn } from './turn.ts'
import { messageOf, type Window } from './window.ts'

/** That a branch is stuck, how, and which events show it. */
export interface StuckVerdict {
  readonly pattern: StuckPattern
  /** The ids of the latest steps that make the pattern, as many as its threshold asks for, in the view's order. */
  readonly eventIds: readonly string[]
  /** One sentence for people. */
  readonly reason: string
}

/** The first pattern that a window makes, or null. */
export function verdictOf(window: Window, thresholds: StuckThresholds): StuckVerdict | null {
  const { action_observation, action_error, monologue, alternating_pattern } = thresholds
  return (
    repetition(window, action_observation) ??
    failure(window, action_error + 1) ??
    speech(window, monologue) ??
    alternation(window, alternating_pattern)
  )
}

/**
 * How many of the latest steps made the same calls and got nothing but errors, counted up to a limit. The errors may
 * differ.
 */
export function errorStreak({ turns }: Window, limit: number): number {
  const first = turns[0]
  if (first === undefined) return 0
  const end = turns.slice(0, limit).findIndex((turn) => !turn.failed || !didSame(turn, first))
  return end < 0 ? Math.min(limit, turns.length) : end
}

function repetition({ turns }: Window, count: number): StuckVerdict | null {
  const latest = turns.slice(0, count)
  const [first] = latest
  // A step of errors has a threshold of its own.
  if (first === undefined || latest.length < count || first.failed) return null
  if (!latest.every((turn) => isSame(turn, first))) return null
  return verdict(
    'action_observation',
    latest,
    `The same ${callsOf(first)} had the same result ${times(count)}.`,
  )
}

function failure(window: Window, count: number): StuckVerdict | null {
  if (errorStreak(window, count) < count) return null
  const latest = window.turns.slice(0, count)
  return verdict('action_error', latest, `The same ${callsOf(latest[0] as Turn)} failed ${times(count)}.`)
}

function speech({ units }: Window, count: number): StuckVerdict | null {
  const step = units.findIndex((unit) => unit.type === 'batch')
  const ids = units
    .slice(0, step < 0 ? units.length : step)
    .flatMap((unit) => (unit.type === 'message' && isSpeech(messageOf(unit)) ? [unit.item.id] : []))
    .slice(0, count)
  if (ids.length < count) return null
  const said = count === 1 ? 'a message' : `${count} messages in a row`
  const reason = `The agent has sent ${said} without a call, and no user has said anything since.`
  return { pattern: 'monologue', eventIds: ids.toReversed(), reason }
}

/** Whether an agent has said all that it had to: a reply that was paused goes on. */
const isSpeech = (message: MessageEvent | null): boolean =>
  message?.source === 'agent' && earlyEndOf(message) !== 'paused'

function alternation({ turns }: Window, count: number): StuckVerdict | null {
  const latest = turns.slice(0, count)
  const [one, other] = latest
  if (one === undefined || other === undefined || latest.length < count) return null
  const returns = latest.every((turn, at) => at < 2 || isSame(turn, latest[at - 2] as Turn))
  // One step over and over is a repetition, and has its own threshold.
  if (!returns || isSame(one, other)) return null
  const steps = `${callsOf(other)}, and ${callsOf(one)}`
  const reason = `Two steps have taken turns, ${count} in a row, each with the same result every time: ${steps}.`
  return verdict('alternating_pattern', latest, reason)
}

/** The calls of a step, in words: secrets are taken out before a name is cut. */
export function callsOf({ unit }: Turn): string {
  const tools = [...new Set(Array.from(unit.calls, ({ event }) => event.tool_name))]
  const named = tools.slice(0, NAMED).map((name) => quote(maskSecrets(name)).toWellFormed())
  const rest = tools.length - NAMED
  const more = rest > 0 ? ` and ${rest} more` : ''
  return `${unit.calls.length === 1 ? 'call' : 'calls'} of ${named.join(', ')}${more}`
}

/** How many tools are named. */
const NAMED = 3

const times = (count: number): string => (count === 1 ? 'once' : `${count} times in a row`)

function verdict(pattern: StuckPattern, newestFirst: readonly Turn[], reason: string): StuckVerdict {
  const ids = newestFirst.toReversed().flatMap(({ unit }) => Array.from(unitEvents(unit), (item) => item.id))
  return { pattern, eventIds: ids, reason }
}
