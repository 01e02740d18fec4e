/** How often an agent may repeat itself. */

import { checkBound } from '../check-number.ts'

/** How many steps make each pattern, by the published names. */
export interface StuckThresholds {
  /** The same call with the same result, so many times. */
  readonly action_observation: number
  /** The same call ending in an error: a nudge after so many, stuck after one more. */
  readonly action_error: number
  /**
   * Messages of the agent in a row, with no call and no word of a user between them. A reply that its provider paused
   * does not count.
   */
  readonly monologue: number
  /**
   * Steps that take turns, a, b, a, b, each with the same result every time. Below 3 nothing can alternate: it then
   * counts as 3.
   */
  readonly alternating_pattern: number
}

/** The ways to be stuck; each is called as its threshold is. */
export type StuckPattern = keyof StuckThresholds

/**
 * Thresholds that differ from the published ones: whole numbers from 1, or Infinity for a pattern that shall never
 * count.
 */
export type StuckOptions = Partial<StuckThresholds>

const PUBLISHED: StuckThresholds = Object.freeze({
  action_observation: 4,
  action_error: 3,
  monologue: 3,
  alternating_pattern: 6,
})

/** The thresholds in force. @throws ColloquyError `invalid_argument` for one that is no whole number from 1. */
export function thresholdsOf(options: StuckOptions): StuckThresholds {
  const given = Object.entries(PUBLISHED).map(
    ([name, published]) => [name, checkBound(name, options[name as StuckPattern] ?? published, 1)] as const,
  )
  const thresholds = Object.fromEntries(given) as unknown as StuckThresholds
  return Object.freeze({
    ...thresholds,
    alternating_pattern: Math.max(LEAST_ALTERNATION, thresholds.alternating_pattern),
  })
}

/** Two steps only differ; the third is the first that comes back. */
const LEAST_ALTERNATION = 3

/**
 * How many units are looked at for each step that a pattern needs: what stands between the steps counts too, so that a
 * look costs the same at any length.
 */
const SLACK = 10

/** How many of the view's latest units are looked at. */
export function windowOf(thresholds: StuckThresholds): number {
  const { action_observation, action_error, monologue, alternating_pattern } = thresholds
  const steps = [action_observation, action_error + 1, monologue, alternating_pattern]
  return SLACK * Math.max(0, ...steps.filter(Number.isFinite))
}
