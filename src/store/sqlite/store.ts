/** The store over one SQLite connection: each call of the contract becomes one transaction. */

import type { Fact } from '../../event/quarantine.ts'
import type { AppendResult, AppendOptions } from '../contract/append.ts'
import {
  checkConversationFilter,
  checkConversationQuery,
  checkExact,
} from '../kit/query/conversation-query.ts'
import { checkEventFilter, checkEventQuery, checkReadOptions } from '../kit/query/event-query.ts'
import type {
  ConversationFilter,
  ConversationPatch,
  ConversationQuery,
  ConversationRecord,
  NewConversation,
  UpdateOptions,
} from '../contract/conversation-record.ts'
import { checkChanges, checkClaim, checkItemFilter, checkItemQuery } from '../kit/items.ts'
import { checkFeedQuery } from '../kit/feed.ts'
import { checkLeaseQuery } from '../kit/leases.ts'
import type { Item, ItemChange, ItemClaim, ItemFilter, ItemQuery } from '../contract/items.ts'
import type { FeedPage, FeedQuery } from '../contract/feed.ts'
import type { Lease, LeaseQuery } from '../contract/lease.ts'
import type { Count, CountOptions, EventFilter, EventPage, EventQuery, Page } from '../contract/query.ts'
import type { Clock } from '../kit/record.ts'
import type { SaveSnapshotOptions, SnapshotPart } from '../contract/snapshot.ts'
import type { ReadOptions, Store, Unwatch, Wake } from '../contract/store.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import { Watches } from '../kit/watches.ts'
import { append } from './append.ts'
import {
  createConversation,
  deleteConversation,
  findConversation,
  setStatus,
  updateConversation,
} from './conversations.ts'
import { changeItems, claimItems, countItems, findItem, listItems } from './items.ts'
import { readFeed } from './feed.ts'
import { acquireLease, findLease, listLeases, releaseLease } from './leases.ts'
import { countConversations, listConversations } from './list.ts'
import { Poll } from './poll.ts'
import { readLog, selectById } from './read.ts'
import type { Runner } from './runner.ts'
import { countEvents, searchEvents } from './search.ts'
import { deleteSnapshot, loadSnapshot, saveSnapshot } from './snapshots.ts'

