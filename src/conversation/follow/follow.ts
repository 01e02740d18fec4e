/** Followers: programs that are given what happens in all conversations, at least once and in order for each. */

import { SHARDS, type FeedItem, type FeedQuery } from '../../store/contract/feed.ts'
import { shardOf } from '../../store/kit/feed.ts'
import type { Store, Unwatch } from '../../store/contract/store.ts'
import { pause, type RunInOrder, limitConcurrency } from '../async.ts'
import { type LoggedEvent, toLogged } from '../logged-event.ts'
import { type HeldShard, beginAt, Share } from './shards.ts'
import { isLegalId } from '../../event/ids.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { invalidArgument } from '../../store/kit/query/check-value.ts'
import type { EngineContext } from '../engine-context.ts'

/** Who follows, and how. */
export interface FollowOptions {
  /**
   * 1 to 100 characters, as those of ids (design D19). Processes that follow by one name share the conversations among
   * them, and go on where that name has come to.
   */
  readonly name: string
  /** Where a name that is new begins: with all that there is (default), or with what comes. */
  readonly from?: 'start' | 'now'
  /** Most items that the handler is given at once, 1 to `MAX_PAGE_SIZE`, which is the default. */
  readonly limit?: number
  /** Most handlers at work at once in this process, each for other conversations. Default: 8. */
  readonly concurrency?: number
  /** Milliseconds after which the others take over what a process held that died. Default: 15,000. */
  readonly leaseTtl?: number
  /** Milliseconds between two looks for what the store did not wake for. Default: 1,000. */
  readonly pollInterval?: number
  /** Milliseconds before a failed handler is called again; doubled each time, varied by half. Default: 1,000. */
  readonly retryDelay?: number
  /** Most milliseconds between two of these calls. Default: 60,000. */
  readonly maxRetryDelay?: number
  /**
   * Is told what the handler threw, with the items that it is given again; and, without items, what the store did. Must
   * not throw. Default: what the handler throws becomes a rejection that nothing handles; failures of the store, which
   * is asked again, are not told.
   */
  readonly onError?: (error: unknown, items: readonly FollowItem[]) => void
  /** Ends it. */
  readonly signal?: AbortSignal
}

/** One process's part of a follower. */
export interface Follower {
  /** How many of the 64 shards this process holds now. */
  readonly shards: number
  /** Resolves when it has ended: what was under way is done, and its leases are given back. */
  readonly closed: Promise<void>
  /**
   * Ends it; resolves as `closed` does. It waits for handlers that are at work: one that closes its own follower must
   * not wait for that, or neither would end.
   */
  close(): Promise<void>
}

const COUNTS = ['concurrency', 'leaseTtl', 'pollInterval', 'retryDelay', 'maxRetryDelay'] as const
/** What a timer can wait, in milliseconds. */
const MOST = 2 ** 31 - 1
const NAME_LENGTH = 100

/**
 * Begins to follow; resolves when it is written down where.
 * @throws ColloquyError `invalid_argument` for options that are none, and what the store throws.
 */
