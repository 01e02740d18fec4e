/** One process's share of the shards of a follower: held by leases that are renewed together. */

import { ColloquyError, hasCode } from '../../event/errors.ts'
import { SHARDS } from '../../store/contract/feed.ts'
import type { Item, ItemChange } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { pause, serialQueue } from '../async.ts'

/** A shard that this process holds. */
export interface HeldShard {
  readonly number: number
  /** How far it was read, by the feed's own cursor; null at the start. */
  readonly place: string | null
  /** Whether it starts over, which is still to be told. */
  readonly isReset: boolean
  /** Aborted when the shard is to be given back: what is under way is finished first. */
  readonly ending: AbortSignal
  /** Aborted when another process may hold it. */
  readonly lost: AbortSignal
  /** Keeps a place and renews the lease. What is kept at one time shares a transaction. */
  readonly keep: (place: string | null) => Promise<void>
  /** The same of a place to start over at. Where that fails, it stands where it stood. */
  readonly startOver: (place: string) => Promise<void>
}

/** How far a shard was read, as it is stored. */
interface Place {
  readonly place: string | null
  /** Whether it starts over there, and this was not told yet. */
  readonly reset?: true
}

/** How a share is held. */
export interface ShareOptions {
  readonly store: Store
  readonly name: string
  /** Where a name that is new begins. */
  readonly from: 'start' | 'now'
  /** This process among those that share the shards. */
  readonly member: string
  /** Milliseconds after which another process takes over. */
  readonly leaseTtl: number
  /** Reads a shard until it ends or is lost. Never rejects. */
  readonly read: (shard: HeldShard) => Promise<void>
  readonly onError: (error: unknown) => void
}

interface Held {
  readonly id: string
  version: number
  at: Place
  isKept: boolean
  readonly ending: AbortController
  readonly lost: AbortController
  done: Promise<void>
}

const shardsOf = (name: string): string => `follow:${name}`
const membersOf = (name: string): string => `follow-members:${name}`
const idOf = (shard: number): string => String(shard).padStart(2, '0')

/** Writes down where a follower begins, unless it has begun. O(1). @throws what the store throws. */
export async function beginAt(store: Store, name: string, from: ShareOptions['from']): Promise<void> {
  const collection = shardsOf(name)
  if ((await store.getItem(collection, idOf(0))) !== null) return
  const numbers = Array.from({ length: SHARDS }, (_, shard) => shard)
  const places =
    from === 'start'
      ? numbers.map(() => null)
      : await Promise.all(
          numbers.map(async (shard) => (await store.feed({ shard, from: 'end', limit: 1 })).next),
        )
  await store
    .changeItems(
      places.map((place, shard) => ({
        collection,
        id: idOf(shard),
        expected: null,
        put: { body: { place }, dueIn: 0 },
      })),
    )
    .catch((error: unknown) => {
      if (!hasCode(error, 'version_conflict')) throw error
    })
}

/**
 * Holds as many shards as are this process's share, until the signal is aborted. Each process says that it is there by
 * an item, which it renews with its leases: the shards are divided by those whose items have not run out.
 */
export class Share {
  readonly #options: ShareOptions
  readonly #held = new Map<string, Held>()
  /** Each write gives a new version, which whatever comes after it must name. */
  readonly #inTurn = serialQueue()
  #keeping: Promise<void> | null = null
  #expiry: ReturnType<typeof setTimeout> | undefined
  /** How many shards are this process's share, and of how many processes it is one. */
  #most = 0
  #live = 0
  /** Until when shards may be given back, or run out, since there is another number of processes. */
  #unsettledUntil = 0

  constructor(options: ShareOptions) {
    this.#options = options
  }

  /** How many shards are held. */
  get size(): number {
    return this.#held.size
  }

  /** Resolves when all is given back. Never rejects. */
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
    await this.#giveBack([...this.#held.values()])
    clearTimeout(this.#expiry)
    const { store, name, member } = this.#options
    // Else it runs out.
    await store.changeItems([{ collection: membersOf(name), id: member, put: null }]).catch(() => undefined)
  }

