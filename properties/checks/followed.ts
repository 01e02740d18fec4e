/** B4: followers receive every event in order, even if they crash, hang, fail, join or leave. */

import * as fc from 'fast-check'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Follower, FollowItem } from '../../src/conversation/follow/follow.ts'
import type { Event } from '../../src/event/types.ts'
import { SHARDS } from '../../src/store/contract/feed.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { shardOf } from '../../src/store/kit/feed.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { type Killable, killable } from '../../test/service/killable-store.ts'
import type { VirtualTime } from '../virtual-time.ts'

const message = (id: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text: id }] },
})

export const TTL = 300
const POLL = 40

const NAMES = ['a', 'b', 'c', 'd'] as const
const index = fc.nat(NAMES.length - 1)
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      at: index,
      many: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('create' as const, 'title' as const, 'delete' as const),
      at: index,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('join' as const, 'leave' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('kill' as const), calls: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('hang' as const),
      calls: fc.nat(9),
      milliseconds: fc.integer({ min: 10, max: 3 * TTL }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('slow' as const), milliseconds: fc.nat(2 * TTL) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('fail' as const), calls: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('backup' as const, 'restore' as const, 'fail over' as const, 'rewind' as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), milliseconds: fc.nat(2 * TTL) }) },
)
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Covered in every run: a crash with takeover, a failing handler, a restored database. */
export const SCRIPTED: readonly Step[] = [
  { do: 'create', at: 0 },
  { do: 'append', at: 0, many: 3 },
  { do: 'wait', milliseconds: 100 },
  { do: 'backup' },
  { do: 'join' },
  { do: 'slow', milliseconds: 60 },
  { do: 'append', at: 0, many: 3 },
  { do: 'wait', milliseconds: 20 },
  { do: 'kill', calls: 0 },
  { do: 'append', at: 0, many: 1 },
  { do: 'wait', milliseconds: 2 * TTL },
  { do: 'fail', calls: 1 },
  { do: 'append', at: 0, many: 1 },
  { do: 'wait', milliseconds: TTL },
  { do: 'fail over' },
  { do: 'append', at: 0, many: 2 },
  { do: 'wait', milliseconds: TTL },
  { do: 'restore' },
  { do: 'append', at: 0, many: 2 },
  { do: 'wait', milliseconds: TTL },
  { do: 'backup' },
  { do: 'join' },
  { do: 'slow', milliseconds: 0 },
  { do: 'wait', milliseconds: 2 * TTL },
  { do: 'append', at: 0, many: 2 },
  { do: 'wait', milliseconds: 100 },
  { do: 'rewind' },
  { do: 'append', at: 0, many: 2 },
  { do: 'join' },
  { do: 'kill', calls: 0 },
  { do: 'append', at: 0, many: 2 },
]

interface Member {
  readonly killable: Killable
  readonly engine: Engine
  readonly follower: Follower
  isDoomed: boolean
}

/** A store that can be restored to an earlier copy; null if it cannot. */
export interface Place {
  readonly open: () => Store
  /** Requires a closed store. */
  readonly keep: (() => void) | null
  /** The next open() returns the copy. */
  readonly putBack: () => void
}

export const followsSeen = { killed: 0, twice: 0, reset: 0, failed: 0, deleted: 0, takenOver: 0, rewound: 0 }

export function nameOf(item: FollowItem): string {
  if (item.type === 'event') return String(item.id)
  return `${item.type} ${item.type === 'reset' ? item.shard : item.conversationId}`
}

class World {
  readonly #place: Place
  readonly #time: VirtualTime
  #store: Store
  /** Stores from before a rewind, closed at the end. */
  readonly #earlier: Store[] = []
  #engine: Engine
  members: Member[] = []
  #made = 0
  readonly #given = new Map<string, string[]>()
  /** Events handled successfully, by conversation. */
  readonly #done = new Map<string, string>()
  readonly #last = new Map<string, string>()
  #pause = 0
  #failures = 0

