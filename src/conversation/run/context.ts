/** What the parts of a run share: the conversation, the caller's functions, and the one way to append. */

import type { Event } from '../../event/types.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import type { StoredEvent } from '../../store/contract/stored-event.ts'
import type { Decision, Replica } from '../replica.ts'
import type { RunCondenser } from './condense.ts'
import type { HeldLease } from './lease.ts'
import type { Hook } from './hooks.ts'
import type { Policy } from './policy.ts'
import type { Step } from './step.ts'

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
): Promise<readonly StoredEvent[]> {
  const { replica, held, signal } = run
  const { owner, generation } = held.lease
  return replica.commit((state) => (signal.aborted && !whenAborted ? [] : decide(state)), {
    depends: true,
    lease: { owner, generation },
  })
}

/** Whether the run has to stop where it is. */
export const mustStop = (run: RunContext, { header: { status } }: State): boolean =>
  run.signal.aborted || status === 'paused' || status === 'deleting'

/** The calls that were begun only if the log says so. */
export const unstarted = ({ newCallIds, inherited }: RunContext): ReadonlySet<string> =>
  new Set([...newCallIds, ...inherited])