export async function follow(
  context: EngineContext,
  options: FollowOptions,
  handler: FollowHandler,
): Promise<Follower> {
  context.check()
  const all = {
    from: 'start' as const,
    limit: MAX_PAGE_SIZE,
    concurrency: 8,
    leaseTtl: 15_000,
    pollInterval: 1_000,
    retryDelay: 1_000,
    maxRetryDelay: 60_000,
    onError: tell,
    ...options,
  }
  const { name, limit, signal, onError, leaseTtl, pollInterval } = all
  if (!isLegalId(name) || name.length > NAME_LENGTH)
    invalidArgument('name', `must be 1 to ${NAME_LENGTH} printable characters`)
  for (const field of COUNTS)
    if (!isCount(all[field], MOST)) invalidArgument(field, `must be a whole number from 1 to ${MOST}`)
  if (!isCount(limit, MAX_PAGE_SIZE))
    invalidArgument('limit', `must be a whole number from 1 to ${MAX_PAGE_SIZE}`)
  const { store } = context
  await beginAt(store, name, all.from)
  const over = new AbortController()
  const closing = AbortSignal.any([over.signal, context.closing, ...(signal === undefined ? [] : [signal])])
  const onStoreError = (error: unknown): void => onError(error, [])
  const news = new News(store)
  const inTurn = limitConcurrency(all.concurrency)
  const share = new Share({
    store,
    name,
    from: all.from,
    member: context.newOwner(),
    leaseTtl,
    read: (shard) => readShard(shard, { ...all, store, news, inTurn, handler, closing }),
    onError: onStoreError,
  })
  const looking = news.look(pollInterval, closing, onStoreError)
  const closed = context.track(
    share.hold(closing).then(() => {
      over.abort()
      return looking
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

const isCount = (value: unknown, most: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most

function tell(error: unknown, items: readonly FollowItem[]): void {
  if (items.length > 0) void Promise.reject(error)
}

/** What a follower is given. */
export type FollowItem =
  /** An event of a conversation. */
  | (LoggedEvent & { readonly conversationId: string })
  /**
   * `changed`: a conversation was created, or its record was changed otherwise than by an append; what it is by now,
   * its record says. `deleted`: it was deleted.
   */
  | { readonly type: 'changed' | 'deleted'; readonly conversationId: string }
  /**
   * The database does not hold what was read of it, since it was restored to an earlier state, or is another one. What
   * was given before may not hold; the conversations of this shard are given from the first that there is.
   */
  | { readonly type: 'reset'; readonly shard: number }

/** What a handler is given beside items. */
export interface Following {
  /** Aborted when the follower is closed, or another process may be given the same items. */
  readonly signal: AbortSignal
}

/** Is given items of one shard, in order. When it throws, they are given again. */
export type FollowHandler = (items: readonly FollowItem[], following: Following) => Promise<void> | void

/** What a shard is read with. */
interface ShardReader {
  readonly store: Store
  readonly news: News
  readonly limit: number
  /** Bounds how many handlers are at work. */
  readonly inTurn: RunInOrder
  readonly handler: FollowHandler
  readonly onError: (error: unknown, items: readonly FollowItem[]) => void
  /** Milliseconds before the first repetition, and at most. */
  readonly retryDelay: number
  readonly maxRetryDelay: number
  readonly closing: AbortSignal
}

/** Reads a shard until it is to be given back, or is lost. Never rejects. */
async function readShard(shard: HeldShard, reader: ShardReader): Promise<void> {
  const { news, retryDelay, maxRetryDelay, closing } = reader
  const signal = AbortSignal.any([closing, shard.lost])
  let failures = 0
  let more = true
  while (!shard.ending.aborted) {
    if (!more) await news.wait(shard.number, shard.ending)
    if (shard.ending.aborted) return
    let items: readonly FollowItem[] = []
    try {
      const page = shard.isReset ? null : await reader.store.feed(queryOf(shard, reader))
      if (page?.reset === true) {
        // Kept before it is told: else who holds the shard next may go on where a handler has dropped all before.
        await shard.startOver(page.next)
        more = true
        continue
      }
      items = page?.items.map(toFollowItem) ?? [{ type: 'reset', shard: shard.number }]
      const isDone = items.length === 0 || (await reader.inTurn(() => handle(shard, reader, items, signal)))
      if (!isDone || shard.lost.aborted) return
      items = []
      const next = page === null ? shard.place : page.next
      if (page === null || next !== shard.place) await shard.keep(next)
      more = page?.more ?? true
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      more = true
      reader.onError(error, items)
      const most = Math.min(maxRetryDelay, retryDelay * 2 ** Math.min(failures, 30))
      failures += 1
      await pause(most / 2 + Math.random() * (most / 2), shard.ending)
    }
  }
}

const queryOf = ({ number, place }: HeldShard, { limit }: ShardReader): FeedQuery => ({
  shard: number,
  limit,
  ...(place !== null && { after: place }),
})

/** False when it was too late to begin. */
async function handle(
  { ending }: HeldShard,
  { handler }: ShardReader,
  items: readonly FollowItem[],
  signal: AbortSignal,
): Promise<boolean> {
  if (ending.aborted) return false
  await handler(items, { signal })
  return true
}

const toFollowItem = (item: FeedItem): FollowItem =>
  item.type === 'event'
    ? { ...toLogged(item.event), conversationId: item.conversationId }
    : { type: item.type, conversationId: item.conversationId }

/** The shards that may have news. A look where nothing happened costs one page of at most one item. */
class News {
  readonly #store: Store
  /** Who waits for news of a shard. */
  readonly #waiting = new Map<number, () => void>()
  /** Those with news that no reader has waited for yet. */
  readonly #fresh = new Set<number>()
  /** What was there at the last look: all of it was read, or is fresh. */
  #tip: string | null = null
  #looking: Promise<void> | null = null
  #again = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Looks until the signal is aborted. Never rejects. */
  async look(interval: number, closing: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    const lookNow = (): void => {
      if (this.#looking !== null) {
        this.#again = true
        return
      }
      this.#looking = this.#lookOnce()
        .catch((error: unknown) => {
          if (!closing.aborted) onError(error)
        })
        .then(() => {
          this.#looking = null
          if (this.#again && !closing.aborted) lookNow()
          this.#again = false
        })
    }
    let unwatch: Unwatch | null = null
    while (!closing.aborted) {
      try {
        unwatch ??= this.#store.watch(null, (id) => (id === undefined ? lookNow() : this.tell(shardOf(id))))
      } catch (error) {
        onError(error)
      }
      lookNow()
      await pause(interval, closing)
    }
    unwatch?.()
    await this.#looking
  }

  /** A shard may have news. */
  tell(shard: number): void {
    this.#fresh.add(shard)
    this.#waiting.get(shard)?.()
  }

  /** Resolves when a shard may have news, or the signal is aborted. */
  async wait(shard: number, signal: AbortSignal): Promise<void> {
    if (this.#fresh.delete(shard) || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => resolve()
    this.#waiting.set(shard, wake)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    signal.removeEventListener('abort', wake)
    if (this.#waiting.get(shard) === wake) this.#waiting.delete(shard)
    this.#fresh.delete(shard)
  }

  async #lookOnce(): Promise<void> {
    if (this.#tip !== null) {
      const { next } = await this.#store.feed({ after: this.#tip, limit: 1 })
      if (next === this.#tip) return
    }
    // Reads from now on see all that is before it.
    this.#tip = (await this.#store.feed({ from: 'end', limit: 1 })).next
    for (let shard = 0; shard < SHARDS; shard += 1) this.tell(shard)
  }
}
