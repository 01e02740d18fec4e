/** The common interface of the measured libraries. */

import type { Item } from './items.ts'

/** The worst failure that an acknowledged append survives. */
export type Survives = 'nothing' | 'a kill' | 'a power cut'

/** Where a history is stored. It is created for one visit and then removed. */
export interface Location {
  readonly folder: string
  /** Address of an empty PostgreSQL database; empty when none is needed. */
  readonly url: string
}

/** A page of a hundred events, by its position in the history. */
export type PageName = 'first' | 'middle' | 'last'

/** An open history of one library. */
export interface Session {
  /** Starts the history with these items, by the fastest means of the library. Not timed. */
  fill(items: readonly Item[]): Promise<void>
  /** Appends a turn event by event. Each is acknowledged before the next, as the setting specifies. */
  append(turn: readonly Item[]): Promise<void>
  /** Releases all memory and connections, as a process does when it exits. Not timed. */
  close(): Promise<void>
  /** Opens the history like a new process, until the library has its usual state in memory. */
  reopen(): Promise<void>
  /** Messages for OpenAI's Chat Completions, as the library writes them before each model call. */
  prompt(): Promise<readonly object[]>
  /** Reads every event from the store, not from memory, and returns their number. */
  readAll(): Promise<number>
  /**
   * Prepares reading these pages, for example their cursors. Not timed. Absent for libraries without
   * pages.
   */
  readonly findPages?: (length: number) => Promise<Partial<Record<PageName, () => Promise<number>>>>
}

/** A library with one of its settings. */
export interface Contender {
  readonly family: string
  readonly setting: string
  /** Describes the setting. */
  readonly description: string
  readonly medium: 'memory' | 'files' | 'postgres'
  readonly survives: Survives
  /** The setting that replaces this one while a history grows. */
  readonly growsAs?: string
  open(database: Location): Promise<Session>
}

/** Name in tables, unique for each contender. */
export const nameOf = ({ family, setting }: Pick<Contender, 'family' | 'setting'>): string =>
  setting === '' ? family : `${family}, ${setting}`