/** A store over a runner of work. */
export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly #runner: Runner
  readonly #clock: Clock
  readonly #watches = new Watches()
  readonly #poll: Poll

  /** @param pollInterval milliseconds */
  constructor(runner: Runner, clock: Clock, pollInterval: number) {
    this.#runner = runner
    this.#clock = clock
    const open = (): Promise<unknown> => runner.read(() => undefined)
    this.#poll = new Poll(this.#watches, () => runner.connection, open, pollInterval)
  }

  async append(id: string, facts: readonly Fact[], options: AppendOptions = {}): Promise<AppendResult> {
    const { events, added, tip } = await this.#runner.write((connection) =>
      append(connection, id, facts, options, this.#clock()),
    )
    if (added.length > 0) this.#watches.wake(id)
    return { events, version: tip.version, headId: tip.head?.id ?? null }
  }

  async read(id: string, options: ReadOptions = {}): Promise<StoredEvent[]> {
    return this.#runner.read((connection) => readLog(connection, id, checkReadOptions(options)))
  }

  async get(conversationId: string, id: string): Promise<StoredEvent | null> {
    return this.#runner.read((connection) => selectById(connection, conversationId, id))
  }

  async getMany(conversationId: string, ids: readonly string[]): Promise<(StoredEvent | null)[]> {
    return this.#runner.read((connection) =>
      connection.snapshot(() => ids.map((id) => selectById(connection, conversationId, id))),
    )
  }

  async search(query: EventQuery): Promise<EventPage> {
    return this.#runner.read((connection) => searchEvents(connection, checkEventQuery(query)))
  }

  async count(filter: EventFilter): Promise<number> {
    return this.#runner.read((connection) => countEvents(connection, checkEventFilter(filter)))
  }

  async createConversation(conversation: NewConversation): Promise<ConversationRecord> {
    return this.#runner.write((connection) => createConversation(connection, conversation, this.#clock()))
  }

  async getConversation(id: string): Promise<ConversationRecord | null> {
    return this.#runner.read((connection) => findConversation(connection, id))
  }

  async listConversations(query?: ConversationQuery): Promise<Page<ConversationRecord>> {
    return this.#runner.read((connection) => listConversations(connection, checkConversationQuery(query)))
  }

  async countConversations(filter?: ConversationFilter, { exact }: CountOptions = {}): Promise<Count> {
    return this.#runner.read((connection) =>
      countConversations(connection, checkConversationFilter(filter), checkExact(exact)),
    )
  }

  async setStatus(id: string, status: string, version: number): Promise<boolean> {
    return this.#runner.write((connection) => setStatus(connection, id, status, version))
  }

  async updateConversation(
    id: string,
    patch: ConversationPatch,
    options?: UpdateOptions,
  ): Promise<ConversationRecord> {
    return this.#runner.write((connection) =>
      updateConversation(connection, id, patch, this.#clock(), options),
    )
  }

  async deleteConversation(id: string): Promise<boolean> {
    const was = await this.#runner.write((connection) => deleteConversation(connection, id))
    if (was) this.#watches.wake(id)
    return was
  }

  async acquireLease(conversationId: string, owner: string, ttl: number): Promise<Lease | null> {
    return this.#runner.write((connection) =>
      acquireLease(connection, conversationId, owner, ttl, this.#millis()),
    )
  }

  async releaseLease(lease: Lease): Promise<boolean> {
    return this.#runner.write((connection) => releaseLease(connection, lease))
  }

  async getLease(conversationId: string): Promise<Lease | null> {
    return this.#runner.read((connection) => findLease(connection, conversationId))
  }

  async listLeases(query?: LeaseQuery): Promise<Lease[]> {
    const checked = checkLeaseQuery(query)
    return this.#runner.read((connection) => listLeases(connection, checked, this.#millis()))
  }

  async saveSnapshot(
    id: string,
    parts: readonly SnapshotPart[],
    { complete = false }: SaveSnapshotOptions = {},
  ): Promise<void> {
    return this.#runner.write((connection) => saveSnapshot(connection, id, parts, complete))
  }

  async loadSnapshot(id: string): Promise<SnapshotPart[]> {
    return this.#runner.read((connection) => loadSnapshot(connection, id))
  }

  async deleteSnapshot(id: string): Promise<boolean> {
    return this.#runner.write((connection) => deleteSnapshot(connection, id))
  }

  async feed(query?: FeedQuery): Promise<FeedPage> {
    const checked = checkFeedQuery(query)
    return this.#runner.read((connection) => readFeed(connection, checked))
  }

  async getItem(collection: string, id: string): Promise<Item | null> {
    return this.#runner.read((connection) => findItem(connection, collection, id))
  }

  async changeItems(changes: readonly ItemChange[]): Promise<(Item | null)[]> {
    return this.#runner.write((connection) => changeItems(connection, checkChanges(changes), this.#millis()))
  }

  async listItems(collection: string, query?: ItemQuery): Promise<Page<Item>> {
    return this.#runner.read((connection) =>
      listItems(connection, collection, checkItemQuery(collection, query)),
    )
  }

  async countItems(collection: string, filter?: ItemFilter, { exact }: CountOptions = {}): Promise<Count> {
    return this.#runner.read((connection) =>
      countItems(connection, collection, checkItemFilter(collection, filter), checkExact(exact)),
    )
  }

  async claimItems(collection: string, claim: ItemClaim): Promise<Item[]> {
    return this.#runner.write((connection) =>
      claimItems(connection, collection, checkClaim(collection, claim), this.#millis()),
    )
  }

  watch(conversationId: string | null, wake: Wake): Unwatch {
    this.#runner.refuseWhenClosed()
    const unwatch = this.#watches.add(conversationId, wake)
    this.#poll.start()
    return () => {
      unwatch()
      this.#poll.rest()
    }
  }

  async close(): Promise<void> {
    this.#watches.clear()
    this.#poll.rest()
    await this.#runner.close()
  }
  #millis(): number {
    return Number(this.#clock() / 1000n)
  }
}
