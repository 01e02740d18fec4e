/** The record of a played plan. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { State } from '../../src/state/state.ts'
import type { LoggedEvent } from '../../src/conversation/logged-event.ts'
import type { ReplyContext, Sent } from '../wire/sent.ts'
import type { Command } from './commands.ts'
import type { Reply } from './plan.ts'

/** A logical time: later than all earlier ones. */
export type Checkpoint = number

/** One call of the step. */
export interface Begin {
  readonly checkpoint: Checkpoint
  /** Also the prefix of its events' ids. */
  readonly number: number
  readonly run: number
  readonly engine: number
  readonly state: State
  /** Action ids; empty when the model is called. */
  readonly executes: readonly string[]
  /** Null unless the model is called. */
  readonly sent: Sent | null
  /** Null for an unsigned reply. `model` is the name of its record. */
  context: (Pick<ReplyContext, 'signed' | 'signedAt'> & { readonly model: string }) | null
  /** Null unless the model is called. */
  reply: Reply | null
  /** Text streamed before the first event. */
  streamed: string | null
  silent: boolean
  end: Checkpoint
}

export interface Done {
  readonly command: Command
  readonly begun: Checkpoint
  readonly checkpoint: Checkpoint
  readonly engine: number
  readonly events: readonly LoggedEvent[]
  /** Error code, or the result of a recovery. */
  readonly outcome: string | null
}

export interface RunStory {
  readonly number: number
  readonly engine: number
  readonly begun: Checkpoint
  end: Checkpoint
  /** Status or error code; null while running. */
  outcome: string | null
  /** Thrown value without one of the library's codes. */
  error: unknown
  length: number
  dead: boolean
  aborted: boolean
}

export interface Story {
  /** Violations found where a throw would look like an error of the step. */
  readonly broken: unknown[]
  readonly begins: Begin[]
  readonly done: Done[]
  readonly runs: RunStory[]
  facts: readonly Fact[]
  states: State[]
  /** Each at the time of its fork. */
  readonly forks: State[]
  /** Times of lease expiry and of crashes. `leases` has the first acquisition under each name. */
  readonly ranOut: Checkpoint[]
  readonly deaths: Checkpoint[]
  readonly leases: {
    readonly checkpoint: Checkpoint
    readonly engine: number
    readonly owner: unknown
    readonly length: number
  }[]
  /** Seen or blocked by hooks. */
  readonly shown: Set<string>
  readonly blockedPrompts: Set<string>
  readonly blockedCalls: Set<string>
  /** Whether a lease outlives all runs. */
  leaseLeft: boolean
  /** Whether the status is running without a run or lease. */
  isAbandoned: boolean
  endless: boolean
}

export const newStory = (): Story => ({
  broken: [],
  begins: [],
  done: [],
  runs: [],
  facts: [],
  states: [],
  forks: [],
  ranOut: [],
  deaths: [],
  leases: [],
  shown: new Set(),
  blockedPrompts: new Set(),
  blockedCalls: new Set(),
  leaseLeft: false,
  isAbandoned: false,
  endless: false,
})
