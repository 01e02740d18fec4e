/** What a run finds, as it is kept in a file: the page and its charts are made of that and nothing else. */

import { median } from '../measure.ts'
import type { Survives } from './contender.ts'

/** What is timed, in the order of the tables. */
export const WORKS = [
  'append',
  'reopen',
  'reopen to prompt',
  'prompt',
  'read all',
  'first page',
  'middle page',
  'last page',
] as const

export type Work = (typeof WORKS)[number]

/** Minimum and median in microseconds, and the number of runs. */
export interface Timing {
  readonly least: number
  readonly median: number
  readonly count: number
}

/** One contender at one length. */
export interface Row {
  readonly family: string
  readonly setting: string
  readonly survives: Survives
  readonly length: number
  /** What the library does not do is absent. */
  readonly times: Partial<Record<Work, Timing>>
}

/** A history that grew from nothing, one event after the other. */
export interface GrownRow {
  readonly family: string
  readonly length: number
  /** Microseconds for each event, on average: one sample. */
  readonly each: number
  /** What it takes on disk, and what its texts alone would. */
  readonly bytes: number
  readonly texts: number
}

/** A whole run. */
export interface Figures {
  readonly taken: string
  readonly machine: string
  readonly load: readonly [before: number, after: number]
  readonly versions: Readonly<Record<string, string>>
  readonly lengths: readonly number[]
  readonly rounds: Readonly<Record<string, number>>
  readonly rows: readonly Row[]
  readonly grown: readonly GrownRow[]
}

/** Summarises samples; to two digits behind the point, or the file changes with every run in digits that mean nothing. */
export function timingOf(samples: readonly number[]): Timing {
  return { least: short(Math.min(...samples)), median: short(median(samples)), count: samples.length }
}

const short = (value: number): number => Math.round(value * 100) / 100
