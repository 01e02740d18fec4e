/** Followers receive what happens in all conversations, at least once and in order per conversation. */

import { ColloquyError, hasCode, nullOn } from '../../event/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import { type FeedItem, FOLLOWERS, SHARDS } from '../../store/contract/feed.ts'
import type { Item, ItemChange } from '../../store/contract/items.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { Store, Unwatch } from '../../store/contract/store.ts'
import { shardOf } from '../../store/kit/feed.ts'
import { checkOneOf, checkOptionNames, invalidArgument, MAX_DELAY } from '../../event/check-value.ts'
import { allItems } from '../../store/kit/query/page.ts'
import { delayAfter, limitConcurrency, orAborted, pause, type RunInOrder, serialQueue } from '../async.ts'
import type { EngineContext } from '../engine-context.ts'
import { type LoggedEvent, toLogged } from '../logged-event.ts'

interface Progress {
  /** How far the shard was read, as a cursor of the feed; null at the start. */
  readonly cursor: string | null
  /** The shard is read again from its start, so the handler must receive a reset before any other item. */
  readonly reset?: true
}

type Shard = ReturnType<typeof newShard>

const newShard = ({ id, version, body: { cursor, reset } }: Item) => ({
  /** Id of the shard's item: the shard's number. */
  id,
  version,
  progress: {
    cursor: typeof cursor === 'string' ? cursor : null,
    ...(reset === true && { reset }),
  } as Progress,
  isSaved: true,
  /** Aborted when the shard is lost, or when it is to be released after the current handler call. */
  ending: new AbortController(),
  /** Aborted when another process may hold the shard. */
  lost: new AbortController(),
  done: Promise.resolve(),
})

const shardsOf = (name: string): string => `${FOLLOWERS}${name}`
const membersOf = (name: string): string => `follow-members:${name}`
const shardId = (shard: number): string => String(shard).padStart(2, '0')

export async function storeStart(store: Store, name: string, from: FollowerParts['from']): Promise<void> {
  const collection = shardsOf(name)
  if ((await store.getItem(collection, shardId(0))) !== null) return
  const numbers = Array.from({ length: SHARDS }, (_, shard) => shard)
  const cursors =
    from === 'start'
      ? numbers.map(() => null)
      : await Promise.all(
          numbers.map(async (shard) => (await store.feed({ shard, from: 'end', limit: 1 })).next),
        )
  await store
    .changeItems(
      cursors.map((cursor, shard) => ({
        collection,
        id: shardId(shard),
        expected: null,
        put: { body: { cursor }, dueIn: 0 },
      })),
    )
    .catch(nullOn('version_conflict'))
}

/**
 * This process's share of the shards, held until `closing` is aborted. The shards are divided among the
 * processes with an unexpired membership item. A process renews its membership item when it renews its
 * leases.
 */
class Share {
  readonly #parts: FollowerParts
  readonly #owned = new Map<string, Shard>()
  /** Runs writes in order, because each write needs the version that the previous write returned. */
  readonly #inOrder = serialQueue()
  #saving: Promise<void> | null = null
  #expiry: ReturnType<typeof setTimeout> | undefined
  #share = 0
  #live = 0
  /**
   * Time (`performance.now()`) until which other processes may release shards, because the number of processes
   * has changed.
   */
  #unsettledUntil = 0

  constructor(parts: FollowerParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#owned.size
  }

