/** The conversations of a memory store: records, logs and leases by id, and the records in order. */

import type { ConversationRecord } from '../contract/conversation-record.ts'
import { type Count, MOST_COUNTED, MOST_LOOKED_AT, type Page } from '../contract/query.ts'
import type { Lease } from '../contract/store.ts'
import { conversationExists, unknownConversation } from '../kit/errors.ts'
import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  type ConversationPlace,
  countWalkOf,
  keysOf,
  type ListKey,
  lookedCount,
  lookedPage,
  type Walk,
  walkOf,
} from '../kit/query/conversation-query.ts'
import { compareRecords, fitsRecord, recordTime } from '../kit/query/fits.ts'
import { compareIds } from '../kit/record.ts'
import { type MemoryLog, newLog, type LogRow } from './log.ts'
import { SortedList } from './sorted.ts'

/** The records that a walk goes through, in its order upwards; null for none. */
export type Walked = (walk: Walk) => SortedList<Kept> | null

/** Returns one page. O(log n + visited records). */
export function listConversations(walked: Walked, query: CheckedConversationQuery): Page<ConversationRecord> {
  const walk = walkOf(query, query.by)
  const matches: ConversationRecord[] = []
  let looked = 0
  for (const record of recordsOf(walked, walk, query)) {
    if (fitsRecord(record, query)) matches.push(record)
    looked += 1
    if (matches.length > query.limit) break
    if (looked === MOST_LOOKED_AT) return lookedPage(query, matches, placeOf(record, query.by))
  }
  return lookedPage(query, matches, null)
}

/** Counts the records that match a filter. O(visited records). */
export function countConversations(walked: Walked, filter: CheckedConversationFilter, exact: boolean): Count {
  const walk = countWalkOf(filter)
  let count = 0
  let looked = 0
  for (const record of recordsOf(walked, walk, { descending: false, after: null })) {
    if (fitsRecord(record, filter)) count += 1
    looked += 1
    if (!exact && looked > MOST_COUNTED) break
  }
  return lookedCount(count, looked, exact)
}

const placeOf = (record: ConversationRecord, by: Walk['by']): ConversationPlace => ({
  time: recordTime(record, by),
  id: record.id,
})

function* recordsOf(
  walked: Walked,
  walk: Walk,
  { descending, after }: Pick<CheckedConversationQuery, 'descending' | 'after'>,
): Generator<ConversationRecord, void, undefined> {
  const { by, from, until } = walk
  const list = walked(walk)
  if (list === null) return
  const order = (record: ConversationRecord, { time, id }: ConversationPlace): number => {
    const ownTime = recordTime(record, by)
    return ownTime === time ? compareIds(record.id, id) : ownTime < time ? -1 : 1
  }
  const isEarly = (record: ConversationRecord): boolean => from !== null && recordTime(record, by) < from
  const isLate = (record: ConversationRecord): boolean => until !== null && recordTime(record, by) >= until
  const walkFrom = descending
    ? list.before(({ record }) => !isLate(record) && (after === null || order(record, after) < 0))
    : list.from(({ record }) => isEarly(record) || (after !== null && order(record, after) <= 0))
  for (const { record } of walkFrom) {
    if (descending ? isEarly(record) : isLate(record)) return
    yield record
  }
}

export interface Kept {
  record: ConversationRecord
  readonly log: MemoryLog
  /** The latest lease; null without one, or after its release. */
  lease: Lease | null
  generation: number
  readonly feedStart: number
  /** The bytes of the snapshot's parts by their numbers; no other code holds them. */
  readonly snapshot: Map<number, Uint8Array>
}

export class Conversations {
  readonly #kept = new Map<string, Kept>()
  readonly #created = listBy('createdAt')
  readonly #updated = listBy('updatedAt')
  readonly #keyed = new Map<string, SortedList<Kept>>()

  find(id: string): Kept | undefined {
    return this.#kept.get(id)
  }

  /** @throws `unknown_conversation`. */
  get(id: string): Kept {
    const stored = this.#kept.get(id)
    if (stored !== undefined) return stored
    throw unknownConversation(id)
  }

  /** @throws `conversation_exists`. */
  add(record: ConversationRecord, feedStart: number): void {
    if (this.#kept.has(record.id)) throw conversationExists(record.id)
    const snapshot = new Map<number, Uint8Array>()
    const stored = { record, log: newLog(), lease: null, generation: 0, feedStart, snapshot }
    this.#kept.set(record.id, stored)
    this.#list(stored)
  }

  /** O(log n · keys). */
  change(stored: Kept, record: ConversationRecord): void {
    this.#unlist(stored)
    stored.record = record
    this.#list(stored)
  }

  /** A change of the log's length, HEAD and time, which only one list is sorted by. O(log n). */
  appended(stored: Kept, record: ConversationRecord): void {
    this.#updated.delete(stored)
    stored.record = record
    this.#updated.add(stored)
  }

  delete(id: string): boolean {
    const stored = this.#kept.get(id)
    if (stored !== undefined) this.#unlist(stored)
    return this.#kept.delete(id)
  }

  /** The rows of all logs. O(events). */
  rows(): LogRow[] {
    return [...this.#kept.values()].flatMap(({ log }) => log.rows)
  }

  /** Events of all logs. O(conversations). */
  get events(): number {
    return [...this.#kept.values()].reduce((sum, { log }) => sum + log.rows.length, 0)
  }

  /** Returns the leases that were not returned, in the order of ids. O(conversations). */
  leases(): Lease[] {
    return [...this.#kept.values()]
      .flatMap(({ lease }) => lease ?? [])
      .toSorted((a, b) => compareIds(a.conversationId, b.conversationId))
  }

  /** The conversations that a walk goes through, in its order upwards; null for none. O(1). */
  walked({ by, key }: Walk): SortedList<Kept> | null {
    if (key !== null) return this.#keyed.get(keyName(key)) ?? null
    return by === 'createdAt' ? this.#created : this.#updated
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
      if (list?.isEmpty === true) this.#keyed.delete(keyName(key))
    }
  }
}

function listBy(by: Walk['by']): SortedList<Kept> {
  const compare = compareRecords(by)
  return new SortedList((a, b) => compare(a.record, b.record))
}

const keyName = ([name, value]: ListKey): string => `${name}\n${value}`
