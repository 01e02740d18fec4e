import { ColloquyError } from '../event/errors.ts'
import type { StreamingDeltaEvent } from '../event/types.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { BlobMode } from '../store/contract/blobs.ts'
import type { Store } from '../store/contract/store.ts'
import { allConversations } from '../store/kit/query/page.ts'
import type { State } from '../state/state.ts'
import { Replica } from './replica.ts'
import { briefOwner, RUN } from './run/lease.ts'
import { dropShared, realTime, SharedReplies } from './shared-replies.ts'
import type { Stamp } from './stamp.ts'

/** Tags that distinguish child conversations from forks, which also have a parent. */
export const CHILD_TAGS = { subagent: 'true' }

/** How conversations are deleted. */
export interface DeletionOptions {
  /** Whether to only report what would be deleted; the report's `items` is then 0. Default: false. */
  readonly dryRun?: boolean
  /** Maximum number of conversations to delete; subagents are not counted. Default: unlimited. */
  readonly limit?: number
  /** Called before each deletion, to delete your own rows. If it throws, deletion stops there. */
  readonly onDelete?: (record: ConversationRecord) => Promise<void> | void
}

/** Counts of what was deleted. */
export interface DeletionReport {
  readonly conversations: number
  readonly events: number
  readonly snapshots: number
  readonly leases: number
  /** Number of deleted store items through which processes shared the conversations' streamed replies. */
  readonly items: number
  /** Whether more conversations match than `limit` allowed. */
  readonly more: boolean
}

export const EMPTY_REPORT: DeletionReport = {
  conversations: 0,
  events: 0,
  snapshots: 0,
  leases: 0,
  items: 0,
  more: false,
}

export function addReports(a: DeletionReport, b: DeletionReport): DeletionReport {
  return {
    conversations: a.conversations + b.conversations,
    events: a.events + b.events,
    snapshots: a.snapshots + b.snapshots,
    leases: a.leases + b.leases,
    items: a.items + b.items,
    more: a.more || b.more,
  }
}

interface CachedReplica {
  readonly opening: Promise<Replica>
  open: Replica | null
  users: number
  /** Bytes that count towards the cache: 0 if the replica is in use, or is larger than the cache. */
  bytes: number
}

/**
 * The conversations of one engine. If idle replicas (states in memory) exceed the cache size, the least
 * recently used replica is evicted, and reopened on use. One idle replica may be larger than the cache, because
 * otherwise each use would read its log again.
 */
export class EngineContext {
  readonly store: Store
  readonly stamp: Stamp
  readonly leaseTtl: number
  readonly #cacheBytes: number
  readonly #shares: boolean
  readonly #blobs: BlobMode
  readonly #busy = new Map<string, CachedReplica>()
  readonly #idle = new Map<string, CachedReplica>()
  #idleBytes = 0
  #oversized: string | null = null
  readonly #replies = new WeakMap<Replica, SharedReplies>()
  readonly #openReplies = new Set<SharedReplies>()
  /** Lease owners of this engine's runs, by conversation. One owner can hold the lease; the others wait. */
  readonly #running = new Map<string, Set<string>>()
  readonly #work = new Set<Promise<unknown>>()
  #uses = 0
  #onUnused: (() => void) | null = null
  readonly #closing = new AbortController()
  #closed: Promise<void> | null = null

