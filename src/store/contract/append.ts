/** What an append asks for and what it gives back. */

import type { StoredEvent } from './stored-event.ts'

/**
 * The version that the writer believes the log to have: `any` (whatever it is), `none` (no events yet), or exactly
 * this number of events.
 */
export type ExpectedVersion = 'any' | 'none' | number

/** How facts are appended. */
export interface AppendOptions {
  /** Default: `any`. @throws `invalid_argument` for what is no such version. */
  readonly expected?: ExpectedVersion
  /**
   * The `createdAt` of the record that the writer decided on. `version_conflict` when the conversation was deleted and
   * created again since. Default: not checked.
   */
  readonly createdAt?: string
  /**
   * `live` (default): events have an id and a timestamp, and get the parent they are found; an unknown parent is an
   * error. `import`: bodies stay as given, ids (`deriveEventId`) and times are derived where they are missing, an
   * unknown parent becomes HEAD (design D8, D15), a move of HEAD to where nothing stands is ignored, a quarantined line
   * stands in the tree where its id can be read, and a fact whose id is taken goes beside the tree instead of being
   * refused: the log is what a replay of the same facts gives, in whatever batches they come. An import that names its
   * version (`none` or a number) copies a log from that position on: its facts are known by position, so that
   * repeating it, or going on where it broke off, changes nothing; `version_conflict` when another body stands at one
   * of them, or the log does not reach so far. With `any`, facts are known by id.
   */
  readonly mode?: 'live' | 'import'
  /** The lease that the writer holds; refused with `lease_lost` when it is not the conversation's latest. */
  readonly lease?: { readonly owner: string; readonly generation: number }
}

/** What became of an append. */
export interface AppendResult {
  /** One for each fact given, in order: as stored now, or as stored before for an event that was there already. */
  readonly events: readonly StoredEvent[]
  /** Number of events in the log. */
  readonly version: number
  /** Id of the entry that HEAD means; null for the empty HEAD. */
  readonly headId: string | null
}
