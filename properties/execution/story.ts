/** The record of a played plan: each action, the state it saw, and its time. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { State } from '../../src/state/state.ts'
import type { LoggedEvent } from '../../src/conversation/logged-event.ts'
import type { Given, Sent } from '../wire/sent.ts'
import type { Command } from './commands.ts'
import type { Reply } from './plan.ts'

/** A logical time: later than all earlier ones. */
export type Checkpoint = number

/** A call of the step, to ask the model or to execute calls. */
export interface Begin {
  readonly at: Checkpoint
  /** Number of the step's call, which prefixes the ids of its events. */
  readonly no: number
  readonly run: number
  readonly engine: number
  readonly state: State
  /** Ids of the actions to execute; empty when the model is asked. */
  readonly executes: readonly string[]
  /** The request, if the model was asked. */
  readonly sent: Sent | null
  /** The signed reply: the name of its record, and the number of its signed parts. */
  given: (Pick<Given, 'signed'> & { readonly model: string }) | null
  /** The planned reply, if the model was asked. */
  reply: Reply | null
  /** Text streamed before the first event, once consumed. */
  streamed: string | null
  /** Whether it never ends by itself. */
  silent: boolean
  /** When it ended or was abandoned. */
  end: Checkpoint
}

/** A command that completed or failed. */
export interface Done {
  readonly command: Command
  readonly begun: Checkpoint
  readonly at: Checkpoint
  readonly engine: number
  /** Appended events. */
  readonly events: readonly LoggedEvent[]
  /** Error code, or the result of a recovery. */
  readonly outcome: string | null
}

export interface RunStory {
  readonly no: number
  readonly engine: number
  readonly begun: Checkpoint
  end: Checkpoint
  /** Final status or error code; null while running. */
  outcome: string | null
  /** Thrown value that is not one of the library's errors. */
  error: unknown
  /** Length of the log at that time. */
  length: number
  dead: boolean
  aborted: boolean
}

export interface Story {
  /** Violations found during play, where throwing would look like an error of the step. */
  readonly broken: unknown[]
  readonly begins: Begin[]
  readonly done: Done[]
  readonly runs: RunStory[]
  facts: readonly Fact[]
  /** Final states of the surviving engines. */
  states: State[]
  /** Each at the time of its fork. */
  readonly forks: State[]
  /** Times of lease expiry and of crashes; and when, and at which log length, an engine first acquired a lease under a name. */
  readonly ranOut: Checkpoint[]
  readonly deaths: Checkpoint[]
  readonly leases: {
    readonly at: Checkpoint
    readonly engine: number
    readonly owner: unknown
    readonly length: number
  }[]
  /** Messages shown to or blocked by a hook, and blocked calls. */
  readonly shown: Set<string>
  readonly blockedPrompts: Set<string>
  readonly blockedCalls: Set<string>
  /** Whether a live lease remains although no run does. */
  leaseLeft: boolean
  /** Whether the status is still running, without a run or a lease that would reveal it. */
  isAbandoned: boolean
  /** Whether the story exceeded the step limit. */
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