  constructor(backend: Place, time: VirtualTime) {
    this.#time = time
    this.#place = backend
    this.#store = backend.open()
    this.#engine = createEngine({ store: this.#store })
  }

  async do(one: Step): Promise<void> {
    const id = 'at' in one ? (NAMES[one.at] ?? '') : ''
    const last = this.members.at(-1)
    const isThere = id !== '' && (await this.#time.ended(this.#store.getConversation(id))) !== null
    if (one.do === 'create' && !isThere) await this.#time.ended(this.#engine.create({ id }))
    else if (one.do === 'delete') await this.#time.ended(this.#engine.delete(id))
    else if (one.do === 'title' && isThere)
      await this.#time.ended(this.#store.updateConversation(id, { title: `t${(this.#made += 1)}` }))
    else if (one.do === 'append') {
      if (!isThere) await this.#time.ended(this.#engine.create({ id }))
      const ids = Array.from({ length: one.many }, () => `e${(this.#made += 1)}`)
      const conversation = await this.#time.ended(this.#engine.open(id))
      await this.#time.ended(conversation.append(ids.map((event) => message(event))))
    } else if (one.do === 'join' && this.members.length < 4) await this.join()
    else if (one.do === 'leave' && this.members.length > 1) await this.#end(this.members.shift())
    else if (one.do === 'kill' && last !== undefined) {
      last.killable.dieAfter(one.calls)
      last.isDoomed = true
      followsSeen.killed += 1
    } else if (one.do === 'hang') last?.killable.holdAfter(one.calls, one.milliseconds)
    else if (one.do === 'slow') this.#pause = one.milliseconds
    else if (one.do === 'fail') this.#failures = one.calls
    else if (one.do === 'wait') await this.#time.pass(one.milliseconds)
    else if (one.do === 'rewind') await this.#rewind()
    else if (one.do === 'backup' || one.do === 'restore' || one.do === 'fail over') await this.#copy(one.do)
    await this.#time.pass(10)
  }

  async join(): Promise<void> {
    const killableStore = killable(this.#latest())
    const engine = createEngine({ store: killableStore.store })
    const input = { name: 'follower', leaseTtl: TTL, pollInterval: POLL, retryDelay: 20, maxRetryDelay: 80 }
    const follower = await this.#time.ended(
      engine.follow({ ...input, onError: () => undefined, limit: 4 }, (items) =>
        this.#handle(items, killableStore),
      ),
    )
    this.members.push({ killable: killableStore, engine, follower, isDoomed: false })
  }

  async #handle(items: readonly FollowItem[], killableStore: Killable): Promise<void> {
    if (killableStore.isDead()) return
    for (const item of items) {
      if (item.type === 'reset') {
        followsSeen.reset += 1
        // The shard's events are delivered again.
        for (const [event, conversation] of this.#done)
          if (shardOf(conversation) === item.shard) this.#done.delete(event)
      } else {
        const input = this.#given.get(item.conversationId) ?? []
        if (input.includes(nameOf(item)) && item.type === 'event') followsSeen.twice += 1
        else input.push(nameOf(item))
        this.#given.set(item.conversationId, input)
        this.#last.set(item.conversationId, item.type)
      }
    }
    if (this.#pause > 0) await new Promise((resolve) => setTimeout(resolve, this.#pause))
    if (this.#failures > 0) {
      this.#failures -= 1
      followsSeen.failed += 1
      throw new Error('the handler failed')
    }
    if (killableStore.isDead()) return
    for (const item of items) if (item.type === 'event') this.#done.set(nameOf(item), item.conversationId)
  }

  /** After a failover, cursors can be ahead of the database. */
  async #copy(way: 'backup' | 'restore' | 'fail over'): Promise<void> {
    const { keep, putBack } = this.#place
    if (keep === null) return
    for (const member of this.members.splice(0)) await this.#end(member)
    const collection = 'follow:follower'
    const { items } = await this.#time.ended(this.#store.listItems(collection))
    await this.#time.ended(this.#engine.close())
    await this.#time.ended(this.#store.close())
    if (way === 'backup') keep()
    else putBack()
    // Events missing from the copy are not deletions.
    if (way !== 'backup') this.#last.clear()
    this.#store = this.#place.open()
    if (way === 'fail over')
      await this.#time.ended(
        this.#store.changeItems(items.map(({ id, body }) => ({ collection, id, put: { body, dueIn: 0 } }))),
      )
    this.#engine = createEngine({ store: this.#store })
    await this.join()
  }

