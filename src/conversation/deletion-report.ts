/** Counts what a deletion has removed. */

export interface DeletionReport {
  readonly conversations: number
  readonly events: number
  readonly snapshots: number
  readonly leases: number
  /** Number of items that held a reply while it was streamed to other processes. */
  readonly items: number
}

export const EMPTY_REPORT: DeletionReport = { conversations: 0, events: 0, snapshots: 0, leases: 0, items: 0 }

export function addReports(a: DeletionReport, b: DeletionReport): DeletionReport {
  return {
    conversations: a.conversations + b.conversations,
    events: a.events + b.events,
    snapshots: a.snapshots + b.snapshots,
    leases: a.leases + b.leases,
    items: a.items + b.items,
  }
}
