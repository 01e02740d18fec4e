/** One process's share of a follower's shards: shard by leases that are renewed together. */

import { ColloquyError, hasCode } from '../../event/errors.ts'
import { FOLLOWERS, SHARDS } from '../../store/contract/feed.ts'
import type { Item, ItemChange } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { allItems } from '../../store/kit/query/page.ts'
import { pause, serialQueue } from '../async.ts'

export interface HeldShard {
  readonly number: number
  /** How far it was read, as a cursor of the feed; null at the start. */
  readonly cursor: string | null
  /** Whether it starts over, and no handler knows yet. */
  readonly isReset: boolean
  /** Aborted when the shard is to be released, after the current call. */
  readonly ending: AbortSignal
  /** Aborted when another process may hold it. */
  readonly lost: AbortSignal
  /** Stores a cursor and renews the lease. Concurrent calls share a transaction. */
  readonly save: (cursor: string | null) => Promise<void>
  /** Stores a cursor to start over from. On failure the old one stays. */
  readonly startOver: (cursor: string) => Promise<void>
}

interface Progress {
  readonly cursor: string | null
  readonly reset?: true
}

interface ShareOptions {
  readonly store: Store
  readonly name: string
  readonly from: 'start' | 'now'
  readonly member: string
  readonly leaseTtl: number
  readonly read: (shard: HeldShard) => Promise<void>
  readonly onError: (error: unknown) => void
}

interface OwnedShard {
  readonly id: string
  version: number
  progress: Progress
  isSaved: boolean
  readonly ending: AbortController
  readonly lost: AbortController
  done: Promise<void>
}

const shardsOf = (name: string): string => `${FOLLOWERS}${name}`
const membersOf = (name: string): string => `follow-members:${name}`
const idOf = (shard: number): string => String(shard).padStart(2, '0')

/** Stores where a follower begins, unless it has begun. O(1). @throws the store's errors. */
export async function storeStart(store: Store, name: string, from: ShareOptions['from']): Promise<void> {
  const collection = shardsOf(name)
  if ((await store.getItem(collection, idOf(0))) !== null) return
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
        id: idOf(shard),
        expected: null,
        put: { body: { cursor }, dueIn: 0 },
      })),
    )
    .catch((error: unknown) => {
      if (!hasCode(error, 'version_conflict')) throw error
    })
}

/**
 * Holds this process's share of the shards until the signal is aborted. Shards are divided by processes with
 * unexpired items, renewed with their leases.
 */
export class Share {
  readonly #options: ShareOptions
  readonly #owned = new Map<string, OwnedShard>()
  /** Writes run in order, since each one needs the version of the previous. */
  readonly #inOrder = serialQueue()
  #saving: Promise<void> | null = null
  #expiry: ReturnType<typeof setTimeout> | undefined
  #share = 0
  #live = 0
  /** Until when shards may be released or expire, since the number of processes changed. */
  #unsettledUntil = 0

  constructor(options: ShareOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#owned.size
  }

  async hold(closing: AbortSignal): Promise<void> {
    const { leaseTtl, onError } = this.#options
    while (!closing.aborted) {
      let next = leaseTtl / 3
      try {
        next = await this.#renew(closing)
        await this.#claimUntil(performance.now() + next, closing)
        continue
      } catch (error) {
        if (hasCode(error, 'store_closed')) break
        onError(error)
      }
      await pause(next, closing)
    }
    await this.#release([...this.#owned.values()])
    clearTimeout(this.#expiry)
    const { store, name, member } = this.#options
    // Otherwise it expires.
    await store.changeItems([{ collection: membersOf(name), id: member, put: null }]).catch(() => undefined)
  }

  /** Renews leases, then claims or releases shards until even. Returns milliseconds until the next time. */
  async #renew(closing: AbortSignal): Promise<number> {
    const { name, member, leaseTtl } = this.#options
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
    if (this.#owned.size === 0) await storeStart(this.#options.store, name, this.#options.from)
    await this.#claim(closing)
    return Math.min(leaseTtl / 3, Math.max(1, nextEnd - now + 1))
  }

  async #claimUntil(end: number, closing: AbortSignal): Promise<void> {
    for (let now = performance.now(); now < end && !closing.aborted; now = performance.now()) {
      const isSoon = this.#owned.size < this.#share && now < this.#unsettledUntil
      await pause(Math.min(isSoon ? this.#options.leaseTtl / 30 : Infinity, end - now), closing)
      if (isSoon) await this.#claim(closing)
    }
  }

  async #claim(closing: AbortSignal): Promise<void> {
    const { store, name, leaseTtl } = this.#options
    const limit = this.#share - this.#owned.size
    if (limit <= 0 || closing.aborted) return
    for (const item of await store.claimItems(shardsOf(name), { ttl: leaseTtl, limit })) this.#own(item)
  }

  async #countMembers(now: number): Promise<{ readonly live: number; readonly nextEnd: number }> {
    const { store, name, member } = this.#options
    const collection = membersOf(name)
    let live = 1
    let nextEnd = Infinity
    for await (const { id, dueAt, version } of allItems((at) => store.listItems(collection, at))) {
      if (id === member) continue
      if ((dueAt ?? 0) > now) {
        live += 1
        nextEnd = Math.min(nextEnd, dueAt ?? 0)
        continue
      }
      await store.changeItems([{ collection, id, expected: version, put: null }]).catch(ignoreConflict)
    }
    return { live, nextEnd }
  }

  #own({ id, version, body }: Item): void {
    const { cursor, reset } = body
    const shard: OwnedShard = {
      id,
      version,
      progress: { cursor: typeof cursor === 'string' ? cursor : null, ...(reset === true && { reset }) },
      isSaved: true,
      ending: new AbortController(),
      lost: new AbortController(),
      done: Promise.resolve(),
    }
    // Its lease expired here, and no other process claimed it.
    this.#lose(id)
    this.#owned.set(id, shard)
    shard.done = this.#options.read({
      number: Number(id),
      get cursor() {
        return shard.progress.cursor
      },
      get isReset() {
        return shard.progress.reset === true
      },
      ending: shard.ending.signal,
      lost: shard.lost.signal,
      save: (cursor) => this.#save(shard, { cursor }),
      startOver: async (cursor) => {
        const before = shard.progress
        try {
          await this.#save(shard, { cursor, reset: true })
        } catch (error) {
          shard.progress = before
          throw error
        }
      },
    })
  }

  #save(shard: OwnedShard, progress: Progress): Promise<void> {
    shard.progress = progress
    shard.isSaved = false
    this.#saving ??= this.#inOrder(async () => {
      this.#saving = null
      await this.#write([...this.#owned.values()].filter(({ isSaved }) => !isSaved))
    })
    return this.#saving
  }

  async #write(
    shards: readonly OwnedShard[],
    membership?: ItemChange,
    dueIn = this.#options.leaseTtl,
  ): Promise<Item | null | undefined> {
    const { store, name } = this.#options
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

  async #release(shards: readonly OwnedShard[]): Promise<void> {
    for (const { ending } of shards) ending.abort()
    await Promise.all(shards.map(({ done }) => done))
    try {
      await this.#inOrder(() => this.#write(shards, undefined, 0))
    } catch (error) {
      // Otherwise they expire.
      if (!hasCode(error, 'store_closed')) this.#options.onError(error)
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

function ignoreConflict(error: unknown): void {
  if (!hasCode(error, 'version_conflict')) throw error
}