  constructor(
    store: Store,
    stamp: Stamp,
    cacheBytes: number,
    sharesReplies: boolean,
    leaseTtl: number,
    blobs: BlobMode,
  ) {
    this.store = store
    this.stamp = stamp
    this.leaseTtl = leaseTtl
    this.#blobs = blobs
    this.#cacheBytes = cacheBytes
    this.#shares = sharesReplies && store.redacts !== true
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  get size(): number {
    return this.#busy.size + this.#idle.size
  }

  cachedState(id: string): State | null {
    return (this.#busy.get(id) ?? this.#idle.get(id))?.open?.state ?? null
  }

  newOwner(): string {
    return `${RUN}${this.stamp.newId()}`
  }

  newBriefOwner(previous?: string): string {
    return briefOwner(this.stamp.newId(), previous)
  }

  /** Calls `work` with a conversation's replica. `close` waits for `work`. @throws `closed`. */
  async use<T>(id: string, work: (replica: Replica) => Promise<T>): Promise<T> {
    this.#uses += 1
    try {
      const cached = this.#hold(id)
      try {
        return await work((cached.open ??= await cached.opening))
      } finally {
        cached.users -= 1
        this.#rest(id, cached)
      }
    } finally {
      this.#uses -= 1
      if (this.#uses === 0) this.#onUnused?.()
    }
  }

  /** Keeps a conversation in memory until `release`. @throws ColloquyError `unknown_conversation`, `closed`. */
  async pin(id: string): Promise<{ readonly replica: Replica; readonly release: () => void }> {
    const cached = this.#hold(id)
    let isPinned = true
    const release = (): void => {
      if (!isPinned) return
      isPinned = false
      cached.users -= 1
      this.#rest(id, cached)
    }
    try {
      return { replica: (cached.open ??= await cached.opening), release }
    } catch (error) {
      release()
      throw error
    }
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    return work.finally(() => this.#work.delete(work))
  }

  publish(id: string, delta: StreamingDeltaEvent): void {
    const replica = this.#busy.get(id)?.open ?? null
    replica?.replies.publish(delta)
    if (replica !== null) this.#sharedRepliesOf(replica)?.scheduleWrite()
  }

  listen(replica: Replica): () => void {
    return this.#sharedRepliesOf(replica)?.listen() ?? (() => undefined)
  }

  isRunning(id: string): boolean {
    return this.#running.has(id)
  }

  async whileRunning<T>(id: string, work: (replica: Replica, owner: string) => Promise<T>): Promise<T> {
    return this.use(id, async (replica) => {
      const owner = this.newOwner()
      const owners = this.#running.get(id) ?? new Set<string>()
      this.#running.set(id, owners.add(owner))
      try {
        return await work(replica, owner)
      } finally {
        owners.delete(owner)
        if (owners.size === 0) this.#running.delete(id)
      }
    })
  }

  async delete(id: string): Promise<boolean> {
    return (await this.deleteCounted(id, null, new Set())).conversations > 0
  }

  /**
   * Deletes a conversation and its children; with `dryRun`, only counts them.
   * @param options if null, the report counts only conversations and items
   * @param visited ids to skip; the deleted ids are added
   */
  async deleteCounted(
    id: string,
    options: DeletionOptions | null,
    visited: Set<string>,
  ): Promise<DeletionReport> {
    this.check()
    visited.add(id)
    let report = EMPTY_REPORT
    const deleteChildren = async (): Promise<void> => {
      for (const child of await this.track(this.children(id)))
        // Two records may name each other as parents.
        if (!visited.has(child.id))
          report = addReports(report, await this.deleteCounted(child.id, options, visited))
    }
    await deleteChildren()
    const counted = options === null ? EMPTY_REPORT : await this.track(this.#count(id, options))
    if (options?.dryRun === true) return addReports(report, counted)
    const busy = this.#busy.get(id)
    const replica = (busy ?? this.#idle.get(id))?.open ?? null
    const epoch = replica?.epoch
    const existed = await this.track(this.store.deleteConversation(id))
    // Leave at once: the id can be used again. If the epoch has changed, the replica has the new conversation.
    if (replica?.epoch === epoch) replica?.leave()
    // A replica that is still opening may have read the deleted conversation.
    if (replica === null && this.#busy.get(id) === busy) this.#busy.delete(id)
    // A run may have opened a subagent before it noticed the deletion.
    await deleteChildren()
    // Needed even if nothing was deleted: an earlier call may have failed at this step.
    const items = await this.track(dropShared(this.store, id))
    return addReports(report, { ...(existed ? { ...counted, conversations: 1 } : EMPTY_REPORT), items })
  }

  /** Counts what a conversation stores. Without `dryRun`, also calls `onDelete` and deletes the snapshot. */
  async #count(id: string, { dryRun = false, onDelete }: DeletionOptions): Promise<DeletionReport> {
    const record = await this.store.getConversation(id)
    if (record === null) return EMPTY_REPORT
    if (!dryRun) await onDelete?.(record)
    const lease = await this.store.getLease(id)
    const hasSnapshot = dryRun
      ? (await this.store.loadSnapshot(id)).length > 0
      : await this.store.deleteSnapshot(id)
    return {
      ...EMPTY_REPORT,
      conversations: 1,
      events: record.version,
      leases: Number(lease !== null),
      snapshots: Number(hasSnapshot),
    }
  }

  async children(id: string): Promise<ConversationRecord[]> {
    const children: ConversationRecord[] = []
    const query = { parentConversationId: id, tags: CHILD_TAGS, order: 'created_at' } as const
    for await (const child of allConversations(this.store, query)) children.push(child)
    return children
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  check(): void {
    if (this.#closing.signal.aborted) throw closedError()
  }

  async #end(): Promise<void> {
    this.#closing.abort(closedError())
    await Promise.allSettled(this.#work)
    if (this.#uses > 0) await new Promise<void>((resolve) => (this.#onUnused = resolve))
    await Promise.all([...this.#openReplies].map((shared) => shared.close()))
    const all = [...this.#busy.values(), ...this.#idle.values()]
    await Promise.allSettled(all.map(async ({ opening }) => (await opening).settle(true)))
    this.#busy.clear()
    this.#idle.clear()
  }

  #hold(id: string): CachedReplica {
    this.check()
    let cached = this.#busy.get(id)
    if (cached === undefined) {
      cached = this.#idle.get(id) ?? { opening: this.#read(id), open: null, users: 0, bytes: 0 }
      this.#forget(id)
      this.#busy.set(id, cached)
    }
    cached.users += 1
    return cached
  }

  async #read(id: string): Promise<Replica> {
    const replica = await Replica.open(this.store, this.stamp, id, this.#blobs)
    const drop = (): void => {
      if (this.#busy.get(id)?.open === replica) this.#busy.delete(id)
      if (this.#idle.get(id)?.open === replica) this.#forget(id)
    }
    // A deleted replica is never reused: another conversation may be created under its id.
    replica.gone.addEventListener('abort', drop, { once: true })
    return replica
  }

  #rest(id: string, cached: CachedReplica): void {
    if (cached.users > 0 || this.#busy.get(id) !== cached) return
    const { open } = cached
    if (open?.isDue === true) {
      // Settle later: the caller gets its result first. Settling evicts bodies, so the size is computed afterwards.
      setTimeout(() => void open.settle().then(() => this.#rest(id, cached)), 0)
      return
    }
    this.#busy.delete(id)
    if (open === null || this.#cacheBytes === 0) return
    this.#idle.set(id, cached)
    // At least 1, so that empty conversations are evicted, too.
    const bytes = Math.max(1, open.bytes)
    if (bytes > this.#cacheBytes) {
      if (this.#oversized !== null) this.#forget(this.#oversized)
      this.#oversized = id
      return
    }
    cached.bytes = bytes
    this.#idleBytes += bytes
    for (const oldest of this.#idle.keys()) {
      if (this.#idleBytes <= this.#cacheBytes) return
      if (oldest !== this.#oversized) this.#forget(oldest)
    }
  }

  #forget(id: string): void {
    const idle = this.#idle.get(id)
    if (idle === undefined) return
    this.#idle.delete(id)
    this.#idleBytes -= idle.bytes
    idle.bytes = 0
    if (this.#oversized === id) this.#oversized = null
  }

  #sharedRepliesOf(replica: Replica): SharedReplies | null {
    if (!this.#shares) return null
    const known = this.#replies.get(replica)
    if (known !== undefined) return known
    const { id, replies } = replica
    const shared = new SharedReplies({
      items: this.store,
      id,
      replies,
      isElsewhere: () => replica.state.header.status === 'running' && !this.#isAtWork(replica),
      isClosing: () => this.closing.aborted,
      schedule: realTime,
      open: this.#openReplies,
    })
    this.#replies.set(replica, shared)
    return shared
  }

  /** Whether an active run of this engine has appended events. A run that waits for its lease appends nothing. */
  #isAtWork({ id, writer }: Replica): boolean {
    return writer !== null && this.#running.get(id)?.has(writer) === true
  }
}

const closedError = (): ColloquyError =>
  new ColloquyError('closed', 'The engine is closed. Create another one.')
