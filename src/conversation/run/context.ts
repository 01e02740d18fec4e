/** What the parts of a run share: the conversation, the caller's functions, and the one way to append. */

import type { ActionEvent, Event } from '../../event/types.ts'
import type { EventEntry } from '../../log/entry.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import type { LoggedEvent } from '../logged-event.ts'
import type { StartedWork } from '../background.ts'
import type { Decision, Replica } from '../replica.ts'
import type { HeldLease } from './lease.ts'
import type { Hook } from './hooks.ts'
import type { RunCondenser } from './options.ts'
import type { Policy } from './policy.ts'
import type { AskChild, Step } from './step.ts'

/** A run under way. */
export interface RunContext {
  readonly replica: Replica
  readonly step: Step
  /** That of the caller; the one in the log counts as well. */
  readonly policy: Policy
  readonly hooks: readonly Hook[]
  readonly condenser: RunCondenser | null
  /** Aborted when the run is interrupted, its lease lost, or its conversation deleted. */
  readonly signal: AbortSignal
  readonly held: HeldLease
  readonly publish: (delta: Event) => void
  readonly onPrefix: (left: LeftOut) => void
  readonly askChild: AskChild
  readonly startWork: (call: EventEntry<ActionEvent>) => Promise<StartedWork>
  /** Length of the log when the run was asked for: a pause or an interrupt from there on is meant for it. */
  readonly from: number
  /** Ids of the actions that were made in this run. */
  readonly newCallIds: Set<string>
  /** Ids of the actions that a run which died had made: what it began of them the log says. */
  readonly inherited: ReadonlySet<string>
  /** Position up to which hooks were shown every message of a user. */
  promptedTo: number
  /** How often the model was asked. */
  iterations: number
  /** How often in a row it has said nothing. */
  silences: number
  /** What the run's own reads and appends have thrown: a step that works with other conversations may throw alike. */
  readonly ofReplica: Set<unknown>
}

/**
 * Appends what a decision says under the run's lease; nothing once the run was interrupted, as the interrupt has ended
 * its calls. The decision is made on the state that it is appended to, so nothing that others append comes between.
 * @throws `lease_lost`.
 */
export function add(
  run: RunContext,
  decide: Decision,
  { whenAborted = false }: { readonly whenAborted?: boolean } = {},
): Promise<readonly LoggedEvent[]> {
  const { replica, held, signal } = run
  const { owner, generation } = held.lease
  // What the caller's policy throws, comes through here too.
  const thrown = new Set<unknown>()
  const decideOrNote: Decision = (state) => {
    if (signal.aborted && !whenAborted) return []
    try {
      return decide(state)
    } catch (error) {
      thrown.add(error)
      throw error
    }
  }
  return noting(
    run,
    replica.commit(decideOrNote, { depends: true, lease: { owner, generation } }),
    (error) => !thrown.has(error),
  )
}

/** The latest state of the conversation. @throws what the store throws. */
export const latest = (run: RunContext): Promise<State> => noting(run, run.replica.refresh())

/** The same with all bodies. @throws the same. */
export const latestWhole = (run: RunContext): Promise<State> => noting(run, run.replica.whole())

/** What a work of the replica gives; what it throws of its own is known for that afterwards. */
async function noting<T>(
  { ofReplica }: RunContext,
  work: Promise<T>,
  isOwn: (error: unknown) => boolean = () => true,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (isOwn(error)) ofReplica.add(error)
    throw error
  }
}

/** Whether the run has to stop where it is. */
export const mustStop = (run: RunContext, { header: { status } }: State): boolean =>
  run.signal.aborted || status === 'paused' || status === 'deleting'

/** The calls that were begun only if the log says so. */
export const unstarted = ({ newCallIds, inherited }: RunContext): ReadonlySet<string> =>
  new Set([...newCallIds, ...inherited])