  /** Restores the database while processes continue. */
  async #rewind(): Promise<void> {
    if (this.#place.keep === null) return
    await this.#time.ended(this.#engine.close())
    this.#earlier.push(this.#store)
    this.#place.putBack()
    this.#last.clear()
    this.#store = this.#place.open()
    this.#engine = createEngine({ store: this.#store })
    followsSeen.rewound += 1
  }

  #latest(): Store {
    return new Proxy(this.#store, {
      get: (_, name) => {
        const value: unknown = Reflect.get(this.#store, name)
        return typeof value === 'function' ? value.bind(this.#store) : value
      },
    })
  }

  async #end(member: Member | undefined): Promise<void> {
    await this.#time.ended(member?.follower.close() ?? Promise.resolve())
    await this.#time.ended(member?.engine.close().catch(() => undefined) ?? Promise.resolve())
  }

  /** Ends all faults and waits for leases and pending work. */
  async check(): Promise<void> {
    for (const { killable: killableStore, isDoomed } of this.members) {
      killableStore.holdAfter(Infinity, 0)
      if (isDoomed) killableStore.dieAfter(0)
    }
    const alive = this.members.filter(({ isDoomed }) => !isDoomed)
    await this.#time.pass(this.#pause)
    this.#pause = 0
    this.#failures = 0
    if (alive.length === 0) await this.join()
    await this.#time.pass(TTL + 4 * POLL + 80 + 3 * TTL)
    for (const name of NAMES) {
      const input = this.#given.get(name) ?? []
      const record = await this.#time.ended(this.#store.getConversation(name))
      if (record === null) {
        if (this.#last.has(name))
          same('B4', `the last delivered item of ${name}`, this.#last.get(name), 'deleted')
        followsSeen.deleted += 1
        continue
      }
      const log = (await this.#time.ended(this.#store.read(name))).map(({ id }) => String(id))
      const missing = log.filter((event) => !this.#done.has(event))
      same('B4', `events of ${name} that were not delivered`, missing, [])
      const order = input.flatMap((event) => (log.includes(event) ? [log.indexOf(event)] : []))
      same(
        'B4',
        `the delivery order of ${name}`,
        order,
        order.toSorted((a, b) => a - b),
      )
    }
    const living = this.members.filter(({ isDoomed }) => !isDoomed)
    if (living.length < this.members.length) followsSeen.takenOver += 1
    const shares = living.map(({ follower }) => follower.shards)
    same(
      'B4',
      'number of claimed shards',
      shares.reduce((sum, one) => sum + one, 0),
      SHARDS,
    )
    hold(
      'B4',
      Math.max(...shares) <= Math.ceil(SHARDS / living.length),
      `the shards are unevenly shared: ${shares.join(', ')}`,
    )
  }

  async close(): Promise<void> {
    for (const member of this.members) await this.#end(member)
    await this.#time.ended(this.#engine.close())
    for (const store of [...this.#earlier, this.#store]) await this.#time.ended(store.close())
  }
}

export const followSteps: fc.Arbitrary<readonly Step[]> = fc.array(step, { minLength: 5, maxLength: 30 })

/** B4: every follower has received everything in the end. Requires virtual time. */
export async function checkFollowers(
  backend: Place,
  time: VirtualTime,
  steps: readonly Step[],
): Promise<void> {
  const world = new World(backend, time)
  try {
    await world.join()
    for (const one of steps) await world.do(one)
    await world.check()
  } finally {
    await world.close()
  }
}