  async hold(): Promise<void> {
    const { store, name, member, leaseTtl, closing, onError } = this.#parts
    while (!closing.aborted) {
      let next = leaseTtl / 3
      try {
        next = await this.#renew()
        await this.#claimUntil(performance.now() + next)
        continue
      } catch (error) {
        if (hasCode(error, 'store_closed')) break
        onError(error, [])
      }
      await pause(next, closing)
    }
    await this.#release([...this.#owned.values()])
    clearTimeout(this.#expiry)
    // If this fails, the item expires.
    await store.changeItems([{ collection: membersOf(name), id: member, put: null }]).catch(() => undefined)
  }

  /** Renews leases, then claims or releases shards. Returns the milliseconds until the next renewal. */
  async #renew(): Promise<number> {
    const { store, name, from, member, leaseTtl } = this.#parts
    const membership = { collection: membersOf(name), id: member, put: { body: {}, dueIn: leaseTtl } }
    const requestedAt = performance.now()
    const put = await this.#inOrder(() => this.#write([...this.#owned.values()], membership))
    clearTimeout(this.#expiry)
    this.#expiry = setTimeout(
      () => this.#loseAll(),
      Math.max(0, leaseTtl - (performance.now() - requestedAt)),
    )
    const now = (put?.dueAt ?? 0) - leaseTtl
    const { live, nextEnd } = await this.#countMembers(now)
    if (live !== this.#live) this.#unsettledUntil = performance.now() + leaseTtl
    this.#live = live
    const share = Math.ceil(SHARDS / live)
    this.#share = share
    const staying = [...this.#owned.values()].filter(({ ending }) => !ending.signal.aborted)
    if (staying.length > share) void this.#release(staying.slice(share))
    // A restored database may not know this follower yet.
    if (this.#owned.size === 0) await storeStart(store, name, from)
    await this.#claim()
    return Math.min(leaseTtl / 3, Math.max(1, nextEnd - now + 1))
  }

  async #claimUntil(end: number): Promise<void> {
    const { leaseTtl, closing } = this.#parts
    for (let now = performance.now(); now < end && !closing.aborted; now = performance.now()) {
      const isSoon = this.#owned.size < this.#share && now < this.#unsettledUntil
      await pause(Math.min(isSoon ? leaseTtl / 30 : Infinity, end - now), closing)
      if (isSoon) await this.#claim()
    }
  }

  async #claim(): Promise<void> {
    const { store, name, leaseTtl, closing } = this.#parts
    const limit = this.#share - this.#owned.size
    if (limit <= 0 || closing.aborted) return
    for (const item of await store.claimItems(shardsOf(name), { ttl: leaseTtl, limit })) this.#own(item)
  }

  async #countMembers(now: number): Promise<{ readonly live: number; readonly nextEnd: number }> {
    const { store, name, member } = this.#parts
    const collection = membersOf(name)
    let live = 1
    let nextEnd = Infinity
    for await (const { id, dueAt, version } of allItems((start) => store.listItems(collection, start))) {
      if (id === member) continue
      if ((dueAt ?? 0) > now) {
        live += 1
        nextEnd = Math.min(nextEnd, dueAt ?? 0)
        continue
      }
      const gone = { collection, id, expected: version, put: null }
      await store.changeItems([gone]).catch(nullOn('version_conflict'))
    }
    return { live, nextEnd }
  }

  #own(item: Item): void {
    const shard = newShard(item)
    // If this process still has the shard, its lease expired and no other process claimed it.
    this.#lose(shard.id)
    this.#owned.set(shard.id, shard)
    shard.done = this.#read(shard)
  }

  /** Reads a shard until it is released or lost. Never rejects. */
  async #read(shard: Shard): Promise<void> {
    const { store, limit, news, limited, handler, closing, onError } = this.#parts
    const number = Number(shard.id)
    const ending = shard.ending.signal
    const signal = AbortSignal.any([closing, shard.lost.signal])
    const deliver = async (items: readonly FollowItem[]): Promise<boolean> => {
      if (ending.aborted) return false
      await handler(items, { signal })
      return true
    }
    let failures = 0
    let more = true
    while (!ending.aborted) {
      if (!more) await news.wait(number, ending)
      if (ending.aborted) return
      let items: readonly FollowItem[] = []
      try {
        const { cursor, reset } = shard.progress
        const after = cursor === null ? {} : { after: cursor }
        const page = reset === true ? null : await store.feed({ shard: number, limit, ...after })
        if (page?.reset === true) {
          // Store the reset before it is delivered: otherwise, after a handler has discarded everything, the
          // shard's next owner might continue at the old position.
          await this.#startOver(shard, page.next)
          more = true
          continue
        }
        items = page?.items.map(toFollowItem) ?? [{ type: 'reset', shard: number }]
        const isDone = items.length === 0 || (await limited(() => deliver(items)))
        if (!isDone || shard.lost.signal.aborted) return
        items = []
        const next = page === null ? cursor : page.next
        if (page === null || next !== cursor) await this.#save(shard, { cursor: next })
        more = page?.more ?? true
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        more = true
        onError(error, items)
        failures += 1
        await pause(delayAfter(failures, this.#parts), ending)
      }
    }
  }

  async #startOver(shard: Shard, cursor: string): Promise<void> {
    const before = shard.progress
    try {
      await this.#save(shard, { cursor, reset: true })
    } catch (error) {
      shard.progress = before
      throw error
    }
  }

  /** Stores how far a shard was read, and renews its lease. Concurrent calls share a transaction. */
  #save(shard: Shard, progress: Progress): Promise<void> {
    shard.progress = progress
    shard.isSaved = false
    this.#saving ??= this.#inOrder(async () => {
      this.#saving = null
      await this.#write([...this.#owned.values()].filter(({ isSaved }) => !isSaved))
    })
    return this.#saving
  }

  async #write(
    shards: readonly Shard[],
    membership?: ItemChange,
    dueIn = this.#parts.leaseTtl,
  ): Promise<Item | null | undefined> {
    const { store, name } = this.#parts
    const collection = shardsOf(name)
    for (;;) {
      const owned = shards.filter((shard) => this.#owned.get(shard.id) === shard)
      const saved = owned.map(({ progress }) => progress)
      const changes = owned.map(({ id, version, progress }) => ({
        collection,
        id,
        expected: version,
        put: { body: { ...progress }, dueIn },
      }))
      if (membership === undefined && changes.length === 0) return undefined
      try {
        const items = await store.changeItems(membership === undefined ? changes : [...changes, membership])
        owned.forEach((shard, index) => {
          shard.version = items[index]?.version ?? shard.version
          shard.isSaved = shard.progress === saved[index]
        })
        return items.at(-1)
      } catch (error) {
        if (!hasCode(error, 'version_conflict')) throw error
        this.#lose(String(error.data['id']))
      }
    }
  }

  async #release(shards: readonly Shard[]): Promise<void> {
    for (const { ending } of shards) ending.abort()
    await Promise.all(shards.map(({ done }) => done))
    try {
      await this.#inOrder(() => this.#write(shards, undefined, 0))
    } catch (error) {
      // Leases that were not released expire.
      if (!hasCode(error, 'store_closed')) this.#parts.onError(error, [])
    }
    for (const shard of shards) if (this.#owned.get(shard.id) === shard) this.#owned.delete(shard.id)
  }

  #lose(id: string): void {
    const shard = this.#owned.get(id)
    if (shard === undefined) return
    this.#owned.delete(id)
    shard.ending.abort()
    shard.lost.abort(
      new ColloquyError('lease_lost', 'Another process may hold the lease now. Stop processing.'),
    )
  }

  #loseAll(): void {
    for (const id of this.#owned.keys()) this.#lose(id)
  }
}

