import type { ActionEvent, Event } from '../../event/types.ts'
import type { EventEntry } from '../../log/entry.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { State } from '../../state/state.ts'
import type { AppendedEvent } from '../logged-event.ts'
import type { StartedWork } from '../background.ts'
import type { Decision, Replica } from '../replica.ts'
import type { HeldLease } from './lease.ts'
import type { Hook } from './hooks.ts'
import type { RunCondenser, RunOptions } from './options.ts'
import type { Policy } from './policy.ts'
import type { RunChild, Step } from './step.ts'

export interface RunContext {
  readonly replica: Replica
  readonly step: Step
  readonly policy: Policy
  readonly hooks: readonly Hook[]
  readonly condenser: RunCondenser | null
  /** Aborted when the run is interrupted, its lease is lost, or its conversation is deleted. */
  readonly signal: AbortSignal
  readonly lease: HeldLease
  readonly publish: (delta: Event) => void
  readonly within: RunOptions['within']
  readonly onPrefix: (omitted: LeftOut) => void
  readonly runChild: RunChild
  readonly startWork: (call: EventEntry<ActionEvent>) => Promise<StartedWork>
  /** Length of the log when the run was requested. Later pauses and interrupts apply to the run. */
  readonly from: number
  readonly newCallIds: Set<string>
  /**
   * Ids of the dead run's pending calls that this run continues. The log records which of them started. Null
   * if another program set the status to running, because it may not have recorded starts.
   */
  readonly inherited: ReadonlySet<string> | null
  /** Position up to which hooks have seen every user message. */
  promptedTo: number
  iterations: number
  emptyReplies: number
  /** The summariser's error, if it made the condenser refuse a required condensation. */
  refusalCause?: unknown
  /** Errors of the run's own reads and appends. Similar errors that a step throws may be of other conversations. */
  readonly ofReplica: Set<unknown>
}

/**
 * Appends a decision's events under the run's lease. After an interrupt, which has ended the run's calls,
 * appends nothing unless `whenAborted` is true. No other event is appended between the state that `decide`
 * reads and the events that `decide` returns.
 * @throws `lease_lost`.
 */
export function add(
  run: RunContext,
  decide: Decision,
  { whenAborted = false }: { readonly whenAborted?: boolean } = {},
): Promise<readonly AppendedEvent[]> {
  const { replica, lease, signal, within } = run
  const { owner, generation } = lease.lease
  // `decide` may throw errors of the caller's policy, which are not errors of the replica.
  const thrown = new Set<unknown>()
  const decideAndRecord: Decision = (state) => {
    if (signal.aborted && !whenAborted) return []
    try {
      return decide(state)
    } catch (error) {
      thrown.add(error)
      throw error
    }
  }
  return recordErrors(
    run,
    replica.commit(decideAndRecord, {
      depends: true,
      lease: { owner, generation },
      ...(within !== undefined && { within }),
    }),
    (error) => !thrown.has(error),
  )
}

/** Reads the replica. If the read fails, adds its error to `run.ofReplica`. */
export const readReplica = <T>(run: RunContext, read: (replica: Replica) => Promise<T>): Promise<T> =>
  recordErrors(run, read(run.replica))

export const withBodies = (run: RunContext, state: State): Promise<State> =>
  readReplica(run, (replica) => replica.withBodies(state))

/**
 * Calls `use` with the latest state and its long strings. Loads again if the state changes meanwhile.
 * @param known a state that has its long strings; used without loading if it is still the latest state
 */
export async function useBodies<T>(
  run: RunContext,
  use: (state: State) => Promise<T>,
  known?: State,
): Promise<T> {
  for (;;) {
    const { state } = run.replica
    const request = known?.log === state.log ? known : await withBodies(run, state)
    if (run.replica.state === state) return use(request)
  }
}

async function recordErrors<T>(
  { ofReplica }: RunContext,
  work: Promise<T>,
  isReplicaError: (error: unknown) => boolean = () => true,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (isReplicaError(error)) ofReplica.add(error)
    throw error
  }
}

export const mustStop = (run: RunContext, { header: { status } }: State): boolean =>
  run.signal.aborted || status === 'paused' || status === 'deleting'

/**
 * Ids of the calls whose start is always recorded: if the log has no start of such a call, it has not started.
 * Undefined if the log may lack starts.
 */
export const unstarted = ({ newCallIds, inherited }: RunContext): ReadonlySet<string> | undefined =>
  inherited === null && newCallIds.size === 0 ? undefined : new Set([...newCallIds, ...(inherited ?? [])])
