/** The results of a run, as stored in `figures.json`. The page and its charts are generated from this file. */

import { median } from '../measure.ts'
import type { Survives } from './contender.ts'

/** The timed kinds of work, in the order of the tables. */
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
  /** Work that the library does not support is absent. */
  readonly times: Partial<Record<Work, Timing>>
}

/** A history that grew from empty, event by event. */
export interface GrownRow {
  readonly family: string
  readonly length: number
  /** Average microseconds per event, from one sample. */
  readonly each: number
  /** Bytes on disk, and characters of the texts alone. */
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

/** Summarizes samples, rounded to two decimals so that the file does not change in meaningless digits. */
export function timingOf(samples: readonly number[]): Timing {
  return { least: round(Math.min(...samples)), median: round(median(samples)), count: samples.length }
}

const round = (value: number): number => Math.round(value * 100) / 100
