/** The feed of a memory store: a list of what happened, and one for each shard. */

import { SHARDS } from '../contract/feed.ts'
import { type CheckedFeedQuery, type FeedRow, placeNumber, rowsFor, shardOf, TOLD } from '../kit/feed.ts'
import { firstFrom } from './sorted.ts'

interface Told extends Pick<FeedRow, 'conversationId' | 'told' | 'from'> {
  readonly at: number
  until: number
}

/** What happened, in order. Costs a row for each append, and none for those to one conversation in a row. */
export class MemoryFeed {
  readonly #all: Told[] = []
  readonly #shards = Array.from({ length: SHARDS }, (): Told[] => [])
  /** No other store takes a place of this one for its own. */
  readonly #witness = crypto.randomUUID()

  /** Where the next row will stand. */
  get end(): number {
    return this.#all.length + 1
  }

  appended(conversationId: string, from: number, until: number): void {
    const last = this.#all.at(-1)
    if (last?.conversationId === conversationId && last.told === TOLD.events) last.until = until
    else this.#tell(conversationId, TOLD.events, from, until)
  }

  changed(conversationId: string): void {
    this.#tell(conversationId, TOLD.changed, 0, 1)
  }

  deleted(conversationId: string): void {
    this.#tell(conversationId, TOLD.deleted, 0, 1)
  }

  /** The rows of a page. O(limit + log n). @param startOf where the row stood that told of a conversation's creation */
  rows(query: CheckedFeedQuery, startOf: (conversationId: string) => number | undefined): FeedRow[] {
    const told = this.#of(query)
    const from = placeNumber(query)
    const start = firstFrom(told, ({ at }) => at < from)
    return told.slice(start, start + rowsFor(query)).map((row) => this.#rowOf(row, startOf))
  }

  /** The last row. */
  last(query: CheckedFeedQuery): FeedRow | undefined {
    const row = this.#of(query).at(-1)
    return row && this.#rowOf(row, () => undefined)
  }

  #of({ shard }: CheckedFeedQuery): readonly Told[] {
    return (shard === null ? this.#all : this.#shards[shard]) ?? []
  }

  #rowOf(row: Told, startOf: (conversationId: string) => number | undefined): FeedRow {
    const { at, conversationId } = row
    const isThere = (startOf(conversationId) ?? Number.POSITIVE_INFINITY) <= at
    return { ...row, place: String(at), witness: this.#witness, isThere }
  }

  #tell(conversationId: string, told: number, from: number, until: number): void {
    const row = { conversationId, told, from, until, at: this.end }
    this.#all.push(row)
    this.#shards[shardOf(conversationId)]?.push(row)
  }
}
