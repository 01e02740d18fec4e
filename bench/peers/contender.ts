/** What is measured: libraries that keep an agent's history, each behind the same few calls. */

import type { Item } from './items.ts'

/** What an acknowledged append survives. */
export type Survives = 'nothing' | 'a kill' | 'a power cut'

/** Where a history is kept: both are made for one visit and removed after it. */
export interface Place {
  readonly folder: string
  /** Of an empty PostgreSQL database; empty for those that need none. */
  readonly url: string
}

/** A page of a hundred, by where it lies in the history. */
export type PageName = 'first' | 'middle' | 'last'

/** A history of one library, open. */
export interface Session {
  /** Begins the history with these, as quickly as the library can. Not timed. */
  fill(items: readonly Item[]): Promise<void>
  /** Appends a turn, one event after the other, each acknowledged as the setting says before the next one is made. */
  append(turn: readonly Item[]): Promise<void>
  /** Lets go of all that is held, as a process does that ends. Not timed. */
  leave(): Promise<void>
  /** Comes back as a new process: until the library holds what it holds of an open history. */
  reopen(): Promise<void>
  /** The messages for OpenAI's Chat Completions, as the library has them written before each call of the model. */
  prompt(): Promise<readonly object[]>
  /** Reads every event from the store, past what is held; how many there were. */
  readAll(): Promise<number>
  /** Makes ready to read these pages: a cursor, where one is needed. Not timed. Absent where the library reads no pages. */
  readonly findPages?: (length: number) => Promise<Partial<Record<PageName, () => Promise<number>>>>
}

/** A library with one of its settings. */
export interface Contender {
  readonly family: string
  readonly setting: string
  /** What the setting is, in words. */
  readonly means: string
  readonly ground: 'memory' | 'files' | 'postgres'
  readonly survives: Survives
  /** The setting that a history is grown with in its place. */
  readonly growsAs?: string
  open(place: Place): Promise<Session>
}

/** The name in tables: one for each contender. */
export const nameOf = ({ family, setting }: Pick<Contender, 'family' | 'setting'>): string =>
  setting === '' ? family : `${family}, ${setting}`