/** Options of a follower. */
export interface FollowOptions {
  /**
   * Name of the follower: 1 to 100 characters, each allowed in an id (design D19). Processes with the same
   * name share the conversations, and resume from the stored position.
   */
  readonly name: string
  /** Where a new follower begins: `start` (default) delivers everything, `now` only what happens later. */
  readonly from?: 'start' | 'now'
  /** Maximum number of items per handler call. Default and maximum: 100 (`MAX_PAGE_SIZE`). */
  readonly limit?: number
  /** Maximum number of concurrent handler calls in this process, each for a different shard. Default: 8. */
  readonly concurrency?: number
  /** Milliseconds until other processes take over a dead process's shards. Default: 15,000. */
  readonly leaseTtl?: number
  /** Milliseconds between polls for changes that no notification reported. Default: 1,000. */
  readonly pollInterval?: number
  /** Milliseconds before a failed call is retried, doubled each time, minus random jitter. Default: 1,000. */
  readonly retryDelay?: number
  /** Maximum milliseconds to which `retryDelay` is doubled. Default: 60,000. */
  readonly maxRetryDelay?: number
  /**
   * Called with an error of the handler and the items that are delivered again, or with an error of the store
   * and no items. Must not throw. Default: handler errors are unhandled rejections, store errors are ignored.
   */
  readonly onError?: (error: unknown, items: readonly FollowItem[]) => void
  /** Aborting it closes the follower. */
  readonly signal?: AbortSignal
}

/** This process's share of a follower. */
export interface Follower {
  /** How many of the 64 shards this process holds. */
  readonly shards: number
  /** Resolves when the follower has ended: its handler calls are done, and its leases are released. */
  readonly closed: Promise<void>
  /** Ends the follower after its running handlers. They must not await `close`. Resolves when `closed` does. */
  close(): Promise<void>
}

const OPTIONS = 'name from limit concurrency leaseTtl pollInterval retryDelay maxRetryDelay onError signal'

const NUMBER_OPTIONS = ['concurrency', 'leaseTtl', 'pollInterval', 'retryDelay', 'maxRetryDelay'] as const
const NAME_LENGTH = 100

