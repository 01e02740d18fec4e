import type { BlobAudit } from '../contract/blobs.ts'
import type { ConversationRecord } from '../contract/conversation-record.ts'
import { type Count, MAX_COUNTED, MAX_VISITED, type Page } from '../contract/query.ts'
import type { Lease } from '../contract/store.ts'
import { conversationExists, unknownConversation } from '../kit/errors.ts'
import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  countWalkOf,
  keysOf,
  type ListKey,
  lookedCount,
  lookedPage,
  type Walk,
  walkOf,
} from '../kit/query/conversation-query.ts'
import { comparePlaces, compareRecords, fitsRecord, recordTime } from '../kit/query/fits.ts'
import { compareIds } from '../kit/record.ts'
import { auditStrings, forgetStrings, type MemoryLog, newLog, type SharedStrings } from './log.ts'
import { SortedList } from './sorted.ts'

export interface Kept {
  record: ConversationRecord
  readonly log: MemoryLog
  /** The latest lease; null before the first lease, or after a release. */
  lease: Lease | null
  generation: number
  readonly feedStart: number
  /** Parts of the snapshot, by number. No other code holds these arrays. */
  readonly snapshot: Map<number, Uint8Array>
}

export class Conversations {
  readonly #kept = new Map<string, Kept>()
  readonly #strings: SharedStrings = new Map()
  readonly #created = listBy('createdAt')
  readonly #updated = listBy('updatedAt')
  readonly #keyed = new Map<string, SortedList<Kept>>()

  find(id: string): Kept | undefined {
    return this.#kept.get(id)
  }

  get(id: string): Kept {
    const stored = this.#kept.get(id)
    if (stored !== undefined) return stored
    throw unknownConversation(id)
  }

  add(record: ConversationRecord, feedStart: number): void {
    if (this.#kept.has(record.id)) throw conversationExists(record.id)
    const snapshot = new Map<number, Uint8Array>()
    const stored = { record, log: newLog(this.#strings), lease: null, generation: 0, feedStart, snapshot }
    this.#kept.set(record.id, stored)
    this.#list(stored)
  }

  change(stored: Kept, record: ConversationRecord): void {
    this.#unlist(stored)
    stored.record = record
    this.#list(stored)
  }

  /** Replaces the record after an append. Only the list sorted by time of change must be reordered. */
  appended(stored: Kept, record: ConversationRecord): void {
    this.#updated.delete(stored)
    stored.record = record
    this.#updated.add(stored)
  }

  delete(stored: Kept): void {
    this.#unlist(stored)
    this.#kept.delete(stored.record.id)
    forgetStrings(stored.log)
  }

  get events(): number {
    return this.#logs().reduce((sum, { rows }) => sum + rows.length, 0)
  }

  audit(): BlobAudit {
    return auditStrings(this.#logs(), this.#strings)
  }

  #logs(): MemoryLog[] {
    return [...this.#kept.values()].map(({ log }) => log)
  }

  leases(): Lease[] {
    return [...this.#kept.values()]
      .flatMap(({ lease }) => lease ?? [])
      .toSorted((a, b) => compareIds(a.conversationId, b.conversationId))
  }

  page(query: CheckedConversationQuery): Page<ConversationRecord> {
    if (!query.isPossible) return lookedPage(query, [], null)
    const matches: ConversationRecord[] = []
    let looked = 0
    for (const { record } of this.#walk(walkOf(query, query.by), query)) {
      if (fitsRecord(record, query)) matches.push(record)
      looked += 1
      if (matches.length > query.limit) break
      if (looked === MAX_VISITED)
        return lookedPage(query, matches, { time: recordTime(record, query.by), id: record.id })
    }
    return lookedPage(query, matches, null)
  }

  count(filter: CheckedConversationFilter, exact: boolean): Count {
    if (!filter.isPossible) return lookedCount(0, 0, exact)
    let [count, looked] = [0, 0]
    for (const { record } of this.#walk(countWalkOf(filter), { descending: false, after: null })) {
      if (fitsRecord(record, filter)) count += 1
      looked += 1
      if (!exact && looked > MAX_COUNTED) break
    }
    return lookedCount(count, looked, exact)
  }

  #walk(
    { by, key, from, until }: Walk,
    { descending, after }: Pick<CheckedConversationQuery, 'descending' | 'after'>,
  ): Iterable<Kept> {
    const all = by === 'createdAt' ? this.#created : this.#updated
    const list = key === null ? all : this.#keyed.get(keyName(key))
    if (list === undefined) return []
    const timeOf = ({ record }: Kept): bigint => recordTime(record, by)
    return list.between({
      isEarly: (stored) => from !== null && timeOf(stored) < from,
      isLate: (stored) => until !== null && timeOf(stored) >= until,
      order: after && ((stored) => comparePlaces({ time: timeOf(stored), id: stored.record.id }, after)),
      descending,
    })
  }

  #list(stored: Kept): void {
    this.#created.add(stored)
    this.#updated.add(stored)
    for (const key of keysOf(stored.record)) {
      const list = this.#keyed.get(keyName(key)) ?? listBy('createdAt')
      this.#keyed.set(keyName(key), list)
      list.add(stored)
    }
  }

  #unlist(stored: Kept): void {
    this.#created.delete(stored)
    this.#updated.delete(stored)
    for (const key of keysOf(stored.record)) {
      const list = this.#keyed.get(keyName(key))
      list?.delete(stored)
      if (list?.first === undefined) this.#keyed.delete(keyName(key))
    }
  }
}

function listBy(by: Walk['by']): SortedList<Kept> {
  const compare = compareRecords(by)
  return new SortedList((a, b) => compare(a.record, b.record))
}

const keyName = ([name, value]: ListKey): string => `${name}\n${value}`