  /** Renews all, and takes or gives back what makes the share even. The milliseconds until the next time. */
  async #renew(closing: AbortSignal): Promise<number> {
    const { name, member, leaseTtl } = this.#options
    const own = { collection: membersOf(name), id: member, put: { body: {}, dueIn: leaseTtl } }
    const askedAt = performance.now()
    const put = await this.#inTurn(() => this.#write([...this.#held.values()], own))
    clearTimeout(this.#expiry)
    this.#expiry = setTimeout(() => this.#loseAll(), Math.max(0, leaseTtl - (performance.now() - askedAt)))
    const now = (put?.dueAt ?? 0) - leaseTtl
    const { live, nextEnd } = await this.#countMembers(now)
    if (live !== this.#live) this.#unsettledUntil = performance.now() + leaseTtl
    this.#live = live
    const most = Math.ceil(SHARDS / live)
    this.#most = most
    const staying = [...this.#held.values()].filter(({ ending }) => !ending.signal.aborted)
    if (staying.length > most) void this.#giveBack(staying.slice(most))
    // A database that was restored may not know yet that it is followed.
    if (this.#held.size === 0) await beginAt(this.#options.store, name, this.#options.from)
    await this.#claim(closing)
    return Math.min(leaseTtl / 3, Math.max(1, nextEnd - now + 1))
  }

  /** What is given back by one is not to wait for the others' next renewal. */
  async #claimUntil(end: number, closing: AbortSignal): Promise<void> {
    for (let now = performance.now(); now < end && !closing.aborted; now = performance.now()) {
      const isSoon = this.#held.size < this.#most && now < this.#unsettledUntil
      await pause(Math.min(isSoon ? this.#options.leaseTtl / 30 : Infinity, end - now), closing)
      if (isSoon) await this.#claim(closing)
    }
  }

  async #claim(closing: AbortSignal): Promise<void> {
    const { store, name, leaseTtl } = this.#options
    const limit = this.#most - this.#held.size
    if (limit <= 0 || closing.aborted) return
    for (const item of await store.claimItems(shardsOf(name), { ttl: leaseTtl, limit })) this.#take(item)
  }

  /** How many are there, and when the first of the others runs out. Those that are gone are removed. */
  async #countMembers(now: number): Promise<{ readonly live: number; readonly nextEnd: number }> {
    const { store, name, member } = this.#options
    const collection = membersOf(name)
    let live = 1
    let nextEnd = Infinity
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Store['listItems']>> = await store.listItems(
        collection,
        cursor === null ? {} : { cursor },
      )
      for (const { id, dueAt, version } of page.items) {
        if (id === member) continue
        if ((dueAt ?? 0) > now) {
          live += 1
          nextEnd = Math.min(nextEnd, dueAt ?? 0)
          continue
        }
        await store.changeItems([{ collection, id, expected: version, put: null }]).catch(ignoreConflict)
      }
      cursor = page.next_page_id
    } while (cursor !== null)
    return { live, nextEnd }
  }

  #take({ id, version, body }: Item): void {
    const { place, reset } = body
    const held: Held = {
      id,
      version,
      at: { place: typeof place === 'string' ? place : null, ...(reset === true && { reset }) },
      isKept: true,
      ending: new AbortController(),
      lost: new AbortController(),
      done: Promise.resolve(),
    }
    // One whose lease ran out here, and that no other process has taken.
    this.#lose(id)
    this.#held.set(id, held)
    held.done = this.#options.read({
      number: Number(id),
      get place() {
        return held.at.place
      },
      get isReset() {
        return held.at.reset === true
      },
      ending: held.ending.signal,
      lost: held.lost.signal,
      keep: (place) => this.#keep(held, { place }),
      startOver: async (place) => {
        const before = held.at
        try {
          await this.#keep(held, { place, reset: true })
        } catch (error) {
          held.at = before
          throw error
        }
      },
    })
  }

  #keep(held: Held, at: Place): Promise<void> {
    held.at = at
    held.isKept = false
    this.#keeping ??= this.#inTurn(async () => {
      this.#keeping = null
      await this.#write([...this.#held.values()].filter(({ isKept }) => !isKept))
    })
    return this.#keeping
  }

  /** Writes places and renews leases; those that others have taken are lost. Gives the item of this process. */
  async #write(
    shards: readonly Held[],
    own?: ItemChange,
    dueIn = this.#options.leaseTtl,
  ): Promise<Item | null | undefined> {
    const { store, name } = this.#options
    const collection = shardsOf(name)
    for (;;) {
      const still = shards.filter((held) => this.#held.get(held.id) === held)
      const places = still.map(({ at }) => at)
      const changes = still.map(({ id, version, at }) => ({
        collection,
        id,
        expected: version,
        put: { body: { ...at }, dueIn },
      }))
      if (own === undefined && changes.length === 0) return undefined
      try {
        const items = await store.changeItems(own === undefined ? changes : [...changes, own])
        still.forEach((held, at) => {
          held.version = items[at]?.version ?? held.version
          held.isKept = held.at === places[at]
        })
        return items.at(-1)
      } catch (error) {
        if (!hasCode(error, 'version_conflict')) throw error
        this.#lose(String(error.data['id']))
      }
    }
  }

  /** Waits for what is under way in shards, and ends their leases. */
  async #giveBack(shards: readonly Held[]): Promise<void> {
    for (const { ending } of shards) ending.abort()
    await Promise.all(shards.map(({ done }) => done))
    try {
      await this.#inTurn(() => this.#write(shards, undefined, 0))
    } catch (error) {
      // Else they run out.
      if (!hasCode(error, 'store_closed')) this.#options.onError(error)
    }
    for (const held of shards) if (this.#held.get(held.id) === held) this.#held.delete(held.id)
  }

  #lose(id: string): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#held.delete(id)
    held.ending.abort()
    held.lost.abort(new ColloquyError('lease_lost', 'The lease was lost; another process holds it.'))
  }

  #loseAll(): void {
    for (const id of this.#held.keys()) this.#lose(id)
  }
}

function ignoreConflict(error: unknown): void {
  if (!hasCode(error, 'version_conflict')) throw error
}
