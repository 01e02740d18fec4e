/** The options of a deletion, and counts of what it has removed. */

import type { ConversationRecord } from '../store/contract/conversation-record.ts'

/** How conversations are deleted. */
export interface DeletionOptions {
  /** Whether to report what would be deleted, without items, and delete nothing. Default: false. */
  readonly dryRun?: boolean
  /** Maximum number of conversations, besides those that their calls opened. Default: no maximum. */
  readonly limit?: number
  /** Called before each conversation is deleted, to delete your own rows. Its error ends the call. */
  readonly onDelete?: (record: ConversationRecord) => Promise<void> | void
}

export interface DeletionReport {
  readonly conversations: number
  readonly events: number
  readonly snapshots: number
  readonly leases: number
  /** Number of items that held a reply while it was streamed to other processes. */
  readonly items: number
  /** Whether `limit` left conversations that match. */
  readonly more: boolean
}

export const EMPTY_REPORT: DeletionReport = {
  conversations: 0,
  events: 0,
  snapshots: 0,
  leases: 0,
  items: 0,
  more: false,
}

export function addReports(a: DeletionReport, b: DeletionReport): DeletionReport {
  return {
    conversations: a.conversations + b.conversations,
    events: a.events + b.events,
    snapshots: a.snapshots + b.snapshots,
    leases: a.leases + b.leases,
    items: a.items + b.items,
    more: a.more || b.more,
  }
}
