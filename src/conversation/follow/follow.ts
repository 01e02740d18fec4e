/** Followers: programs that are given what happens in all conversations, at least once and in order for each. */

import { isLegalId } from '../../event/ids.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { invalidArgument } from '../../store/kit/query/check-value.ts'
import { limitConcurrency } from '../async/serial.ts'
import type { Shared } from '../shared.ts'
import { News } from './news.ts'
import { type FollowHandler, type FollowItem, readShard } from './read-shard.ts'
import { beginAt, Share } from './shards.ts'

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
  shared: Shared,
  options: FollowOptions,
  handler: FollowHandler,
): Promise<Follower> {
  shared.check()
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
  const { store } = shared
  await beginAt(store, name, all.from)
  const over = new AbortController()
  const closing = AbortSignal.any([over.signal, shared.closing, ...(signal === undefined ? [] : [signal])])
  const onStoreError = (error: unknown): void => onError(error, [])
  const news = new News(store)
  const inTurn = limitConcurrency(all.concurrency)
  const share = new Share({
    store,
    name,
    from: all.from,
    member: shared.newOwner(),
    leaseTtl,
    read: (shard) => readShard(shard, { ...all, store, news, inTurn, handler, closing }),
    onError: onStoreError,
  })
  const looking = news.look(pollInterval, closing, onStoreError)
  const closed = shared.await(
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
