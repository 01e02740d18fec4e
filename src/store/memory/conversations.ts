/** The conversations of a memory store: records, logs and leases by id, and the records in order. */

import { compareIds } from '../kit/record.ts'
import { conversationExists, unknownConversation } from '../kit/errors.ts'
import type { CheckedConversationQuery } from '../kit/query/conversation-query.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import type { Lease } from '../contract/lease.ts'
import { compareRecords } from '../kit/query/fits.ts'
import { type MemoryLog, newLog } from './log.ts'

/** All that is kept of one conversation. */
export interface Kept {
  record: ConversationRecord
  readonly log: MemoryLog
  /** The latest lease; null when there is none or it was given back. */
  lease: Lease | null
  /** How many leases there have been. */
  generation: number
  /** Where the feed tells of its creation. */
  readonly feedStart: number
  /** The bytes of the snapshot's parts by their numbers; no other code holds them. */
  readonly snapshot: Map<number, Uint8Array>
}

/** Conversations by id. */
export class Conversations {
  readonly #kept = new Map<string, Kept>()
  /** The records in order, until one changes. */
  readonly #sorted = new Map<CheckedConversationQuery['by'], readonly ConversationRecord[]>()

  find(id: string): Kept | undefined {
    return this.#kept.get(id)
  }

  /** @throws `unknown_conversation`. */
  get(id: string): Kept {
    const kept = this.#kept.get(id)
    if (kept !== undefined) return kept
    throw unknownConversation(id)
  }

  /** @throws `conversation_exists`. */
  add(record: ConversationRecord, feedStart: number): void {
    if (this.#kept.has(record.id)) throw conversationExists(record.id)
    const snapshot = new Map<number, Uint8Array>()
    this.#kept.set(record.id, { record, log: newLog(), lease: null, generation: 0, feedStart, snapshot })
    this.#sorted.clear()
  }

  change(kept: Kept, record: ConversationRecord): void {
    kept.record = record
    this.#sorted.clear()
  }

  delete(id: string): boolean {
    this.#sorted.clear()
    return this.#kept.delete(id)
  }

  /** The leases that were not given back, in the order of ids. O(conversations). */
  leases(): Lease[] {
    return [...this.#kept.values()]
      .flatMap(({ lease }) => lease ?? [])
      .toSorted((a, b) => compareIds(a.conversationId, b.conversationId))
  }

  /** All records in order upwards. O(n log n) after a change, O(1) until the next. */
  sorted(by: CheckedConversationQuery['by']): readonly ConversationRecord[] {
    const known = this.#sorted.get(by)
    if (known !== undefined) return known
    const sorted = [...this.#kept.values()].map(({ record }) => record).toSorted(compareRecords(by))
    this.#sorted.set(by, sorted)
    return sorted
  }
}
