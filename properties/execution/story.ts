/** What is written down while a plan is played: who did what, on which state, and at which moment. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { State } from '../../src/state/state.ts'
import type { LoggedEvent } from '../../src/conversation/logged-event.ts'
import type { Given, Sent } from '../wire/sent.ts'
import type { Command } from './commands.ts'
import type { Reply } from './plan.ts'

/** A moment: each is later than all before, whatever happened in it. */
export type Checkpoint = number

/** The step was called: to ask the model, or to execute calls. */
export interface Begin {
  readonly at: Checkpoint
  /** Number of the call of the step; ids of what it yields begin with it. */
  readonly no: number
  readonly run: number
  readonly engine: number
  readonly state: State
  /** Ids of the actions to execute; none when the model is asked. */
  readonly executes: readonly string[]
  /** What the model was sent, when it was asked. */
  readonly sent: Sent | null
  /** The reply that it gave, when a provider has signed it: the name of its record, and how many parts of it are signed. */
  given: (Pick<Given, 'signed'> & { readonly model: string }) | null
  /** What the plan has it reply, when the model was asked. */
  reply: Reply | null
  /** The text that it streamed before it yielded anything, once that was taken. */
  streamed: string | null
  /** Whether it never ends by itself. */
  silent: boolean
  /** When it ended, by itself or left behind. */
  end: Checkpoint
}

/** A user's wish was granted, or refused. */
export interface Done {
  readonly command: Command
  readonly begun: Checkpoint
  readonly at: Checkpoint
  readonly engine: number
  /** What was appended. */
  readonly events: readonly LoggedEvent[]
  /** Code of the error, or what a recovery came to. */
  readonly outcome: string | null
}

/** A run of an engine. */
export interface RunStory {
  readonly no: number
  readonly engine: number
  readonly begun: Checkpoint
  end: Checkpoint
  /** The status it ended with, or the code of the error that it ended with; null while it lasts. */
  outcome: string | null
  /** What it threw, when that was no error of ours. */
  error: unknown
  /** How long the log was then. */
  length: number
  /** Whether its process died. */
  dead: boolean
  /** Whether its signal was aborted. */
  aborted: boolean
}

/** Everything that happened. */
export interface Story {
  /** What was found wrong while it was played, where what is thrown would be a step's own error. */
  readonly broken: unknown[]
  readonly begins: Begin[]
  readonly done: Done[]
  readonly runs: RunStory[]
  /** The log at the end. */
  facts: readonly Fact[]
  /** What the engines that live at the end believe the state to be. */
  states: State[]
  /** States of forks when they were made. */
  readonly forks: State[]
  /** When leases ran out, when processes died, and when an engine was first given a lease under a name, at which length of the log. */
  readonly ranOut: Checkpoint[]
  readonly deaths: Checkpoint[]
  readonly leases: {
    readonly at: Checkpoint
    readonly engine: number
    readonly owner: unknown
    readonly length: number
  }[]
  /** Messages that a hook was told of, and those that it blocked; calls that it blocked. */
  readonly shown: Set<string>
  readonly blockedPrompts: Set<string>
  readonly blockedCalls: Set<string>
  /** Whether a live lease was left when no run was. */
  leaseLeft: boolean
  /** Whether the status was running when no run was, without a lease by which that is found. */
  isAbandoned: boolean
  /** Whether it came to no end. */
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