export async function follow(
  context: EngineContext,
  options: FollowOptions,
  handler: FollowHandler,
): Promise<Follower> {
  context.check()
  checkOptionNames(options, OPTIONS)
  const { signal, ...overrides } = options
  const all = {
    from: 'start' as const,
    limit: MAX_PAGE_SIZE,
    concurrency: 8,
    leaseTtl: 15_000,
    pollInterval: 1_000,
    retryDelay: 1_000,
    maxRetryDelay: 60_000,
    onError: rejectUnhandled,
    ...overrides,
  }
  const { name, onError, pollInterval } = all
  if (!isLegalId(name) || name.length > NAME_LENGTH)
    invalidArgument('name', `must be 1 to ${NAME_LENGTH} printable characters`)
  for (const field of [...NUMBER_OPTIONS, 'limit'] as const) {
    const maximum = field === 'limit' ? MAX_PAGE_SIZE : MAX_DELAY
    if (!Number.isSafeInteger(all[field]) || all[field] < 1 || all[field] > maximum)
      invalidArgument(field, `must be an integer from 1 to ${maximum}`)
  }
  checkOneOf('from', all.from, ['start', 'now'], invalidArgument)
  if (typeof handler !== 'function') invalidArgument('handler', 'must be a function')
  const { store } = context
  await storeStart(store, name, all.from)
  const over = new AbortController()
  const closing = AbortSignal.any([over.signal, context.closing, ...(signal === undefined ? [] : [signal])])
  const news = new News(store)
  const limited = limitConcurrency(all.concurrency)
  const share = new Share({ ...all, store, member: context.newOwner(), news, limited, handler, closing })
  const polling = news.poll(pollInterval, closing, (error) => onError(error, []))
  const closed = context.track(
    share.hold().then(() => {
      over.abort()
      return polling
    }),
  )
  return {
    get shards() {
      return share.size
    },
    closed,
    close() {
      over.abort()
      return closed
    },
  }
}

function rejectUnhandled(error: unknown, items: readonly FollowItem[]): void {
  if (items.length > 0) void Promise.reject(error)
}

/** What a handler receives: an event, a change or the deletion of a conversation, or a reset. */
export type FollowItem =
  | (LoggedEvent & { readonly conversationId: string })
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }
  /** The database was restored or replaced. Discard this shard's items: all are delivered again. */
  | { readonly type: 'reset'; readonly shard: number }

/** Context of a handler call. */
export interface Following {
  /** Aborted when the follower closes, or when another process may receive the same items. */
  readonly signal: AbortSignal
}

/** Receives items of one shard, in order. If the handler throws, the items are delivered again. */
export type FollowHandler = (items: readonly FollowItem[], following: Following) => Promise<void> | void

interface FollowerParts extends Required<Omit<FollowOptions, 'signal'>> {
  readonly store: Store
  readonly member: string
  readonly news: News
  readonly limited: RunInOrder
  readonly handler: FollowHandler
  readonly closing: AbortSignal
}

const toFollowItem = (item: FeedItem): FollowItem =>
  item.type === 'event'
    ? { ...toLogged(item.event), conversationId: item.conversationId }
    : { type: item.type, conversationId: item.conversationId }

/** Tracks which shards may have new items. A poll that finds nothing new is one read of at most one item. */
class News {
  readonly #store: Store
  readonly #waiters = new Map<number, () => void>()
  readonly #fresh = new Set<number>()
  /** End of the feed at the last poll. Shards with unread items before it are in `#fresh`. */
  #tip: string | null = null
  #polling: Promise<void> | null = null
  #pollAgain = false

  constructor(store: Store) {
    this.#store = store
  }

  async poll(interval: number, closing: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    const pollNow = (): void => {
      if (this.#polling !== null) {
        this.#pollAgain = true
        return
      }
      this.#polling = this.#pollOnce()
        .catch((error: unknown) => {
          if (!closing.aborted) onError(error)
        })
        .then(() => {
          this.#polling = null
          if (this.#pollAgain && !closing.aborted) pollNow()
          this.#pollAgain = false
        })
    }
    let unwatch: Unwatch | null = null
    while (!closing.aborted) {
      try {
        unwatch ??= this.#store.watch(null, (id) => (id === undefined ? pollNow() : this.notify(shardOf(id))))
      } catch (error) {
        onError(error)
      }
      pollNow()
      await pause(interval, closing)
    }
    unwatch?.()
    await this.#polling
  }

  notify(shard: number): void {
    this.#fresh.add(shard)
    this.#waiters.get(shard)?.()
  }

  async wait(shard: number, signal: AbortSignal): Promise<void> {
    if (this.#fresh.delete(shard) || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.set(shard, resolve)
    await orAborted(promise, signal)
    if (this.#waiters.get(shard) === resolve) this.#waiters.delete(shard)
    this.#fresh.delete(shard)
  }

  async #pollOnce(): Promise<void> {
    if (this.#tip !== null) {
      const { next } = await this.#store.feed({ after: this.#tip, limit: 1 })
      if (next === this.#tip) return
    }
    // Shards are notified after this read, so that they see everything before the tip.
    this.#tip = (await this.#store.feed({ from: 'end', limit: 1 })).next
    for (let shard = 0; shard < SHARDS; shard += 1) this.notify(shard)
  }
}
